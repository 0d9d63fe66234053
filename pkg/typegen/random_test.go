package typegen

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// reversed writes a document with the members of all objects in descending
// order.
func reversed(v *schemadoc.Value) []byte {
	var b bytes.Buffer
	var write func(v *schemadoc.Value)
	write = func(v *schemadoc.Value) {
		switch v.Kind {
		case schemadoc.Object:
			b.WriteByte('{')
			members := slices.Clone(sortedMembers(v))
			slices.Reverse(members)
			for i, m := range members {
				if i > 0 {
					b.WriteByte(',')
				}
				b.Write((&schemadoc.Value{Kind: schemadoc.String, Text: m.Name}).AppendCanonical(nil))
				b.WriteByte(':')
				write(m.Value)
			}
			b.WriteByte('}')
		case schemadoc.Array:
			b.WriteByte('[')
			for i, x := range v.Items {
				if i > 0 {
					b.WriteByte(',')
				}
				write(x)
			}
			b.WriteByte(']')
		case schemadoc.Number:
			b.WriteString(v.Text)
		default:
			b.Write(v.AppendCanonical(nil))
		}
	}
	write(v)
	return b.Bytes()
}

// schemaMaker makes schemas that combine everything with everything.
type schemaMaker struct {
	*rand.Rand
	defs int
}

var makerNames = []string{"a", "b", "ID", "Id", "id", "user_id", "userId", "x-1", "kind", "type", "", "a,b", "-", "é", "n1"}

func (m schemaMaker) pick(list ...any) any { return list[m.IntN(len(list))] }

func (m schemaMaker) name() string { return makerNames[m.IntN(len(makerNames))] }

type object = map[string]any

func (m schemaMaker) schema(depth int) any {
	r := m.Float64()
	if depth <= 0 || r < 0.25 {
		return m.pick(object{"type": "string"}, object{"type": "integer"}, object{"type": "number"}, object{"type": "boolean"}, object{"type": "null"},
			object{"enum": []any{"a", "b", "A"}}, object{"enum": []any{"a", 1, nil, object{"k": 1}}}, object{"enum": []any{1, 2.5}}, object{"const": "a"}, object{"const": nil},
			object{}, true, false, object{"type": []any{"string", "null"}}, object{"type": []any{"array", "integer", "object"}}, object{"type": "integer", "maximum": 1e30})
	}
	list := func(n int, f func() any) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = f()
		}
		return out
	}
	sub := func() any { return m.schema(depth - 1) }
	obj := func() any { return m.object(depth - 1) }
	switch {
	case r < 0.5:
		return m.object(depth)
	case r < 0.6:
		return object{"type": "array", "items": sub()}
	case r < 0.66:
		return object{"type": "array", "prefixItems": list(1+m.IntN(3), sub), "minItems": m.IntN(3), "items": m.pick(true, false, sub())}
	case r < 0.78:
		s := object{m.pick("anyOf", "oneOf").(string): list(2+m.IntN(3), sub)}
		if m.IntN(3) == 0 {
			maps.Copy(s, m.object(depth-1))
		}
		return s
	case r < 0.86:
		return object{"allOf": list(1+m.IntN(3), obj)}
	case r < 0.93 && m.defs > 0:
		return object{"$ref": "#/$defs/D" + strconv.Itoa(m.IntN(m.defs))}
	}
	s := m.object(depth - 1)
	s["if"], s["then"], s["else"] = obj(), obj(), obj()
	return s
}

func (m schemaMaker) object(depth int) object {
	s := object{}
	if m.IntN(4) > 0 {
		s["type"] = "object"
	}
	props := object{}
	var required []any
	for range m.IntN(5) {
		n := m.name()
		props[n] = m.schema(depth - 1)
		if m.IntN(2) == 0 && !slices.Contains(required, any(n)) {
			required = append(required, n)
		}
	}
	if len(props) > 0 {
		s["properties"] = props
		s["required"] = append([]any{}, required...)
	}
	switch m.IntN(6) {
	case 0:
		s["additionalProperties"] = m.pick(true, false)
	case 1:
		s["additionalProperties"] = m.schema(depth - 1)
	case 2:
		s["patternProperties"] = object{m.pick("^x-", "_id$", "^(?!n)").(string): m.schema(depth - 1)}
	}
	if m.IntN(12) == 0 {
		s["unevaluatedProperties"] = false
	}
	if m.IntN(12) == 0 {
		s["dependentSchemas"] = object{m.name(): m.object(depth - 1)}
	}
	return s
}

// TestRandomSchemas holds that any combination gives source that gofmt agrees
// with, and the same whatever the order of members.
func TestRandomSchemas(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 200
	}
	for seed := range n {
		m := schemaMaker{rand.New(rand.NewPCG(uint64(seed), 7)), seed % 4}
		s := m.object(3)
		s["type"] = "object"
		defs := object{}
		for i := range m.defs {
			defs["D"+strconv.Itoa(i)] = m.schema(2)
		}
		s["$defs"] = defs
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		v, err := schemadoc.Parse(raw, schemadoc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Widen: true, Extras: []Extras{ExtrasExplicit, ExtrasKeep, ExtrasDrop}[seed%3]}
		one, a := generate(t, oneTool(t, string(raw), ""), o)
		two, b := generate(t, oneTool(t, string(reversed(v)), ""), o)
		if one != two {
			t.Fatalf("seed %d: the order of members counts: %s\n%s", seed, firstDiff([]byte(one), []byte(two)), raw)
		}
		if !slices.Equal(a.Diagnostics, b.Diagnostics) {
			t.Fatalf("seed %d: the order of members changes the diagnostics:\n%v\n%v\n%s", seed, a.Diagnostics, b.Diagnostics, raw)
		}
	}
}
