package schema

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// judge returns what the validator alone says of a value.
func judge(s *Schema, value string) error {
	accept := s.accept
	defer func() { s.accept = accept }()
	s.accept = nil
	return s.Validate([]byte(value))
}

func TestAccepts(t *testing.T) {
	const tool = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{
		"name":{"type":"string","minLength":1,"maxLength":3,"description":"x"},"unit":{"enum":["m","ft"],"default":"m"},
		"days":{"type":"integer","minimum":1,"maximum":7},"at":{"$ref":"#/$defs/place"},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":2},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},"any":{}
		},"required":["name"],"additionalProperties":false,
		"$defs":{"place":{"type":"object","properties":{"lat":{"type":"number"},"in":{"$ref":"#/$defs/place"}}}}}`
	const draft7 = `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":["integer","null"]}},
		"properties":{"a":{"$ref":"#/definitions/n"},"b":{"allOf":[{"required":["x"]},{"properties":{"x":{"type":"boolean"}}}]}},"additionalProperties":{"type":"string","format":"email"}}`
	tests := []struct {
		schema, value string
		want          bool // whether it is accepted, so that the validator is not asked
	}{
		{tool, `{"name":"abc"}`, true},
		{tool, ` { "name" : "äöü" , "unit":"ft","days":7,"at":{"lat":-1.5,"in":{"in":{"lat":1}}},"tags":["a","b"],"note":null,"any":[1,{"x":"\n"}]} `, true},
		{tool, `{}`, false},
		{tool, `{"name":""}`, false},
		{tool, `{"name":"abcd"}`, false},
		{tool, `{"name":"\u0061"}`, false}, // valid, and left to the validator
		{tool, `{"name":"a","unit":"m","unit":"x"}`, false},
		{tool, `{"name":"a","unit":1}`, false},
		{tool, `{"name":"a","days":0}`, false},
		{tool, `{"name":"a","days":8}`, false},
		{tool, `{"name":"a","days":1.0}`, false},
		{tool, `{"name":"a","days":"1"}`, false},
		{tool, `{"name":"a","at":{"in":{"in":{"lat":""}}}}`, false},
		{tool, `{"name":"a","tags":["a","b","c"]}`, false},
		{tool, `{"name":"a","note":1}`, false},
		{tool, `{"name":"a","other":1}`, false},
		{tool, `[]`, false},
		{tool, `{"name":"a"`, false},
		{draft7, `{"a":null,"b":{"x":true},"c":"no address"}`, true},
		{draft7, `{"a":1.5}`, false},
		{draft7, `{"b":{}}`, false},
		{draft7, `{"c":1}`, false},
		{`{}`, `{"a":1e5}`, false},
		{`{}`, `[[1,-2.5,"x",null,false]]`, true},
		{`true`, `1`, true},
		{`false`, `1`, false},
		{`{"type":"number"}`, `123456789012345678901234567890`, true},
		{`{"type":"integer"}`, `-123`, true},
		{`{"required":["a","b"]}`, `{"b":1,"a":1,"a":2}`, true},
		{`{"required":["a","b"]}`, `{"a":1,"a":2}`, false},
		{`{"enum":["a"]}`, `"a"`, true},
		{`{"enum":[1]}`, `1`, false},
		// Keywords that it does not know leave the schema to the validator.
		{`{"pattern":"a"}`, `"a"`, false},
		{`{"const":1}`, `1`, false},
		{`{"not":false}`, `1`, false},
		{`{"oneOf":[true]}`, `1`, false},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{}`, false},
		{`{"prefixItems":[true]}`, `[]`, false},
		{`{"$defs":{"a":{"$id":"x"}},"$ref":"#/$defs/a"}`, `1`, false},
		{`{"minLength":1}`, `"a"`, false},
		{`{"type":["string","array"],"minLength":1}`, `"a"`, false},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true]}`, `[1]`, false},
	}
	for _, tt := range tests {
		s := mustCompile(t, tt.schema, Options{})
		if got := s.accept.accepts([]byte(tt.value)); got != tt.want {
			t.Errorf("%.60s accepts %s: %v, want %v", tt.schema, tt.value, got, tt.want)
		}
		if err := judge(s, tt.value); tt.want && err != nil {
			t.Errorf("%.60s: %s: the validator says %v", tt.schema, tt.value, err)
		}
	}
}

// TestAcceptedFormats holds that a schema with a format that counts is left to
// the validator.
func TestAcceptedFormats(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"format":"email"}}}`, Options{Formats: true})
	if s.accept.accepts([]byte(`{"a":"none"}`)) || s.Validate([]byte(`{"a":"none"}`)) == nil {
		t.Error("a format was passed over")
	}
}

// TestAcceptingIsFree holds that what is accepted costs no allocation.
func TestAcceptingIsFree(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"items":{"type":"integer"}}},"required":["a"]}`, Options{})
	value := []byte(`{"a":"x","b":[1,2,3]}`)
	if n := testing.AllocsPerRun(100, func() { _ = s.Validate(value) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAcceptorIsBounded holds that alternatives within alternatives end.
func TestAcceptorIsBounded(t *testing.T) {
	var defs strings.Builder
	defs.WriteString(`"x":{"type":"string"}`)
	last := "x"
	for i := range 40 {
		defs.WriteString(fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/%s"},{"$ref":"#/$defs/%[2]s"}]}`, i, last))
		last = fmt.Sprint("d", i)
	}
	s := mustCompile(t, `{"$ref":"#/$defs/`+last+`","$defs":{`+defs.String()+`}}`, Options{})
	if s.accept.accepts([]byte(`"a"`)) {
		t.Error("accepted after 2^40 looks")
	}
	if err := s.Validate([]byte(`"a"`)); !errors.Is(err, ErrWork) {
		t.Error(err)
	}
}

// TestAcceptorIsSound holds that the validator agrees with everything that is
// accepted, for schemas and values at random.
func TestAcceptorIsSound(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	accepted, tried := 0, 0
	for range 4000 {
		text := g.document()
		s, err := Compile([]byte(text), Options{})
		if err != nil {
			continue
		}
		for range 20 {
			tried++
			if value := g.value(3); s.accept.accepts([]byte(value)) {
				accepted++
				if err := judge(s, value); err != nil {
					t.Fatalf("%s accepts %s, and the validator says %v", text, value, err)
				}
			}
		}
	}
	if accepted < tried/10 {
		t.Errorf("accepted %d of %d, which tests little", accepted, tried)
	}
}

type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) list(n int, item func() string) string {
	items := make([]string, g.IntN(n))
	for i := range items {
		items[i] = item()
	}
	return strings.Join(items, ",")
}

func (g generator) document() string {
	dialect := g.pick(``, ``, `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"http://json-schema.org/draft-04/schema#",`, `"$schema":"https://json-schema.org/draft/2019-09/schema",`)
	return fmt.Sprintf(`{%s"$defs":{"a":%s,"b":%s},"definitions":{"a":%s},%s`, dialect, g.schema(2), g.schema(2), g.schema(2), strings.TrimPrefix(g.schema(3), "{"))
}

func (g generator) schema(depth int) string {
	if depth == 0 {
		return g.pick(`{"type":"string"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":["null","boolean"]}`, `{"$ref":"#/$defs/b"}`, `{"enum":["a","ä",1]}`, `{"type":"array"}`)
	}
	sub := func() string { return g.schema(depth - 1) }
	member := func() string { return fmt.Sprintf(`%q:%s`, g.pick("a", "b", "ä"), sub()) }
	parts := []string{fmt.Sprintf(`"description":"%d"`, g.IntN(9))}
	for range g.IntN(4) {
		parts = append(parts, g.pick(
			`"type":"object"`, `"type":["array","object"]`, `"type":"string","minLength":1`, `"type":"string","maxLength":2`, `"type":"array","minItems":1`, `"type":"array","maxItems":1`,
			`"minimum":1`, `"maximum":2`, `"minimum":-1.5`, `"required":["a"]`, `"required":["b","a"]`, `"additionalProperties":false`,
			`"properties":{`+g.list(3, member)+`}`, `"additionalProperties":`+sub(), `"items":`+sub(),
			`"anyOf":[`+sub()+`,`+sub()+`]`, `"allOf":[`+sub()+`]`, `"$ref":"#/$defs/a"`, `"$ref":"#/definitions/a"`, `"enum":["a","b"]`, `"exclusiveMinimum":true`, `"const":1`))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (g generator) value(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.pick(`1`, `2`, `0`, `-1`, `-0`, `1.0`, `1.5`, `1e0`, `10e-1`, `3e500`, `99999999999999999999`, `"a"`, `"b"`, `"ä"`, `"\u00e4"`, `"aaa"`, `""`, `"\ud800"`, "\"\xff\"", `true`, `null`, `[]`, `{}`)
	}
	if g.IntN(3) == 0 {
		return " [ " + g.list(3, func() string { return g.value(depth - 1) }) + " ] "
	}
	return "{" + g.list(4, func() string {
		return fmt.Sprintf(`%s :%s`, g.pick(`"a"`, `"b"`, `"ä"`, `"\u0061"`, `"c"`), g.value(depth-1))
	}) + "}"
}

// FuzzAccept holds the same with texts that nobody thought of.
func FuzzAccept(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"integer","minimum":1}}}`, `{"a":1}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"type":["string","null"]}}}`, `"\u0061"`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer"}`, `1.0`)
	f.Add(`{"anyOf":[{"items":{"enum":["a"]}},{"maxItems":1}],"type":"array"}`, `["b"]`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		if len(schema)+len(value) > 4000 {
			return
		}
		s, err := Compile([]byte(schema), Options{})
		if err != nil || !s.accept.accepts([]byte(value)) {
			return
		}
		if err := judge(s, value); err != nil && !errors.Is(err, ErrWork) {
			t.Errorf("%s accepts %s, and the validator says %v", schema, value, err)
		}
	})
}
