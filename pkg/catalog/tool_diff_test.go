package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffTool(t *testing.T) {
	const base = `{"name":"a","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`
	with := func(old, new string) string { return strings.Replace(base, old, new, 1) }
	task := func(support string) string {
		return with(`"name"`, `"execution":{"taskSupport":"`+support+`"},"name"`)
	}
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"nothing", base, base, nil},
		{"spelling", base, `{"outputSchema":{"type":"object"},"inputSchema":{"type":"object"},"description":"\u0064","name":"a"}`, nil},
		{"description", base, with(`"d"`, `"e"`), []string{"compatible a /description [words-changed]"}},
		{"description gone", base, with(`"description":"d",`, ``), []string{"compatible a /description [words-changed]"}},
		{"several words", base, with(`"description":"d"`, `"title":"T","icons":[]`), []string{"compatible a [words-changed]"}},
		{"null is absent", base, with(`"name"`, `"title":null,"name"`), nil},
		{"words in a schema", base, with(`{"type":"object"}`, `{"type":"object","title":"T"}`), []string{"compatible a [words-changed]"}},
		{"hints", base, with(`"name"`, `"annotations":{"readOnlyHint":true},"name"`), []string{"compatible a /annotations [annotations-changed]"}},
		{"output schema gone", base, with(`,"outputSchema":{"type":"object"}`, ``), []string{"breaking a output [output-schema-removed]"}},
		{"output schema is null", base, with(`"outputSchema":{"type":"object"}`, `"outputSchema":null`), []string{"breaking a output [output-schema-removed]"}},
		{"output schema added", with(`,"outputSchema":{"type":"object"}`, ``), base, []string{"compatible a output [output-schema-added]"}},
		{"input schema gone", base, with(`"inputSchema":{"type":"object"},`, ``), nil},
		{"arguments are objects anyway", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":{}`), nil},
		{"arguments are objects among others", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":{"type":["null","object"]}`), nil},
		{"input schema is true", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":true`), nil},
		{"input schema is false", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":false`), []string{"breaking a input [input-narrowed]"}},
		{"input schema is no schema", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":[]`), []string{"risky a input [not-decided]"}},
		{"task required", base, task("required"), []string{"breaking a /execution/taskSupport [task-required]"}},
		{"task required from optional", task("optional"), task("required"), []string{"breaking a /execution/taskSupport [task-required]"}},
		{"task allowed", base, task("optional"), []string{"compatible a /execution/taskSupport [task-allowed]"}},
		{"task allowed from required", task("required"), task("optional"), []string{"compatible a /execution/taskSupport [task-allowed]"}},
		{"task forbidden", task("optional"), task("forbidden"), []string{"breaking a /execution/taskSupport [task-forbidden]"}},
		{"task no more", task("required"), base, []string{"breaking a /execution/taskSupport [task-forbidden]"}},
		{"task default spelled out", base, task("forbidden"), nil},
		{"task support of another kind", base, task("sometimes"), []string{"risky a /execution/taskSupport [execution-changed]"}},
		{"execution says more", task("optional"), with(`"name"`, `"execution":{"taskSupport":"optional","x":1},"name"`), []string{"compatible a /execution [execution-changed]"}},
		{
			"header comes", with(`{"type":"object"}`, `{"type":"object","properties":{"r":{"type":"string"}}}`),
			with(`{"type":"object"}`, `{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}`),
			[]string{"risky a input /properties/r/x-mcp-header [header-changed]"},
		},
		{
			"unusable", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":{"type":"object","x-mcp-header":""}`),
			[]string{"breaking a [tool-unusable]", "risky a input /x-mcp-header [header-changed]"},
		},
		{
			"usable", with(`"inputSchema":{"type":"object"}`, `"inputSchema":{"type":"object","x-mcp-header":""}`), base,
			[]string{"compatible a [tool-usable]", "risky a input /x-mcp-header [header-changed]"},
		},
		{
			"too many subschemas", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":{"type":"object","allOf":[`+strings.Repeat(`{},`, 11_000)+`{}]}`),
			[]string{"risky a input [not-decided]"},
		},
		{
			"too deep", base, with(`"inputSchema":{"type":"object"}`, `"inputSchema":{"type":"object","not":`+strings.Repeat(`{"items":`, 200)+`{}`+strings.Repeat(`}`, 200)+`}`),
			[]string{"risky a input [not-decided]"},
		},
		{
			"too many values kept", with(`"inputSchema":{"type":"object"}`, `"inputSchema":{"type":"object","enum":[`+strings.Repeat(`1,`, 100_001)+`1]}`),
			with(`"inputSchema":{"type":"object"}`, `"inputSchema":{"enum":[`+strings.Repeat(`1,`, 100_001)+`1],"type":"object"}`), nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range DiffTool(mustTool(t, tt.old), mustTool(t, tt.new)) {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := DiffTool(Tool{Name: "a", Raw: json.RawMessage(`{`)}, mustTool(t, base)); len(got) != 1 || got[0].Code != NotDecided {
		t.Errorf("a tool that is no JSON: %v", got)
	}
}

func TestDiff(t *testing.T) {
	server := func(name string, tools ...string) Server {
		s := Server{Name: name}
		for _, tool := range tools {
			s.Tools = append(s.Tools, mustTool(t, tool))
		}
		return s
	}
	const a, b = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`
	const a2 = `{"name":"a","inputSchema":{"type":"object","required":["x"]}}`
	tests := []struct {
		name     string
		old, new Catalog
		want     []string
		missing  []NotDiscovered
		tools    int
	}{
		{"added and removed", New(server("s", a)), New(server("s", b)), []string{"s: breaking a [tool-removed]", "s: compatible b [tool-added]"}, nil, 0},
		{"single servers of other names", New(server("s", a)), New(server("t", a2)), []string{"t: breaking a input /required [input-required]"}, nil, 1},
		{"servers by name", New(server("s", a), server("t", b)), New(server("t", b), server("u", a)), []string{"s: breaking a [tool-removed]", "u: compatible a [tool-added]"}, nil, 1},
		{
			"not discovered", New(server("s", a), server("t", b), Server{Name: "u", Missing: "dns"}),
			New(Server{Name: "s", Missing: "refused"}, server("t", b), server("u", a)), nil,
			[]NotDiscovered{{"s", true, "refused"}, {"u", false, "dns"}},
			1,
		},
		{"two tools of a name", New(server("s", a, a2)), New(server("s", a2)), nil, nil, 1},
		{"nothing at all", Catalog{}, Catalog{}, nil, nil, 0},
		{"the worst first", New(server("s", `{"name":"a","description":"x","inputSchema":{"type":"object"}}`)), New(server("s", a2)), []string{
			"s: breaking a input /required [input-required]", "s: compatible a /description [words-changed]",
		}, nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Diff(tt.old, tt.new)
			var got []string
			for _, c := range r.Changes {
				got = append(got, c.Server+": "+c.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.missing, r.NotDiscovered); diff != "" {
				t.Errorf("not discovered (-want +got):\n%s", diff)
			}
			if r.Tools != tt.tools {
				t.Errorf("%d tools, want %d", r.Tools, tt.tools)
			}
		})
	}
	r := Diff(New(server("s", a)), New(server("s", a2)))
	r.Add(Diff(New(server("r", a)), New(server("r", b))))
	if worst, ok := r.Worst(); !ok || worst != Breaking || r.Count(Breaking) != 2 || r.Count(Compatible) != 1 || r.Changes[0].Server != "r" {
		t.Errorf("joined report: %v %v %v", worst, ok, r.Changes)
	}
	if text, err := Risky.MarshalText(); err != nil || string(text) != "risky" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestMissingIsSaved(t *testing.T) {
	c := New(Server{Name: "b", Tools: []Tool{mustTool(t, `{"name":"x"}`)}}, Server{Name: "a", Missing: "refused"})
	var saved strings.Builder
	if err := c.Write(&saved); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(saved.String(), `"missing": "refused",`) {
		t.Errorf("%s", saved.String())
	}
	again, err := Read(strings.NewReader(saved.String()), "")
	if err != nil || again.Servers[0].Missing != "refused" || again.Servers[1].Missing != "" {
		t.Errorf("%v, %v", again, err)
	}
}

// TestPublicServers holds the reports about two versions of three public
// servers.
func TestPublicServers(t *testing.T) {
	for _, pair := range [][2]string{
		{"context7-1.0.33", "context7-4.1.1"}, {"everything-2025.8.18", "everything-2026.1.26"}, {"filesystem-2025.11.25", "filesystem-2026.8.31"},
	} {
		t.Run(pair[1], func(t *testing.T) {
			read := func(name string) Catalog { return readCaptured(t, "../../testdata/contracts/"+name+".json") }
			r := Diff(read(pair[0]), read(pair[1]))
			var got strings.Builder
			fmt.Fprintf(&got, "%d tools, %d unchanged\n", r.Tools, r.Unchanged)
			for _, c := range r.Changes {
				fmt.Fprintf(&got, "%s\n", c)
				if c.Severity > Compatible {
					fmt.Fprintf(&got, "    %s -> %s\n    %s\n", c.Old, c.New, c.Witness)
				}
			}
			golden := filepath.Join("testdata", pair[1]+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			back := Diff(read(pair[1]), read(pair[1]))
			if len(back.Changes) > 0 {
				t.Errorf("a state and itself: %v", back.Changes)
			}
		})
	}
}

// FuzzDiff compares any two documents as schemas: there is a verdict, it does
// not panic, and what it calls a witness is one by the engine's own account.
func FuzzDiff(f *testing.F) {
	for _, p := range allPairs() {
		f.Add([]byte(p.old), []byte(p.new))
	}
	f.Add([]byte(`{"$ref":"#"}`), []byte(`{"items":{"$ref":"#"}}`))
	f.Add([]byte(`{"enum":[1e400,{}]}`), []byte(`{"const":1e399,"multipleOf":1e-400}`))
	f.Fuzz(func(t *testing.T, old, new []byte) {
		if !json.Valid(old) || !json.Valid(new) || len(old)+len(new) > 10_000 {
			return
		}
		for _, side := range []Side{Input, Output} {
			name := map[Side]string{Input: "inputSchema", Output: "outputSchema"}[side]
			was, err := ParseTool(fmt.Appendf(nil, `{"name":"t",%q:%s}`, name, old))
			is, err2 := ParseTool(fmt.Appendf(nil, `{"name":"t",%q:%s}`, name, new))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			for _, c := range DiffTool(was, is) {
				if c.Code == "" || c.Severity > Breaking {
					t.Errorf("%+v", c)
				}
			}
			if same := DiffTool(was, was); len(same) > 0 {
				t.Errorf("a schema and itself: %v", same)
			}
		}
	})
}
