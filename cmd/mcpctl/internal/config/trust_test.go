package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeedsTrust(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", `{"mcpServers": {}}`, nil},
		{"a plain URL", `{"mcpServers": {"x": {"url": "https://a.example/mcp", "headers": {"A": "literal"}}}}`, nil},
		{"builtin variables", `{"mcpServers": {"x": {"url": "https://a.example/${workspaceFolderBasename}"}}}`, nil},
		{
			"a command, even if it is disabled",
			`{"servers": {"x": {"command": "sh", "args": ["-c", "echo $HOME; rm -rf /"], "cwd": "sub", "disabled": true}}}`,
			[]string{`start sh -c 'echo $HOME; rm -rf /' in the folder "sub" (server "x")`},
		},
		{
			"variables",
			`{"mcpServers": {
				"x": {"url": "https://user:hunter2@a.example/${TOKEN:-none}", "headers": {"Authorization": "Bearer ${env:TOKEN} ${TOKEN}", "X-B": "${B}"}},
				"y": {"url": "https://${HOST}/mcp"}
			}}`,
			[]string{
				`put $B into the header X-B to "a.example" (server "x")`,
				`put $HOST into the URL (server "y")`,
				`put $TOKEN into the URL to "a.example" (server "x")`,
				`put $TOKEN into the header Authorization to "a.example" (server "x")`,
			},
		},
		{
			"output in the repository",
			`{"typegen": {"outFile": "a/../${/}gen/${workspaceFolderBasename}.go"}}`, nil,
		},
		{"output in the workspace folder", `{"typegen": {"outDir": "${workspaceFolder}/gen"}}`, nil},
		{"output above", `{"typegen": {"outFile": "gen/../../x.go"}}`, []string{`write generated code to "gen/../../x.go"`}},
		{
			"output above, spelled with variables",
			`{"typegen": {"outDir": "gen/..${/}..${/}x"}}`,
			[]string{`write generated code to "gen/..${/}..${/}x"`},
		},
		{"output beside", `{"typegen": {"outDir": "${workspaceFolder}2"}}`, []string{`write generated code to "${workspaceFolder}2"`}},
		{"output at home", `{"typegen": {"outFile": "${userHome}/x.go"}}`, []string{`write generated code to "${userHome}/x.go"`}},
		{"output in a variable", `{"typegen": {"outFile": "${OUT:-gen}/x.go"}}`, []string{`write generated code to "${OUT:-gen}/x.go"`}},
		{
			"output with control characters",
			`{"typegen": {"outDir": "../\u001b[2J\u202e"}}`,
			[]string{`write generated code to "../\x1b[2J\u202e"`},
		},
		{
			"control characters",
			`{"mcpServers": {"\u001b[2J": {"command": "a\u001b[2Jb", "args": ["c\nd", "it's"]}}}`,
			[]string{`start "a\x1b[2Jb" "c\nd" 'it'\''s' (server "\x1b[2J")`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, found := range []Found{Named, Env, User, Here, Upward} {
				f := file
				f.Found = found
				c, err := parse(f, []byte(test.text), options())
				if err != nil {
					t.Fatal(err)
				}
				want := test.want
				if found != Upward {
					want = nil
				}
				if diff := cmp.Diff(want, c.NeedsTrust()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", found, diff)
				}
			}
		})
	}
}

// A checkout can bring links that lead out of it.
func TestNeedsTrustLinks(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "repo")
	for _, sub := range []string{filepath.Join(root, ".git"), filepath.Join(root, "gen"), filepath.Join(dir, "other")} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"out": filepath.Join("..", "other"), "in": "gen", "nowhere": filepath.Join("..", "none")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	quoted := func(path string) string {
		text, _ := json.Marshal(path)
		return string(text)
	}
	for path, in := range map[string]bool{
		"gen/new/x.go": true, "in/new/x.go": true, "out/x.go": false, "out/new/x.go": false, "nowhere/x.go": false,
		filepath.Join(root, "x.go"): true, filepath.Join(dir, "x.go"): false,
	} {
		f := File{Path: filepath.Join(root, "mcp.json"), Name: "mcp.json", Found: Upward}
		c, err := parse(f, []byte(`{"typegen": {"outFile": `+quoted(path)+`}}`), options())
		if err != nil {
			t.Fatal(err)
		}
		if got := c.NeedsTrust(); (len(got) == 0) != in {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestTrust(t *testing.T) {
	dir := t.TempDir()
	store := TrustStore{Path: filepath.Join(dir, "state", "trust.json")}
	path := filepath.Join(dir, "my project", "mcp.json")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir}
	load := func(f File, text string) *Config {
		t.Helper()
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Load(f, o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	f := File{Path: path, Name: filepath.Join("my project", "mcp.json"), Found: Upward}
	const first = `{"mcpServers": {"x": {"command": "a", "args": ["hunter2"]}}}`
	c := load(f, first)

	err := c.CheckTrust(store)
	trustErr, _ := errors.AsType[*TrustError](err)
	if trustErr == nil {
		t.Fatalf("error is %v", err)
	}
	if runtime.GOOS != "windows" {
		const want = `my project/mcp.json: was found, not named, and nobody has accepted it yet, although it starts commands, sends variables or writes outside the repository: ` +
			`read it, then run "mcpctl config trust" or name it with --config 'my project/mcp.json'`
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{`start a hunter2 (server "x")`}, trustErr.Reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for range 2 { // the second time there is nothing to do
		if err := store.Trust(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CheckTrust(store); err != nil {
		t.Errorf("after accepting: %v", err)
	}
	if info, err := os.Stat(store.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the store is %v, %v", info.Mode(), err)
	}

	// Other content has to be accepted anew, and the old one stays accepted.
	changed := load(f, first+"\n")
	if store.IsTrusted(changed) {
		t.Error("changed content is accepted")
	}
	if err := store.Trust(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if !store.IsTrusted(load(f, first)) {
		t.Error("accepting one content forgot the other")
	}

	// The same content elsewhere is another file; a link is the same one.
	elsewhere := f
	elsewhere.Path = filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(elsewhere.Path, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	if store.IsTrusted(load(elsewhere, "")) {
		t.Error("the same content in another place is accepted")
	}
	link := f
	link.Path = filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link.Path); err != nil {
		t.Skip(err)
	}
	if !store.IsTrusted(load(link, "")) {
		t.Error("a link to an accepted file is not accepted")
	}
}

func TestTrustStoreBroken(t *testing.T) {
	store := TrustStore{Path: filepath.Join(t.TempDir(), "trust.json")}
	c := mustParse(t, `{"mcpServers": {"x": {"command": "a"}}}`, options())
	for _, text := range []string{"", "{", "[]", `{"accepted": 3}`, "\xff\x00"} {
		if err := os.WriteFile(store.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if store.IsTrusted(c) {
			t.Errorf("%q accepts a file", text)
		}
		if err := store.Trust(t.Context(), c); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if !store.IsTrusted(c) {
			t.Errorf("%q stays", text)
		}
	}
}

func TestTrustStoreBounded(t *testing.T) {
	store := TrustStore{Path: filepath.Join(t.TempDir(), "trust.json")}
	c := mustParse(t, `{"mcpServers": {}}`, options())
	many := make([]byte, 0, 1<<16)
	for range maxRemembered {
		many = append(many, `{"path": "/x", "sha256": "0"},`...)
	}
	if err := os.WriteFile(store.Path, []byte(`{"accepted": [`+string(many[:len(many)-1])+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Trust(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := len(recall[accepted](store.Path, "accepted")); n != maxRemembered || !store.IsTrusted(c) {
		t.Errorf("%d files are remembered, accepted is %t", n, store.IsTrusted(c))
	}
}

// A store that is not in a folder of the user could come with a checkout.
func TestTrustStoreNowhere(t *testing.T) {
	t.Chdir(t.TempDir())
	c := mustParse(t, `{"mcpServers": {"x": {"command": "a"}}}`, options())
	here, err := filepath.Abs("trusted.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := (TrustStore{Path: here}).Trust(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "trusted.json", filepath.Join(".", "sub", "..", "trusted.json")} {
		store := TrustStore{Path: path}
		if store.IsTrusted(c) {
			t.Errorf("%q accepts a file", path)
		}
		const want = "remember the accepted configuration: there is no folder to remember it in; " +
			"set HOME or XDG_CONFIG_HOME, or name the file with --config"
		if err := store.Trust(t.Context(), c); err == nil || err.Error() != want {
			t.Errorf("%q: error is %v", path, err)
		}
	}
}
