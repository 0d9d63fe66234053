package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// doubling is a schema of n definitions, each of which uses the next twice.
func doubling(n int, step func(next string) string, last string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"p":{"$ref":"#/$defs/d0"}},"required":["p"],"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":%s,`, i, step(fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, n, last)
	return b.String()
}

// TestEntangled holds the time that schemas may take which are made to take
// long. What is decided must be right; the rest is "not decided".
func TestEntangled(t *testing.T) {
	twice := map[string]func(string) string{
		"members": func(d string) string {
			return `{"type":"object","properties":{"a":` + d + `,"b":` + d + `},"required":["a","b"]}`
		},
		"optional members": func(d string) string { return `{"type":"object","properties":{"a":` + d + `,"b":` + d + `}}` },
		"items":            func(d string) string { return `{"type":"array","prefixItems":[` + d + `,` + d + `],"minItems":2}` },
		"allOf":            func(d string) string { return `{"allOf":[` + d + `,` + d + `]}` },
		"anyOf": func(d string) string {
			return `{"anyOf":[{"type":"object","properties":{"a":` + d + `},"required":["a"]},{"type":"object","properties":{"b":` + d + `},"required":["b"]}]}`
		},
		"oneOf": func(d string) string {
			return `{"oneOf":[{"type":"object","properties":{"a":` + d + `},"required":["a"]},{"type":"object","properties":{"b":` + d + `},"required":["b"]}]}`
		},
		"not":    func(d string) string { return `{"not":{"allOf":[` + d + `,{"not":{"anyOf":[` + d + `]}}]}}` },
		"extras": func(d string) string { return `{"type":"object","patternProperties":{"^a":` + d + `,"b$":` + d + `}}` },
		"conditions": func(d string) string {
			return `{"if":{"properties":{"a":` + d + `}},"then":` + d + `,"else":` + d + `}`
		},
	}
	// Here a leaf that narrows may widen the whole.
	mixed := map[string]bool{"not": true, "oneOf": true, "conditions": true}
	for name, step := range twice {
		t.Run(name, func(t *testing.T) {
			old := doubling(30, step, `{"type":"number"}`)
			for _, is := range []struct{ change, schema, want string }{
				{"narrowed", doubling(30, step, `{"type":"integer"}`), "B"},
				{"renamed", strings.ReplaceAll(strings.ReplaceAll(old, `"d`, `"x`), "/d", "/x"), "="},
			} {
				for _, side := range []Side{Input, Output} {
					start := time.Now()
					changes := DiffTool(toolOf(t, side, old), toolOf(t, side, is.schema))
					took := time.Since(start)
					got := letter(changes)
					want := is.want
					if side == Output && want == "B" {
						want = "C"
					}
					t.Logf("%s %s: %s in %v", is.change, side, got, took.Round(time.Millisecond))
					if got != want && got != "U" && (is.want == "=" || !mixed[name]) {
						t.Errorf("%s %s: %s, want %s: %v", is.change, side, got, want, changes)
					}
					if took > 30*time.Second { // hours, if each use counts
						t.Errorf("%s %s took %v", is.change, side, took)
					}
				}
			}
		})
	}
}
