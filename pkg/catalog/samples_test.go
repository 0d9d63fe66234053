package catalog

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/internal/subschema"
)

// wholeWitness asks the judge about whole schemas.
func wholeWitness(t testing.TB, p pair, side Side) json.RawMessage {
	t.Helper()
	l := newLocator(&toolDiff{}, side, parse(t, p.old), parse(t, p.new))
	if l == nil {
		return nil
	}
	return witnessText(l.judge.judge(l.was, l.is).witness)
}

func parse(t testing.TB, text string) *schemadoc.Value {
	t.Helper()
	v, err := schemadoc.Parse([]byte(text), schemadoc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// samples returns values that one of two schemas is likely to have an opinion
// about: made by following their keywords, and changed a little.
func samples(t testing.TB, schemas ...string) []json.RawMessage {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	g := &sampler{rng: rng}
	var all []json.RawMessage
	for _, text := range schemas {
		root := parse(t, text)
		doc, err := subschema.NewDocument(root)
		if err != nil {
			continue
		}
		g.doc = doc
		g.words = g.words[:0]
		g.gather(root)
		for range 300 {
			v := g.value(root, 0)
			all = append(all, v.AppendCanonical(nil))
		}
	}
	return all
}

// sampler makes values that resemble a schema.
type sampler struct {
	rng   *rand.Rand
	doc   *subschema.Document
	words []*schemadoc.Value // scalars that occur anywhere
	// described makes no members that the schema does not describe.
	described bool
}

func (g *sampler) gather(v *schemadoc.Value) {
	switch v.Kind {
	case schemadoc.Array:
		for _, item := range v.Items {
			g.gather(item)
		}
	case schemadoc.Object:
		for _, m := range v.Members {
			g.words = append(g.words, str(m.Name))
			g.gather(m.Value)
		}
	default:
		g.words = append(g.words, v)
	}
}

func str(s string) *schemadoc.Value { return &schemadoc.Value{Kind: schemadoc.String, Text: s} }

var oddities = []string{
	`null`, `true`, `false`, `0`, `1`, `-1`, `1.5`, `0.1`, `1e3`, `9007199254740993`, `-9007199254740992`, `""`, `"a"`, `"abc"`, `"x1"`, `"A-9"`,
	`"a string that is rather long, as they go"`, `"123"`, `"äöü"`, `[]`, `[1]`, `["a","a"]`, `[true,false]`, `[null]`, `{}`, `{"a":1}`, `{"x-a":"b"}`, `{"k":"a","v":1.5}`,
}

func (g *sampler) odd() *schemadoc.Value {
	if len(g.words) > 0 && g.rng.IntN(2) == 0 {
		return g.words[g.rng.IntN(len(g.words))]
	}
	v, _ := schemadoc.Parse([]byte(oddities[g.rng.IntN(len(oddities))]), schemadoc.Limits{})
	return v
}

func (g *sampler) value(s *schemadoc.Value, depth int) *schemadoc.Value {
	if depth > 6 || !s.Is(schemadoc.Object) || g.rng.IntN(12) == 0 {
		return g.odd()
	}
	if ref := s.Get("$ref"); ref.Is(schemadoc.String) {
		if target := g.doc.Resolve(s, ref.Text); target != nil {
			return g.value(target, depth+1)
		}
		return g.odd()
	}
	if c := s.Get("const"); c != nil {
		return c
	}
	if e := s.Get("enum"); e.Is(schemadoc.Array) && len(e.Items) > 0 {
		return e.Items[g.rng.IntN(len(e.Items))]
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if list := s.Get(k); list.Is(schemadoc.Array) && len(list.Items) > 0 && g.rng.IntN(4) > 0 {
			return g.value(list.Items[g.rng.IntN(len(list.Items))], depth+1)
		}
	}
	kind := s.Get("type").Str()
	if t := s.Get("type"); t.Is(schemadoc.Array) && len(t.Items) > 0 {
		kind = t.Items[g.rng.IntN(len(t.Items))].Str()
	}
	if kind == "" && s.Get("properties") != nil {
		kind = "object"
	}
	switch kind {
	case "null":
		return &schemadoc.Value{Kind: schemadoc.Null}
	case "boolean":
		return &schemadoc.Value{Kind: schemadoc.Bool, Bool: g.rng.IntN(2) == 0}
	case "integer", "number":
		for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
			if b := s.Get(k); b.Is(schemadoc.Number) && g.rng.IntN(3) == 0 {
				return b
			}
		}
		texts := []string{"0", "1", "2", "3", "5", "10", "12", "-1", "-10", "100", "1000000", "9007199254740992", "0.5", "2.25"}
		return &schemadoc.Value{Kind: schemadoc.Number, Text: texts[g.rng.IntN(len(texts))]}
	case "string":
		for {
			if v := g.odd(); v.Is(schemadoc.String) {
				return v
			}
		}
	case "array":
		v := &schemadoc.Value{Kind: schemadoc.Array}
		for i := range g.rng.IntN(4) {
			item := s.Get("items")
			if p := s.Get("prefixItems"); p.Is(schemadoc.Array) && i < len(p.Items) {
				item = p.Items[i]
			}
			v.Items = append(v.Items, g.value(item, depth+1))
		}
		return v
	case "object":
		v := &schemadoc.Value{Kind: schemadoc.Object}
		required := names(s.Get("required"))
		if p := s.Get("properties"); p.Is(schemadoc.Object) {
			for _, m := range p.Members {
				if required[m.Name] && g.rng.IntN(20) > 0 || g.rng.IntN(2) == 0 {
					v.Members = append(v.Members, schemadoc.Member{Name: m.Name, Value: g.value(m.Value, depth+1)})
				}
			}
		}
		if extras := s.Get("additionalProperties"); g.rng.IntN(3) == 0 && (!g.described || extras != nil) {
			if name := g.odd(); name.Is(schemadoc.String) && v.Get(name.Text) == nil {
				v.Members = append(v.Members, schemadoc.Member{Name: name.Text, Value: g.value(extras, depth+1)})
			}
		}
		return v
	}
	return g.odd()
}
