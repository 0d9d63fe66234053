package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"
)

const (
	repositoryRoot = "../../../.."
	schemaFile     = repositoryRoot + "/docs/mcp.schema.json"
	guideFile      = repositoryRoot + "/docs/config.md"
)

// schema is the part of JSON Schema that the published file uses.
type schema struct {
	Ref                  string `json:"$ref"`
	Defs                 map[string]*schema
	Description          string
	Type                 any
	Enum                 []string
	MinLength            int
	Properties           map[string]*schema
	Items                *schema
	AdditionalProperties any // false or a schema
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var root struct {
		schema
		Defs map[string]*schema `json:"$defs"`
	}
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	root.schema.Defs = root.Defs
	return &root.schema
}

// shapeOfSchema turns a schema into what the tables say about keys.
func shapeOfSchema(root, s *schema) shape {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return shapeOfSchema(root, root.Defs[name])
	}
	out := shape{types: typeNames(s.Type), words: s.Enum}
	if s.Items != nil {
		out.elements = typeNames(s.Items.Type)
	}
	for name, p := range s.Properties {
		if out.keys == nil {
			out.keys = make(map[string]shape)
		}
		out.keys[name] = shapeOfSchema(root, p)
	}
	switch more := s.AdditionalProperties.(type) {
	case nil:
		out.open = out.keys != nil
	case map[string]any:
		if ref, ok := more["$ref"].(string); ok {
			out.keys = map[string]shape{"": shapeOfSchema(root, &schema{Ref: ref})}
		} else {
			out.elements = typeNames(more["type"])
		}
	}
	return out
}

func typeNames(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		names := make([]string, len(v))
		for i := range v {
			names[i] = fmt.Sprint(v[i])
		}
		return names
	}
	return nil
}

// TestSchemaMatchesTables holds the published schema to the tables of keys, in
// both directions.
func TestSchemaMatchesTables(t *testing.T) {
	root := readSchema(t)
	got := shapeOfSchema(root, root)
	for _, name := range foreignKeys { // the schema may explain some of them
		delete(got.keys, name)
	}
	if diff := cmp.Diff(shapeOf(topKeys, true), got, cmp.AllowUnexported(shape{})); diff != "" {
		t.Errorf("the tables and %s differ (-tables +schema):\n%s", filepath.Base(schemaFile), diff)
	}
}

// TestEveryKeyIsExplained looks for a description in the schema and for the
// key in the guide.
func TestEveryKeyIsExplained(t *testing.T) {
	guide, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	root := readSchema(t)
	var walk func(path string, s *schema)
	walk = func(path string, s *schema) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[name]
			if p.Description == "" {
				t.Errorf("the schema does not describe %s.%s", path, name)
			}
			if !bytes.Contains(guide, []byte("`"+name+"`")) {
				t.Errorf("the guide does not mention %s.%s", path, name)
			}
			walk(path+"."+name, p)
		}
	}
	walk("", root)
	for name, def := range root.Defs {
		walk(name, def)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mcp.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mcp.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	standard, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(standard))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// TestExamples reads every example of the guide and of the repository, and
// holds it to the schema.
func TestExamples(t *testing.T) {
	texts := make(map[string][]byte)
	guide, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(guide, -1) {
		texts[fmt.Sprintf("guide %d", i+1)] = m[1]
	}
	if len(texts) < 2 {
		t.Errorf("the guide has %d examples", len(texts))
	}
	for _, pattern := range []string{repositoryRoot + "/examples/*/mcp.json", "testdata/*.json"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if texts[path], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := compileSchema(t)
	for name, text := range texts {
		c, err := parse(file, text, options())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(c.Warnings) > 0 {
			t.Errorf("%s: warnings:\n%s", name, lines(c.Warnings...))
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefuses makes sure that the schema says no where Load does, and
// where Load warns about a key of ours.
func TestSchemaRefuses(t *testing.T) {
	s := compileSchema(t)
	for _, text := range []string{
		`[]`,
		`{"mcpServers": {"x": {}}}`,
		`{"mcpServers": {"": {"command": "a"}}}`,
		`{"mcpServers": {"x": {"command": "a", "url": "https://a.example"}}}`,
		`{"mcpServers": {"x": {"command": ""}}}`,
		`{"mcpServers": {"x": {"command": "a", "args": "b"}}}`,
		`{"mcpServers": {"x": {"command": "a", "args": [1]}}}`,
		`{"mcpServers": {"x": {"command": "a", "env": {"A": null}}}}`,
		`{"servers": {"x": {"url": "https://a.example", "headers": {"A": 1}}}}`,
		`{"servers": {"x": {"command": "a", "timeout": 0}}}`,
		`{"servers": {"x": {"command": "a", "protocolVersion": "2025-06-18"}}}`,
		`{"servers": {"x": {"command": "a", "clientInfo": {"titel": "T"}}}}`,
		`{"typegen": {"outFile": "a.go", "outDir": "b"}}`,
		`{"typegen": {"outfile": "a.go"}}`,
		`{"typegen": {"tools": {"include": "*"}}}`,
		`{"typegen": {"extras": "all"}}`,
	} {
		if validate(t, s, []byte(text)) == nil {
			t.Errorf("the schema takes %s", text)
		}
		if c, err := parse(file, []byte(text), options()); err == nil && len(c.Warnings) == 0 {
			t.Errorf("Load takes %s", text)
		}
	}
}
