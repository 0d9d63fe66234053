package view

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpctl/mcpctl/internal/schema"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

func example(t *testing.T, input string) string {
	t.Helper()
	value := Example(catalog.Tool{Name: "t", InputSchema: json.RawMessage(input)})
	if value == nil {
		return ""
	}
	return string(value.AppendCanonical(nil))
}

func TestExample(t *testing.T) {
	tests := []struct{ name, input, want string }{
		{"nothing required", `{"properties":{"a":{"type":"string"}}}`, `{}`},
		{"kinds", `{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"b":{"type":"boolean"},"n":{"type":["null","number"]},"a":{"type":"array","items":{"type":"string"}}},"required":["s","i","b","n","a"]}`, `{"a":["A"],"b":true,"i":1,"n":1,"s":"S"}`},
		{"what the schema says", `{"properties":{"a":{"const":3},"b":{"type":"string","default":"d"},"c":{"type":"string","examples":["e","f"]},"d":{"enum":["g","h"]}},"required":["a","b","c","d"]}`, `{"a":3,"b":"d","c":"e","d":"g"}`},
		{"bounds", `{"properties":{"a":{"type":"integer","minimum":3.5},"b":{"type":"number","exclusiveMaximum":0},"c":{"type":"integer","minimum":10,"multipleOf":7},"d":{"type":"string","minLength":6},"e":{"type":"string","maxLength":2},"f":{"type":"array","items":{"type":"integer"},"minItems":2},"g":{"type":"array","maxItems":0}},"required":["a","b","c","d","e","f","g"]}`, `{"a":4,"b":-1,"c":14,"d":"DDDDDD","e":"E","f":[1,1],"g":[]}`},
		{"formats", `{"properties":{"a":{"type":"string","format":"date"},"b":{"type":"string","format":"email"}},"required":["a","b"]}`, `{"a":"2026-01-31","b":"ada@example.com"}`},
		{"objects and references", `{"properties":{"a":{"$ref":"#/$defs/p"}},"required":["a"],"$defs":{"p":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x"]}}}`, `{"a":{"x":1}}`},
		{"unions", `{"properties":{"a":{"anyOf":[{"type":"null"},{"type":"integer"}]}},"required":["a"]}`, `{"a":1}`},
		{"compositions", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b","a"]}]}`, `{"a":"A","b":1}`},
		{"a pattern", `{"properties":{"a":{"type":"string","pattern":"^[A-Z]{3}-[0-9]$"}},"required":["a"]}`, `{"a":"AAA-0"}`},
		{"one of two", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":"x"}`},
		{"none", `{"properties":{"a":false},"required":["a"]}`, ``},
		{"no schema", ``, ``},
		{"no object", `{"type":"string"}`, ``},
		{"recursion", `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := example(t, tt.input); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Every tool that was captured from a real server is described whole, and gets
// arguments that its schema accepts.
func TestRealTools(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "testdata", "catalogues", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no catalogues: ", err)
	}
	tools := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cat, err := catalog.Read(bytes.NewReader(data), file)
		if err != nil {
			t.Fatal(file, err)
		}
		for _, s := range cat.Servers {
			for _, tool := range s.Tools {
				tools++
				if _, more := Unicode.Arguments(tool); more {
					t.Errorf("%s: %s: not all arguments", filepath.Base(file), tool.Name)
				}
				value := Example(tool)
				if value == nil {
					t.Errorf("%s: %s: no example", filepath.Base(file), tool.Name)
					continue
				}
				compiled, err := schema.Compile(tool.InputSchema, schema.Options{})
				if err != nil {
					continue
				}
				if err := compiled.Validate(value.AppendCanonical(nil)); err != nil {
					t.Errorf("%s: %s: %s: %v", filepath.Base(file), tool.Name, value.AppendCanonical(nil), err)
				}
			}
		}
	}
	if tools < 1000 {
		t.Errorf("only %d tools", tools)
	}
}

// FuzzTool describes a tool with any schema, in bounded time, and its example is
// one.
func FuzzTool(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":3,"multipleOf":2},"b":{"$ref":"#/$defs/x"}},"required":["a","b"],"$defs":{"x":{"enum":["y",1]}}}`,
		`{"allOf":[{"properties":{"a":{"type":"string","pattern":"^a{3}$","minLength":2}},"required":["a"]},{"oneOf":[{"required":["b"]},{"required":["c"]}]}]}`,
		`{"properties":{"a":{"anyOf":[{"type":"array","items":{"type":"number"},"minItems":2,"uniqueItems":true},{"type":"null"}],"default":null}},"required":["a"]}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"},"s":{"type":["null","string"],"format":"date","examples":["x"]}},"required":["n"]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		tool := catalog.Tool{Name: "t", InputSchema: input, OutputSchema: input}
		Unicode.Signature(tool)
		Unicode.Arguments(tool)
		Unicode.Result(tool)
		value := Example(tool)
		if value == nil {
			return
		}
		compiled, err := schema.Compile(input, schema.Options{})
		if err != nil {
			return
		}
		if err := compiled.Validate(value.AppendCanonical(nil)); err != nil {
			t.Errorf("%s is no example of %s: %v", value.AppendCanonical(nil), input, err)
		}
	})
}
