package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

// target says which servers a command is about, by the one rule that all
// commands share: those behind -s, or the command behind --, else all that are
// configured.
type target struct {
	servers         []string // names and URLs
	command         []string // behind --
	env             []string
	headers         []string
	allowedHosts    []string
	timeout         time.Duration
	protocolVersion string

	config *config.Config // the one that was loaded, if any
}

func (t *target) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&t.servers, "server", "s", nil, "server to ask: a configured `name`, or a URL (repeatable)")
	f.StringArrayVarP(&t.env, "env", "e", nil, "`NAME=VALUE` for the command behind --, or NAME to pass it on (repeatable)")
	f.StringArrayVarP(&t.headers, "header", "H", nil, "`'Name: value'` sent to a URL (repeatable)")
	f.StringArrayVar(&t.allowedHosts, "allow-host", nil, "`host` that a URL may lead to; without it, any (repeatable)")
	f.DurationVar(&t.timeout, "timeout", 0, "`time` for each server, such as 5s; instead of the configured one")
	f.StringVar(&t.protocolVersion, "protocol-version", "", "`revision` to insist on: 2026-07-28 or legacy")
}

// split separates what stands behind -- from a command's own arguments.
func (t *target) split(cmd *cobra.Command, args []string) []string {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return args
	}
	// An empty command is a mistake too, so it must not look like none.
	t.command = append([]string{}, args[dash:]...)
	return args[:dash]
}

// adhoc reports whether the target was given on the command line.
func (t *target) adhoc() bool { return t.command != nil || len(t.servers) > 0 }

// check finds mistakes that need no configuration.
func (t *target) check() error {
	if t.command != nil {
		if len(t.servers) > 0 {
			return usagef("a server and a command behind -- exclude each other")
		}
		if len(t.command) == 0 {
			return usagef("there is no command behind --")
		}
	}
	urls := 0
	for _, s := range t.servers {
		if config.IsURL(s) {
			urls++
		}
	}
	if len(t.env) > 0 && t.command == nil {
		return usagef("-e is for a command behind --; a configured server has env in its configuration")
	}
	if (len(t.headers) > 0 || len(t.allowedHosts) > 0) && urls == 0 {
		return usagef("-H and --allow-host are for a URL; a configured server has headers and allowedHosts in its configuration")
	}
	if len(t.headers) > 0 && urls > 1 {
		return usagef("-H goes with one URL only, so that no server gets what is meant for another")
	}
	if t.timeout < 0 {
		return usagef("--timeout must not be negative")
	}
	switch client.Protocol(t.protocolVersion) {
	case "", client.Protocol20260728, client.ProtocolLegacy:
		return nil
	}
	return usagef("--protocol-version must be 2026-07-28 or legacy, not %q", t.protocolVersion)
}

// specs says what to connect to.
func (t *target) specs(ctx context.Context, app *App) ([]client.Spec, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	var specs []client.Spec
	var names []string
	if t.command != nil {
		spec, err := t.spec(app, config.Adhoc{Command: t.command, Env: t.env})
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	for _, s := range t.servers {
		if !config.IsURL(s) {
			names = append(names, s)
			continue
		}
		spec, err := t.spec(app, config.Adhoc{URL: s, Headers: t.headers, AllowedHosts: t.allowedHosts})
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	if len(names) > 0 || !t.adhoc() {
		cfg, err := app.loadConfig(ctx, "")
		if err != nil {
			return nil, err
		}
		t.config = cfg
		configured, err := cfg.Specs(names...)
		if err != nil {
			return nil, err
		}
		if len(configured) == 0 {
			return nil, noServers(cfg)
		}
		specs = append(configured, specs...)
	}
	unique(specs)
	return t.override(specs), nil
}

// one says which server is meant, for commands that speak with one: the given
// one, the one that ref begins with, or the only one that is configured. It
// returns ref without the name of the server.
func (t *target) one(ctx context.Context, app *App, ref string) (client.Spec, string, error) {
	return t.oneOf(ctx, app, ref, false)
}

// oneOf is [target.one], and where whole is set ref may be the name of a server
// and nothing else.
func (t *target) oneOf(ctx context.Context, app *App, ref string, whole bool) (client.Spec, string, error) {
	if t.adhoc() {
		if len(t.servers) > 1 {
			return client.Spec{}, "", usagef("this is for one server, and -s names %d", len(t.servers))
		}
		specs, err := t.specs(ctx, app)
		if err != nil {
			return client.Spec{}, "", err
		}
		return specs[0], ref, nil
	}
	if err := t.check(); err != nil {
		return client.Spec{}, "", err
	}
	cfg, err := app.loadConfig(ctx, "")
	if err != nil {
		return client.Spec{}, "", err
	}
	t.config = cfg
	server, rest := "", ref
	for _, name := range cfg.Names() {
		// Other names may have dots too; the longest server wins.
		if after, ok := strings.CutPrefix(ref, name+"."); ok && len(name) > len(server) {
			server, rest = name, after
		}
		if whole && name == ref {
			server, rest = name, ""
			break
		}
	}
	enabled := cfg.Enabled()
	switch {
	case server != "" && rest == "" && !whole:
		return client.Spec{}, "", nothingNamed(server)
	case server != "":
	case len(enabled) == 0:
		return client.Spec{}, "", noServers(cfg)
	case len(enabled) == 1:
		server = enabled[0]
	default:
		return client.Spec{}, "", app.whichServer(cfg, ref)
	}
	specs, err := cfg.Specs(server)
	if err != nil {
		return client.Spec{}, "", err
	}
	return t.override(specs)[0], rest, nil
}

// errSeveral is that nothing says which server is meant.
var errSeveral = errors.New("several servers are configured; -s says which is meant")

// whichServer says that ref, or nothing at all, does not tell which of several
// servers is meant, and what may have been.
func (app *App) whichServer(cfg *config.Config, ref string) error {
	enabled := cfg.Enabled()
	hint := "the servers are " + strings.Join(enabled, ", ")
	switch {
	case ref == "":
		return usageError{errSeveral, hint}
	case slices.Contains(enabled, ref):
		return nothingNamed(ref)
	}
	var meant []string
	for _, server := range app.owners(cfg, ref) {
		meant = append(meant, server+"."+ref)
	}
	for _, server := range enabled {
		if rest, ok := flatName(server, ref); ok {
			meant = append(meant, server+"."+rest)
		}
	}
	first, _, _ := strings.Cut(ref, ".")
	if near := config.Nearest(first, enabled); len(meant) > 0 {
		hint = fmt.Sprintf("did you mean %s?", clip(strings.Join(meant, " or ")))
	} else if near != "" {
		hint = fmt.Sprintf("did you mean the server %s?", near)
	}
	return usageError{fmt.Errorf("%s does not begin with the name of a server", clip(ref)), hint}
}

// serverAlone is the name of a server where something of it must be named.
type serverAlone string

func (e serverAlone) Error() string {
	return string(e) + " is a server, and nothing of it is named"
}

func nothingNamed(server string) error {
	return usageError{serverAlone(server), "put what is meant behind its name and a dot: " + server + ".NAME"}
}

// joined takes a word behind the name of a server for what is meant of it, as
// other programs do.
func joined(err error, words []string) error {
	server, alone := errors.AsType[serverAlone](err)
	if !alone || len(words) == 0 || strings.Contains(words[0], "=") {
		return err
	}
	return hinted{err, fmt.Sprintf("did you mean %s.%s?", string(server), clip(words[0]))}
}

// flatName returns what stands behind the name of a server in the notation of
// other programs: server_tool, as models are given names, or server/tool.
func flatName(server, ref string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(ref, server)
	if !ok || len(rest) < 2 || !strings.ContainsAny(rest[:1], "._/:") {
		return "", false
	}
	return rest[1:], true
}

func (t *target) spec(app *App, a config.Adhoc) (client.Spec, error) {
	spec, err := a.Spec(app.configOptions())
	if err != nil {
		return spec, usageError{err: err}
	}
	return spec, nil
}

// unique numbers servers of one name: two URLs of one host, or a host that a
// configured server is named after.
func unique(specs []client.Spec) {
	used := make(map[string]bool)
	for i := range specs {
		name := specs[i].Name
		for n := 2; used[specs[i].Name]; n++ {
			specs[i].Name = fmt.Sprintf("%s-%d", name, n)
		}
		used[specs[i].Name] = true
	}
}

// override lets flags win over the configuration.
func (t *target) override(specs []client.Spec) []client.Spec {
	for i := range specs {
		if t.timeout > 0 {
			specs[i].Timeout = t.timeout
		}
		if t.protocolVersion != "" {
			specs[i].Protocol = client.Protocol(t.protocolVersion)
		}
	}
	return specs
}

func noServers(cfg *config.Config) error {
	e := &config.Error{File: cfg.File.Name, Problem: "no servers are configured"}
	if len(cfg.Names()) > 0 {
		e.Problem = "all servers are disabled"
		e.Hint = "name one with -s to use it all the same"
		return e
	}
	e.Hint = `begin with {"mcpServers": {"demo": {"command": "mcpctl", "args": ["serve", "--demo"]}}}, or try: mcpctl list -- mcpctl serve --demo`
	return e
}
