package catalog

import (
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/internal/subschema"
)

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
