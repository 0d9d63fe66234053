package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

func TestArguments(t *testing.T) {
	tests := []struct {
		name, schema string
		want         []Field
	}{
		{"none", `{"type":"object"}`, nil},
		{
			"what is said beside a reference", `{"properties":{"a":{"$ref":"#/$defs/x","description":"here","minimum":2}},"$defs":{"x":{"type":"integer","description":"there","maximum":3}}}`,
			[]Field{{Name: "a", Type: "integer", Facts: []string{"2 to 3"}, Description: "here"}},
		},
		{
			"an object that may be null", `{"properties":{"a":{"anyOf":[{"properties":{"b":{"type":"string","default":"x"}}},{"type":"null"}],"description":"d"}}}`,
			[]Field{{Name: "a", Type: "object|null", Description: "d", Fields: []Field{{Name: "b", Type: "string", Facts: []string{`default "x"`}}}}},
		},
		{
			"lists of lists", `{"properties":{"a":{"items":{"items":{"properties":{"b":{}}}},"minItems":1,"maxItems":1}}}`,
			[]Field{{Name: "a", Type: "object[][]", Facts: []string{"1 item"}, Fields: []Field{{Name: "b", Type: "any"}}}},
		},
		{
			"one composition", `{"properties":{"a":{"allOf":[{"type":"string","format":"uri"}],"default":null}}}`,
			[]Field{{Name: "a", Type: "string", Facts: []string{"format uri", "default null"}}},
		},
		{
			"bounds", `{"properties":{"a":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e3,"multipleOf":0.50},"b":{"type":"string","minLength":1},"c":{"type":"string","maxLength":2},"d":{"type":"integer","exclusiveMinimum":true}}}`,
			[]Field{
				{Name: "a", Type: "number", Facts: []string{"more than 0", "less than 1e3", "a multiple of 0.50"}},
				{Name: "b", Type: "string", Facts: []string{"at least 1 character"}},
				{Name: "c", Type: "string", Facts: []string{"at most 2 characters"}},
				{Name: "d", Type: "integer"},
			},
		},
		{
			"an object within itself", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}}}`,
			[]Field{{Name: "a", Type: "object", Fields: []Field{{Name: "next", Type: "object", Required: true}}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, more := Unicode.Arguments(catalog.Tool{Name: "t", InputSchema: json.RawMessage(tt.schema)})
			if diff := cmp.Diff(tt.want, got); diff != "" || more {
				t.Errorf("more %v (-want +got):\n%s", more, diff)
			}
		})
	}
	if got, more := Unicode.Arguments(catalog.Tool{Name: "t", InputSchema: json.RawMessage(`{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`)}); got != nil || !more {
		t.Errorf("too deep to read: %v, %v", got, more)
	}
}

func TestResult(t *testing.T) {
	got, more := Unicode.Result(catalog.Tool{OutputSchema: json.RawMessage(`{"type":"array","items":{"type":"string"},"maxItems":3}`)})
	want := []Field{{Type: "string[]", Facts: []string{"at most 3 items"}}}
	if diff := cmp.Diff(want, got); diff != "" || more {
		t.Errorf("more %v (-want +got):\n%s", more, diff)
	}
	if got, more := Unicode.Result(catalog.Tool{}); got != nil || more {
		t.Errorf("without a schema: %v, %v", got, more)
	}
}

// Small schemas that are endless when written out must not take long.
func TestEndlessSchemas(t *testing.T) {
	self := `{"$ref":"#/$defs/a"}`
	for name, a := range map[string]string{
		"unions":       `{"anyOf":[` + self + strings.Repeat(`,{"type":"array","items":`+self+`}`, 300) + `]}`,
		"objects":      `{"type":"object","properties":{"a":` + self + `,"b":` + self + `,"c":{"properties":{"a":` + self + `,"b":` + self + `}}},"required":["a","b","c"]}`,
		"compositions": `{"allOf":[` + self + `,` + self + `,{"properties":{"x":` + self + `},"required":["x"]}]}`,
		"lists":        `{"type":"array","minItems":10,"items":{"type":"array","minItems":10,"items":{"type":"array","minItems":10,"items":{"type":"array","minItems":10,"items":` + self + `}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			schema := json.RawMessage(`{"type":"object","properties":{"x":` + self + `},"required":["x"],"$defs":{"a":` + a + `}}`)
			tool := catalog.Tool{Name: "t", InputSchema: schema, OutputSchema: schema}
			Unicode.Arguments(tool)
			Unicode.Result(tool)
			Example(tool)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
