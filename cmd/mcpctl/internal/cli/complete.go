package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/schemacache"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

type completeOptions struct {
	target
	outputFlags
	ref   string   // a prompt, perhaps with its server, or a template
	words []string // the argument, then others that are decided
}

const completeLong = `Asks a server what an argument of a prompt, or a variable of a resource
template, may be, and prints the values, one on a line.

The first argument behind the prompt or template is the one to complete, with
what there is of it; those behind it are decided already. What has a { in it is
a template. A prompt is named as for mcpctl prompt.`

const completeExample = `  # Which cities begin with B?
  mcpctl complete weather.packing_list city=B

  # A variable of a template, of one of several servers
  mcpctl complete -s weather 'weather://cities/{name}' name=

  # With another argument that is decided
  mcpctl complete hr.report name= department=Sales -o json`

func newCompleteCmd(app *App) *cobra.Command {
	var o completeOptions
	cmd := &cobra.Command{
		Use:     "complete [server.]prompt|template name=prefix [name=value...] [flags] [-- command args...]",
		Short:   "Ask what an argument of a prompt or template may be",
		Long:    completeLong,
		Example: completeExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = o.split(cmd, args)
			if len(o.words) < 2 {
				return usageError{errors.New("there must be a prompt or a template, and the argument to complete as name=prefix"), "mcpctl list prompts and mcpctl list templates show what there is"}
			}
			o.ref, o.words = o.words[0], o.words[1:]
			return runComplete(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.outputFlags.addFlags(cmd, "text", "json")
	return cmd
}

// isTemplate reports whether a reference is a resource template. One without a
// variable has nothing to complete.
func isTemplate(ref string) bool { return strings.Contains(ref, "{") }

func runComplete(ctx context.Context, app *App, o completeOptions) error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	ref := o.ref
	if isTemplate(ref) {
		ref = "" // what a URI begins with says nothing about servers
	}
	spec, ref, err := o.one(ctx, app, ref)
	if err != nil {
		return err
	}
	c, err := app.open(ctx, []client.Spec{spec}, client.Options{})
	if err != nil {
		return err
	}
	return errors.Join(o.complete(ctx, app, c.Server(spec.Name), ref), c.Close(context.WithoutCancel(ctx)))
}

func (o *completeOptions) complete(ctx context.Context, app *App, server *client.Server, prompt string) error {
	var request client.Completion
	var names []string
	var err error
	if isTemplate(o.ref) {
		request.Template = o.ref
		names, err = o.variables(ctx, app, server)
	} else {
		request.Prompt = prompt
		names, err = promptArguments(ctx, app, server, prompt)
	}
	if err != nil {
		return err
	}
	if request.Argument, request.Value, err = o.word(ctx, app, names, o.words[0]); err != nil {
		return err
	}
	request.Arguments = make(map[string]string)
	for _, word := range o.words[1:] {
		name, value, err := o.word(ctx, app, names, word)
		if err != nil {
			return err
		}
		if _, twice := request.Arguments[name]; twice || name == request.Argument {
			return usagef("argument %s is given twice, and it takes one value", name)
		}
		request.Arguments[name] = value
	}
	found, err := server.Complete(ctx, request)
	if err != nil {
		return err
	}
	return printed(ctx, func() error {
		if !o.text() {
			return o.write(ctx, app, view.NewCompletions(server.Name(), request, found))
		}
		var b strings.Builder
		for _, value := range found.Values {
			fmt.Fprintln(&b, ui.Clean(value))
		}
		if _, err := fmt.Fprint(app.Out, b.String()); err != nil {
			return err
		}
		if found.More && app.Err.Terminal {
			fmt.Fprintln(app.Err, app.Err.Faint("there are more; the server gives no more than these"))
		}
		return nil
	})
}

// word reads an argument, whose value is a text.
func (o *completeOptions) word(ctx context.Context, app *App, names []string, word string) (name, value string, err error) {
	properties := newObject()
	for _, name := range names {
		properties.set(name, map[string]string{"type": "string"})
	}
	members, err := properties.MarshalJSON()
	if err != nil {
		return "", "", err
	}
	object, err := readArguments(ctx, app, append(append([]byte(`{"properties":`), members...), '}'), "", []string{word})
	if err != nil {
		return "", "", err
	}
	values, err := texts(object)
	if err != nil {
		return "", "", err
	}
	for name, value = range values { // the only one
		break
	}
	return name, value, nil
}

// promptArguments returns the names of the arguments of a prompt.
func promptArguments(ctx context.Context, app *App, server *client.Server, name string) ([]string, error) {
	prompts, err := server.Prompts(ctx)
	if err != nil {
		return nil, err
	}
	app.remember(server.Name(), schemacache.Update{Prompts: rawPrompts(prompts)})
	var others []string
	for _, p := range prompts {
		if p.Name == name {
			var names []string
			for _, a := range p.Arguments {
				names = append(names, a.Name)
			}
			return names, nil
		}
		others = append(others, p.Name)
	}
	return nil, suggest(fmt.Errorf("%s: no such prompt: %s", server.Name(), clip(name)), name, others)
}

// variables returns the names of the variables of the template.
func (o *completeOptions) variables(ctx context.Context, app *App, server *client.Server) ([]string, error) {
	templates, err := server.ResourceTemplates(ctx)
	if err != nil {
		return nil, err
	}
	app.remember(server.Name(), schemacache.Update{Templates: rawTemplates(templates)})
	var others []string
	for _, t := range templates {
		if t.URITemplate == o.ref {
			return t.Variables(), nil
		}
		others = append(others, t.URITemplate)
	}
	return nil, suggest(fmt.Errorf("%s: no such template: %s", server.Name(), clip(o.ref)), o.ref, others)
}
