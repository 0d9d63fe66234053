package cli

import (
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

type describeOptions struct {
	target
	outputFlags
	ref string // a tool, perhaps with its server, or a server
}

const describeLong = `Describes a tool: what it does, its arguments and its result, what the server
claims about it, and a call to begin with. The tool is named as for mcpctl call,
whose --help shows the same page.

Where the name of a server stands alone the server is described.`

const describeExample = `  # A tool of a configured server
  mcpctl describe weather.get_forecast

  # A server
  mcpctl describe weather

  # A tool of a server that is started for this
  mcpctl describe echo -- npx -y @modelcontextprotocol/server-everything`

func newDescribeCmd(app *App) *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:     "describe [server.]tool|server [flags] [-- command args...]",
		Short:   "Describe a tool or a server",
		Long:    describeLong,
		Example: describeExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = o.split(cmd, args)
			if len(args) > 1 {
				return usagef("there is one tool or server to describe at a time, and %d are named", len(args))
			}
			if len(args) == 1 {
				o.ref = args[0]
			}
			return runDescribe(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.outputFlags.addFlags(cmd, "text", "json")
	return cmd
}

func runDescribe(ctx context.Context, app *App, o describeOptions) error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	spec, tool, err := o.oneOf(ctx, app, o.ref, true)
	if err != nil {
		return err
	}
	if tool != "" {
		return o.describeTool(ctx, app, spec, tool)
	}
	offers, err := app.offers(ctx, []client.Spec{spec}, view.Kinds...)
	if err != nil {
		return err
	}
	offer := offers[0]
	if offer.Err != nil {
		return offer.Err
	}
	return printed(ctx, func() error {
		if o.text() {
			_, err := fmt.Fprint(app.Out, serverPage(app.Out, offer))
			return err
		}
		status := view.NewStatus(offer, describe)
		status.Instructions = offer.Server.Instructions
		return o.write(ctx, app, status)
	})
}

// helpOf makes --help show the page of the tool that a command line of call
// names, and the command's own page if it names none. What goes wrong with that
// is kept in app.helpErr, since help cannot fail for cobra.
func helpOf(app *App, o *callOptions) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		words := o.split(cmd, cmd.Flags().Args())
		if len(words) == 0 {
			cmd.Parent().HelpFunc()(cmd, args)
			return
		}
		d := describeOptions{target: o.target, outputFlags: o.outputFlags}
		if d.output != "json" {
			d.output = "text"
		}
		err := cmd.Root().PersistentPreRunE(cmd, args)
		if err == nil {
			err = d.outputFlags.check()
		}
		if err == nil {
			err = d.help(cmd.Context(), app, words[0])
		}
		if err != nil {
			hint := "mcpctl call --help alone shows how the command is used"
			if other := describe(err).Hint; other != "" {
				hint = other + "; " + hint
			}
			err = hinted{err, hint}
		}
		app.helpErr = err
	}
}

func (o *describeOptions) help(ctx context.Context, app *App, ref string) error {
	spec, tool, err := o.one(ctx, app, ref)
	if err != nil {
		return err
	}
	return o.describeTool(ctx, app, spec, tool)
}

// describeTool shows the page of a tool.
func (o *describeOptions) describeTool(ctx context.Context, app *App, spec client.Spec, name string) error {
	offers, err := app.offers(ctx, []client.Spec{spec}, view.Tools)
	if err != nil {
		return err
	}
	offer := offers[0]
	if offer.Err != nil {
		return offer.Err
	}
	tool, err := toolNamed(offer.Server, name)
	if err != nil {
		return err
	}
	return printed(ctx, func() error {
		if !o.text() {
			return o.write(ctx, app, view.NewDescribed(offer.Name, tool))
		}
		_, err := fmt.Fprint(app.Out, toolPage(app.Out, offer.Name, tool, o.exampleCall(ctx, app, offer.Name, tool)))
		return err
	})
}
