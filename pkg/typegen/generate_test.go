package typegen

import (
	"bytes"
	"flag"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

var update = flag.Bool("update", false, "rewrite golden files")

func readCatalog(t testing.TB, path string) catalog.Catalog {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := catalog.Read(f, "test")
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c
}

func captures(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/catalogues/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("captures: %v, %v", files, err)
	}
	return files
}

func repoRoot(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// writeModule starts a module whose packages import this one from the source
// tree.
func writeModule(t testing.TB, dir string) {
	t.Helper()
	root := repoRoot(t)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/mcpctl/mcpctl", "module generated.test", 1)
	text += "\nrequire github.com/mcpctl/mcpctl v0.0.0\n\nreplace github.com/mcpctl/mcpctl => " + root + "\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), []byte(text))
	write(t, filepath.Join(dir, "go.sum"), sum)
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func goTool(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		if len(out) > 4000 {
			out = out[:4000]
		}
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

var modes = map[string]Options{
	"explicit": {},
	"keep":     {Extras: ExtrasKeep},
	"drop":     {Extras: ExtrasDrop, Numbers: NumbersExact, Formats: FormatsTime, NoValidate: true},
}

// TestCatalogues generates every captured catalogue in every mode: the output
// builds, vets, is as gofmt writes it, and depends neither on the run nor on
// the order of the tools.
func TestCatalogues(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir)
	for mode, opts := range modes {
		for _, path := range captures(t) {
			name := strings.NewReplacer("-", "", ".json", "").Replace(filepath.Base(path))
			c := readCatalog(t, path)
			o := opts
			o.Package = name
			res, err := Generate(c, o)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			src := res.Files[0].Content
			formatted, err := format.Source(src)
			if err != nil {
				write(t, "/tmp/bad.go", src)
				t.Fatalf("%s: %v", path, err)
			}
			if !bytes.Equal(formatted, src) {
				t.Errorf("%s, %s: not gofmt-clean: %s", path, mode, firstDiff(src, formatted))
			}
			for i := range c.Servers {
				slices.Reverse(c.Servers[i].Tools)
			}
			again, err := Generate(c, o)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(src, again.Files[0].Content) {
				t.Errorf("%s: the order of the tools changes the output", path)
			}
			if !slices.Equal(res.Diagnostics, again.Diagnostics) {
				t.Errorf("%s: the order of the tools changes the diagnostics", path)
			}
			write(t, filepath.Join(dir, mode, name, "gen.go"), src)
		}
	}
	if testing.Short() {
		return
	}
	goTool(t, dir, "vet", "./...")
}

func firstDiff(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return "line " + itoa(i+1) + "\nhave " + x[i] + "\nwant " + y[i]
		}
	}
	return "length"
}

func BenchmarkGenerateLargest(b *testing.B) {
	c := readCatalog(b, "../../testdata/catalogues/ms-365.json")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Generate(c, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGenerateAll is every schema of every capture.
func BenchmarkGenerateAll(b *testing.B) {
	var all []catalog.Catalog
	schemas := 0
	for _, path := range captures(b) {
		c := readCatalog(b, path)
		all = append(all, c)
		for _, s := range c.Servers {
			for _, t := range s.Tools {
				schemas++
				if len(t.OutputSchema) > 0 {
					schemas++
				}
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range all {
			if _, err := Generate(c, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*schemas), "µs/schema")
}

// BenchmarkGenerateSize shows how time grows with the nodes of one schema.
func BenchmarkGenerateSize(b *testing.B) {
	for _, n := range []int{100, 300, 1000, 3000, 9000} {
		b.Run(itoa(n), func(b *testing.B) {
			var s strings.Builder
			s.WriteString(`{"type":"object","properties":{`)
			for i := range n / 3 {
				if i > 0 {
					s.WriteByte(',')
				}
				s.WriteString(`"m` + itoa(i) + `":{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":["x","y"]}}}`)
			}
			s.WriteString(`}}`)
			c := oneTool(b, s.String(), "")
			for b.Loop() {
				if _, err := Generate(c, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
		})
	}
}
