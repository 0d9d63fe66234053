package cli

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/spf13/cobra"
)

type snapshotOptions struct {
	target
	output  string
	partial bool
}

const snapshotLong = `Saves what MCP servers publish as a catalogue: all configured ones, or those
that are named. The same servers give the same bytes, so that a repository can
hold the file and "mcpctl diff" can compare with it.

If any server fails nothing is written and an old file stays, unless --partial
is given: then the file says which servers are missing. The failure decides the
exit code either way.`

const snapshotExample = `  # All configured servers
  mcpctl snapshot -o catalogue.json

  # One server that is started for this
  mcpctl snapshot -o everything.json -- npx -y @modelcontextprotocol/server-everything

  # What changed since
  mcpctl diff catalogue.json mcp.json`

func newSnapshotCmd(app *App) *cobra.Command {
	var o snapshotOptions
	cmd := &cobra.Command{
		Use:     "snapshot [server|URL...] [flags] [-- command args...]",
		Short:   "Save what servers publish, to compare with later",
		Long:    snapshotLong,
		Example: snapshotExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.servers = append(o.servers, o.split(cmd, args)...)
			return runSnapshot(cmd.Context(), app, o)
		},
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "`file` to write (default standard output)")
	f.BoolVar(&o.partial, "partial", false, "write the file even if a server failed, and mark that server as missing")
	return cmd
}

func runSnapshot(ctx context.Context, app *App, o snapshotOptions) error {
	specs, err := o.specs(ctx, app)
	if err != nil {
		return err
	}
	path := app.absolute(o.output)
	if err := app.checkCatalog(path, false); err != nil {
		return err
	}
	found, err := app.discover(ctx, specs)
	if err != nil {
		return err
	}
	failed := app.report(found.Results, false)
	if failed != nil && !o.partial {
		if o.output != "" {
			fmt.Fprintf(app.Err, "%s %s stays as it is; --partial writes it without the servers that failed\n", app.Err.Faint("hint:"), o.output)
		}
		return failed
	}
	var b bytes.Buffer
	if err := withMissing(found.Results).Write(&b); err != nil {
		return err
	}
	if o.output == "" {
		if _, err := app.Out.Write(b.Bytes()); err != nil {
			return err
		}
		return failed
	}
	written, err := atomicfile.Write(ctx, []atomicfile.File{{Path: path, Data: b.Bytes()}}, app.Files)
	if err != nil {
		return err
	}
	status := "unchanged"
	if len(written) > 0 {
		status = "wrote"
	}
	fmt.Fprintf(app.Err, "%s %s\n", status, app.relative(path))
	return failed
}
