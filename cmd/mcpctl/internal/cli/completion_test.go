package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/schemacache"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/spf13/cobra"
)

// TestArgumentValues completes by schemas that say in other ways what a value
// may be.
func TestArgumentValues(t *testing.T) {
	tool, err := catalog.ParseTool([]byte(`{"name": "t", "inputSchema": {
		"type": "object",
		"properties": {
			"flag": {"type": "boolean"},
			"level": {"enum": [1, 2.50, null]},
			"mode": {"anyOf": [{"const": "fast"}, {"const": "slow"}, {"type": "null"}]},
			"tags": {"type": "array", "items": {"enum": ["red", "green"]}},
			"handle": {"enum": ["@home", "a b"]},
			"loop": {"$ref": "#/properties/loop"},
			"near-by": {"$ref": "#/$defs/unit"},
			"place": {"type": "object", "properties": {"unit": {"$ref": "#/$defs/unit"}, "name": {"type": "string"}}},
			"rows": {"type": "array", "items": {"type": "object"}}
		},
		"required": ["tags"],
		"$defs": {"unit": {"enum": ["km", "mi"]}}
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		given []string
		word  string
		want  string
	}{
		{nil, "", "tags= flag= level= mode= handle= loop= near-by= place. rows:="},
		{[]string{"flag=true", "tags=red"}, "", "tags= level= mode= handle= loop= near-by= place. rows:="},
		{nil, "place.", "place.unit= place.name="},
		{[]string{"place.unit=km"}, "place.", "place.name="},
		{nil, "flag=", "flag=true flag=false"},
		{nil, "flag:=t", "flag:=true"},
		{nil, "level=", "level=1 level=2.5 level=null"},
		{nil, "mode=", "mode=fast mode=slow"},
		{nil, "tags=g", "tags=green"},
		{nil, "handle=", "handle=@@home handle=a b"},
		{nil, "handle=@@", "handle=@@home"},
		{nil, "near-by=", "near-by=km near-by=mi"},
		{nil, "place.unit=m", "place.unit=mi"},
		{nil, "loop=", ""},
		{nil, "nothing=", ""},
	} {
		q := &completing{app: testApp(t), ctx: t.Context(), args: append([]string{"t"}, test.given...), word: test.word, added: make(map[string]bool)}
		q.arguments(tool)
		var got []string
		for _, c := range q.found {
			name, _, _ := strings.Cut(c, "\t")
			got = append(got, name)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%v %q: got %s, want %s", test.given, test.word, got, test.want)
		}
	}
}

func TestTypeable(t *testing.T) {
	for _, text := range []string{"get_forecast", "weather://cities/{name}", "units=very hot", "größe=", "a?b=*"} {
		if !typeable(text) {
			t.Errorf("%q is not offered", text)
		}
	}
	for _, text := range []string{"$(x)", "`x`", "a;b", "a|b", "a&b", "a>b", "a\nb", "a\tb", "a'b", `a"b`, `a\b`, "a\x1b[31m", "a\u202eb", "_activeHelp_ x", strings.Repeat("x", 1000)} {
		if typeable(text) {
			t.Errorf("%q is offered", text)
		}
	}
}

// TestFlagValues holds that no flag completes files unless it takes one.
func TestFlagValues(t *testing.T) {
	root, _ := testApp(t).command(&bytes.Buffer{}, &bytes.Buffer{})
	eachCommand(root, func(cmd *cobra.Command) {
		for _, flag := range []string{"output", "protocol-version", "color", "server", "timeout", "jq", "extras"} {
			if cmd.Flag(flag) == nil || flag == "output" && (cmd.Name() == "snapshot" || cmd.Name() == "generate") {
				continue
			}
			if _, ok := cmd.GetFlagCompletionFunc(flag); !ok {
				t.Errorf("%s --%s completes files", cmd.CommandPath(), flag)
			}
		}
	})
}

// BenchmarkTab is a Tab that the cache answers, for a server of a hundred
// tools; the start of the process comes to it.
func BenchmarkTab(b *testing.B) {
	dir := b.TempDir()
	app := func() *App {
		return &App{
			In: strings.NewReader(""), Dir: dir, UserDir: filepath.Join(dir, "user"), CacheDir: filepath.Join(dir, "cache"),
			LookupEnv: func(string) (string, bool) { return "", false },
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers": {"s": {"url": "http://127.0.0.1:1/mcp"}}}`), 0o600); err != nil {
		b.Fatal(err)
	}
	s := catalog.Server{Name: "s"}
	for i := range 100 {
		raw := fmt.Sprintf(`{"name": "tool_%d", "description": %q, "inputSchema": {"type": "object", "properties": {"mode": {"enum": ["fast", "slow"]}}}}`, i, strings.Repeat("What it does. ", 100))
		tool, err := catalog.ParseTool([]byte(raw))
		if err != nil {
			b.Fatal(err)
		}
		s.Tools = append(s.Tools, tool)
	}
	key := schemacache.Key("configured", filepath.Join(dir, "mcp.json"), "s", "", "", "http://127.0.0.1:1/mcp")
	if err := app().cache().Save(b.Context(), key, schemacache.Update{Server: &s}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var out bytes.Buffer
		if code := app().Run(b.Context(), []string{cobra.ShellCompRequestCmd, "call", "tool_7", "mode=f"}, &out, &bytes.Buffer{}); code != exitOK || !strings.Contains(out.String(), "mode=fast") {
			b.Fatalf("exit code %d: %s", code, &out)
		}
	}
}
