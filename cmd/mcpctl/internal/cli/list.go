package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

type listOptions struct {
	target
	outputFlags
	names  bool
	schema bool
}

const listLong = `Lists the tools of MCP servers: all configured ones, or those that are named.

Each server is asked at the same time as the others, and one that fails does not
hide what the others offer: it is reported, and decides the exit code.`

const listExample = `  # All configured servers
  mcpctl list

  # Some of them, and one that is not configured
  mcpctl list weather https://example.com/mcp

  # A server that is started for this
  mcpctl list -- npx -y @modelcontextprotocol/server-everything

  # The names of read-only tools
  mcpctl list --jq '.servers[].tools[] | select(.annotations.readOnlyHint) | .name'`

func newListCmd(app *App) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "list [server|URL...] [flags] [-- command args...]",
		Short:   "List the tools of servers",
		Long:    listLong,
		Example: listExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.servers = append(o.servers, o.split(cmd, args)...)
			return runList(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.outputFlags.addFlags(cmd, "text", "json")
	cmd.Flags().BoolVar(&o.names, "names", false, "print names alone, a line each; server.tool when there are several servers")
	cmd.Flags().BoolVar(&o.schema, "schema", false, "print the schemas of each tool too")
	cmd.MarkFlagsMutuallyExclusive("names", "schema")
	return cmd
}

func runList(ctx context.Context, app *App, o listOptions) error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	if o.names && !o.text() {
		return usagef("--names is text; in JSON every tool has its name")
	}
	specs, err := o.specs(ctx, app)
	if err != nil {
		return err
	}
	found, err := app.discover(ctx, specs)
	if err != nil {
		return err
	}
	// A reader that does not read must not keep the program from ending.
	_, err = await(ctx, func() (struct{}, error) { return struct{}{}, printList(ctx, app, o, found.Results) })
	if err != nil {
		return err
	}
	for _, r := range found.Results {
		for _, t := range r.Server.Tools {
			if t.Problem != "" {
				app.warn(fmt.Sprintf("%s: tool %q is left out: %s", r.Name, t.Name, t.Problem), "")
			}
		}
	}
	return app.report(found.Results, o.output == "json")
}

func printList(ctx context.Context, app *App, o listOptions, results []client.ServerResult) error {
	if !o.text() {
		list := view.List{Servers: []view.Server{}}
		for _, r := range results {
			list.Servers = append(list.Servers, view.NewServer(r, describe))
		}
		return o.write(ctx, app, list)
	}
	var b strings.Builder
	shown := 0
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		if o.names {
			listNames(&b, r.Server, len(results) > 1)
			continue
		}
		if shown > 0 {
			b.WriteByte('\n')
		}
		shown++
		listServer(&b, app.Out, r, o.schema)
	}
	_, err := fmt.Fprint(app.Out, b.String())
	return err
}

func listNames(b *strings.Builder, s catalog.Server, qualified bool) {
	for _, t := range s.Tools {
		if t.Problem != "" {
			continue
		}
		if qualified {
			b.WriteString(ui.Clean(s.Name) + ".")
		}
		b.WriteString(ui.Clean(t.Name) + "\n")
	}
}

func listServer(b *strings.Builder, out *ui.Stream, r client.ServerResult, schema bool) {
	var tools []catalog.Tool
	for _, t := range r.Server.Tools {
		if t.Problem == "" {
			tools = append(tools, t)
		}
	}
	facts := []string{plural(len(tools), "tool"), string(r.Transport), r.Server.ProtocolVersion, latency(r.Duration)}
	fmt.Fprintf(b, "%s  %s\n", out.Bold(ui.Clean(r.Name)), out.Faint(strings.Join(facts, " · ")))
	for _, t := range tools {
		signature := ui.Clean(view.Signature(t))
		name := ui.Clean(t.Name)
		fmt.Fprintf(b, "  %s\n", out.Fit(out.Bold(name)+strings.TrimPrefix(signature, name), 2))
		text := out.Faint(ui.Clean(firstSentence(cmp.Or(t.Description, t.Title))))
		if marks := annotations(t.Annotations); marks != "" {
			text = out.Yellow("["+marks+"]") + " " + text
		}
		if text != "" {
			fmt.Fprintf(b, "      %s\n", out.Fit(strings.TrimRight(text, " "), 6))
		}
		if schema {
			writeSchema(b, "input", t.InputSchema)
			writeSchema(b, "output", t.OutputSchema)
		}
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func latency(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// annotations names the hints that a tool gives. They are claims.
func annotations(a catalog.Annotations) string {
	var marks []string
	is := func(hint *bool, yes, no string) {
		switch {
		case hint == nil:
		case *hint && yes != "":
			marks = append(marks, yes)
		case !*hint && no != "":
			marks = append(marks, no)
		}
	}
	is(a.ReadOnlyHint, "read-only", "")
	if a.ReadOnlyHint == nil || !*a.ReadOnlyHint {
		// They mean something only for a tool that changes something
		// (specification, ToolAnnotations).
		is(a.DestructiveHint, "destructive", "additive")
		is(a.IdempotentHint, "idempotent", "")
	}
	is(a.OpenWorldHint, "open world", "")
	return strings.Join(marks, ", ")
}

// firstSentence is what a description begins with.
func firstSentence(text string) string {
	const longest = 160
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + "…"
	}
	return text
}

func writeSchema(b *strings.Builder, side string, schema json.RawMessage) {
	if schema == nil {
		return
	}
	var text strings.Builder
	// Indenting keeps the spelling of everything but white space.
	if view.WriteJSON(&text, schema) != nil {
		return
	}
	fmt.Fprintf(b, "      %s schema:\n", side)
	for line := range strings.SplitSeq(strings.TrimRight(text.String(), "\n"), "\n") {
		fmt.Fprintf(b, "        %s\n", ui.Clean(line))
	}
}
