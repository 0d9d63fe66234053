package catalog

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/internal/subschema"
)

// locator finds the smallest places that changed. It walks both states side by
// side through the parts that match: members of one name, items, alternatives.
// What a place means is the judge's word; a part can never be worse than the
// whole, since what is allowed to one part may be refused by another. Where no
// part explains the verdict, the whole is named.
type locator struct {
	judge
	out      *toolDiff
	was, is  *schemadoc.Value
	seen     map[[2]*schemadoc.Value]bool
	reported map[string]bool
}

// newLocator prepares the comparison of one side. It reports what keeps it
// from being compared, and returns nil then or if there is nothing to compare.
func newLocator(out *toolDiff, side Side, was, is *schemadoc.Value) *locator {
	before, err := subschema.NewDocument(was)
	if err == nil {
		after, err2 := subschema.NewDocument(is)
		if err2 == nil {
			return &locator{
				judge: judge{
					space: subschema.NewSpace(subschema.DefaultBudget), side: side, old: before, new: after,
					known: make(map[[2]*schemadoc.Value]judgement),
				},
				out: out, was: was, is: is, seen: make(map[[2]*schemadoc.Value]bool), reported: make(map[string]bool),
			}
		}
		err = err2
	}
	if !bytes.Equal(was.AppendContract(nil), is.AppendContract(nil)) {
		out.add(Change{Side: side, Code: NotDecided, Severity: Risky, Reason: err.Error()})
	}
	return nil
}

func (l *locator) run() {
	whole := l.judge.judge(l.was, l.is)
	first := len(l.out.changes)
	l.walk(l.was, l.is, whole, true)
	found := l.out.changes[first:]
	if whole.undecided && !slices.ContainsFunc(found, func(c Change) bool { return c.Code == NotDecided }) {
		// What was found might not be all.
		l.out.add(Change{Side: l.side, Code: NotDecided, Severity: Risky, Reason: whole.reason})
		return
	}
	l.attach(found, witnessText(whole.witness))
}

// attach gives the changes that decide the verdict on the whole its witness:
// the only one in any case, several where they have none of their own.
func (l *locator) attach(changes []Change, witness json.RawMessage) {
	if witness == nil {
		return
	}
	worst := Compatible
	for _, c := range changes {
		worst = max(worst, c.Severity)
	}
	var deciding []*Change
	for i := range changes {
		switch c := &changes[i]; {
		case c.Severity < worst, c.Code == DefaultChanged, c.Code == FormatChanged, c.Code == HeaderChanged, c.Code == NotDecided:
		case c.Code == InputRemoved && c.Severity == Risky:
		default:
			deciding = append(deciding, c)
		}
	}
	for _, c := range deciding {
		if len(deciding) == 1 || c.Witness == nil {
			c.Witness, c.Partial = witness, false
		}
	}
}

// found is the gravest thing that was reported below a place; none is -1.
type found int

const nothing found = -1

func (f found) with(other found) found { return max(f, other) }

// add reports a change that the judge stands behind, within what the place
// around it allows. What is worse than a compatible whole is made up for
// elsewhere, and no change to report.
func (l *locator) add(c Change, limit judgement, partial bool) found {
	if limit.same {
		return nothing
	}
	if c.Severity > limit.severity {
		if limit.severity == Compatible {
			return nothing
		}
		c.Severity = limit.severity
	}
	c.Side = l.side
	c.Partial = c.Witness != nil && partial
	if key := c.Pointer + " " + string(c.Code); l.reported[key] {
		return found(c.Severity)
	} else {
		l.reported[key] = true
	}
	l.out.add(c)
	return found(c.Severity)
}

// note reports a change by rule, whatever the values that are accepted.
func (l *locator) note(c Change) {
	c.Side, c.Severity = l.side, Risky
	if key := c.Pointer + " " + string(c.Code); !l.reported[key] {
		l.reported[key] = true
		l.out.add(c)
	}
}

// place is a schema as it is looked at: references are followed, and null
// among alternatives is set aside.
type place struct {
	doc      *subschema.Document
	v        *schemadoc.Value
	nullable bool
	def      *schemadoc.Value
	header   *schemadoc.Value
	format   string
}

// open looks at a schema.
func open(d *subschema.Document, v *schemadoc.Value) place {
	p := place{doc: d, v: v}
	for range subschema.MaxNest {
		if def := p.v.Get("default"); def != nil && p.def == nil {
			p.def = def
		}
		if h := p.v.Get("x-mcp-header"); h != nil && p.header == nil {
			p.header = h
		}
		if f := p.v.Get("format").Str(); f != "" && p.format == "" {
			p.format = f
		}
		next := p.inner()
		if next == nil {
			break
		}
		p.v = next
	}
	return p
}

// inner returns the one schema that says everything a schema says, beside
// null.
func (p *place) inner() *schemadoc.Value {
	keywords := contractKeywords(p.v)
	if ref := p.v.Get("$ref"); ref.Is(schemadoc.String) && (len(keywords) == 1 || p.doc.Dialect == subschema.Draft07) {
		return p.doc.Resolve(p.v, ref.Text)
	}
	if len(keywords) != 1 {
		return nil
	}
	list := p.v.Get(keywords[0])
	if !list.Is(schemadoc.Array) {
		return nil
	}
	switch keywords[0] {
	case "allOf":
		if len(list.Items) == 1 {
			return list.Items[0]
		}
	case "anyOf", "oneOf":
		var rest []*schemadoc.Value
		null := false
		for _, item := range list.Items {
			if item.Get("type").Str() == "null" && len(contractKeywords(item)) == 1 {
				null = true
				continue
			}
			rest = append(rest, item)
		}
		if len(rest) == 1 && null {
			// In oneOf a null that the rest allows too would be refused.
			if keywords[0] == "oneOf" && null && rest[0].Get("type").Str() == "" && rest[0].Get("$ref") == nil {
				return nil
			}
			p.nullable = p.nullable || null
			return rest[0]
		}
	}
	return nil
}

// contractKeywords lists the keywords of a schema that are no annotations and
// apply to its value.
func contractKeywords(v *schemadoc.Value) []string {
	var names []string
	if v.Is(schemadoc.Object) {
		for _, m := range v.Members {
			switch m.Name {
			case "$defs", "definitions", "$schema", "$id", "$anchor", "format", "x-mcp-header":
				continue
			}
			if !schemadoc.IsAnnotation(m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// types returns the types of a schema without null, in order, and whether null
// was among them. An enumeration with null counts too.
func (p place) types() (names []string, null bool) {
	t := p.v.Get("type")
	list := []*schemadoc.Value{t}
	if t.Is(schemadoc.Array) {
		list = t.Items
	}
	for _, item := range list {
		switch name := item.Str(); name {
		case "":
		case "null":
			null = true
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, null
}

// walk looks for what changed between two schemas, and returns the gravest
// thing that it reported.
func (l *locator) walk(was, is *schemadoc.Value, limit judgement, whole bool) found {
	k := [2]*schemadoc.Value{was, is}
	if l.seen[k] {
		return nothing
	}
	l.seen[k] = true
	verdict := l.judge.judge(was, is)
	at := limit
	if !whole {
		at = within(verdict, limit)
	}
	old, cur := open(l.old, was), open(l.new, is)
	l.annotations(old, cur, is)
	worst := l.parts(old, cur, at)
	if at.same || worst >= found(at.severity) {
		return worst
	}
	return worst.with(l.place(was, is, at, verdict, whole))
}

// within is a verdict on a part, limited by that on the whole.
func within(part, whole judgement) judgement {
	if whole.same {
		return whole
	}
	if part.severity > whole.severity {
		part.severity = whole.severity
		if whole.severity == Compatible {
			return judgement{same: true}
		}
	}
	return part
}

// place reports a place as a whole.
func (l *locator) place(was, is *schemadoc.Value, at, verdict judgement, whole bool) found {
	c := Change{
		Pointer: l.new.Pointer(is), Severity: at.severity, Code: l.code(at.severity),
		Old: oneLine(was), New: oneLine(is), Witness: witnessText(verdict.witness),
	}
	if at.undecided {
		c.Code, c.Reason = NotDecided, at.reason
	}
	return l.add(c, at, !whole)
}

// code says what becomes of the values of a place.
func (l *locator) code(severity Severity) Code {
	switch {
	case l.side == Input && severity == Compatible:
		return InputWidened
	case l.side == Input:
		return InputNarrowed
	case severity == Compatible:
		return OutputNarrowed
	}
	return OutputWidened
}

func oneLine(v *schemadoc.Value) string {
	if v == nil {
		return ""
	}
	return clip(string(v.AppendContract(nil)))
}
