package config

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// IsURL reports whether a target is a URL rather than the name of a server.
func IsURL(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// Adhoc is a server given on the command line: a URL with headers or a command
// with variables. Nothing in it is expanded, the shell does that.
type Adhoc struct {
	URL     string
	Command []string // the program and its arguments
	Env     []string // NAME=VALUE, or NAME to pass on a variable of ours
	Headers []string // Name: value
	// AllowedHosts as in [client.HTTP].
	AllowedHosts []string
}

// Spec returns what to connect to. The name is the host of the URL, with its
// port if there is one, or the base name of the command; for npx, bunx, uvx and
// pipx it is the base name of the package that they run, or its scope where that
// says no more than mcp. An error is a mistake on the command line; it shows no
// values.
func (a Adhoc) Spec(o Options) (client.Spec, error) {
	var spec client.Spec
	var err error
	switch {
	case a.URL != "" && len(a.Command) > 0:
		return spec, errors.New("a URL and a command exclude each other")
	case a.URL != "":
		spec, err = a.http()
	case len(a.Command) > 0 && a.Command[0] != "":
		spec, err = a.stdio(o)
	default:
		return spec, errors.New("there is neither a URL nor a command")
	}
	if err != nil {
		return client.Spec{}, err
	}
	return spec, spec.Validate()
}

func (a Adhoc) http() (client.Spec, error) {
	u, err := url.Parse(a.URL)
	if err != nil || !IsURL(a.URL) || u.Hostname() == "" {
		return client.Spec{}, errors.New("the URL of the server is not a valid http or https URL")
	}
	if len(a.Env) > 0 {
		return client.Spec{}, errors.New("-e is for a command; a URL takes -H 'Name: value'")
	}
	headers := make(map[string]string)
	for _, h := range a.Headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return client.Spec{}, errors.New("-H must have the form 'Name: value'")
		}
		headers[name] = strings.TrimSpace(value)
	}
	return client.Spec{
		Name: strings.ToLower(u.Host),
		HTTP: &client.HTTP{URL: a.URL, Headers: headers, AllowedHosts: a.AllowedHosts},
	}, nil
}

func (a Adhoc) stdio(o Options) (client.Spec, error) {
	if len(a.Headers) > 0 || a.AllowedHosts != nil {
		return client.Spec{}, errors.New("-H and --allow-host are for a URL; a command takes -e NAME=VALUE")
	}
	env := make(map[string]string)
	for _, e := range a.Env {
		name, value, ok := strings.Cut(e, "=")
		if name == "" {
			return client.Spec{}, errors.New("-e must have the form NAME=VALUE or NAME")
		}
		if !ok {
			if value, ok = o.lookup(name); !ok {
				// Not shown: it may be a value whose name was forgotten.
				return client.Spec{}, errors.New("-e: a variable that was given without a value is not set")
			}
		}
		env[name] = value
	}
	return client.Spec{
		Name:  commandName(a.Command),
		Stdio: &client.Stdio{Command: a.Command[0], Args: a.Command[1:], Env: env},
	}, nil
}

// commandName derives the name of a server from its command.
func commandName(argv []string) string {
	name := baseName(argv[0])
	if !slices.Contains([]string{"npx", "bunx", "uvx", "pipx"}, name) {
		return name
	}
	for _, arg := range argv[1:] {
		if strings.HasPrefix(arg, "-") || name == "pipx" && arg == "run" {
			continue
		}
		pkg, _, _ := strings.Cut(strings.TrimPrefix(arg, "@"), "@") // without the version
		scope, _, scoped := strings.Cut(pkg, "/")
		if pkg = baseName(pkg); scoped && slices.Contains([]string{"mcp", "mcp-server", "server"}, pkg) {
			return scope // as in @playwright/mcp
		}
		if pkg != "" {
			return pkg
		}
	}
	return name
}

// baseName is the last part of a path of either system, without the endings
// that Windows gives to programs.
func baseName(p string) string {
	name := path.Base(strings.ReplaceAll(p, `\`, "/"))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		if n := len(name) - len(ending); n > 0 && strings.EqualFold(name[n:], ending) {
			return name[:n]
		}
	}
	return name
}
