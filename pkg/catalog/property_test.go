package catalog

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/internal/subschema"
)

func readCaptured(t testing.TB, file string) Catalog {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(bytes.NewReader(data), "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deepCopy copies a document, so that it can be changed.
func deepCopy(v *schemadoc.Value) *schemadoc.Value {
	c := &schemadoc.Value{Kind: v.Kind, Bool: v.Bool, Text: v.Text}
	for _, item := range v.Items {
		c.Items = append(c.Items, deepCopy(item))
	}
	for _, m := range v.Members {
		c.Members = append(c.Members, schemadoc.Member{Name: m.Name, Value: deepCopy(m.Value)})
	}
	return c
}

func set(v *schemadoc.Value, name string, value *schemadoc.Value) {
	for i := range v.Members {
		if v.Members[i].Name == name {
			v.Members[i].Value = value
			return
		}
	}
	v.Members = append(v.Members, schemadoc.Member{Name: name, Value: value})
}

func unset(v *schemadoc.Value, name string) bool {
	before := len(v.Members)
	v.Members = slices.DeleteFunc(v.Members, func(m schemadoc.Member) bool { return m.Name == name })
	return len(v.Members) < before
}

// mutate changes one schema somewhere in a document, and reports whether it
// found something to change.
func mutate(t testing.TB, rng *rand.Rand, root *schemadoc.Value) bool {
	var all []*schemadoc.Value
	var walk func(*schemadoc.Value)
	walk = func(v *schemadoc.Value) {
		if v.Is(schemadoc.Object) {
			all = append(all, v)
		}
		for _, sub := range v.Subschemas() {
			walk(sub)
		}
	}
	walk(root)
	js := func(text string) *schemadoc.Value { return deepCopy(parse(t, text)) }
	v := all[rng.IntN(len(all))]
	properties, required := v.Get("properties"), v.Get("required")
	switch rng.IntN(16) {
	case 0:
		types := []string{`"string"`, `"number"`, `"integer"`, `"boolean"`, `"array"`, `"object"`, `["string","null"]`, `["integer","string"]`}
		if v == root {
			return false
		}
		set(v, "type", js(types[rng.IntN(len(types))]))
	case 1:
		return v != root && unset(v, "type")
	case 2:
		if properties == nil || len(properties.Members) == 0 {
			return false
		}
		name := properties.Members[rng.IntN(len(properties.Members))].Name
		unset(properties, name)
	case 3:
		if properties == nil {
			return false
		}
		set(properties, "brand-new", js(`{"type":"string"}`))
	case 4:
		if properties == nil || len(properties.Members) == 0 {
			return false
		}
		name := properties.Members[rng.IntN(len(properties.Members))].Name
		if !required.Is(schemadoc.Array) {
			set(v, "required", &schemadoc.Value{Kind: schemadoc.Array, Items: []*schemadoc.Value{str(name)}})
			return true
		}
		if names(required)[name] {
			required.Items = slices.DeleteFunc(required.Items, func(i *schemadoc.Value) bool { return i.Text == name })
			return true
		}
		required.Items = append(required.Items, str(name))
	case 5:
		set(v, "additionalProperties", js([]string{`true`, `false`, `{"type":"string"}`}[rng.IntN(3)]))
	case 6:
		return unset(v, "additionalProperties")
	case 7:
		e := v.Get("enum")
		if e == nil || len(e.Items) < 2 {
			return false
		}
		e.Items = e.Items[1:]
	case 8:
		e := v.Get("enum")
		if e == nil {
			return false
		}
		e.Items = append(e.Items, str("brand-new"))
	case 9:
		keyword := []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "exclusiveMinimum"}[rng.IntN(7)]
		set(v, keyword, js([]string{`0`, `1`, `3`, `100`}[rng.IntN(4)]))
	case 10:
		keyword := []string{"minimum", "maximum", "minLength", "maxLength", "pattern", "format"}[rng.IntN(6)]
		return unset(v, keyword)
	case 11:
		set(v, "pattern", js([]string{`"^[a-z]+$"`, `"x"`, `"^\\d{1,3}$"`}[rng.IntN(3)]))
	case 12:
		for _, k := range []string{"anyOf", "oneOf"} {
			if list := v.Get(k); list.Is(schemadoc.Array) && len(list.Items) > 1 {
				i := rng.IntN(len(list.Items))
				list.Items = slices.Delete(list.Items, i, i+1)
				return true
			}
		}
		return false
	case 13:
		if v == root || v.Get("$ref") != nil {
			return false
		}
		old := deepCopy(v)
		v.Members = nil
		set(v, "anyOf", &schemadoc.Value{Kind: schemadoc.Array, Items: []*schemadoc.Value{old, js(`{"type":"null"}`)}})
	case 14:
		if items := v.Get("items"); items == nil || !unset(v, "items") {
			return false
		}
	case 15:
		set(v, "description", js(`"brand-new"`))
	}
	return true
}

var (
	seed      = flag.Uint64("seed", 7, "seed of random tests")
	mutations = flag.Int("mutations", 900, "how many schemas to change at random")
)

// TestRealSchemasMutated changes real schemas at random and holds each verdict
// against another validator: what breaks must have a witness that holds, and
// what is compatible none that following the schemas can find.
func TestRealSchemasMutated(t *testing.T) {
	files, err := filepath.Glob(captures + "/*.json")
	if err != nil || len(files) < 27 {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(*seed, 7))
	rounds := *mutations
	if testing.Short() {
		rounds = 100
	}
	var tools []Tool
	for _, file := range files {
		for _, s := range readCaptured(t, file).Servers {
			for range 25 {
				tools = append(tools, s.Tools[rng.IntN(len(s.Tools))])
			}
		}
	}
	counts := make(map[string]int)
	witnessed := 0
	for range rounds {
		tool := tools[rng.IntN(len(tools))]
		schema := tool.InputSchema
		side := Input
		if tool.OutputSchema != nil && rng.IntN(2) == 0 {
			schema, side = tool.OutputSchema, Output
		}
		old := deepCopy(parse(t, string(schema)))
		if size := len(schema); size > 20_000 {
			continue
		}
		changed := deepCopy(old)
		for n := 1 + rng.IntN(2); n > 0; {
			if mutate(t, rng, changed) {
				n--
			}
		}
		before, after := string(old.AppendCanonical(nil)), string(changed.AppendCanonical(nil))
		from, to := validator(t, before), validator(t, after)
		if from == nil || to == nil {
			continue
		}
		start := before
		if side == Output {
			from, to = to, from
			start = after
		}
		changes := DiffTool(toolOf(t, side, before), toolOf(t, side, after))
		verdict := letter(changes)
		counts[verdict]++
		for _, c := range changes {
			if c.Witness != nil && !c.Partial && c.Severity > Compatible {
				witnessed++
				if !from(c.Witness) || to(c.Witness) {
					t.Errorf("%s %s: %s is no witness\nold %s\nnew %s", tool.Name, c, c.Witness, before, after)
				}
			}
		}
		if verdict != "C" && verdict != "=" {
			continue
		}
		root := parse(t, start)
		doc, err := subschema.NewDocument(root)
		if err != nil {
			t.Fatal(err)
		}
		g := &sampler{rng: rng, doc: doc, described: true}
		g.gather(root)
		for range 60 {
			v := json.RawMessage(g.value(root, 0).AppendCanonical(nil))
			if bytes.Contains(v, []byte("900719925474099")) {
				continue // bounds at ±(2^53−1) are noise by rule
			}
			if from(v) && !to(v) {
				t.Errorf("%s, %s: %s, but %s is a witness\nold %s\nnew %s", tool.Name, side, verdict, v, before, after)
				break
			}
		}
	}
	t.Logf("verdicts %v, witnesses %d", counts, witnessed)
	if counts["B"] < rounds/10 || counts["C"] < rounds/20 || witnessed < rounds/20 {
		t.Errorf("the mutations are too tame: %v, %d witnesses", counts, witnessed)
	}
	if counts["U"] > rounds/50 {
		t.Errorf("%d of %d not decided", counts["U"], rounds)
	}
}
