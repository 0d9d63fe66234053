package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/schemacache"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

type readOptions struct {
	target
	answering
	resultFlags
	uri string
}

const readLong = `Reads a resource of a server and prints what it holds.

Text is printed as it is. What is no text is printed as it is too, unless
standard output is a terminal.`

const readExample = `  # A resource of the only configured server
  mcpctl read memo://note

  # Of one of several, into a file
  mcpctl read -s files file:///srv/logo.png > logo.png

  # As the server sent it
  mcpctl read memo://note -o raw`

func newReadCmd(app *App) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:        "read URI [flags] [-- command args...]",
		Short:      "Read a resource",
		SuggestFor: []string{"cat", "resource"},
		Long:       readLong,
		Example:    readExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = o.split(cmd, args)
			if len(args) != 1 {
				return usageError{fmt.Errorf("there must be one URI to read, not %d", len(args)), "mcpctl list resources shows what there is"}
			}
			o.uri = args[0]
			return runRead(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.answering.addFlags(cmd)
	o.resultFlags.addFlags(cmd, "text", "json", "raw")
	return cmd
}

func runRead(ctx context.Context, app *App, o readOptions) error {
	if err := o.resultFlags.check(); err != nil {
		return err
	}
	if variable := regexp.MustCompile(`\{[^{}]*\}`).FindString(o.uri); variable != "" {
		return usageError{fmt.Errorf("%s is a template and no URI", clip(o.uri)), "put a value in the place of " + clip(variable)}
	}
	// A URI is no name: what it begins with says nothing about servers.
	spec, _, err := o.one(ctx, app, "")
	if errors.Is(err, errSeveral) {
		if owners := app.owners(o.config, o.uri); len(owners) > 0 {
			err = hinted{err, "did you mean -s " + strings.Join(owners, " or -s ") + "?"}
		}
	}
	if err != nil {
		return err
	}
	defer o.tidy()
	if err := o.prepare(app); err != nil {
		return err
	}
	return o.during(ctx, app, spec, func(c *client.Client) error {
		stop := app.Err.Progress(func() string { return "waiting for " + ui.Clean(spec.Name) })
		result, err := c.Server(spec.Name).ReadResource(ctx, o.uri)
		stop()
		if err != nil {
			return err
		}
		return o.show(ctx, app, spec.Name, result)
	})
}

func (o *readOptions) show(ctx context.Context, app *App, server string, result *client.ReadResult) error {
	pieces := make([]piece, len(result.Contents))
	for i, c := range result.Contents {
		pieces[i].Content = &mcp.EmbeddedResource{Resource: c}
	}
	return o.print(ctx, app, pieces, func() error {
		var b bytes.Buffer
		s := o.screen(app, &o.target, server)
		person := app.Out.Terminal || s.images != ui.NoImages
		for i, c := range result.Contents {
			switch {
			case c == nil, pieces[i].saved != nil, c.Blob != nil && person:
				s.add(&b, pieces[i])
			case c.Blob != nil:
				b.Write(c.Blob)
			case app.Out.Terminal:
				s.add(&b, piece{Content: &mcp.TextContent{Text: c.Text}})
			default:
				b.WriteString(c.Text) // not a byte more
			}
		}
		_, err := b.WriteTo(app.Out)
		return err
	}, func(saved []view.Saved) (any, error) {
		if o.output == "raw" {
			return result.Raw, nil
		}
		v := view.NewRead(server, o.uri, result.Raw)
		v.Saved = saved
		return v, nil
	})
}

type promptOptions struct {
	target
	answering
	resultFlags
	prompt string   // as on the command line, perhaps with its server
	words  []string // the arguments
}

const promptLong = `Fills in a prompt of a server and prints its messages.

The prompt is named like a tool of mcpctl call: behind the name of its server
and a dot, where several are configured. Arguments are texts. With --help behind
a prompt its page is shown: what it is for, and its arguments.`

const promptExample = `  # A prompt of a configured server
  mcpctl prompt desk.greet name=Ada

  # The texts alone, for a script
  mcpctl prompt desk.greet name=Ada --jq '.messages[].content.text'`

func newPromptCmd(app *App) *cobra.Command {
	var o promptOptions
	cmd := &cobra.Command{
		Use:     "prompt [server.]prompt [name=value...] [flags] [-- command args...]",
		Short:   "Fill in a prompt",
		Long:    promptLong,
		Example: promptExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = o.split(cmd, args)
			if len(o.words) == 0 {
				return usageError{errors.New("there is no prompt to fill in"), "mcpctl list prompts shows what there is"}
			}
			o.prompt, o.words = o.words[0], o.words[1:]
			return runPrompt(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.answering.addFlags(cmd)
	o.resultFlags.addFlags(cmd, "text", "json", "raw")
	cmd.SetHelpFunc(helpOf(app, &o.target, &o.outputFlags, view.Prompts))
	return cmd
}

func runPrompt(ctx context.Context, app *App, o promptOptions) error {
	if err := o.resultFlags.check(); err != nil {
		return err
	}
	spec, name, err := o.one(ctx, app, o.prompt)
	if err != nil {
		return joined(err, o.words)
	}
	return o.during(ctx, app, spec, func(c *client.Client) error { return o.get(ctx, app, c.Server(spec.Name), name) })
}

func (o *promptOptions) get(ctx context.Context, app *App, server *client.Server, name string) error {
	stop := app.Err.Progress(func() string { return "waiting for " + ui.Clean(server.Name()) })
	defer stop()
	prompts, err := server.Prompts(ctx)
	if err != nil {
		return err
	}
	app.remember(server.Name(), schemacache.Update{Prompts: rawPrompts(prompts)})
	arguments, err := o.arguments(ctx, app, prompts, server.Name(), name)
	if err != nil {
		return err
	}
	defer o.tidy()
	if err := o.prepare(app); err != nil {
		return err
	}
	result, err := server.GetPrompt(ctx, name, arguments)
	if err != nil {
		return err
	}
	stop()
	return o.show(ctx, app, server.Name(), name, result)
}

// arguments checks the words by what the prompt takes.
func (o *promptOptions) arguments(ctx context.Context, app *App, prompts []client.Prompt, server, name string) (map[string]string, error) {
	prompt, err := promptNamed(server, prompts, name)
	if err != nil {
		return nil, err
	}
	schema := promptTool(prompt).InputSchema
	object, err := readArguments(ctx, app, schema, "", o.words)
	if err != nil {
		return nil, err
	}
	if object, err = app.askMissing(ctx, server+"."+name, schema, object); err != nil {
		return nil, err
	}
	values, err := texts(object)
	if err != nil {
		return nil, err
	}
	for _, a := range prompt.Arguments {
		if _, ok := values[a.Name]; a.Required && !ok {
			return nil, usageError{fmt.Errorf("%s.%s: missing %q", server, name, a.Name), "usage: " + promptUsage(prompt)}
		}
	}
	return values, nil
}

// promptNamed returns one of the prompts of a server.
func promptNamed(server string, prompts []client.Prompt, name string) (client.Prompt, error) {
	var names []string
	for _, p := range prompts {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return client.Prompt{}, suggest(fmt.Errorf("%s: no such prompt: %s", server, clip(name)), name, names)
}

// promptTool is the tool that a prompt would be: one whose arguments are all
// texts.
func promptTool(p client.Prompt) catalog.Tool {
	properties, required := newObject(), []string{}
	for _, a := range p.Arguments {
		properties.set(a.Name, map[string]string{"type": "string", "description": a.Description})
		if a.Required {
			required = append(required, a.Name)
		}
	}
	schema, err := json.Marshal(map[string]any{"properties": properties, "required": required})
	if err != nil {
		panic(err) // texts alone
	}
	return catalog.Tool{Name: p.Name, Title: p.Title, Description: p.Description, InputSchema: schema}
}

// promptUsage is a prompt with the names of its arguments.
func promptUsage(p client.Prompt) string {
	words := []string{p.Name}
	for _, a := range p.Arguments {
		word := a.Name + "=" + strings.ToUpper(a.Name)
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return ui.Clean(clip(strings.Join(words, " ")))
}

func (o *promptOptions) show(ctx context.Context, app *App, server, name string, result *client.PromptResult) error {
	pieces := make([]piece, len(result.Messages))
	for i, m := range result.Messages {
		pieces[i].Content = m.Content
	}
	return o.print(ctx, app, pieces, func() error {
		var b bytes.Buffer
		s := o.screen(app, &o.target, server)
		for i, m := range result.Messages {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintln(&b, app.Out.Bold(ui.Clean(string(m.Role))+":"))
			s.add(&b, pieces[i])
		}
		_, err := b.WriteTo(app.Out)
		return err
	}, func(saved []view.Saved) (any, error) {
		if o.output == "raw" {
			return result.Raw, nil
		}
		v := view.NewPrompt(server, name, result.Raw)
		v.Saved = saved
		return v, nil
	})
}
