package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

func TestSignature(t *testing.T) {
	tests := []struct{ name, input, output, want string }{
		{"no arguments", `{"type":"object"}`, "", "t()"},
		{"no schema", ``, "", "t(…)"},
		{
			"required first, else in the server's order",
			`{"properties":{"z":{"type":"string"},"b":{"type":"integer"},"a":{"type":"number"}},"required":["a"]}`, "",
			"t(a: number, z?: string, b?: integer)",
		},
		{"kinds", `{"properties":{"a":{"type":["string","null"]},"b":{},"c":true,"d":false,"e":{"type":"array"},"f":{"type":"object"}}}`, "", "t(a?: string|null, b?: any, c?: any, d?: never, e?: any[], f?: object)"},
		{"constants", `{"properties":{"a":{"enum":["x",1,null]},"b":{"const":true},"c":{"enum":[1,2,3,4,5,6]},"d":{"const":{"a":1}}}}`, "", `t(a?: "x"|1|null, b?: true, c?: 1|2|3|4|5|…, d?: object)`},
		{"arrays and unions", `{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"null"},{"type":"string"}]}},"b":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}`, "", "t(a?: (string|null)[], b?: string[][])"},
		{"maps", `{"properties":{"a":{"type":"object","additionalProperties":{"type":"number"}}}}`, "", "t(a?: {[name]: number})"},
		{"references", `{"properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"$ref":"#/nowhere"},"c":{"$ref":"https://x"}},"$defs":{"x/y":{"type":"string"}}}`, "", "t(a?: string, b?: any, c?: any)"},
		{"a circle", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`, "", "t(a?: any)"},
		{"recursion", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}}}`, "", "t(a?: {next?: {next?: {…}}})"},
		{"a union of circles", `{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`, "", "t(…)"},
		{"output", `{}`, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, "t() → {n: integer}"},
		{"output of any kind", `{}`, `{"type":"array","items":{"type":"string"}}`, "t() → string[]"},
		{"allOf of itself", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, "", "t(a?: …)"},
		{
			"names that are no words",
			`{"properties":{"":{"type":"string"},"a b":{},"x: string) → {y":{},"n\nl":{},"a.b":{},"--help":{},"$id":{}},"required":[""]}`, "",
			`t("": string, "a b"?: any, "x: string) → {y"?: any, "n\nl"?: any, a.b?: any, --help?: any, $id?: any)`,
		},
		{"kinds over and over", `{"properties":{"a":{"type":["string","string","null"]}}}`, "", "t(a?: string|null)"},
		{"too deep to read", strings.Repeat(`{"items":`, 600) + `{}` + strings.Repeat(`}`, 600), "", "t(…)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := catalog.Tool{Name: "t", InputSchema: json.RawMessage(tt.input)}
			if tt.output != "" {
				tool.OutputSchema = json.RawMessage(tt.output)
			}
			if got := Unicode.Signature(tool); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSignatureInASCII(t *testing.T) {
	tool := catalog.Tool{
		Name: "t", InputSchema: json.RawMessage(`{"properties":{"a":{"enum":[1,2,3,4,5,6]},"é":{"const":"…"}}}`), OutputSchema: json.RawMessage(`{}`),
	}
	if got, want := ASCII.Signature(tool), `t(a?: 1|2|3|4|5|..., é?: "…") -> any`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A schema whose unions double at every step must not take long.
func TestSignatureOfDoublingUnions(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{"d60":{"type":"string"}`)
	for i := range 60 {
		n, m := string(json.Number(itoa(i))), itoa(i+1)
		b.WriteString(`,"d` + n + `":{"anyOf":[{"items":{"$ref":"#/$defs/d` + m + `"}},{"properties":{"a":{"$ref":"#/$defs/d` + m + `"},"b":{"$ref":"#/$defs/d` + m + `"}}}]}`)
	}
	b.WriteString(`}}`)
	if got := Unicode.Signature(catalog.Tool{Name: "t", InputSchema: json.RawMessage(b.String())}); len(got) > 20_000 {
		t.Errorf("a signature of %d bytes", len(got))
	}
}

// Small schemas whose references multiply must not take long either.
func TestSignatureOfMultiplyingReferences(t *testing.T) {
	self := `{"$ref":"#/$defs/a"}`
	for name, a := range map[string]string{
		"anyOf": `{"anyOf":[` + self + strings.Repeat(`,{"type":"array","items":`+self+`}`, 300) + `]}`,
		"kinds": `{"type":["array"` + strings.Repeat(`,"object","array"`, 50) + `],"items":` + self + `,"properties":{"p":` + self + `,"q":` + self + `}}`,
		"wide":  `{"properties":{"a":` + self + `,"b":` + self + `,"c":` + self + `,"d":` + self + `,"e":` + self + `}}`,
	} {
		schema := `{"properties":{"x":` + self + `},"$defs":{"a":` + a + `}}`
		if got := Unicode.Signature(catalog.Tool{Name: "t", InputSchema: json.RawMessage(schema)}); len(got) > 100_000 {
			t.Errorf("%s: a signature of %d bytes", name, len(got))
		}
	}
}

func itoa(i int) string {
	b, _ := json.Marshal(i)
	return string(b)
}
