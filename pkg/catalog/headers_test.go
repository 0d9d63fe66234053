package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	tests := []struct {
		name, schema string
		want         []Header
	}{
		{"none", `{"properties":{"a":{"type":"string"}}}`, nil},
		{"in the order of the schema", `{"properties":{"b":{"type":"string","x-mcp-header":"Region"},"a":{"type":"integer","x-mcp-header":"!#z"}}}`, []Header{{"Mcp-Param-Region", []string{"b"}}, {"Mcp-Param-!#z", []string{"a"}}}},
		{
			"nested", `{"properties":{"a":{"properties":{"b":{"type":"boolean","x-mcp-header":"B"},"c/d":{"properties":{"e":{"type":"string","x-mcp-header":"E"}}},"f":{"type":"string","x-mcp-header":"F"}}}}}`,
			[]Header{{"Mcp-Param-B", []string{"a", "b"}}, {"Mcp-Param-E", []string{"a", "c/d", "e"}}, {"Mcp-Param-F", []string{"a", "f"}}},
		},
		{"a parameter without a name", `{"properties":{"":{"type":"string","x-mcp-header":"A"}}}`, []Header{{"Mcp-Param-A", []string{""}}}},
		{"one that is invalid", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"number","x-mcp-header":"B"}}}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, mustTool(t, `{"name":"a","inputSchema":`+tt.schema+`}`).Headers()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestHeaderValues(t *testing.T) {
	headers := mustTool(t, `{"name":"a","inputSchema":{"properties":{
		"s":{"type":"string","x-mcp-header":"S"},"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"},
		"o":{"properties":{"p":{"type":"string","x-mcp-header":"P"}}},"n":{"type":"number"}}}}`).Headers()
	tests := []struct {
		arguments string
		want      map[string]string
	}{
		{``, nil},
		{`{}`, map[string]string{}},
		{`{"s":"us-west1","i":-7,"b":false,"o":{"p":"x"},"n":3.5,"q":"z"}`, map[string]string{"Mcp-Param-S": "us-west1", "Mcp-Param-I": "-7", "Mcp-Param-B": "false", "Mcp-Param-P": "x"}},
		{`{"s":""}`, map[string]string{"Mcp-Param-S": ""}},
		{`{"s":" Hello, \u4e16\u754c\r\n"}`, map[string]string{"Mcp-Param-S": " Hello, 世界\r\n"}},
		{`{"s":"=?base64?literal?="}`, map[string]string{"Mcp-Param-S": "=?base64?literal?="}},
		{`{"s":null,"i":null,"b":null,"o":null}`, map[string]string{}},
		{`{"o":"p"}`, map[string]string{}},
		{`[]`, map[string]string{}},
		{`{"i":42.0}`, map[string]string{"Mcp-Param-I": "42"}},
		{`{"i":4.2e1}`, map[string]string{"Mcp-Param-I": "42"}},
		{`{"i":-0.0}`, map[string]string{"Mcp-Param-I": "0"}},
		{`{"i":9007199254740991}`, map[string]string{"Mcp-Param-I": "9007199254740991"}},
		{`{"i":-9007199254740991}`, map[string]string{"Mcp-Param-I": "-9007199254740991"}},
		// What the schema forbids is mirrored as it is where that can be.
		{`{"s":1,"i":"x","b":"true"}`, map[string]string{"Mcp-Param-S": "1", "Mcp-Param-I": "x", "Mcp-Param-B": "true"}},
	}
	for _, tt := range tests {
		got, err := HeaderValues(headers, json.RawMessage(tt.arguments))
		if err != nil {
			t.Errorf("%s: %v", tt.arguments, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.arguments, d)
		}
	}
	const number = `argument "/i": header Mcp-Param-I cannot carry a number that is no integer within ±(2^53−1)`
	for arguments, want := range map[string]string{
		`{"i":9007199254740992}`:                 number,
		`{"i":-9007199254740992}`:                number,
		`{"i":1e400}`:                            number,
		`{"i":77.5}`:                             number,
		`{"i":99999999999999999999999999999999}`: number,
		`{"o":{"p":["secret"]}}`:                 `argument "/o/p": header Mcp-Param-P cannot carry an array`,
		`{"s":{"secret":1}}`:                     `argument "/s": header Mcp-Param-S cannot carry an object`,
		`{"s":`:                                  `arguments: not valid JSON`,
	} {
		got, err := HeaderValues(headers, json.RawMessage(arguments))
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("%s: %v, error %v", arguments, got, err)
		}
	}
	// Nothing is read where there is nothing to find.
	if got, err := HeaderValues(nil, json.RawMessage(strings.Repeat("[", 10))); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
