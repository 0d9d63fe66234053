package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// page is a text of headings, paragraphs and indented lists.
type page struct {
	strings.Builder
	out    *ui.Stream
	listed int // members
}

// Nobody reads more; -o json has all of it.
const (
	mostText   = 20_000 // bytes of one text
	mostListed = 500    // members on a page
	mostPage   = 200_000
)

func (p *page) line(indent int, text string) {
	fmt.Fprintf(p, "%s%s\n", strings.Repeat(" ", indent), text)
}

func (p *page) heading(text string) { fmt.Fprintf(p, "\n%s\n", p.out.Bold(text)) }

// paragraphs writes text of a server, wrapped, with its own line breaks.
func (p *page) paragraphs(indent int, text string) {
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + p.out.Ellipsis()
	}
	blank := true // no empty lines at the beginning, and never two
	for line := range strings.SplitSeq(cleanLines(strings.TrimSpace(text)), "\n") {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " ")
		if line == "" && blank {
			continue
		}
		if blank = line == ""; blank {
			p.WriteByte('\n')
			continue
		}
		for part := range strings.SplitSeq(p.out.Wrap(line, indent), "\n") {
			p.line(indent, part)
		}
	}
}

// toolPage describes a tool.
func toolPage(out *ui.Stream, server string, t catalog.Tool, example string) string {
	p := &page{out: out}
	title := ""
	if t.Title != "" && t.Title != t.Name {
		title = "  " + ui.Clean(t.Title)
	}
	p.line(0, out.Bold(ui.Clean(server+"."+t.Name))+title)
	p.paragraphs(0, t.Description)
	n := notation(out)
	p.heading("Arguments")
	if fields, more := n.Arguments(t); len(fields) > 0 || more {
		p.fields(2, fields, more, "required", "")
	} else if signature := strings.TrimPrefix(n.Call(t), t.Name); signature != "()" {
		p.line(2, ui.Clean(signature))
	} else {
		p.line(2, "none")
	}
	if t.OutputSchema != nil {
		p.heading("Result")
		fields, more := n.Result(t)
		// A result mostly has what it may have.
		p.fields(2, fields, more, "", "optional")
	}
	if claims := claims(t.Annotations); len(claims) > 0 {
		p.heading("Claims of the server")
		p.paragraphs(2, strings.Join(claims, "\n"))
	}
	if example != "" {
		p.heading("Example")
		p.line(2, ui.Clean(example)) // not wrapped, to be copied
	}
	return p.String()
}

// fields lists members, with a word for those that must be there and one for
// those that need not.
func (p *page) fields(indent int, fields []view.Field, more bool, required, optional string) {
	for _, f := range fields {
		if p.listed++; p.listed > mostListed || p.Len() > mostPage {
			more = true
			break
		}
		facts := []string{ui.Clean(f.Type)}
		switch {
		case f.Required && required != "":
			facts = append(facts, p.out.Yellow(required))
		case !f.Required && optional != "" && f.Name != "":
			facts = append(facts, p.out.Faint(optional))
		}
		for _, fact := range f.Facts {
			facts = append(facts, ui.Clean(fact))
		}
		text := strings.Join(facts, ", ")
		if f.Name != "" {
			text = p.out.Bold(ui.Clean(f.Name)) + "  " + text
		}
		for i, part := range strings.Split(p.out.Wrap(text, indent+4), "\n") {
			p.line(indent+4*min(i, 1), part)
		}
		p.paragraphs(indent+4, f.Description)
		p.fields(indent+4, f.Fields, false, required, optional)
	}
	if more {
		p.line(indent, p.out.Ellipsis())
	}
}

// claims words the hints of a tool. Nobody checks them.
func claims(a catalog.Annotations) []string {
	var all []string
	say := func(hint *bool, yes, no string) {
		if hint != nil && *hint {
			all = append(all, yes)
		} else if hint != nil {
			all = append(all, no)
		}
	}
	say(a.ReadOnlyHint, "read-only: it changes nothing", "not read-only: it may change something")
	if a.ReadOnlyHint == nil || !*a.ReadOnlyHint {
		say(a.DestructiveHint, "destructive: it may delete or overwrite", "additive: it only adds")
		say(a.IdempotentHint, "idempotent: the same call again changes no more", "not idempotent: the same call again may change more")
	}
	say(a.OpenWorldHint, "open world: it deals with the world outside", "closed world: it stays within its own data")
	return all
}

// serverPage describes a server.
func serverPage(out *ui.Stream, o view.Offer) string {
	p := &page{out: out}
	var info struct {
		Name, Title, Version, Description, WebsiteURL string
	}
	_ = json.Unmarshal(o.Server.Info, &info) // of which nothing is needed
	p.line(0, strings.TrimSpace(out.Bold(ui.Clean(o.Name))+"  "+ui.Clean(strings.TrimSpace(cmp.Or(info.Title, info.Name)+" "+info.Version))))
	revision := o.Server.ProtocolVersion
	facts := []string{o.Transport, "MCP " + ui.Clean(revision) + " (" + view.Era(revision) + ")", latency(o.Duration)}
	p.line(0, out.Faint(strings.Join(facts, out.Sign(" · ", ", "))))
	if info.WebsiteURL != "" {
		p.line(0, ui.Clean(info.WebsiteURL))
	}
	p.paragraphs(0, info.Description)

	p.heading("Offers")
	var offers []string
	for _, kind := range view.Kinds {
		if n, offered := o.Count(kind); offered {
			offers = append(offers, plural(n, strings.TrimSuffix(string(kind), "s")))
		}
	}
	p.line(2, cmp.Or(strings.Join(offers, ", "), "nothing"))
	if all := capabilities(o.Capabilities); all != "" {
		p.heading("Capabilities")
		p.paragraphs(2, all)
	}
	if o.Server.Instructions != "" {
		p.heading("Instructions of the server")
		p.paragraphs(2, o.Server.Instructions)
	}
	return p.String()
}

// capabilities names what a server says it can do, with what is more than the
// plain thing.
func capabilities(raw json.RawMessage) string {
	root, err := schemadoc.Parse(raw, schemadoc.Limits{Values: 10_000})
	if err != nil {
		return ""
	}
	var all []string
	for _, m := range root.Members {
		var more []string
		for _, sub := range m.Value.Members {
			if sub.Value.Is(schemadoc.Object) || sub.Value.Is(schemadoc.Bool) && sub.Value.Bool {
				more = append(more, sub.Name)
			}
		}
		text := m.Name
		if len(more) > 0 {
			text += " (" + strings.Join(more, ", ") + ")"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
