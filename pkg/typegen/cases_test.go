package typegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

const casesDir = "../../testdata/typegen/cases"

// goldenCase is one construct of JSON Schema: what it becomes in each mode,
// with values that must pass and values that must be refused.
type goldenCase struct {
	Name    string            `json:"-"`
	About   string            `json:"about"`
	Options json.RawMessage   `json:"options"`
	Strict  []string          `json:"strict"` // modes beside keep in which decoding alone refuses the invalid values
	Loses   []string          `json:"loses"`  // modes that do not keep all valid values, by design
	Schema  json.RawMessage   `json:"schema"`
	Valid   []json.RawMessage `json:"valid"`
	Invalid []json.RawMessage `json:"invalid"`
}

var caseModes = []string{"explicit", "keep", "drop"}

func goldenCases(t testing.TB) []goldenCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(casesDir, "order.json"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		t.Fatal(err)
	}
	out := make([]goldenCase, len(names))
	for i, n := range names {
		b, err := os.ReadFile(filepath.Join(casesDir, n, "case.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &out[i]); err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		out[i].Name = n
	}
	return out
}

func (c goldenCase) options(t testing.TB, mode string) Options {
	t.Helper()
	o := Options{Package: "sample", Extras: Extras(mode)}
	if len(c.Options) > 0 {
		if err := json.Unmarshal(c.Options, &o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func oneTool(t testing.TB, input, output string) catalog.Catalog {
	t.Helper()
	raw := `{"name":"sample","inputSchema":` + input
	if output != "" {
		raw += `,"outputSchema":` + output
	}
	tool, err := catalog.ParseTool([]byte(raw + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return catalog.New(catalog.Server{Name: "demo", Tools: []catalog.Tool{tool}})
}

// TestCases generates every case in every mode. The output is golden, builds,
// vets, and does with the values what the case says.
func TestCases(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir)
	var imports, table strings.Builder
	for i, c := range goldenCases(t) {
		for _, mode := range caseModes {
			res, err := Generate(oneTool(t, string(c.Schema), ""), c.options(t, mode))
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			src := res.Files[0].Content
			if f, err := format.Source(src); err != nil || !bytes.Equal(f, src) {
				t.Errorf("%s, %s: not gofmt-clean: %v", c.Name, mode, err)
			}
			golden(t, filepath.Join(casesDir, c.Name, mode+".golden"), src)
			pkg := fmt.Sprintf("c%02d%s", i, mode)
			write(t, filepath.Join(dir, pkg, "gen.go"), src)
			fmt.Fprintf(&imports, "\t%s %q\n", pkg, "generated.test/"+pkg)
			// Plain structs accept what encoding/json does: a missing member,
			// null for a zero value.
			strict := mode == "keep" || slices.Contains(c.Strict, mode)
			fmt.Fprintf(&table, "\t{%q, %q, func() value { return new(%s.SampleInput) }, %v, %v},\n",
				c.Name, mode, pkg, !slices.Contains(c.Loses, mode) && (mode != "drop"), strict)
		}
	}
	if testing.Short() {
		return
	}
	probe := strings.NewReplacer("/*IMPORTS*/", imports.String(), "/*TABLE*/", table.String()).Replace(probeSource)
	write(t, filepath.Join(dir, "probe", "main.go"), []byte(probe))
	goTool(t, dir, "vet", "./...")
	goTool(t, dir, "build", "-o", "probe.bin", "./probe")
	abs, err := filepath.Abs(casesDir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(dir, "probe.bin"), abs).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

const probeSource = `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

/*IMPORTS*/)

type value interface{ Validate() error }

var table = []struct {
	name, mode string
	make       func() value
	whole      bool
	strict     bool
}{
/*TABLE*/}

func parse(b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return norm(v)
}

func norm(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = norm(x)
		}
	case []any:
		for i, x := range v {
			v[i] = norm(x)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		if f == float64(int64(f)) && f < 1e15 && f > -1e15 {
			return int64(f)
		}
		return string(v)
	}
	return v
}

func main() {
	for _, c := range table {
		b, err := os.ReadFile(filepath.Join(os.Args[1], c.name, "case.json"))
		if err != nil {
			panic(err)
		}
		var in struct{ Valid, Invalid []json.RawMessage }
		if err := json.Unmarshal(b, &in); err != nil {
			panic(err)
		}
		for i, raw := range in.Valid {
			v := c.make()
			err := json.Unmarshal(raw, v)
			if err == nil {
				err = v.Validate()
			}
			if err != nil {
				if c.whole {
					fmt.Printf("%s, %s: valid value %d is refused: %v\n", c.name, c.mode, i, err)
				}
				continue
			}
			out, err := json.Marshal(v)
			if err != nil {
				fmt.Printf("%s, %s: valid value %d does not encode: %v\n", c.name, c.mode, i, err)
				continue
			}
			if c.whole && !reflect.DeepEqual(parse(raw), parse(out)) {
				fmt.Printf("%s, %s: valid value %d became %s\n", c.name, c.mode, i, out)
			}
			byValue, err := json.Marshal(reflect.ValueOf(v).Elem().Interface())
			if err != nil || !bytes.Equal(out, byValue) {
				fmt.Printf("%s, %s: value %d encodes by value as %s, %v\n", c.name, c.mode, i, byValue, err)
			}
		}
		for i, raw := range in.Invalid {
			v := c.make()
			if err := json.Unmarshal(raw, v); err == nil && c.strict && v.Validate() == nil {
				fmt.Printf("%s, %s: invalid value %d is accepted\n", c.name, c.mode, i)
			}
		}
	}
}
`
