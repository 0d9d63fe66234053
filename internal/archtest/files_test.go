package archtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sources finds the Go files below the given folders, by their path within
// the repository.
func sources(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	top := root(t)
	files := make(map[string]string)
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(top, dir), func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case !d.IsDir() && filepath.Ext(name) == ".go":
				rel, err := filepath.Rel(top, name)
				if err != nil {
					return err
				}
				files[filepath.ToSlash(rel)] = name
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var update = flag.Bool("update", false, "rewrite the table of licences")

// A call of make in a script, a workflow or a page: at the start of a line,
// after "run: ", or in backquotes.
var makeCall = regexp.MustCompile("(?m)(?:^\\s*|`|run: )make((?: +--?[a-z-]+)*(?: +[a-z][a-z-]*\\b)+)")

// Pages and workflows that say `make something` are wrong once that target is
// gone.
func TestMakeTargetsExist(t *testing.T) {
	targets := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	for _, name := range []string{
		".ci/run", ".github/workflows/ci.yml", ".github/workflows/release.yml", ".goreleaser.yaml", ".golangci.yml",
		"README.md", "CONTRIBUTING.md", "AGENTS.md", "docs/architecture.md",
	} {
		calls := makeCall.FindAllStringSubmatch(read(t, name), -1)
		if strings.HasPrefix(name, ".ci") && len(calls) == 0 {
			t.Errorf("%s calls make nowhere", name)
		}
		for _, m := range calls {
			for word := range strings.FieldsSeq(m[1]) {
				if !strings.HasPrefix(word, "-") && !targets[word] {
					t.Errorf("%s says make %s, and there is no such target", name, word)
				}
			}
		}
	}
}

// One gate: what the hosted workflow and .ci/run call is `make check`, and
// that runs what the README promises.
func TestGateIsOne(t *testing.T) {
	for name, want := range map[string]string{
		".ci/run":                       "make --no-print-directory check\n",
		".github/workflows/ci.yml":      "- run: bash .ci/run\n",
		".github/workflows/release.yml": "- run: bash .ci/run\n",
		"Makefile":                      "MCPCTL_REQUIRE_INTEROP=1 $(GO) test ./...)\n",
		"README.md":                     "go test ./...\n",
	} {
		if !strings.Contains(read(t, name), want) {
			t.Errorf("%s does not contain %q", name, want)
		}
	}
}

// The lock file of the npm peers holds an integrity for everything, and
// neither an address nor a package that would run code when installed.
func TestPeersAreLocked(t *testing.T) {
	type lockPackage struct {
		Version          string
		Resolved         string
		Integrity        string
		Link             bool
		HasInstallScript bool
	}
	var lock struct {
		LockfileVersion int
		Packages        map[string]lockPackage
	}
	if err := json.Unmarshal([]byte(read(t, "testdata/interop/package-lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	nodes := make(map[string]string)
	for name, p := range lock.Packages {
		if name == "" {
			continue
		}
		if p.Integrity == "" || p.Resolved != "" || p.Link || p.HasInstallScript {
			t.Errorf("%s is not locked by its content alone: %+v", name, p)
		}
		if platform, ok := strings.CutPrefix(name, "node_modules/node-"); ok {
			nodes[platform] = p.Version
		}
	}
	if len(nodes) < 6 {
		t.Errorf("Node.js is locked for too few systems: %v", nodes)
	}
	if versions := slices.Compact(slices.Sorted(maps.Values(nodes))); len(versions) != 1 {
		t.Errorf("Node.js is locked in several versions: %v", nodes)
	}
}

// The table of licences in testdata/catalogues says what the captures say.
func TestCatalogueLicences(t *testing.T) {
	const page = "testdata/catalogues/README.md"
	const begin, end = "<!-- licences: begin -->\n", "<!-- licences: end -->\n"

	files, err := filepath.Glob(filepath.Join(root(t), "testdata", "catalogues", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no catalogue found: ", err)
	}
	var table strings.Builder
	table.WriteString("\n| file | package | version | licence |\n| --- | --- | --- | --- |\n")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var capture struct {
			Header struct{ Package, Version, License string }
		}
		if err := json.Unmarshal(b, &capture); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		h := capture.Header
		if h.Package == "" || h.Version == "" || h.License == "" {
			t.Errorf("%s does not say where it comes from: %+v", filepath.Base(file), h)
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", filepath.Base(file), h.Package, h.Version, h.License)
	}
	table.WriteString("\n")

	text := read(t, page)
	before, rest, ok := strings.Cut(text, begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		name := filepath.Join(root(t), filepath.FromSlash(page))
		if err := os.WriteFile(name, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(table.String(), got); diff != "" {
		t.Errorf("%s (-want +got, rewrite it with make update):\n%s", page, diff)
	}
}
