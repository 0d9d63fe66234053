package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

type diffOptions struct {
	target
	outputFlags
	sides  []string
	failOn string
}

const diffLong = `Compares two states of what MCP servers publish, and says of each change what it
means for somebody who calls a tool with the same arguments and reads its
results as before:

  breaking    a call that was right is refused, or a result is not as promised
  risky       it depends on the caller, or it could not be decided
  compatible  neither

Each side is a file (a catalogue, a tools/list result, else a configuration
whose servers are asked), a URL, or - for the server of -s or behind --. What
schemas accept is compared, not how they are written. A server that cannot be
reached is "not discovered", and nothing is said about its tools.

The exit code is 1 if there is a change as grave as --fail-on.`

const diffExample = `  # A saved catalogue and what the configured servers publish now
  mcpctl diff catalogue.json mcp.json

  # Two versions of a server
  mcpctl snapshot -o old.json -- npx -y some-weather-server@1.0.0
  mcpctl diff old.json - -- npx -y some-weather-server@2.0.0

  # In a workflow: annotations and a summary of the step
  mcpctl diff catalogue.json https://example.com/mcp -o github --fail-on risky`

func newDiffCmd(app *App) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:     "diff OLD NEW [flags] [-- command args...]",
		Short:   "Say which changes of tools break their callers",
		Long:    diffLong,
		Example: diffExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.sides = o.split(cmd, args)
			return runDiff(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.outputFlags.addFlags(cmd, "text", "json", "github")
	f := cmd.Flags()
	f.StringVar(&o.failOn, "fail-on", "breaking", "`severity` from which on the exit code is 1: breaking, risky, any or none")
	return cmd
}

func (o *diffOptions) checkFlags() error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	if err := checkFlag("--fail-on", o.failOn, "breaking", "risky", "any", "none"); err != nil {
		return err
	}
	if len(o.sides) != 2 {
		return usagef("diff takes two sides, an old and a new one, not %d", len(o.sides))
	}
	target := 0
	urls := slices.Clone(o.servers)
	for _, side := range o.sides {
		if side == "-" {
			target++
		} else {
			urls = append(urls, side)
		}
	}
	switch {
	case target == 2:
		return usagef("only one side can be -")
	case target == 0 && o.adhoc():
		return usagef("-s and a command behind -- are for a side that is -")
	}
	whole := o.target
	whole.servers = slices.DeleteFunc(urls, func(s string) bool { return !config.IsURL(s) })
	if o.command != nil {
		if len(o.servers) > 0 {
			return o.target.check()
		}
		// The headers are for the URL of the other side.
		command := o.target
		command.servers, command.headers, command.allowedHosts = nil, nil, nil
		if err := command.check(); err != nil {
			return err
		}
		whole.command, whole.env = nil, nil
	}
	return whole.check()
}

// runDiff prints what it found even where a server failed; that then decides
// the exit code.
func runDiff(ctx context.Context, app *App, o diffOptions) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	var states [2]catalog.Catalog
	var results []client.ServerResult
	for i, side := range o.sides {
		state, asked, err := o.state(ctx, app, side)
		if err != nil {
			return err
		}
		states[i] = state
		results = append(results, asked...)
	}
	report := catalog.Diff(states[0], states[1])
	err := app.printReport(ctx, o, report)
	if err = app.reportBeside(err, results, o.output == "json"); err != nil {
		return err
	}
	return verdict(report, o.failOn)
}

// verdict is an error where a report is as grave as is not wanted.
func verdict(r catalog.Report, failOn string) error {
	worst, changed := r.Worst()
	fails := false
	switch failOn {
	case "breaking":
		fails = worst == catalog.Breaking
	case "risky":
		fails = worst >= catalog.Risky
	case "any":
		fails = changed
	}
	if !fails {
		return nil
	}
	return quietError{negativeError{"there are " + worst.String() + " changes"}}
}

// state is one side: what a file holds, or what servers say now.
func (o *diffOptions) state(ctx context.Context, app *App, side string) (catalog.Catalog, []client.ServerResult, error) {
	var specs []client.Spec
	var err error
	switch {
	case side == "-":
		t := o.target
		if !slices.ContainsFunc(t.servers, config.IsURL) {
			t.headers, t.allowedHosts = nil, nil
		}
		specs, err = t.specs(ctx, app)
	case config.IsURL(side):
		t := o.target
		t.servers, t.command, t.env = []string{side}, nil, nil
		specs, err = t.specs(ctx, app)
	default:
		state, isCatalogue, readErr := app.readState(side)
		if readErr != nil || isCatalogue {
			return state, nil, readErr
		}
		specs, err = o.configured(ctx, app, side)
	}
	if err != nil {
		return catalog.Catalog{}, nil, err
	}
	found, err := app.discover(ctx, specs)
	if err != nil {
		return catalog.Catalog{}, nil, err
	}
	return withMissing(found.Results), found.Results, nil
}

// configured are the servers of a configuration.
func (o *diffOptions) configured(ctx context.Context, app *App, file string) ([]client.Spec, error) {
	cfg, err := app.loadConfig(ctx, file)
	if err != nil {
		return nil, err
	}
	specs, err := cfg.Specs()
	if err == nil && len(specs) == 0 {
		err = noServers(cfg)
	}
	return o.override(specs), err
}

// readState reads a file that holds a catalogue. It reports false for one that
// may be a configuration instead.
func (app *App) readState(name string) (catalog.Catalog, bool, error) {
	unreadable := func(err error) error {
		return &config.Error{File: name, Problem: fileError("cannot be read", err).Error(), Err: err}
	}
	info, err := os.Stat(app.absolute(name))
	if err != nil {
		return catalog.Catalog{}, false, unreadable(err)
	}
	if info.Size() > catalog.MaxFileSize {
		return catalog.Catalog{}, false, &config.Error{File: name, Problem: fmt.Sprintf("is larger than %d MiB", catalog.MaxFileSize>>20)}
	}
	data, err := os.ReadFile(app.absolute(name))
	if err != nil {
		return catalog.Catalog{}, false, unreadable(err)
	}
	state, err := catalog.Read(bytes.NewReader(data), "")
	if err == nil {
		return state, true, nil
	}
	var keys struct {
		Servers json.RawMessage `json:"mcpServers"`
		VSCode  json.RawMessage `json:"servers"`
		Catalog json.RawMessage `json:"mcpctlCatalog"`
		Tools   json.RawMessage `json:"tools"`
	}
	switch json.Unmarshal(data, &keys) {
	case nil:
		if keys.Catalog == nil && keys.Tools == nil && (keys.Servers != nil || keys.VSCode != nil) {
			return catalog.Catalog{}, false, nil
		}
	default:
		// A configuration may have comments, a catalogue may not.
		if bytes.Contains(data, []byte("//")) || bytes.Contains(data, []byte("/*")) || bytes.Contains(data, []byte("ervers")) {
			return catalog.Catalog{}, false, nil
		}
	}
	return catalog.Catalog{}, false, &config.Error{File: name, Problem: err.Error(), Err: err}
}

// withMissing is the catalogue of what servers answered, with those that did
// not marked as missing.
func withMissing(results []client.ServerResult) catalog.Catalog {
	var servers []catalog.Server
	for _, r := range results {
		s := r.Server
		s.Name = r.Name
		if r.Err != nil {
			reason := "failed"
			if e, ok := errors.AsType[*client.ServerError](r.Err); ok {
				reason = string(e.Class)
			}
			s = catalog.Server{Name: r.Name, Missing: reason}
		}
		servers = append(servers, s)
	}
	return catalog.New(servers...)
}

func (app *App) printReport(ctx context.Context, o diffOptions, r catalog.Report) error {
	switch {
	case o.output == "github":
		return app.annotate(r, o.sides[1])
	case !o.text():
		return o.write(ctx, app, view.NewDiff(r))
	}
	_, err := fmt.Fprint(app.Out, reportText(app.Out, r))
	return err
}
