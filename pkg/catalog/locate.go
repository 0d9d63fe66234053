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
		Pointer: l.new.Pointer(is), Severity: at.severity,
		Old: oneLine(was), New: oneLine(is), Witness: witnessText(verdict.witness),
	}
	switch {
	case at.undecided:
		c.Code, c.Reason = NotDecided, at.reason
	case l.side == Input && at.severity == Compatible:
		c.Code = InputWidened
	case l.side == Input:
		c.Code = InputNarrowed
	case at.severity == Compatible:
		c.Code = OutputNarrowed
	default:
		c.Code = OutputWidened
	}
	return l.add(c, at, !whole)
}

func oneLine(v *schemadoc.Value) string {
	if v == nil {
		return ""
	}
	return clip(string(v.AppendContract(nil)))
}

// annotations reports what readers and writers go by beside what is accepted.
func (l *locator) annotations(old, cur place, is *schemadoc.Value) {
	pointer := l.new.Pointer(is)
	text := func(v *schemadoc.Value) string {
		if v == nil {
			return ""
		}
		return string(v.AppendCanonical(nil))
	}
	if a, b := text(old.def), text(cur.def); a != b {
		l.note(Change{Pointer: pointer + "/default", Code: DefaultChanged, Old: clip(a), New: clip(b)})
	}
	if old.format != cur.format {
		l.note(Change{Pointer: pointer + "/format", Code: FormatChanged, Old: clip(old.format), New: clip(cur.format)})
	}
	if a, b := text(old.header), text(cur.header); a != b && l.side == Input {
		l.note(Change{Pointer: pointer + "/x-mcp-header", Code: HeaderChanged, Old: clip(a), New: clip(b)})
	}
}

// combining are the keywords that have other schemas apply to the same value.
var combining = []string{"$ref", "$dynamicRef", "allOf", "if", "not"}

// parts walks on into the parts of two schemas.
func (l *locator) parts(old, cur place, at judgement) found {
	if !old.v.Is(schemadoc.Object) || !cur.v.Is(schemadoc.Object) {
		return nothing
	}
	for _, keyword := range combining {
		if (old.v.Get(keyword) == nil) != (cur.v.Get(keyword) == nil) {
			return l.objects(old, cur, at) // members may still match
		}
	}
	if union(old.v) != union(cur.v) {
		if pureUnion(old.v) || pureUnion(cur.v) {
			return l.alternatives(old, cur, at)
		}
		return l.objects(old, cur, at)
	}
	worst := l.objects(old, cur, at)
	worst = worst.with(l.types(old, cur, at))
	worst = worst.with(l.arrays(old, cur, at))
	if union(old.v) != "" {
		worst = worst.with(l.alternatives(old, cur, at))
	}
	for _, list := range []string{"allOf"} {
		a, b := old.v.Get(list), cur.v.Get(list)
		if a.Is(schemadoc.Array) && b.Is(schemadoc.Array) && len(a.Items) == len(b.Items) {
			for i := range a.Items {
				worst = worst.with(l.walk(a.Items[i], b.Items[i], at, false))
			}
			continue
		}
		worst = worst.with(l.group(old, cur, at, list))
	}
	for _, g := range groups {
		if g[0] == "unevaluatedProperties" && old.v.Get("additionalProperties") == nil && cur.v.Get("additionalProperties") == nil {
			continue // compared with the members
		}
		worst = worst.with(l.group(old, cur, at, g...))
	}
	return worst
}

// groups are the keywords that make sense together only.
var groups = [][]string{
	{"enum", "const"},
	{"minimum", "exclusiveMinimum"},
	{"maximum", "exclusiveMaximum"},
	{"multipleOf"},
	{"minLength"},
	{"maxLength"},
	{"pattern"},
	{"minItems"},
	{"maxItems"},
	{"uniqueItems"},
	{"contains", "minContains", "maxContains"},
	{"minProperties"},
	{"maxProperties"},
	{"propertyNames"},
	{"dependentRequired"},
	{"dependentSchemas"},
	{"dependencies"},
	{"not"},
	{"if", "then", "else"},
	{"unevaluatedItems"},
	{"unevaluatedProperties"},
	{"$dynamicRef"},
}

func union(v *schemadoc.Value) string {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if v.Get(keyword) != nil {
			return keyword
		}
	}
	return ""
}

// group compares some keywords by themselves.
func (l *locator) group(old, cur place, at judgement, keywords ...string) found {
	if at.same {
		return nothing
	}
	a, b := l.old.Part(old.v, keywords...), l.new.Part(cur.v, keywords...)
	if a == nil && b == nil {
		return nothing
	}
	everything := &schemadoc.Value{Kind: schemadoc.Bool, Bool: true}
	was, is := a, b
	if was == nil {
		was = everything
	}
	if is == nil {
		is = everything
	}
	if bytes.Equal(was.AppendContract(nil), is.AppendContract(nil)) && !refers(was) {
		return nothing
	}
	verdict := l.judge.judge(was, is)
	if verdict.same {
		return nothing
	}
	c := Change{Pointer: l.keywordAt(old, cur, keywords), Severity: verdict.severity, Witness: witnessText(verdict.witness)}
	c.Old, c.New = keywordLine(a, keywords), keywordLine(b, keywords)
	switch {
	case verdict.undecided:
		c.Code, c.Reason = NotDecided, verdict.reason
	case verdict.severity == Compatible && l.side == Input:
		c.Code = InputWidened
	case l.side == Input:
		c.Code = InputNarrowed
	case verdict.severity == Compatible:
		c.Code = OutputNarrowed
	default:
		c.Code = OutputWidened
	}
	if verdict.severity > Compatible && !verdict.undecided {
		// The keywords alone do not know what else the place allows.
		c.Severity = at.severity
		if at.severity == Compatible {
			return nothing
		}
	}
	return l.add(c, at, true)
}

func refers(v *schemadoc.Value) bool {
	if v.Get("$ref") != nil {
		return true
	}
	for _, sub := range v.Subschemas() {
		if refers(sub) {
			return true
		}
	}
	return false
}

// keywordAt points at the keyword that changed.
func (l *locator) keywordAt(old, cur place, keywords []string) string {
	for _, k := range keywords {
		a, b := old.v.Get(k), cur.v.Get(k)
		if b != nil && (a == nil || !bytes.Equal(a.AppendCanonical(nil), b.AppendCanonical(nil))) {
			return l.new.Pointer(cur.v) + "/" + k
		}
	}
	for _, k := range keywords {
		if old.v.Get(k) != nil && cur.v.Get(k) == nil {
			return l.old.Pointer(old.v) + "/" + k
		}
	}
	return l.new.Pointer(cur.v) + "/" + keywords[0]
}

func keywordLine(part *schemadoc.Value, keywords []string) string {
	if part == nil {
		return ""
	}
	if len(part.Members) == 1 && part.Members[0].Name == keywords[0] {
		only := &schemadoc.Value{Kind: schemadoc.Object, Members: part.Members}
		text := string(only.AppendContract(nil))
		return clip(text[len(`{"":`)+len(keywords[0]) : len(text)-1])
	}
	return oneLine(part)
}

// types compares the type keyword, apart from null, and null apart from it.
func (l *locator) types(old, cur place, at judgement) found {
	a, nullA := old.types()
	b, nullB := cur.types()
	worst := nothing
	narrower := func(less bool) (Code, Severity) {
		switch {
		case l.side == Input && less:
			return InputNarrowed, at.severity
		case l.side == Input:
			return InputWidened, Compatible
		case less:
			return OutputNarrowed, Compatible
		}
		return OutputWidened, at.severity
	}
	if !slices.Equal(a, b) {
		worst = worst.with(l.group(old, cur, at, "type"))
	} else if len(a) > 0 {
		if was, is := old.nullable || nullA, cur.nullable || nullB; was != is {
			code, severity := narrower(was)
			if severity != Compatible || at.severity == Compatible {
				worst = worst.with(l.add(Change{
					Pointer: l.new.Pointer(cur.v) + "/type", Code: code, Severity: severity,
					Old: nullability(was), New: nullability(is),
				}, at, true))
			}
		}
	}
	return worst
}

func nullability(null bool) string {
	if null {
		return "may be null"
	}
	return "never null"
}

// arrays compares what items must be.
func (l *locator) arrays(old, cur place, at judgement) found {
	first := "prefixItems"
	a, b := old.v.Get("items"), cur.v.Get("items")
	simple := old.v.Get(first) == nil && cur.v.Get(first) == nil && !a.Is(schemadoc.Array) && !b.Is(schemadoc.Array)
	if simple && a != nil && b != nil {
		return l.walk(a, b, at, false)
	}
	if l.old.Dialect != l.new.Dialect {
		return nothing
	}
	pa, pb := old.v.Get(first), cur.v.Get(first)
	if l.old.Dialect == subschema.Draft07 {
		pa, pb = a, b
	}
	worst := nothing
	if pa.Is(schemadoc.Array) && pb.Is(schemadoc.Array) && len(pa.Items) == len(pb.Items) {
		for i := range pa.Items {
			worst = worst.with(l.walk(pa.Items[i], pb.Items[i], at, false))
		}
	}
	if worst == nothing {
		worst = l.group(old, cur, at, "items", first, "additionalItems")
	}
	return worst
}

// pureUnion reports whether a schema says nothing but that one of some others
// applies.
func pureUnion(v *schemadoc.Value) bool {
	keywords := contractKeywords(v)
	return len(keywords) == 1 && (keywords[0] == "anyOf" || keywords[0] == "oneOf")
}

// branches lists the alternatives of a schema: itself, if it is no union.
func (p place) branches(otherNullable bool) []*schemadoc.Value {
	keyword := union(p.v)
	if keyword == "" {
		return []*schemadoc.Value{p.v}
	}
	var all []*schemadoc.Value
	for _, item := range items(p.v.Get(keyword)) {
		if !otherNullable || item.Get("type").Str() != "null" {
			all = append(all, item)
		}
	}
	return all
}

// alternatives matches the alternatives of two schemas and compares those that
// differ.
func (l *locator) alternatives(old, cur place, at judgement) found {
	a, b := old.branches(cur.nullable), cur.branches(old.nullable)
	restA, restB := l.unmatched(a, b)
	worst := nothing
	for i := 0; i < len(restA); i++ {
		j := l.counterpart(restA[i], restB, len(restA) == len(restB), i)
		if j < 0 {
			continue
		}
		worst = worst.with(l.walk(restA[i], restB[j], at, false))
		restA, restB = slices.Delete(restA, i, i+1), slices.Delete(restB, j, j+1)
		i--
	}
	// What is left came or went.
	for _, gone := range restA {
		verdict := l.judge.judge(gone, cur.v)
		c := Change{Pointer: l.old.Pointer(gone), Old: oneLine(gone)}
		c.Code, c.Severity = OutputNarrowed, Compatible
		if l.side == Input {
			c.Code, c.Severity, c.Witness = InputNarrowed, verdict.severity, witnessText(verdict.witness)
			if verdict.severity == Compatible {
				continue // another alternative takes it
			}
		}
		worst = worst.with(l.add(c, at, true))
	}
	for _, come := range restB {
		verdict := l.judge.judge(old.v, come)
		c := Change{Pointer: l.new.Pointer(come), New: oneLine(come)}
		c.Code, c.Severity = InputWidened, Compatible
		if l.side == Output {
			c.Code, c.Severity, c.Witness = OutputWidened, verdict.severity, witnessText(verdict.witness)
			if verdict.severity == Compatible {
				continue
			}
		}
		worst = worst.with(l.add(c, at, true))
	}
	return worst
}

// unmatched removes the alternatives that both sides have.
func (l *locator) unmatched(a, b []*schemadoc.Value) (restA, restB []*schemadoc.Value) {
	restB = slices.Clone(b)
	for _, x := range a {
		f := l.compile(l.old, x, subschema.Mode{})
		i := slices.IndexFunc(restB, func(y *schemadoc.Value) bool {
			return f.Same(l.compile(l.new, y, subschema.Mode{}))
		})
		if i < 0 {
			restA = append(restA, x)
			continue
		}
		l.walk(x, restB[i], judgement{same: true}, false)
		restB = slices.Delete(restB, i, i+1)
	}
	return restA, restB
}

// counterpart finds the alternative that is a later state of another: one with
// the same constant member, else that of the same type, if all have one.
func (l *locator) counterpart(x *schemadoc.Value, all []*schemadoc.Value, even bool, i int) int {
	a := open(l.old, x)
	if tag := tagOf(a); tag != "" {
		return slices.IndexFunc(all, func(y *schemadoc.Value) bool { return tagOf(open(l.new, y)) == tag })
	}
	names, _ := a.types()
	same := func(y *schemadoc.Value) bool {
		b := open(l.new, y)
		other, _ := b.types()
		return tagOf(b) == "" && slices.Equal(names, other)
	}
	matching := 0
	at := -1
	for j, y := range all {
		if same(y) {
			matching++
			at = j
		}
	}
	if matching == 1 {
		return at
	}
	if even && i < len(all) && same(all[i]) {
		return i
	}
	return -1
}

// tagOf is the constant member that tells an alternative from the others.
func tagOf(p place) string {
	required := p.v.Get("required")
	if !required.Is(schemadoc.Array) {
		return ""
	}
	for _, name := range required.Items {
		m := p.v.Get("properties").Get(name.Str())
		tag := m.Get("const")
		if e := m.Get("enum"); tag == nil && e.Is(schemadoc.Array) && len(e.Items) == 1 {
			tag = e.Items[0]
		}
		if tag != nil {
			return name.Str() + "=" + string(tag.AppendCanonical(nil))
		}
	}
	return ""
}

// rest says what an object allows beyond the members that it describes.
type rest struct {
	v    *schemadoc.Value // the schema, where one is written
	kind restKind
}

type restKind uint8

const (
	silent restKind = iota
	anything
	some
	closed
)

func restOf(v *schemadoc.Value) rest {
	r := rest{v: v.Get("additionalProperties")}
	if r.v == nil && v.Get("unevaluatedProperties") != nil && len(contractKeywords(v)) > 0 {
		r.v = v.Get("unevaluatedProperties")
	}
	switch {
	case r.v == nil:
		return r
	case r.v.Is(schemadoc.Bool) && !r.v.Bool:
		r.kind = closed
	case r.v.Is(schemadoc.Bool), string(r.v.AppendContract(nil)) == "{}":
		r.kind = anything
	default:
		r.kind = some
	}
	return r
}

func (l *locator) objects(old, cur place, at judgement) found {
	a, b := old.v.Get("properties"), cur.v.Get("properties")
	restA, restB := restOf(old.v), restOf(cur.v)
	requiredA, requiredB := names(old.v.Get("required")), names(cur.v.Get("required"))
	worst := nothing
	if a.Is(schemadoc.Object) {
		for _, m := range a.Members {
			is := b.Get(m.Name)
			if is == nil {
				if !l.new.Describes(cur.v, m.Name) {
					worst = worst.with(l.gone(m, cur, restB, requiredA[m.Name], at))
				}
				continue
			}
			worst = worst.with(l.presence(m.Name, cur, is, requiredA[m.Name], requiredB[m.Name], at))
			worst = worst.with(l.walk(m.Value, is, at, false))
		}
	}
	if b.Is(schemadoc.Object) {
		for _, m := range b.Members {
			if a.Get(m.Name) == nil && !l.old.Describes(old.v, m.Name) {
				worst = worst.with(l.come(m, restA, requiredB[m.Name], at))
			}
		}
	}
	for _, v := range []*schemadoc.Value{old.v, cur.v} {
		for _, name := range items(v.Get("required")) {
			// Names that are required and have no description.
			if n := name.Str(); a.Get(n) == nil && b.Get(n) == nil && requiredA[n] != requiredB[n] {
				worst = worst.with(l.presence(n, cur, nil, requiredA[n], requiredB[n], at))
			}
		}
	}
	pa, pb := old.v.Get("patternProperties"), cur.v.Get("patternProperties")
	matched := nothing
	if pa.Is(schemadoc.Object) && pb.Is(schemadoc.Object) {
		for _, m := range pa.Members {
			if is := pb.Get(m.Name); is != nil {
				matched = matched.with(l.walk(m.Value, is, at, false))
			}
		}
	}
	if matched == nothing {
		matched = l.group(old, cur, at, "patternProperties")
	}
	worst = worst.with(matched)
	return worst.with(l.others(old, cur, restA, restB, at))
}

func items(v *schemadoc.Value) []*schemadoc.Value {
	if v.Is(schemadoc.Array) {
		return v.Items
	}
	return nil
}

func names(v *schemadoc.Value) map[string]bool {
	set := make(map[string]bool)
	for _, item := range items(v) {
		set[item.Str()] = true
	}
	return set
}

// presence compares whether a member must be there.
func (l *locator) presence(name string, cur place, is *schemadoc.Value, was, now bool, at judgement) found {
	if was == now {
		return nothing
	}
	pointer := l.new.Pointer(cur.v) + "/required"
	if is != nil {
		pointer = l.new.Pointer(is)
	}
	c := Change{Pointer: pointer, Old: presence(was), New: presence(now)}
	if is == nil {
		c.Old, c.New = name+" "+c.Old, name+" "+c.New
	}
	switch {
	case l.side == Input && now && l.new.HasDefault(is):
		c.Code, c.Severity = InputRequiredDefault, Risky
	case l.side == Input && now:
		c.Code, c.Severity = InputRequired, Breaking
	case l.side == Input:
		c.Code, c.Severity = InputOptional, Compatible
	case now:
		c.Code, c.Severity = OutputRequired, Compatible
	default:
		c.Code, c.Severity = OutputOptional, Breaking
	}
	return l.add(c, at, true)
}

func presence(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

// gone judges a member that is not described any more.
func (l *locator) gone(m schemadoc.Member, cur place, others rest, required bool, at judgement) found {
	c := Change{Pointer: l.old.Pointer(m.Value), Old: presence(required) + " " + oneLine(m.Value)}
	if others.kind == some {
		verdict := l.judge.judge(m.Value, others.v)
		c.Severity, c.Witness = verdict.severity, witnessText(verdict.witness)
	}
	if l.side == Input {
		c.Code = InputRemoved
		if others.kind == closed {
			c.Severity = Breaking
			return l.add(c, at, true)
		}
		if c.Severity == Breaking {
			return l.add(c, at, true)
		}
		// It is accepted, and who knows what becomes of it.
		c.Reason = "it is still accepted, but nothing says that it is used"
		l.note(c)
		return found(Risky)
	}
	c.Code = OutputRemoved
	switch {
	case required:
		c.Severity = Breaking
	case others.kind == closed:
		c.Severity = Compatible
	case others.kind != some:
		c.Severity = Risky
	}
	return l.add(c, at, true)
}

// come judges a member that was not described before.
func (l *locator) come(m schemadoc.Member, others rest, required bool, at judgement) found {
	c := Change{Pointer: l.new.Pointer(m.Value), New: presence(required) + " " + oneLine(m.Value)}
	switch {
	case l.side == Input && required && l.new.HasDefault(m.Value):
		c.Code, c.Severity = InputRequiredDefault, Risky
	case l.side == Input && required:
		c.Code, c.Severity = InputRequired, Breaking
	case l.side == Input:
		c.Code = InputAdded
		if others.kind == some || others.kind == anything {
			verdict := l.judge.judge(others.v, m.Value)
			c.Severity, c.Witness = verdict.severity, witnessText(verdict.witness)
			if verdict.severity > Compatible {
				c.Reason = "further members were allowed expressly, so that a caller may use this name"
			}
			if others.kind == anything {
				c.Severity = min(c.Severity, Risky)
			}
		}
	case others.kind == closed:
		c.Code, c.Severity = OutputAdded, Breaking
	default:
		c.Code = OutputAdded
		if others.kind == some {
			verdict := l.judge.judge(others.v, m.Value)
			c.Severity, c.Witness = verdict.severity, witnessText(verdict.witness)
		}
	}
	return l.add(c, at, true)
}

// others compares what is allowed beyond the described members.
func (l *locator) others(old, cur place, a, b rest, at judgement) found {
	if a.kind == some && b.kind == some {
		return l.walk(a.v, b.v, at, false)
	}
	free := func(r rest) bool { return r.kind == silent || r.kind == anything }
	if a.kind == b.kind || free(a) && free(b) {
		return nothing
	}
	keyword := "/additionalProperties"
	c := Change{Pointer: l.new.Pointer(cur.v) + keyword, Old: a.String(), New: b.String()}
	switch {
	case l.side == Input && b.kind != closed && a.kind == closed, l.side == Input && free(b):
		c.Code, c.Severity = InputOpened, Compatible
	case l.side == Input && a.kind == silent:
		c.Code, c.Severity = InputClosed, Risky
	case l.side == Input:
		c.Code, c.Severity = InputClosed, Breaking
	case a.kind == closed:
		c.Code, c.Severity = OutputOpened, Risky
	case free(b):
		c.Code, c.Severity = OutputOpened, Breaking
	default:
		c.Code, c.Severity = OutputClosed, Compatible
	}
	if b.v != nil {
		c.Pointer = l.new.Pointer(b.v)
	} else if a.v != nil {
		c.Pointer = l.old.Pointer(a.v)
	}
	return l.add(c, at, true)
}

func (r rest) String() string {
	switch r.kind {
	case closed:
		return "no further members"
	case anything:
		return "any further members"
	case some:
		return "further members " + oneLine(r.v)
	}
	return "silent about further members"
}
