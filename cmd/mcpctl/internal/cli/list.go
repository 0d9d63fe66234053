package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
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
	kind     view.Kind
	status   bool
	names    bool
	schema   bool
	readOnly bool
	pattern  string
}

const listLong = `Lists what MCP servers offer: their tools, or the kind that the first argument
names. All configured servers are asked, or those that are named; -s reaches a
server whose name is that of a kind.

Each server is asked at the same time as the others, and one that fails does not
hide what the others offer: it is reported, and decides the exit code.`

const listExample = `  # The tools of all configured servers
  mcpctl list

  # The resources of one of them
  mcpctl list resources weather

  # Some servers, one of which is not configured, and one that is started for this
  mcpctl list weather https://example.com/mcp
  mcpctl list -- npx -y @modelcontextprotocol/server-everything

  # Are all of them well?
  mcpctl list --status

  # The names of tools that say they only read
  mcpctl list --names --read-only --filter 'get_*'

  # Those without a description
  mcpctl list --jq '.servers[].tools[] | select(.description | not) | .name'`

func newListCmd(app *App) *cobra.Command {
	o := listOptions{kind: view.Tools}
	cmd := &cobra.Command{
		Use:        "list [tools|resources|templates|prompts] [server|URL...] [flags] [-- command args...]",
		Short:      "List what servers offer",
		SuggestFor: []string{"ls", "tools", "servers", "status", "resources", "prompts"},
		Long:       listLong,
		Example:    listExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = o.split(cmd, args)
			if kind, rest := leadingKind(args); kind != "" {
				if o.status {
					return usagef("--status counts every kind; -s reaches a server of the name %s", kind)
				}
				o.kind, args = kind, rest
			}
			o.servers = append(o.servers, args...)
			return runList(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.outputFlags.addFlags(cmd, "text", "json")
	f := cmd.Flags()
	f.BoolVar(&o.status, "status", false, "print a table of how the servers are and how much they offer")
	f.BoolVar(&o.names, "names", false, "print names alone, a line each; server.name when there are several servers")
	f.BoolVar(&o.schema, "schema", false, "print the schemas of each tool too")
	f.StringVar(&o.pattern, "filter", "", "keep what has a name like `'get_*'`, in which * and ? stand for any text and any character")
	f.BoolVar(&o.readOnly, "read-only", false, "keep the tools that say they only read")
	cmd.MarkFlagsMutuallyExclusive("status", "names", "schema")
	cmd.MarkFlagsMutuallyExclusive("status", "filter")
	cmd.MarkFlagsMutuallyExclusive("status", "read-only")
	return cmd
}

func (o *listOptions) valid() error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	switch {
	case o.names && !o.text():
		return usagef("--names is text; in JSON everything has its name")
	case (o.schema || o.readOnly) && o.kind != view.Tools:
		return usagef("--schema and --read-only are for tools")
	}
	return nil
}

func runList(ctx context.Context, app *App, o listOptions) error {
	if err := o.valid(); err != nil {
		return err
	}
	if o.status {
		return runStatus(ctx, app, o)
	}
	specs, err := o.specs(ctx, app)
	if err != nil {
		return err
	}
	offers, err := app.offers(ctx, specs, o.kind)
	if err != nil {
		return err
	}
	err = printed(ctx, func() error { return printList(ctx, app, o, offers) })
	for _, offer := range offers {
		for _, t := range offer.Server.Tools {
			if t.Problem != "" {
				app.warn(fmt.Sprintf("%s: tool %q is left out: %s", offer.Name, t.Name, t.Problem), "")
			}
		}
	}
	return app.reportBeside(err, serverResults(offers), o.output == "json")
}

// choose leaves out what the filters do not let through.
func (o *listOptions) choose(offer view.Offer) view.Offer {
	like := func(...string) bool { return true }
	if o.pattern != "" {
		// (?s) since a name may be anything.
		pattern := regexp.MustCompile("(?is)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(o.pattern)) + "$")
		like = func(names ...string) bool { return slices.ContainsFunc(names, pattern.MatchString) }
	}
	offer.Server.Tools = keep(offer.Server.Tools, func(t catalog.Tool) bool {
		readOnly := t.Annotations.ReadOnlyHint
		return like(t.Name) && (!o.readOnly || readOnly != nil && *readOnly)
	})
	offer.Resources = keep(offer.Resources, func(r client.Resource) bool { return like(r.Name, r.URI) })
	offer.Templates = keep(offer.Templates, func(t client.ResourceTemplate) bool { return like(t.Name, t.URITemplate) })
	offer.Prompts = keep(offer.Prompts, func(p client.Prompt) bool { return like(p.Name) })
	return offer
}

func keep[T any](all []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(item T) bool { return !wanted(item) })
}

func printList(ctx context.Context, app *App, o listOptions, offers []view.Offer) error {
	if !o.text() {
		list := view.List{Servers: []view.Server{}}
		for _, offer := range offers {
			list.Servers = append(list.Servers, view.NewServer(o.choose(offer), []view.Kind{o.kind}, describe))
		}
		return o.write(ctx, app, list)
	}
	var b strings.Builder
	shown := 0
	for _, offer := range offers {
		if offer.Err != nil {
			continue
		}
		chosen := o.choose(offer)
		if o.names {
			o.listNames(&b, chosen, len(offers) > 1)
			continue
		}
		if shown > 0 {
			b.WriteByte('\n')
		}
		shown++
		o.listServer(&b, app.Out, offer, chosen)
	}
	_, err := fmt.Fprint(app.Out, b.String())
	return err
}

func (o *listOptions) listNames(b *strings.Builder, offer view.Offer, qualified bool) {
	for _, i := range items(o.kind, view.ASCII, offer) {
		if qualified {
			// A URI is no part of a name, and mcpctl read takes it by itself.
			separator := "."
			if o.kind == view.Resources || o.kind == view.Templates {
				separator = " "
			}
			b.WriteString(ui.Clean(offer.Name) + separator)
		}
		b.WriteString(ui.Clean(i.name) + "\n")
	}
}

// item is a thing in a list.
type item struct {
	name   string // what the other commands call it
	detail string // behind the name
	claims string // what the server says of it
	text   string
	tool   catalog.Tool
}

// items returns the things of a kind, in the server's order.
func items(kind view.Kind, n view.Notation, offer view.Offer) []item {
	var all []item
	switch kind {
	case view.Tools:
		for _, t := range offer.Server.Tools {
			if t.Problem == "" {
				all = append(all, item{
					t.Name, strings.TrimPrefix(n.Signature(t), t.Name), annotations(t.Annotations), cmp.Or(t.Description, t.Title), t,
				})
			}
		}
	case view.Resources:
		for _, r := range offer.Resources {
			all = append(all, item{name: r.URI, detail: label(r.Title, r.Name, r.MIMEType), text: r.Description})
		}
	case view.Templates:
		for _, t := range offer.Templates {
			all = append(all, item{name: t.URITemplate, detail: label(t.Title, t.Name, t.MIMEType), text: t.Description})
		}
	case view.Prompts:
		for _, p := range offer.Prompts {
			var arguments []string
			for _, a := range p.Arguments {
				name := a.Name
				if !a.Required {
					name += "?"
				}
				arguments = append(arguments, name)
			}
			all = append(all, item{name: p.Name, detail: "(" + strings.Join(arguments, ", ") + ")", text: cmp.Or(p.Description, p.Title)})
		}
	}
	return all
}

// label is what stands behind the URI of a resource.
func label(title, name, mimeType string) string {
	text := "  " + cmp.Or(title, name)
	if mimeType != "" {
		text += " (" + mimeType + ")"
	}
	return text
}

// listServer writes what was chosen of an offer.
func (o *listOptions) listServer(b *strings.Builder, out *ui.Stream, offer, chosen view.Offer) {
	all, _ := offer.Count(o.kind)
	n, _ := chosen.Count(o.kind)
	count := plural(all, strings.TrimSuffix(string(o.kind), "s"))
	if n < all {
		count = fmt.Sprintf("%d of %s", n, count)
	}
	facts := []string{count, offer.Transport, "MCP " + offer.Server.ProtocolVersion, latency(offer.Duration)}
	fmt.Fprintf(b, "%s  %s\n", out.Bold(ui.Clean(offer.Name)), out.Faint(strings.Join(facts, out.Sign(" · ", ", "))))
	for _, i := range items(o.kind, notation(out), chosen) {
		fmt.Fprintf(b, "  %s\n", out.Fit(out.Bold(ui.Clean(i.name))+ui.Clean(i.detail), 2))
		text := out.Faint(ui.Clean(firstSentence(out, i.text)))
		if i.claims != "" {
			text = claimed(out, i.claims) + " " + text
		}
		if text != "" {
			fmt.Fprintf(b, "      %s\n", out.Fit(strings.TrimRight(text, " "), 6))
		}
		if o.schema {
			writeSchema(b, "input", i.tool.InputSchema)
			writeSchema(b, "output", i.tool.OutputSchema)
		}
	}
}

// claimed is what a server says of a tool, the louder the more the tool can do.
func claimed(out *ui.Stream, claims string) string {
	paint := out.Yellow
	switch {
	case strings.HasPrefix(claims, destructive):
		paint = out.Red
	case strings.HasPrefix(claims, readOnly):
		paint = out.Faint
	}
	return paint("[" + claims + "]")
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

// The hints that matter most.
const (
	readOnly    = "read-only"
	destructive = "destructive"
)

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
	is(a.ReadOnlyHint, readOnly, "")
	if a.ReadOnlyHint == nil || !*a.ReadOnlyHint {
		// They mean something only for a tool that changes something
		// (specification, ToolAnnotations).
		is(a.DestructiveHint, destructive, "additive")
		is(a.IdempotentHint, "idempotent", "")
	}
	is(a.OpenWorldHint, "open world", "")
	return strings.Join(marks, ", ")
}

// firstSentence is what a description begins with.
func firstSentence(out *ui.Stream, text string) string {
	const longest = 160
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + out.Ellipsis()
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
