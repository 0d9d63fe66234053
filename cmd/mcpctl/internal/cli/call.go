package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/schemacache"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

type callOptions struct {
	target
	answering
	resultFlags
	args   string
	dryRun bool
	yes    bool
	tool   string   // as on the command line, perhaps with its server
	words  []string // the arguments
}

const callLong = `Calls a tool and prints its result.

The tool is named as it is on its server, behind the name of the server and a
dot. The server can be left out where only one is configured, or where -s or a
command behind -- says which.

Arguments are typed by the tool's schema:

  name=value      a value; a string stays one, whatever it looks like
  name:=JSON      JSON as it is
  name=@FILE      what a file holds, @- standard input; @@ begins a text with @
  name.inner=x    within an object

A name that is repeated makes a list. --args gives a JSON object to begin with.
What does not fit is refused before anything is sent. With --help behind a tool
its arguments are shown.

On a terminal missing arguments are asked for in a form, and so are questions
that the server has in the middle of the call, and the approval that the
configuration (approval in mcp.json) may want. Elsewhere, and with --no-input,
nothing is asked: --answer answers questions, in the same notation, and --yes
approves.

Text is printed as it is; images, sounds and links are a line each, which names
the type and size. --save writes them into files. --jq filters what -o json
prints, an object with the result in it, or with -o structured the structured
content alone.

The exit code is 1 if the tool says that it failed.`

const callExample = `  # A tool of a configured server
  mcpctl call weather.get_forecast city=Berlin days=2

  # Something of the structured result, for a script
  mcpctl call weather.get_forecast city=Berlin -o structured --jq '.days[].high'

  # The chart that a tool draws, as a file
  mcpctl call weather.get_chart city=Berlin --save charts

  # Arguments from a file, and one of them replaced
  mcpctl call weather.get_forecast --args @query.json units=imperial

  # The answer to a question of the server
  mcpctl call desk.reserve room=4 --answer confirm=true

  # A server that is started for this; what would be sent
  mcpctl call get_forecast city=Berlin --dry-run -- mcpctl serve --demo`

func newCallCmd(app *App) *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:        "call [server.]tool [name=value...] [flags] [-- command args...]",
		Short:      "Call a tool",
		SuggestFor: []string{"run", "exec", "invoke", "use"},
		Long:       callLong,
		Example:    callExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = o.split(cmd, args)
			if len(o.words) == 0 || o.words[0] == "" {
				return usageError{errors.New("there is no tool to call"), "mcpctl list shows what there is"}
			}
			o.tool, o.words = o.words[0], o.words[1:]
			return runCall(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.answering.addFlags(cmd)
	o.resultFlags.addFlags(cmd, "text", "json", "structured", "raw")
	f := cmd.Flags()
	f.StringVar(&o.args, "args", "", "arguments to begin with: a JSON `object`, @FILE, or - for stdin")
	cmd.SetHelpFunc(helpOf(app, &o.target, &o.outputFlags, view.Tools))
	f.BoolVar(&o.dryRun, "dry-run", false, "print the arguments that would be sent, and call nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "approve the call, where the configuration wants calls approved")
	return cmd
}

func runCall(ctx context.Context, app *App, o callOptions) error {
	if err := o.resultFlags.check(); err != nil {
		return err
	}
	spec, name, err := o.one(ctx, app, o.tool)
	if err != nil {
		return joined(err, o.words)
	}
	approval := &approver{app: app, config: o.config, yes: o.yes}
	if spec.Approve, err = approval.handler(spec.Name); err != nil {
		return err
	}
	if o.dryRun {
		// Who decides is asked last, when everything else was found right.
		spec.Approve = func(context.Context, client.Approval) (bool, error) { return false, nil }
	}
	return o.during(ctx, app, spec, func(c *client.Client) error { return o.call(ctx, app, c, approval, spec.Name, name) })
}

func (o *callOptions) call(ctx context.Context, app *App, c *client.Client, approval *approver, server, name string) error {
	var progress atomic.Pointer[string]
	stop := app.Err.Progress(func() string {
		if p := progress.Load(); p != nil {
			return *p
		}
		return "waiting for " + ui.Clean(server)
	})
	defer stop()
	found := c.Server(server).Discover(ctx)
	if found.Err != nil {
		return found.Err
	}
	app.remember(server, schemacache.Update{Server: &found.Server})
	tool, err := findTool(c, found.Server, name)
	if err != nil {
		return err
	}
	arguments, err := readArguments(ctx, app, tool.InputSchema, o.args, o.words)
	if err != nil {
		return o.refused(ctx, app, tool, err)
	}
	if arguments, err = app.askMissing(ctx, tool.QualifiedName(), tool.InputSchema, arguments); err != nil {
		return err
	}
	approval.tool = tool.Tool
	if !o.dryRun {
		defer o.tidy()
		if err := o.prepare(app); err != nil {
			return err
		}
	}
	result, err := tool.Call(ctx, client.Call{
		Arguments: arguments, ToolErrors: client.ReturnToolErrors,
		OnProgress: func(p client.Progress) {
			text := progressText(app.Err, tool.Name, p)
			progress.Store(&text)
			if !app.Err.Terminal {
				app.Log.Info("progress", "server", server, "text", text)
			}
		},
	})
	if errors.Is(err, client.ErrInvalidArguments) {
		if invalid, ok := errors.AsType[*client.ArgumentError](err); ok {
			return o.refused(ctx, app, tool, invalid.Err)
		}
	}
	if o.dryRun && errors.Is(err, client.ErrNotApproved) {
		return printed(ctx, func() error { return o.write(ctx, app, arguments) })
	}
	// A result that is not what it should be is shown, and then complained
	// about.
	if result == nil {
		return err
	}
	stop()
	if printErr := o.show(ctx, app, server, tool.Name, result); printErr != nil {
		return printErr
	}
	if err == nil && result.IsError {
		if !o.showsText() {
			return negativeError{fmt.Sprintf("%s: the tool failed: %s", tool.QualifiedName(), clip(contentText(result)))}
		}
		return quietError{negativeError{"the tool failed"}}
	}
	return err
}

// findTool returns a tool of a server, ready to be called, or a suggestion.
func findTool(c *client.Client, s catalog.Server, name string) (client.Tool, error) {
	tool, err := toolNamed(s, name)
	if err != nil {
		return client.Tool{}, err
	}
	s.Tools = []catalog.Tool{tool}
	return c.Tools(catalog.Catalog{Servers: []catalog.Server{s}})[0], nil
}

// toolNamed returns a tool of a server, or a suggestion.
func toolNamed(s catalog.Server, name string) (catalog.Tool, error) {
	var names []string
	problem := ""
	for _, t := range catalog.New(s).Servers[0].Tools {
		switch {
		case t.Name != name && t.Problem == "":
			names = append(names, t.Name)
		case t.Name == name && t.Problem == "":
			return t, nil
		case t.Name == name:
			problem = t.Problem
		}
	}
	if problem != "" {
		return catalog.Tool{}, &client.UnknownToolError{Server: s.Name, Tool: name, Problem: problem}
	}
	unknown := fmt.Errorf("%s: no such tool: %s", s.Name, clip(name))
	if rest, ok := flatName(s.Name, name); ok && slices.Contains(names, rest) {
		name = rest // the server is known already
	}
	return catalog.Tool{}, suggest(unknown, name, names)
}

// refused says how a tool is called whose arguments do not fit.
func (o *callOptions) refused(ctx context.Context, app *App, tool client.Tool, err error) error {
	signature := notation(app.Err).Call(tool.Tool)
	hint := "usage: " + signature
	if u, ok := errors.AsType[usageError](err); ok && u.hint != "" {
		separator := "; "
		if strings.HasSuffix(u.hint, "?") {
			separator = " "
		}
		hint = u.hint + separator + hint
	}
	return exampled{
		usageError{fmt.Errorf("%s: %w", tool.QualifiedName(), err), hint},
		o.exampleCall(ctx, app, "call", tool.Server().Name(), tool.Tool),
	}
}

func progressText(out *ui.Stream, tool string, p client.Progress) string {
	text := fmt.Sprint(p.Progress)
	if p.Total > 0 {
		part := p.Progress / p.Total
		text = fmt.Sprintf("%.0f %%", 100*part)
		if out.Terminal {
			text += " " + out.Bar(part) // what is cut off first
		}
	}
	return ui.Clean(strings.TrimSpace(tool + ": " + text + " " + p.Message))
}

// onlyMember returns the value of an object's only member, nil if there is no
// such.
func onlyMember(raw json.RawMessage) json.RawMessage {
	if members := schemadoc.SplitValid(raw); len(members) == 1 {
		return members[0].Raw
	}
	return nil
}

// showsText reports whether the output has the text of a result, whatever else
// it has.
func (o *callOptions) showsText() bool { return o.jq == "" && o.output != "structured" }

// contentText is the text of a result, on one line.
func contentText(result *client.Result) string {
	var words []string
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			words = append(words, strings.Fields(text.Text)...)
		}
	}
	return strings.Join(words, " ")
}

// show prints a result.
func (o *callOptions) show(ctx context.Context, app *App, server, tool string, result *client.Result) error {
	pieces := make([]piece, len(result.Content))
	for i, c := range result.Content {
		pieces[i].Content = c
	}
	structured, has := result.StructuredContent.(json.RawMessage)
	return o.print(ctx, app, pieces, func() error {
		var b bytes.Buffer
		s := o.screen(app, &o.target, server)
		said := false // what is structured is in a text
		for _, p := range pieces {
			if text, ok := p.Content.(*mcp.TextContent); ok && has {
				// Servers repeat it for clients that know no structure.
				if sameJSON(text.Text, structured) || sameJSON(text.Text, onlyMember(structured)) {
					continue
				}
				var only string
				said = said || json.Unmarshal(onlyMember(structured), &only) == nil && only == text.Text
			}
			s.add(&b, p)
		}
		if has && !said {
			var text bytes.Buffer
			if err := view.WriteJSON(&text, structured); err != nil {
				return err
			}
			s.add(&b, piece{Content: &mcp.TextContent{Text: text.String()}})
		}
		_, err := b.WriteTo(app.Out)
		return err
	}, func(saved []view.Saved) (any, error) {
		switch {
		case o.output == "raw":
			return result.Raw, nil
		case o.output != "structured":
			v := view.NewCall(server, tool, result.IsError, result.Raw)
			v.Saved = saved
			return v, nil
		case !has && result.IsError:
			return nil, nil // why is told at the end
		case !has:
			return nil, hinted{negativeError{fmt.Sprintf("%s.%s: the result has no structured content", server, tool)}, "-o text or -o json shows what it has"}
		}
		return structured, nil
	})
}
