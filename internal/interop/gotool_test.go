package interop

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// TestGoTool uses the program as docs/generate.md says: as a tool of another
// module, called by go generate. The module comes from a proxy in a folder.
func TestGoTool(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program in another module")
	}
	version := module.Version{Path: "github.com/mcpctl/mcpctl", Version: "v0.0.1"}
	proxy := t.TempDir()
	publish(t, proxy, version)

	work := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/work\n\ngo 1.26\n",
		"weather/mcp.json": `{
			"mcpServers": {"weather": {"command": "${MCPCTL}", "args": ["serve", "--demo"]}},
			"typegen": {"outFile": "weather.go"}
		}`,
		"weather/doc.go": "// Package weather asks for the weather.\npackage weather\n\n//go:generate go tool mcpctl generate mcp.json\n",
		"main.go": `package main

import (
	"fmt"

	"example.com/work/weather"
)

func main() { fmt.Println(weather.WeatherGetForecastInput{City: "Berlin"}.City) }
`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cache := strings.TrimSpace(run(t, work, nil, "go", "env", "GOMODCACHE"))
	upstream := strings.TrimSpace(run(t, work, nil, "go", "env", "GOPROXY"))
	env := []string{
		// What is needed besides has been downloaded already to build this
		// test; the cache is laid out as a proxy.
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(cache) + "/cache/download," + upstream,
		"GONOSUMDB=" + version.Path, "GOWORK=off",
		// The version is the same at every run, its content is not. Without
		// the path of this folder, other modules need not be built again.
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "mod"), "GOFLAGS=-mod=mod -modcacherw -trimpath",
	}
	run(t, work, env, "go", "get", "-tool", version.Path+"/cmd/mcpctl@"+version.Version)
	run(t, work, env, "go", "generate", "./...")
	run(t, work, env, "go", "mod", "tidy")
	if got := run(t, work, env, "go", "run", "."); got != "Berlin\n" {
		t.Errorf("the program prints %q", got)
	}
	run(t, work, env, "go", "vet", "./...")
	run(t, filepath.Join(work, "weather"), env, "go", "tool", "mcpctl", "generate", "mcp.json", "--check")
	if got := run(t, work, env, "go", "tool", "mcpctl", "--version"); !strings.HasPrefix(got, "mcpctl "+version.Version+" ") {
		t.Errorf("version %q", got)
	}
}

// publish puts the sources of this module into a proxy in a folder.
func publish(t *testing.T, proxy string, version module.Version) {
	t.Helper()
	root := repository()
	source := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == "node_modules" || name != "." && strings.HasPrefix(name, ".") && rel != "."):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(source, rel), 0o777)
		case !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "go.sum" && name != "LICENSE":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(source, rel), data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.CreateFromDir(&archive, version, source); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": version.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(proxy, filepath.FromSlash(version.Path), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list":                    []byte(version.Version + "\n"),
		version.Version + ".info": info,
		version.Version + ".mod":  mod,
		version.Version + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command that must succeed, and returns its standard output.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}
