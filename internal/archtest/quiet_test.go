package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// loud lists, by import path, what a library must not touch: it gets writers,
// variables and exit codes from its caller, or hands them back.
var loud = map[string][]string{
	"fmt":     {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"log":     {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Default"},
	"os":      {"Exit", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "Stdin", "Stdout", "Stderr", "Args"},
	"syscall": {"Exit", "Getenv", "Environ", "Setenv"},
	// These use the proxies that the environment names.
	"net/http": {"ProxyFromEnvironment", "DefaultTransport", "DefaultClient", "Get", "Head", "Post", "PostForm"},
	"flag":     {"Parse", "Args", "String", "Bool", "Int"},
	"log/slog": {
		"Debug", "Info", "Warn", "Error", "Log", "Default", "SetDefault",
		"DebugContext", "InfoContext", "WarnContext", "ErrorContext",
	},
}

// excused lists files, relative to the module, with what they may use all the
// same.
var excused = map[string][]string{
	// The variables that a child inherits, which an option replaces.
	"pkg/client/client.go": {"os.LookupEnv"},
}

func TestLibrariesAreQuiet(t *testing.T) {
	files := 0
	for rel, name := range sources(t, "pkg", "internal") {
		if strings.HasSuffix(rel, "_test.go") || inTestRoom(path.Dir(rel)) {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := noises(rel, src)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range found {
			t.Error(n)
		}
		files++
	}
	if files == 0 {
		t.Error("found no library file to look at")
	}
}

// noises names every use of what [loud] lists in one file of a library.
func noises(name string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	imports := make(map[string]string) // local name -> import path
	var found []string
	complain := func(pos token.Pos, what string) {
		if !slices.Contains(excused[name], what) {
			found = append(found, fmt.Sprintf("%s:%d uses %s", name, fset.Position(pos).Line, what))
		}
	}
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		local := path.Base(p)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." && loud[p] != nil {
			complain(spec.Pos(), p+" by a dot import")
		}
		imports[local] = p
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if p := imports[x.Name]; slices.Contains(loud[p], n.Sel.Name) {
					complain(n.Pos(), p+"."+n.Sel.Name)
				}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				complain(n.Pos(), "the built-in "+f.Name)
			}
		}
		return true
	})
	return found, nil
}

func TestNoisesAreNoticed(t *testing.T) {
	tests := map[string]struct {
		name, src string
		want      []string
	}{
		"prints": {
			"pkg/x/x.go", "package x\nimport \"fmt\"\nfunc f() { fmt.Println(1) }",
			[]string{"pkg/x/x.go:3 uses fmt.Println"},
		},
		"prints under another name": {
			"pkg/x/x.go", "package x\nimport out \"fmt\"\nvar p = out.Printf",
			[]string{"pkg/x/x.go:3 uses fmt.Printf"},
		},
		"dot import": {
			"pkg/x/x.go", "package x\nimport . \"os\"\nfunc f() { Exit(1) }",
			[]string{"pkg/x/x.go:2 uses os by a dot import"},
		},
		"built-in": {
			"pkg/x/x.go", "package x\nfunc f() { println(1) }",
			[]string{"pkg/x/x.go:2 uses the built-in println"},
		},
		"reads the environment": {
			"pkg/client/http.go", "package client\nimport \"os\"\nvar h = os.Getenv(\"HOME\")",
			[]string{"pkg/client/http.go:3 uses os.Getenv"},
		},
		"inherits the environment where it may": {
			"pkg/client/client.go", "package client\nimport \"os\"\nvar h, _ = os.LookupEnv(\"HOME\")", nil,
		},
		"does not exit there either": {
			"pkg/client/client.go", "package client\nimport \"os\"\nfunc f() { os.Exit(1) }",
			[]string{"pkg/client/client.go:3 uses os.Exit"},
		},
		"default logger": {
			"internal/x/x.go", "package x\nimport \"log/slog\"\nfunc f() { slog.Info(\"hi\") }",
			[]string{"internal/x/x.go:3 uses log/slog.Info"},
		},
		"quiet": {
			"pkg/x/x.go", "package x\nimport \"fmt\"\nvar err = fmt.Errorf(\"no\")", nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := noises(test.name, []byte(test.src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("noises (-want +got):\n%s", diff)
			}
		})
	}
}
