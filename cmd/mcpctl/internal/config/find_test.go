package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes empty files and, for names that end in a slash, folders.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		path := filepath.Join(root, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if name[len(name)-1] == '/' {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir != path {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestFind(t *testing.T) {
	for _, test := range []struct {
		name  string
		tree  []string
		dir   string
		named string
		env   string
		want  File // paths relative to the tree
	}{
		{"named", []string{"d/mcp.json"}, "d", "other.json", "env.json", File{"d/other.json", "other.json", Named}},
		{"environment", []string{"d/mcp.json"}, "d", "", "../env.json", File{"env.json", "../env.json", Env}},
		{"here", []string{"d/mcp.json", "d/.mcp.json"}, "d", "", "", File{"d/mcp.json", "mcp.json", Here}},
		{"dotted", []string{"d/.mcp.json", "d/.vscode/mcp.json"}, "d", "", "", File{"d/.mcp.json", ".mcp.json", Here}},
		{"VS Code", []string{"d/.vscode/mcp.json"}, "d", "", "", File{"d/.vscode/mcp.json", ".vscode/mcp.json", Here}},
		{"up to the root", []string{"r/.git/", "r/mcp.json", "r/a/b/"}, "r/a/b", "", "", File{"r/mcp.json", "../../mcp.json", Upward}},
		{"the nearest", []string{"r/.git/", "r/mcp.json", "r/a/.mcp.json", "r/a/b/"}, "r/a/b", "", "", File{"r/a/.mcp.json", "../.mcp.json", Upward}},
		{"a worktree", []string{"r/.git", "r/mcp.json", "r/a/"}, "r/a", "", "", File{"r/mcp.json", "../mcp.json", Upward}},
		{"not above the root", []string{"mcp.json", "r/.git/", "r/a/", "user/mcp.json"}, "r/a", "", "", File{"user/mcp.json", "user/mcp.json", User}},
		{"not above, outside a repository", []string{"mcp.json", "a/", "user/mcp.json"}, "a", "", "", File{"user/mcp.json", "user/mcp.json", User}},
		{"a folder of that name", []string{"d/mcp.json/", "d/.mcp.json"}, "d", "", "", File{"d/.mcp.json", ".mcp.json", Here}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.tree...)
			o := Options{Dir: filepath.Join(root, filepath.FromSlash(test.dir)), UserDir: filepath.Join(root, "user")}
			o.Lookup = environment("MCPCTL_CONFIG", filepath.FromSlash(test.env))
			got, err := Find(test.named, o)
			if err != nil {
				t.Fatal(err)
			}
			want := File{filepath.Join(root, filepath.FromSlash(test.want.Path)), filepath.FromSlash(test.want.Name), test.want.Found}
			if want.Found == User {
				want.Name = want.Path
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	root := tree(t, "r/.git/", "r/a/")
	_, err := Find("", Options{Dir: filepath.Join(root, "r", "a"), UserDir: filepath.Join(root, "user")})
	e, _ := errors.AsType[*Error](err)
	if e == nil || !errors.Is(err, ErrNoConfig) {
		t.Fatalf("error is %v", err)
	}
	want := "no mcp.json found in the working directory up to " + filepath.Join(root, "r") + ", " + filepath.Join(root, "user") +
		"\nhint: name one with --config FILE, or a server with -s URL or -- command\n"
	if diff := cmp.Diff(want, lines(e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWorkspaceFolder(t *testing.T) {
	root := tree(t, "r/.git/", "r/a/.vscode/mcp.json", "b/.vscode/mcp.json")
	for path, want := range map[string]string{
		"r/a/.vscode/mcp.json": "r",
		"b/.vscode/mcp.json":   "b",
	} {
		f := File{Path: filepath.Join(root, filepath.FromSlash(path))}
		if got := f.workspace(); got != filepath.Join(root, want) {
			t.Errorf("%s has the workspace %s", path, got)
		}
	}
}
