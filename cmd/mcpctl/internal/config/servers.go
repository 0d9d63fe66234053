package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/tailscale/hujson"
)

// Specs returns what to connect to, sorted by name: the named servers, or all
// that are not disabled. Only their variables are expanded, so that an unset
// variable of a server that is not in use hurts nobody. Its error is an
// [*Error].
func (c *Config) Specs(names ...string) ([]client.Spec, error) {
	if len(names) == 0 {
		names = c.Enabled()
	}
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	d := decoder{doc: c.doc, vars: c.vars}
	var t top
	if len(names) > 0 {
		if err := decodeObject(d, c.doc.root, topKeys, true, &t); err != nil {
			return nil, err
		}
	}
	var specs []client.Spec
	for _, name := range names {
		e, ok := c.servers[name]
		if !ok {
			return nil, c.unknownServer(name)
		}
		var s server
		if err := decodeServer(d.at(name), e.value, &s); err != nil {
			return nil, err
		}
		spec := c.spec(name, s, t)
		spec.Secrets = c.secrets(e.checked)
		if err := spec.Validate(); err != nil {
			invalid := d.fail(e.value, oneLine(err.Error()), "") // names the server itself
			invalid.Err = err
			return nil, invalid
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// spec translates a server into the client's words. What neither the server
// nor the file says stays empty, for the client's defaults.
func (c *Config) spec(name string, s server, t top) client.Spec {
	spec := client.Spec{
		Name:     name,
		Timeout:  cmp.Or(s.timeout, t.timeout),
		Protocol: client.Protocol(s.protocolVersion),
		ClientInfo: client.Implementation{
			Name:    cmp.Or(s.clientInfo.name, t.clientInfo.name),
			Version: cmp.Or(s.clientInfo.version, t.clientInfo.version),
		},
	}
	if s.command != "" {
		spec.Stdio = &client.Stdio{
			Command:      s.command,
			Args:         s.args,
			Env:          s.env,
			NoInheritEnv: s.inheritDefault != nil && !*s.inheritDefault,
		}
		if s.cwd != "" {
			spec.Stdio.Dir = absolute(c.File.folder(), s.cwd)
		}
		return spec
	}
	spec.HTTP = &client.HTTP{URL: s.url, Headers: s.headers, AllowedHosts: s.allowedHosts}
	return spec
}

// secrets are the values of the variables among the arguments and in the path
// of the URL. The other places where secrets stand, such as headers and env,
// are known to the client. A path is no secret, and errors are unreadable
// without it.
func (c *Config) secrets(s server) []string {
	texts := s.args
	if parts := strings.SplitN(s.url, "/", 4); len(parts) == 4 {
		texts = append(slices.Clip(texts), parts[3])
	}
	var secrets []string
	for _, text := range texts {
		for _, name := range environmentNames(text) {
			if value, _ := c.vars.lookup(name); value != "" && !filepath.IsAbs(value) {
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}

// decodeServer reads a server and checks that its keys go together.
func decodeServer(d decoder, v hujson.Value, s *server) error {
	var before int
	if d.warnings != nil {
		before = len(*d.warnings)
	}
	if err := decodeObject(d, v, serverKeys, true, s); err != nil {
		return err
	}
	switch {
	case s.command != "" && s.url != "":
		return d.fail(v, `has both "command" and "url"`, `"command" starts a server, "url" reaches one; keep one of them`)
	case s.command == "" && s.url == "":
		e := d.fail(v, `has neither "command" nor "url"`, `"command" starts a server, "url" reaches one`)
		if d.warnings != nil && len(*d.warnings) > before {
			// A misspelt key may be why another is missing.
			odd := (*d.warnings)[before]
			e.Hint = fmt.Sprintf("line %d: %s; %s", odd.Line, odd.Problem, odd.Hint)
		}
		return e
	case s.kind != "" && !d.pending(s.kind):
		key := "type"
		if v.Find("/type") == nil {
			key = "transport"
		}
		switch starts := s.kind == "stdio" || s.kind == "local"; {
		case starts && s.url != "":
			return d.failMember(v, key, `does not go with "url"`)
		case !starts && s.command != "":
			return d.failMember(v, key, `does not go with "command"`)
		}
	}
	if err := checkURL(d, v, s.url); err != nil {
		return err
	}
	return checkHeaders(d, v, s.headers)
}

// checkURL words the errors itself, as those of net/url quote the URL, which
// may hold a password.
func checkURL(d decoder, v hujson.Value, raw string) error {
	if raw == "" || d.pending(raw) {
		return nil
	}
	if !IsURL(raw) {
		return d.failMember(v, "url", "must be a URL that starts with http:// or https://")
	}
	if u, err := url.Parse(raw); err != nil || u.Hostname() == "" {
		return d.failMember(v, "url", "is not a valid URL")
	}
	return nil
}

// checkHeaders refuses two spellings of one header, of which an arbitrary one
// would be sent.
func checkHeaders(d decoder, v hujson.Value, headers map[string]string) error {
	seen := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if seen[canonical] {
			return d.failMember(v, "headers", fmt.Sprintf("header %q is there twice", canonical))
		}
		seen[canonical] = true
	}
	return nil
}

// Enabled returns the names of the servers that are not disabled, sorted.
func (c *Config) Enabled() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool {
		disabled := c.servers[name].checked.disabled
		return disabled != nil && *disabled
	})
}
