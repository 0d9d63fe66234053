package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

type describeOptions struct {
	target
	outputFlags
	ref string // a tool or a prompt, perhaps with its server, or a server
}

const describeLong = `Describes a tool: what it does, its arguments and its result, what the server
claims about it, and a call to begin with. The tool is named as for mcpctl call,
whose --help shows the same page.

What is the name of no tool, but of a prompt, describes the prompt. Where the
name of a server stands alone the server is described.`

const describeExample = `  # A tool of a configured server
  mcpctl describe weather.get_forecast

  # A server
  mcpctl describe weather

  # A tool of a server that is started for this
  mcpctl describe echo -- npx -y @modelcontextprotocol/server-everything`

func newDescribeCmd(app *App) *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:        "describe [server.]tool|[server.]prompt|server [flags] [-- command args...]",
		Short:      "Describe a tool, a prompt or a server",
		SuggestFor: []string{"show", "info", "inspect", "get"},
		Long:       describeLong,
		Example:    describeExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = o.split(cmd, args)
			if len(args) > 1 {
				return usagef("there is one tool, prompt or server to describe at a time, and %d are named", len(args))
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
	spec, name, err := o.oneOf(ctx, app, o.ref, true)
	if err != nil {
		return err
	}
	if name != "" {
		return o.describe(ctx, app, spec, name, view.Tools, view.Prompts)
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

// helpOf makes --help show the page of the tool or prompt that a command line
// names, and the command's own page if it names none. What goes wrong with that
// is kept in app.helpErr, since help cannot fail for cobra.
func helpOf(app *App, t *target, f *outputFlags, kind view.Kind) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		words := t.split(cmd, cmd.Flags().Args())
		if len(words) == 0 {
			cmd.Parent().HelpFunc()(cmd, args)
			return
		}
		o := describeOptions{target: *t, outputFlags: *f}
		if o.output != "json" {
			o.output = "text"
		}
		err := cmd.Root().PersistentPreRunE(cmd, args)
		if err == nil {
			err = o.outputFlags.check()
		}
		if err == nil {
			err = o.help(cmd.Context(), app, words[0], kind)
		}
		if err != nil {
			hint := cmd.CommandPath() + " --help alone shows how the command is used"
			if other := describe(err).Hint; other != "" {
				hint = other + "; " + hint
			}
			err = hinted{err, hint}
		}
		app.helpErr = err
	}
}

func (o *describeOptions) help(ctx context.Context, app *App, ref string, kind view.Kind) error {
	spec, name, err := o.one(ctx, app, ref)
	if err != nil {
		return err
	}
	return o.describe(ctx, app, spec, name, kind)
}

// describe shows the page of what has a name in the first kind that has it.
func (o *describeOptions) describe(ctx context.Context, app *App, spec client.Spec, name string, kinds ...view.Kind) error {
	offers, err := app.offers(ctx, []client.Spec{spec}, kinds...)
	if err != nil {
		return err
	}
	offer := offers[0]
	var failed error
	for _, kind := range kinds {
		tool, document, err := described(offer, kind, name)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		command := "call"
		if kind == view.Prompts {
			command = "prompt"
		}
		return printed(ctx, func() error {
			if !o.text() {
				return o.write(ctx, app, document)
			}
			_, err := fmt.Fprint(app.Out, toolPage(app.Out, offer.Name, tool, o.exampleCall(ctx, app, command, offer.Name, tool)))
			return err
		})
	}
	if is[usageError](failed) && len(kinds) > 1 {
		var names []string
		for _, t := range offer.Server.Tools {
			if t.Problem == "" {
				names = append(names, t.Name)
			}
		}
		for _, p := range offer.Prompts {
			names = append(names, p.Name)
		}
		failed = suggest(fmt.Errorf("%s: no such tool or prompt: %s", offer.Name, clip(name)), name, names)
	}
	return cmp.Or(offer.Err, failed)
}

// described returns a tool, or a prompt in the shape of one, and its document.
func described(offer view.Offer, kind view.Kind, name string) (catalog.Tool, any, error) {
	if kind == view.Prompts {
		prompt, err := promptNamed(offer.Name, offer.Prompts, name)
		if err != nil {
			return catalog.Tool{}, nil, err
		}
		return promptTool(prompt), view.NewDescribedPrompt(offer.Name, prompt), nil
	}
	tool, err := toolNamed(offer.Server, name)
	return tool, view.NewDescribed(offer.Name, tool), err
}
