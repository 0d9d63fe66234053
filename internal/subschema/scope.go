package subschema

import (
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// scope is what the schemas that apply to one value say of the members of an
// object, taken together.
type scope struct {
	names    map[string]bool
	patterns map[string]bool
	object   bool // they are about objects
	all      bool // some additionalProperties stands among them
	spoken   bool // one that is not false
	loose    bool // one that is not false, true or {}
	simple   bool // all of them apply in any case
}

// scope gathers what applies to a value.
func (d *Document) scope(v *schemadoc.Value) *scope {
	if sc, ok := d.scopes[v]; ok {
		return sc
	}
	sc := &scope{names: make(map[string]bool), patterns: make(map[string]bool), simple: true}
	d.gather(v, sc, make(map[*schemadoc.Value]bool))
	d.scopes[v] = sc
	return sc
}

func (d *Document) gather(v *schemadoc.Value, sc *scope, seen map[*schemadoc.Value]bool) {
	if !v.Is(schemadoc.Object) || seen[v] {
		return
	}
	seen[v] = true
	if ref := v.Get("$ref"); ref.Is(schemadoc.String) {
		target := d.Resolve(v, ref.Text)
		sc.simple = sc.simple && target != nil
		d.gather(target, sc, seen)
		if d.Dialect == Draft07 {
			return
		}
	}
	if ref := v.Get("$dynamicRef"); ref != nil {
		sc.simple = sc.simple && d.single()
		d.gather(d.Resolve(v, ref.Str()), sc, seen)
	}
	for _, m := range members(v.Get("properties")) {
		sc.names[m.Name] = true
		sc.object = true
	}
	for _, m := range members(v.Get("patternProperties")) {
		sc.patterns[m.Name] = true
		sc.object = true
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		a := v.Get(keyword)
		if a == nil {
			continue
		}
		sc.object = true
		if keyword == "additionalProperties" {
			sc.all = true
		}
		switch {
		case isFalse(a):
		case a.Is(schemadoc.Bool), a.Is(schemadoc.Object) && string(a.AppendContract(nil)) == "{}":
			sc.spoken = true
		default:
			sc.spoken, sc.loose = true, true
		}
	}
	if names, ok := typeNames(v); ok {
		for _, n := range names {
			sc.object = sc.object || n == "object"
		}
	}
	for _, item := range items(v.Get("allOf")) {
		d.gather(item, sc, seen)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, item := range items(v.Get(keyword)) {
			sc.simple = false
			d.gather(item, sc, seen)
		}
	}
	for _, keyword := range []string{"if", "then", "else"} {
		if sub := v.Get(keyword); sub != nil {
			sc.simple = false
			if keyword != "if" {
				d.gather(sub, sc, seen)
			}
		}
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		for _, m := range members(v.Get(keyword)) {
			if !m.Value.Is(schemadoc.Array) {
				sc.simple = false
				d.gather(m.Value, sc, seen)
			}
		}
	}
}

func members(v *schemadoc.Value) []schemadoc.Member {
	if v.Is(schemadoc.Object) {
		return v.Members
	}
	return nil
}

func items(v *schemadoc.Value) []*schemadoc.Value {
	if v.Is(schemadoc.Array) {
		return v.Items
	}
	return nil
}

// evaluated returns what unevaluatedProperties of a schema leaves alone, and
// whether that can be told without looking at values.
func (c *compiler) evaluated(v *schemadoc.Value) (*scope, bool) {
	sc := &scope{names: make(map[string]bool), patterns: make(map[string]bool), simple: true}
	seen := make(map[*schemadoc.Value]bool)
	own := c.doc.unevaluatedInside(v, seen)
	clear(seen)
	c.doc.gather(v, sc, seen)
	return sc, sc.simple && !own
}

// unevaluatedInside reports whether a schema below v that applies to the same
// value has unevaluatedProperties too, which would evaluate what it sees.
func (d *Document) unevaluatedInside(v *schemadoc.Value, seen map[*schemadoc.Value]bool) bool {
	if !v.Is(schemadoc.Object) || seen[v] {
		return false
	}
	first := len(seen) == 0
	seen[v] = true
	if !first && v.Get("unevaluatedProperties") != nil {
		return true
	}
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		if ref := v.Get(keyword); ref.Is(schemadoc.String) && d.unevaluatedInside(d.Resolve(v, ref.Text), seen) {
			return true
		}
	}
	for _, item := range items(v.Get("allOf")) {
		if d.unevaluatedInside(item, seen) {
			return true
		}
	}
	return false
}

// described is the reading of an object's silence about further members: that
// there are none but those that its schemas describe, together. An object that
// describes nothing at all is left open to strange members only.
func (c *compiler) described(v *schemadoc.Value, m Mode) *formula {
	sc := c.doc.scope(v)
	spoken := sc.spoken
	if m.Loose {
		spoken = sc.loose
	}
	if !sc.object || spoken && m.Extras != AllOut {
		return c.truth
	}
	if m.Extras == Strange && len(sc.names) == 0 && len(sc.patterns) == 0 && v != c.doc.Root {
		return c.truth // a place for anything, not a list that is complete
	}
	sh := &shape{props: make(map[string]*formula), matching: make(map[string]*formula), rest: c.falsity}
	for n := range sc.names {
		sh.props[n] = c.truth
	}
	for p := range sc.patterns {
		sh.matching[p] = c.truth
	}
	if m.Extras == Strange {
		sh.props[strange] = c.truth
	}
	return c.shapeOf(sh)
}
