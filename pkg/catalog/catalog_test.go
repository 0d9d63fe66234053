package catalog

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const captures = "../../testdata/catalogues"

func TestReadCaptures(t *testing.T) {
	files, err := filepath.Glob(captures + "/*.json")
	if err != nil || len(files) < 27 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Read(bytes.NewReader(data), "")
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Servers) != 1 || c.Servers[0].Name != strings.TrimSuffix(filepath.Base(name), ".json") {
				t.Fatalf("servers %v", c.Servers)
			}
			for _, tool := range c.Servers[0].Tools {
				if !bytes.Contains(data, tool.Raw) || !bytes.Contains(tool.Raw, tool.InputSchema) {
					t.Errorf("tool %s is not byte for byte what the file holds", tool.Name)
				}
				if tool.Problem != "" {
					t.Errorf("tool %s: %s", tool.Name, tool.Problem)
				}
			}
			var saved bytes.Buffer
			if err := c.Write(&saved); err != nil {
				t.Fatal(err)
			}
			again, err := Read(bytes.NewReader(saved.Bytes()), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(digests(t, c), digests(t, again)); diff != "" {
				t.Errorf("digests after saving (-before +after):\n%s", diff)
			}
			var twice bytes.Buffer
			if err := again.Write(&twice); err != nil || !bytes.Equal(saved.Bytes(), twice.Bytes()) {
				t.Errorf("saving what was read back gives other bytes (%v)", err)
			}
		})
	}
}

func digests(t *testing.T, c Catalog) map[string]Digest {
	t.Helper()
	all := make(map[string]Digest)
	for _, s := range c.Servers {
		for _, tool := range s.Tools {
			d, err := tool.Digest()
			if err != nil {
				t.Fatal(err)
			}
			all[s.Name+"."+tool.Name] = d
		}
	}
	return all
}

func TestCaptureShowsTheModernSide(t *testing.T) {
	f, err := os.Open(captures + "/github-go.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := Read(f, "")
	if err != nil {
		t.Fatal(err)
	}
	s := c.Servers[0]
	if s.ProtocolVersion != "2026-07-28" || len(s.Tools) != 86 || !bytes.Contains(s.Info, []byte("github-mcp-server")) {
		t.Errorf("revision %s, %d tools, info %.40s", s.ProtocolVersion, len(s.Tools), s.Info)
	}
}

func mustTool(t *testing.T, raw string) Tool {
	t.Helper()
	tool, err := ParseTool(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestParseTool(t *testing.T) {
	yes := true
	tests := []struct {
		name, raw string
		want      Tool
	}{
		{
			"all members",
			`{"name":"a","title":"A","description":"d","inputSchema":{ "z":1.0 },"outputSchema":{},"annotations":{"title":"B","readOnlyHint":true}}`,
			Tool{
				Name: "a", Title: "A", Description: "d", InputSchema: json.RawMessage(`{ "z":1.0 }`), OutputSchema: json.RawMessage(`{}`),
				Annotations: Annotations{Title: "B", ReadOnlyHint: &yes},
			},
		},
		{"the annotation's title stands in", `{"name":"a","annotations":{"title":"B"}}`, Tool{Name: "a", Title: "B", Annotations: Annotations{Title: "B"}}},
		{"names are exact", `{"name":"a","Name":"b","DESCRIPTION":"x"}`, Tool{Name: "a"}},
		{"null is absent", `{"name":"a","description":null,"outputSchema":null,"annotations":null}`, Tool{Name: "a"}},
		{"hints of a wrong type are dropped", `{"name":"a","annotations":{"title":"B","readOnlyHint":"yes"}}`, Tool{Name: "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := mustTool(t, tt.raw)
			tt.want.Raw = json.RawMessage(tt.raw)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for raw, want := range map[string]string{
		`[]`:                            "tool definition is no JSON object",
		`{`:                             "tool definition is no JSON object",
		`{}`:                            "tool definition without a name",
		`{"name":1}`:                    `tool definition: member "name" is no string`,
		`{"name":"a","description":{}}`: `tool definition: member "description" is no string`,
	} {
		if _, err := ParseTool(json.RawMessage(raw)); err == nil || err.Error() != want {
			t.Errorf("ParseTool(%s): %v, want %s", raw, err, want)
		}
	}
}

func TestHeaderProblem(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"none", `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{"valid, nested and of every type", `{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"properties":{"c":{"type":"integer","x-mcp-header":"Zone"},"d":{"type":"boolean","x-mcp-header":"!#Z"}}}}}`, ""},
		{"a member of that name is no annotation", `{"properties":{"x-mcp-header":{"type":"string"}}}`, ""},
		{"empty", `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, `x-mcp-header at "/properties/a" is not a non-empty string`},
		{"no string", `{"properties":{"a":{"type":"string","x-mcp-header":1}}}`, `x-mcp-header at "/properties/a" is not a non-empty string`},
		{"no token", `{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, `x-mcp-header at "/properties/a" is not an HTTP field name`},
		{"line feed", `{"properties":{"a":{"type":"string","x-mcp-header":"a\nb"}}}`, `x-mcp-header at "/properties/a" is not an HTTP field name`},
		{"spelled with an escape", `{"properties":{"a":{"type":"string","x-mcp\u002dheader":""}}}`, `x-mcp-header at "/properties/a" is not a non-empty string`},
		{"number", `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, `x-mcp-header at "/properties/a" is not on a string, an integer or a boolean`},
		{"twice", `{"properties":{"a":{"type":"string","x-mcp-header":"Ab"},"b":{"type":"string","x-mcp-header":"aB"}}}`, `x-mcp-header at "/properties/b" names a header that another parameter names too`},
		{"on the root", `{"type":"string","x-mcp-header":"A"}`, `x-mcp-header at "" is not on a parameter that is reached through properties alone`},
		{"under items", `{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`, `x-mcp-header at "/properties/a/items/properties/b" is not on a parameter that is reached through properties alone`},
		{"under a combinator", `{"anyOf":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}]}`, `x-mcp-header at "/anyOf/0/properties/b" is not on a parameter that is reached through properties alone`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustTool(t, `{"name":"a","inputSchema":`+tt.schema+`}`).Problem; got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	const base = `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993,"description":"x"}}}}`
	tests := []struct {
		name, raw               string
		sameContract, sameWords bool
	}{
		{"spelling", `{ "inputSchema" : {"properties":{"n":{"description":"\u0078","maximum":9007199254740993.0}},"type":"object"}, "description":"d","name":"a"}`, true, true},
		{"a number equal only as float64", strings.Replace(base, "9007199254740993", "9007199254740992", 1), false, true},
		{"a description in the schema", strings.Replace(base, `"x"`, `"y"`, 1), true, false},
		{"the tool's description", strings.Replace(base, `"d"`, `"e"`, 1), true, false},
		{"annotations", strings.Replace(base, `"name"`, `"annotations":{"readOnlyHint":true},"name"`, 1), true, false},
		{"the name", strings.Replace(base, `"a"`, `"b"`, 1), false, true},
		{"execution", strings.Replace(base, `"name"`, `"execution":{"taskSupport":"required"},"name"`, 1), false, true},
		{"an output schema", strings.Replace(base, `"name"`, `"outputSchema":{},"name"`, 1), false, false},
		{"an output schema of null", strings.Replace(base, `"name"`, `"outputSchema":null,"name"`, 1), true, true},
	}
	want, err := mustTool(t, base).Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mustTool(t, tt.raw).Digest()
			if err != nil {
				t.Fatal(err)
			}
			if same := got.Contract == want.Contract; same != tt.sameContract {
				t.Errorf("same contract: %v, want %v", same, tt.sameContract)
			}
			if same := got.Description == want.Description; same != tt.sameWords {
				t.Errorf("same description: %v, want %v", same, tt.sameWords)
			}
		})
	}
}

func TestReadList(t *testing.T) {
	const tools = `{"tools":[{"name":"b"},{"name":"a","x":1.0}]}`
	for name, in := range map[string]string{"bare": tools, "response": `{"jsonrpc":"2.0","id":1,"result":` + tools + `}`} {
		t.Run(name, func(t *testing.T) {
			c, err := Read(strings.NewReader(in), "weather")
			if err != nil {
				t.Fatal(err)
			}
			want := Catalog{[]Server{{Name: "weather", Tools: []Tool{
				{Name: "a", Raw: json.RawMessage(`{"name":"a","x":1.0}`)},
				{Name: "b", Raw: json.RawMessage(`{"name":"b"}`)},
			}}}}
			if diff := cmp.Diff(want, c); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if c, err := Read(strings.NewReader(tools), ""); err != nil || c.Servers[0].Name != "server" {
		t.Errorf("without a name: %v, %v", c, err)
	}
}

func TestReadErrors(t *testing.T) {
	tests := []struct{ name, in, server, want string }{
		{"empty", ``, "", "line 1, column 1: not valid JSON"},
		{"broken", "{\n \"tools\": [}\n", "", "line 2, column 12: not valid JSON"},
		{"no object", `[]`, "", "catalogue is no JSON object"},
		{"something else", `{"mcpServers":{}}`, "", "neither a catalogue nor a tools/list result: it has no tools"},
		{"one page", `{"tools":[],"nextCursor":"x"}`, "", "the tools/list result is one page of several (it has a nextCursor): join the pages first"},
		{"tools is no array", `{"tools":{}}`, "", `member "tools" is no array`},
		{"a tool is no object", `{"tools":[{"name":"a"},3]}`, "", "tools[1]: tool definition is no JSON object"},
		{"a later format", `{"mcpctlCatalog":2,"servers":[]}`, "", "catalogue has format 2, and this program reads format 1"},
		{"a name for named servers", `{"mcpctlCatalog":1,"servers":[]}`, "x", ErrNamed.Error()},
		{"no server name", `{"mcpctlCatalog":1,"servers":[{"tools":[]}]}`, "", "catalogue: server 1 has no name"},
		{"a server twice", `{"mcpctlCatalog":1,"servers":[{"name":"a","tools":[]},{"name":"a","tools":[]}]}`, "", `catalogue: server "a" is there twice`},
		{"wrong type", `{"mcpctlCatalog":1,"servers":{}}`, "", `catalogue: member "servers" has the wrong type`},
		{"wrong capture", `{"initialize":[],"tools":[]}`, "", `capture: member "initialize" has the wrong shape`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(tt.in), tt.server); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestNewSortsAndMarksDuplicates(t *testing.T) {
	given := []Server{{Name: "b"}, {Name: "a", Tools: []Tool{{Name: "y"}, {Name: "x", Title: "first"}, {Name: "x", Title: "second"}}}}
	before := slices.Clone(given[1].Tools)
	want := Catalog{[]Server{
		{Name: "a", Tools: []Tool{{Name: "x", Title: "first"}, {Name: "x", Title: "second", Problem: "the server lists another tool of this name"}, {Name: "y"}}},
		{Name: "b"},
	}}
	if diff := cmp.Diff(want, New(given...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, given[1].Tools); diff != "" {
		t.Errorf("the argument changed (-before +after):\n%s", diff)
	}
}

func TestDuplicatesDoNotDependOnOrder(t *testing.T) {
	a, b := mustTool(t, `{"name":"x", "title":"a"}`), mustTool(t, `{"name":"x","title":"b"}`)
	one, two := New(Server{Name: "s", Tools: []Tool{a, b}}), New(Server{Name: "s", Tools: []Tool{b, a}})
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("the order matters (-one +two):\n%s", diff)
	}
	if got := one.Servers[0].Tools; got[0].Title != "a" || got[0].Problem != "" || got[1].Problem == "" {
		t.Errorf("%+v", got)
	}
}

func TestWrite(t *testing.T) {
	c := New(Server{
		Name: "w", ProtocolVersion: "2026-07-28", Info: json.RawMessage(`{"name":"W"}`), Instructions: "a < b",
		Tools: []Tool{
			mustTool(t, `{"name":"bad","inputSchema":{"x-mcp-header":""}}`),
			mustTool(t, `{"name":"a","z":1.50,"y":"\u003c <\u2028>"}`),
		},
	})
	var got strings.Builder
	if err := c.Write(&got); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "mcpctlCatalog": 1,
  "servers": [
    {
      "name": "w",
      "protocolVersion": "2026-07-28",
      "serverInfo": {
        "name": "W"
      },
      "instructions": "a < b",
      "unusable": [
        {
          "tool": "bad",
          "reason": "x-mcp-header at \"\" is not on a parameter that is reached through properties alone"
        }
      ],
      "tools": [
        {
          "name": "a",
          "z": 1.50,
          "y": "\u003c <\u2028>"
        },
        {
          "name": "bad",
          "inputSchema": {
            "x-mcp-header": ""
          }
        }
      ]
    }
  ]
}
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
