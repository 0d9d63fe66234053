package archtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const module = "github.com/mcpctl/mcpctl"

// A room is a package, or with a trailing "/..." a tree of packages, and what
// its code may import. Tests may import more. Packages are named relative to
// the module.
type room struct {
	path string
	// may lists the packages of this module; "/..." takes a tree.
	may []string
	// only, if set, lists all other modules' packages that may be imported
	// directly (the standard library always may); a nil list sets no limit
	// beyond those of the whole module.
	only []string
}

var nothingElse = []string{}

// rooms is the table behind docs/architecture.md: change both together.
// The longest matching path counts, and a package without a room fails.
var rooms = []room{
	// As a user would write it.
	{path: "examples/...", may: []string{"pkg/..."}, only: []string{sdk + "/mcp"}},

	// The program.
	{path: "cmd/mcpctl", may: []string{"cmd/mcpctl/internal/cli"}, only: nothingElse},
	{path: "cmd/mcpctl/internal/cli", may: []string{"cmd/mcpctl/internal/...", "pkg/...", "internal/..."}},
	{path: "cmd/mcpctl/internal/config", may: []string{"pkg/client", "internal/..."}},
	{path: "cmd/mcpctl/internal/docgen"},
	{path: "cmd/mcpctl/internal/demo", may: []string{"pkg/server", "internal/..."}},
	{path: "cmd/mcpctl/internal/schemacache", may: []string{"pkg/catalog", "internal/..."}, only: nothingElse},
	{path: "cmd/mcpctl/internal/form", may: []string{"internal/..."}},
	{path: "cmd/mcpctl/internal/mkdocs", may: []string{"cmd/mcpctl/internal/cli", "cmd/mcpctl/internal/docgen"}, only: nothingElse},
	{path: "cmd/mcpctl/internal/ui", may: []string{"internal/..."}},
	{path: "cmd/mcpctl/internal/view", may: []string{"pkg/...", "internal/..."}},

	// The libraries.
	{path: "pkg/catalog", may: []string{"internal/schemadoc", "internal/subschema"}, only: nothingElse},
	{
		path: "pkg/client", may: []string{"pkg/catalog", "pkg/client/internal/wire", "internal/..."},
		only: []string{sdk + "/...", "github.com/cenkalti/backoff/v5", "github.com/std-uritemplate/std-uritemplate/go/v2", "golang.org/x/..."},
	},
	{
		path: "pkg/client/internal/wire", may: []string{"internal/..."},
		only: []string{sdk + "/jsonrpc", "github.com/cenkalti/backoff/v5", "golang.org/x/..."},
	},
	{path: "pkg/client/clientotel", may: []string{"pkg/client"}, only: []string{"go.opentelemetry.io/otel/..."}},
	{path: "pkg/server", may: []string{"internal/..."}, only: []string{sdk + "/...", "golang.org/x/..."}},
	{path: "pkg/typegen", may: []string{"pkg/catalog", "internal/..."}, only: []string{"github.com/dave/jennifer/jen"}},
	{path: "pkg/typegen/rt", may: []string{"internal/schemadoc"}, only: nothingElse},
	{path: "pkg/typegen/bind", may: []string{"pkg/typegen/rt", "pkg/catalog"}, only: []string{sdk + "/mcp"}},
	{path: "pkg/typegen/validate", may: []string{"pkg/typegen/rt", "internal/schema"}, only: nothingElse},

	// The ground.
	{path: "internal/schemadoc", only: nothingElse},
	{path: "internal/ecma", only: nothingElse},
	{
		path: "internal/schema", may: []string{"internal/ecma", "internal/schemadoc"},
		only: []string{"github.com/santhosh-tekuri/jsonschema/v6/...", "github.com/dlclark/regexp2"},
	},
	{path: "internal/subschema", may: []string{"internal/schemadoc"}, only: nothingElse},
	{path: "internal/redact", only: nothingElse},
	{path: "internal/content", only: []string{sdk + "/mcp"}},
	{path: "internal/atomicfile", only: []string{"golang.org/x/sys/..."}},
	{path: "internal/netpolicy", may: []string{"internal/..."}, only: []string{"golang.org/x/..."}},
}

// testRooms hold code for tests: they may import anything, and only tests
// may import them.
var testRooms = []string{"internal/archtest", "internal/interop", "internal/mcptest", "internal/scripttest", "pkg/typegen/testdata/realtools"}

const sdk = "github.com/modelcontextprotocol/go-sdk"

// owned lists packages of other modules that few rooms may import directly,
// and that libraries must not link, however many hops away.
var owned = []struct {
	prefixes []string
	owners   []string
}{
	{[]string{"github.com/spf13/cobra", "github.com/spf13/pflag"}, []string{"cmd/mcpctl/internal/cli", "cmd/mcpctl/internal/docgen"}},
	{[]string{"github.com/spf13/cobra/doc"}, []string{"cmd/mcpctl/internal/docgen"}},
	{[]string{"github.com/charmbracelet/lipgloss"}, []string{"cmd/mcpctl/internal/ui"}},
	{[]string{"charm.land/", "github.com/charmbracelet/huh"}, []string{"cmd/mcpctl/internal/form"}},
}

// banned packages are linked by nothing at all: bubbletea v1 asks the
// terminal questions when the program starts.
var banned = []string{"github.com/charmbracelet/bubbletea"}

// unlinked are packages for other programs of this module, which mcpctl is
// would only be larger for.
var unlinked = []string{"github.com/spf13/cobra/doc"}

// pkg is what this test needs of go list's answer.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func TestWhoImportsWhom(t *testing.T) {
	// go list reads the sources out of sight of the test cache; so show them.
	sources(t, "cmd", "pkg", "internal")
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			pkgs, err := list(t, goos)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range violations(pkgs) {
				t.Error(v)
			}
		})
	}
}

// The page and the table name the same rooms, and each of them is there.
func TestRoomsAreOnThePage(t *testing.T) {
	page := read(t, "docs/architecture.md")
	paths := slices.Clone(testRooms)
	for _, r := range rooms {
		paths = append(paths, strings.TrimSuffix(r.path, "/..."))
	}
	for _, p := range paths {
		if !strings.Contains(page, "`"+p+"`") {
			t.Errorf("docs/architecture.md does not name %s", p)
		}
		if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(p))); err != nil {
			t.Errorf("the table has a room that is not there: %v", err)
		}
	}
}

// list runs go list over the module as it is built for another system, so
// that files with build constraints are held too.
func list(t *testing.T, goos string) ([]pkg, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...")
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
}

// violations names each import that the tables above do not allow.
func violations(pkgs []pkg) []string {
	std := make(map[string]bool)
	for _, p := range pkgs {
		std[p.ImportPath] = p.Standard
	}
	var bad []string
	complain := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }

	for _, p := range pkgs {
		self, ours := relative(p.ImportPath)
		if !ours {
			continue
		}
		for _, dep := range p.Deps {
			if matchesAny(banned, dep) {
				complain("%s links %s, which nothing may", self, dep)
			}
		}
		if inTestRoom(self) {
			continue
		}
		r, ok := roomOf(self)
		if !ok {
			complain("%s has no room: give it one here and in docs/architecture.md", self)
			continue
		}
		for _, imp := range p.Imports {
			other, ours := relative(imp)
			switch {
			case ours && inTestRoom(other):
				complain("%s imports %s, which is for tests", self, other)
			case ours && !slices.ContainsFunc(r.may, func(pattern string) bool { return match(pattern, other) }):
				complain("%s imports %s", self, other)
			case !ours && !std[imp] && imp != "C" && r.only != nil &&
				!slices.ContainsFunc(r.only, func(pattern string) bool { return match(pattern, imp) }):
				complain("%s imports %s", self, imp)
			}
		}
		if i := slices.IndexFunc(p.Deps, func(dep string) bool { return matchesAny(unlinked, dep) }); i >= 0 && self == "cmd/mcpctl" {
			complain("%s links %s", self, p.Deps[i])
		}
		for _, o := range owned {
			if slices.Contains(o.owners, self) {
				continue
			}
			if i := slices.IndexFunc(p.Imports, func(imp string) bool { return matchesAny(o.prefixes, imp) }); i >= 0 {
				complain("%s imports %s, which belongs to %s", self, p.Imports[i], o.owners[0])
			}
			if strings.HasPrefix(self, "cmd/") {
				continue
			}
			if i := slices.IndexFunc(p.Deps, func(dep string) bool { return matchesAny(o.prefixes, dep) }); i >= 0 {
				complain("%s links %s, which belongs to %s", self, p.Deps[i], o.owners[0])
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// relative turns an import path into a path within the module.
func relative(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, module+"/")
}

func inTestRoom(path string) bool {
	return slices.ContainsFunc(testRooms, func(r string) bool { return match(r+"/...", path) })
}

func roomOf(path string) (room, bool) {
	var found []room
	for _, r := range rooms {
		if match(r.path, path) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return room{}, false
	}
	return slices.MaxFunc(found, func(a, b room) int { return cmp.Compare(len(a.path), len(b.path)) }), true
}

// match reports whether path is the pattern, or within a pattern's tree.
func match(pattern, path string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == tree || strings.HasPrefix(path, tree+"/")
	}
	return path == pattern
}

func matchesAny(prefixes []string, path string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) })
}

// The rules themselves: each case breaks one, and must be noticed.
func TestViolationsAreNoticed(t *testing.T) {
	const cobra = "github.com/spf13/cobra"
	in := func(path string) string { return module + "/" + path }
	tests := map[string]struct {
		pkg  pkg
		want []string
	}{
		"library imports cobra": {
			pkg{ImportPath: in("pkg/client"), Imports: []string{cobra}, Deps: []string{cobra}},
			[]string{
				"pkg/client imports github.com/spf13/cobra",
				"pkg/client imports github.com/spf13/cobra, which belongs to cmd/mcpctl/internal/cli",
				"pkg/client links github.com/spf13/cobra, which belongs to cmd/mcpctl/internal/cli",
			},
		},
		"library links lipgloss far away": {
			pkg{ImportPath: in("pkg/server"), Deps: []string{"github.com/charmbracelet/lipgloss"}},
			[]string{"pkg/server links github.com/charmbracelet/lipgloss, which belongs to cmd/mcpctl/internal/ui"},
		},
		"colour outside its room": {
			pkg{ImportPath: in("cmd/mcpctl/internal/cli"), Imports: []string{"charm.land/huh/v2"}},
			[]string{"cmd/mcpctl/internal/cli imports charm.land/huh/v2, which belongs to cmd/mcpctl/internal/form"},
		},
		"runtime leaves the standard library": {
			pkg{ImportPath: in("pkg/typegen/rt"), Imports: []string{sdk + "/mcp"}},
			[]string{"pkg/typegen/rt imports " + sdk + "/mcp"},
		},
		"generator knows a client": {
			pkg{ImportPath: in("pkg/typegen"), Imports: []string{in("pkg/client")}},
			[]string{"pkg/typegen imports pkg/client"},
		},
		"ground imports a library": {
			pkg{ImportPath: in("internal/redact"), Imports: []string{in("pkg/catalog")}},
			[]string{"internal/redact imports pkg/catalog"},
		},
		"library imports the program": {
			pkg{ImportPath: in("pkg/server"), Imports: []string{in("cmd/mcpctl/internal/config")}},
			[]string{"pkg/server imports cmd/mcpctl/internal/config"},
		},
		"product imports a test room": {
			pkg{ImportPath: in("cmd/mcpctl/internal/cli"), Imports: []string{in("internal/mcptest")}},
			[]string{"cmd/mcpctl/internal/cli imports internal/mcptest, which is for tests"},
		},
		"a room that nobody described": {
			pkg{ImportPath: in("pkg/manager")},
			[]string{"pkg/manager has no room: give it one here and in docs/architecture.md"},
		},
		"bubbletea": {
			pkg{ImportPath: in("internal/interop"), Deps: []string{"github.com/charmbracelet/bubbletea"}},
			[]string{"internal/interop links github.com/charmbracelet/bubbletea, which nothing may"},
		},
		"all as it should be": {
			pkg{ImportPath: in("pkg/client"), Imports: []string{"context", in("pkg/catalog"), in("internal/redact"), sdk + "/mcp"}},
			nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := violations([]pkg{test.pkg, {ImportPath: "context", Standard: true}})
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}
