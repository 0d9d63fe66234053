package catalog

import (
	"bytes"
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

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
	c := Change{
		Pointer: l.keywordAt(old, cur, keywords), Severity: verdict.severity, Code: l.code(verdict.severity),
		Old: keywordLine(a, keywords), New: keywordLine(b, keywords), Witness: witnessText(verdict.witness),
	}
	if verdict.undecided {
		c.Code, c.Reason = NotDecided, verdict.reason
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

func nullability(null bool) string {
	if null {
		return "may be null"
	}
	return "never null"
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
