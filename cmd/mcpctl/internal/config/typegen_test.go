package config

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTypegen(t *testing.T) {
	c := mustParse(t, `{"typegen": {
		"outFile": "gen/${NAME}.go",
		"package": "tools",
		"tools": {"include": ["a.*"], "exclude": ["*.x"]},
		"extras": "keep", "numbers": "exact", "formats": "time", "widen": true, "validate": false
	}}`, options("NAME", "tools"))
	got, err := c.Typegen()
	if err != nil {
		t.Fatal(err)
	}
	want := &Typegen{
		OutFile: filepath.FromSlash("/work/gen/tools.go"),
		Package: "tools",
		Tools:   ToolFilter{Include: []string{"a.*"}, Exclude: []string{"*.x"}},
		Extras:  "keep", Numbers: "exact", Formats: "time", Widen: new(true), Validate: new(false),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none, err := mustParse(t, `{"mcpServers": {}}`, options()).Typegen()
	if none != nil || err != nil {
		t.Errorf("without the section: %v, %v", none, err)
	}
}

// TestOutputRelativeTo holds what relative outputs are relative to.
func TestOutputRelativeTo(t *testing.T) {
	absolutePath := filepath.Join(t.TempDir(), "x.go")
	for _, test := range []struct {
		path    string
		found   Found
		out     string
		outFile string
	}{
		{"/work/project/mcp.json", Named, "gen/x.go", "/work/gen/x.go"},
		{"/work/project/mcp.json", Env, "gen/x.go", "/work/project/gen/x.go"},
		{"/work/project/mcp.json", Upward, "../x.go", "/work/x.go"},
		{"/work/project/.vscode/mcp.json", Upward, "x.go", "/work/project/x.go"},
		{"/home/ann/.config/mcpctl/mcp.json", User, "x.go", "/home/ann/.config/mcpctl/x.go"},
		{"/work/project/mcp.json", Upward, filepath.ToSlash(absolutePath), absolutePath},
	} {
		f := File{Path: filepath.FromSlash(test.path), Name: "mcp.json", Found: test.found}
		c, err := parse(f, []byte(`{"typegen": {"outFile": "`+test.out+`"}}`), options())
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Typegen()
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.FromSlash(test.outFile); got.OutFile != want {
			t.Errorf("%s, %s: %s is %s, want %s", test.path, test.found, test.out, got.OutFile, want)
		}
	}
}

func TestToolFilter(t *testing.T) {
	for _, test := range []struct {
		filter       ToolFilter
		server, tool string
		want         bool
	}{
		{ToolFilter{}, "a", "b", true},
		{ToolFilter{Include: []string{"a.*"}}, "a", "b", true},
		{ToolFilter{Include: []string{"a.*"}}, "b", "a.", false},
		{ToolFilter{Include: []string{"*"}}, "a", "b/c", true},
		{ToolFilter{Include: []string{"*.get_*"}}, "a", "get_x/y", true},
		{ToolFilter{Include: []string{"*.get_*"}}, "a", "set_x", false},
		{ToolFilter{Include: []string{"a.get_?"}}, "a", "get_ä", true},
		{ToolFilter{Include: []string{"a.get_?"}}, "a", "get_", false},
		{ToolFilter{Include: []string{"a.b*c*d"}}, "a", "bxcxcd", true},
		{ToolFilter{Include: []string{"a.[b]"}}, "a", "b", false}, // brackets are plain
		{ToolFilter{Exclude: []string{"a.b"}}, "a", "b", false},
		{ToolFilter{Exclude: []string{"a.b"}}, "a", "bb", true},
		{ToolFilter{Include: []string{"a.*"}, Exclude: []string{"*.b"}}, "a", "b", false},
	} {
		if got := test.filter.Match(test.server, test.tool); got != test.want {
			t.Errorf("%+v on %s.%s is %t", test.filter, test.server, test.tool, got)
		}
	}
}
