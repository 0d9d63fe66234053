package typegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

func tools(t testing.TB, schemas map[string]string) []catalog.Tool {
	t.Helper()
	var out []catalog.Tool
	for name, schema := range schemas {
		n, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		tool, err := catalog.ParseTool([]byte(`{"name":` + string(n) + `,"inputSchema":` + schema + `}`))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tool)
	}
	return out
}

func generate(t testing.TB, c catalog.Catalog, o Options) (string, Result) {
	t.Helper()
	res, err := Generate(c, o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range res.Files {
		formatted, err := format.Source(f.Content)
		if err != nil {
			t.Fatalf("%v\n%s", err, f.Content)
		}
		if !bytes.Equal(formatted, f.Content) {
			t.Errorf("not gofmt-clean: %s", firstDiff(f.Content, formatted))
		}
		b.Write(f.Content)
	}
	return b.String(), res
}

// declarationTexts are the declarations of a file by name.
func declarationTexts(t testing.TB, src []byte) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "gen.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	put := func(name string, n ast.Node) {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, n); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			recv := ""
			if d.Recv != nil {
				var b bytes.Buffer
				_ = printer.Fprint(&b, fset, d.Recv.List[0].Type)
				recv = strings.TrimPrefix(b.String(), "*") + "."
			}
			put(recv+d.Name.Name, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					put(s.Name.Name, d)
				case *ast.ValueSpec:
					put(s.Names[0].Name, s)
				}
			}
		}
	}
	return out
}

// TestToolsAreIndependent takes tools away from real catalogues: what is
// declared for the others stays as it was.
func TestToolsAreIndependent(t *testing.T) {
	for _, name := range []string{"todoist", "mongodb", "stripe", "figma-console"} {
		c := readCatalog(t, "../../testdata/catalogues/"+name+".json")
		all, err := Generate(c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole := declarationTexts(t, all.Files[0].Content)
		tools := c.Servers[0].Tools
		for drop := 0; drop < len(tools); drop += 1 + len(tools)/5 {
			c.Servers[0].Tools = slices.Delete(slices.Clone(tools), drop, drop+1)
			res, err := Generate(c, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for decl, text := range declarationTexts(t, res.Files[0].Content) {
				if whole[decl] != text && !strings.HasSuffix(decl, "Tools") {
					t.Errorf("%s: without the tool %s, %s changes:\n%s\n%s", name, tools[drop].Name, decl, whole[decl], text)
				}
			}
		}
	}
}

// TestMembersAreIndependent adds a member and a value: nothing else changes.
func TestMembersAreIndependent(t *testing.T) {
	before := `{"type":"object","properties":{"a":{"type":"object","properties":{"k":{"enum":["x","y"]}}},"b_c":{"type":"array","items":{"type":"object","properties":{"d":{"type":"string"}}}}}}`
	after := `{"type":"object","properties":{"0":{"type":"object","properties":{"z":{"enum":["x"]}}},"a":{"type":"object","properties":{"k":{"enum":["w","x","y"]},"l":{"type":"string"}}},"b_c":{"type":"array","items":{"type":"object","properties":{"d":{"type":"string"}}}}}}`
	was, _ := generate(t, oneTool(t, before, ""), Options{})
	is, _ := generate(t, oneTool(t, after, ""), Options{})
	old, now := declarationTexts(t, []byte(was)), declarationTexts(t, []byte(is))
	for name, text := range old {
		switch name {
		case "SampleInput", "SampleInputA", "SampleInputAK.Valid", "sampleTool", "sampleInputSchema":
			if _, ok := now[name]; !ok {
				t.Errorf("%s is gone", name)
			}
		default:
			if now[name] != text {
				t.Errorf("%s changes:\n%s\n%s", name, text, now[name])
			}
		}
	}
}

func TestToolNames(t *testing.T) {
	c := catalog.New(catalog.Server{Name: "s", Tools: tools(t, map[string]string{
		"get":       `{"type":"object","properties":{"input":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
		"get_input": `{"type":"object"}`, "getInput": `{"type":"object"}`, "get.input": `{"type":"object"}`,
		"check": `{"type":"object"}`, "日本": `{"type":"object"}`, "😀": `{"type":"object"}`,
		"1st": `{"type":"object"}`, "s_client": `{"type":"object"}`, "get_with_result": `{"type":"object"}`,
	})})
	src, res := generate(t, c, Options{Package: "p"})
	decls := declarationTexts(t, []byte(src))
	for _, want := range []string{
		"GetInput", "GetInputInput", "GetUnderscoreInputInput", "GetDotInputInput", "CheckInput", "X日本Input", "N1stInput",
		"SClient.Get", "SClient.GetInput", "SClient.CheckTool", "SClient.GetWithResult", "SClientInput",
	} {
		if decls[want] == "" {
			t.Errorf("no %s among %v", want, slices.Sorted(keys(decls)))
		}
	}
	var collisions int
	for _, d := range res.Diagnostics {
		if d.Code == CodeCollision {
			collisions++
		}
	}
	if collisions < 3 {
		t.Errorf("diagnostics %v", res.Diagnostics)
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestServers(t *testing.T) {
	forecast := map[string]string{"get_forecast": `{"type":"object","properties":{"city":{"type":"string"}}}`}
	weather := catalog.Server{Name: "weather", Tools: tools(t, forecast)}
	other := catalog.Server{Name: "other-weather", Tools: tools(t, forecast)}

	src, _ := generate(t, catalog.New(weather), Options{})
	if !strings.Contains(src, "type GetForecastInput struct") {
		t.Error("one server has a prefix")
	}
	src, _ = generate(t, catalog.New(weather), Options{Prefix: true})
	if !strings.Contains(src, "type WeatherGetForecastInput struct") {
		t.Error("no prefix where one is asked for")
	}
	src, _ = generate(t, catalog.New(weather, other), Options{})
	for _, want := range []string{"type WeatherGetForecastInput struct", "type OtherWeatherGetForecastInput struct", "func NewWeatherClient(", "func NewOtherWeatherClient("} {
		if !strings.Contains(src, want) {
			t.Errorf("no %s", want)
		}
	}
	_, res := generate(t, catalog.New(weather, other), Options{PackagePerServer: true})
	if len(res.Files) != 2 || res.Files[0].Name != "otherweather/otherweather.go" || res.Files[0].Server != "other-weather" || !strings.Contains(string(res.Files[1].Content), "// Package weather calls the tools of the MCP server \"weather\".\npackage weather\n") {
		t.Errorf("%+v", res.Files)
	}
	if !slices.Equal(res.Modules, []string{"github.com/mcpctl/mcpctl", "github.com/modelcontextprotocol/go-sdk"}) {
		t.Error(res.Modules)
	}
	if _, err := Generate(catalog.Catalog{Servers: []catalog.Server{weather, weather}}, Options{}); err == nil {
		t.Error("two servers of one name pass")
	}
	// An empty catalogue is a package all the same.
	generate(t, catalog.Catalog{}, Options{})
	generate(t, catalog.New(catalog.Server{Name: "none"}), Options{})
	dup := weather
	dup.Tools = append(slices.Clone(weather.Tools), tools(t, map[string]string{"get_forecast": `{"type":"object"}`})...)
	if _, res := generate(t, catalog.Catalog{Servers: []catalog.Server{dup}}, Options{}); len(res.Diagnostics) != 1 || res.Diagnostics[0].Code != CodeDuplicate {
		t.Errorf("%v", res.Diagnostics)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Extras: "all"}, {Numbers: "big"}, {Formats: "all"}, {Package: "a b"}, {Package: "func"}} {
		if _, err := Generate(catalog.Catalog{}, o); err == nil {
			t.Errorf("%+v passes", o)
		} else if e, ok := AsError(err); !ok || e.Code != "option" || e.Error() == "" {
			t.Errorf("%v", err)
		}
	}
	src, _ := generate(t, oneTool(t, `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object"}`), Options{NoValidate: true})
	if strings.Contains(src, "validate") || strings.Contains(src, "Schema") {
		t.Error("code without validation mentions it")
	}
}

// TestSecrets holds that nothing of a schema but names gets into messages.
func TestSecrets(t *testing.T) {
	_, res := generate(t, oneTool(t, `{"type":"object","properties":{"a":{"type":"secret"},"b":{"const":"secret","type":"integer"},"c":{"$ref":"https://user:secret@example.test/x"},"d":{"allOf":[{"enum":["secret"]},{"enum":["x"]}]}}}`, ""), Options{})
	if len(res.Diagnostics) < 4 {
		t.Errorf("%v", res.Diagnostics)
	}
	for _, d := range res.Diagnostics {
		if strings.Contains(d.String(), "secret") {
			t.Errorf("%v", d)
		}
	}
}

// TestHostileText holds that text of a server stays text.
func TestHostileText(t *testing.T) {
	evil := []string{
		"*/ func init() { panic(1) } /*", "x\nfunc init() { panic(1) }\n//", "x\u2028func init() {}", "//go:linkname a b", "go:embed /etc/passwd",
		"+build ignore", "Deprecated: never", "`\nfunc init() {}\nvar x = `", "\u202e\u2066x", "# Heading", "Heading\n\nText", "a''b``c", "\x00\x1b[31m",
		"- list\n- list\n  - nested\n\tcode", "[Link]: https://example.test", "1. one\n2. two", "Output: x", "TODO(x): y", "Code generated by y. DO NOT EDIT.",
	}
	for _, s := range evil {
		q, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		schema := fmt.Sprintf(`{"type":"object","title":%[1]s,"description":%[1]s,"properties":{%[1]s:{"type":"object","description":%[1]s,"properties":{%[1]s:{"enum":[%[1]s,"b"],"default":%[1]s,"examples":[%[1]s]}}},"p":{"const":%[1]s},"m":{"enum":[%[1]s,1]}},"patternProperties":{%[1]s:true},"$defs":{%[1]s:{"type":"object"}}}`, q)
		tool, err := catalog.ParseTool(fmt.Appendf(nil, `{"name":%[1]s,"title":%[1]s,"description":%[1]s,"inputSchema":%[2]s,"outputSchema":%[2]s}`, q, schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Extras: ExtrasKeep}} {
			src, res := generate(t, catalog.New(catalog.Server{Name: s, Tools: []catalog.Tool{tool}}), o)
			for name := range declarationTexts(t, []byte(src)) {
				if name == "init" {
					t.Errorf("%q declares init", s)
				}
			}
			for i, line := range strings.Split(src, "\n") {
				trimmed := strings.TrimSpace(line)
				if strings.HasPrefix(trimmed, "//go:") || strings.HasPrefix(trimmed, "// +build") || strings.HasPrefix(trimmed, "// Deprecated:") || i > 0 && strings.HasPrefix(trimmed, "// Code generated") {
					t.Errorf("%q gives the line %q", s, line)
				}
			}
			if strings.ContainsAny(src, "\u202e\u2066\u2028\x00\x1b") {
				t.Errorf("%q gets through", s)
			}
			for _, d := range res.Diagnostics {
				if strings.ContainsAny(d.String(), "\n\u202e\x1b\x00") {
					t.Errorf("diagnostic %q", d.String())
				}
			}
		}
	}
}

// TestBlowUps holds that no schema takes long or gives much, whatever it
// combines. Each has its own worst case of some step.
func TestBlowUps(t *testing.T) {
	join := func(n int, f func(i int) string) string {
		p := make([]string, n)
		for i := range p {
			p[i] = f(i)
		}
		return strings.Join(p, ",")
	}
	long := strings.Repeat("n", 1<<20)
	schemas := map[string]string{
		"subsets": `{"type":"object","properties":{"r":{"$ref":"#/$defs/s0"}},"$defs":{` + join(24, func(i int) string {
			return fmt.Sprintf(`"s%[1]d":{"type":"object","allOf":[{"properties":{"a":{"$ref":"#/$defs/s%[2]d"},"b":{"$ref":"#/$defs/s%[2]d"}}},{"properties":{"a":{"$ref":"#/$defs/t%[2]d"},"b":{"type":"object"}}}]},"t%[1]d":{"type":"object","properties":{"a":{"$ref":"#/$defs/s%[2]d"},"b":{"$ref":"#/$defs/t%[2]d"}}}`, i, (i*7+3)%24)
		}) + `}}`,
		"wide union": `{"type":"object","properties":{"u":{"anyOf":[` + join(4000, func(i int) string {
			return fmt.Sprintf(`{"type":"object","properties":{"m%d":{"type":"string"}},"required":["m%d"]}`, i, i)
		}) + `]}}}`,
		"closed all of": `{"type":"object","allOf":[` + join(3000, func(i int) string {
			return fmt.Sprintf(`{"properties":{"m%d":true},"additionalProperties":{"type":"string"}}`, i)
		}) + `]}`,
		"patterns":                `{"type":"object","patternProperties":{` + join(2000, func(i int) string { return fmt.Sprintf(`"^(a|b)*%d":true`, i) }) + `},"properties":{` + join(2000, func(i int) string { return fmt.Sprintf(`"m%d":true`, i) }) + `}}`,
		"nested unions":           `{"type":"object","properties":{"u":` + strings.Repeat(`{"anyOf":[{"type":"string"},{"type":"array","items":`, 50) + `true` + strings.Repeat(`}]}`, 50) + `}}`,
		"long name above many":    `{"type":"object","properties":{"` + long + `":{"type":"object","properties":{` + join(4000, func(i int) string { return fmt.Sprintf(`"m%d":{"type":"x","properties":{}}`, i) }) + `}}}}`,
		"large enumeration often": `{"type":"object","properties":{` + join(500, func(i int) string { return fmt.Sprintf(`"m%d":{"$ref":"#/$defs/E"}`, i) }) + `},"$defs":{"E":{"enum":[` + join(5000, func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `]}}}`,
		"conditions":              `{"type":"object","properties":{"a":true}` + strings.Repeat(`,"if":{"properties":{"x":true}},"then":{"properties":{"y":{"type":"string"}}},"else":{"properties":{"z":{"type":"string"}}`, 60) + strings.Repeat(`}`, 60) + `}`,
		"big numbers":             `{"type":"object","properties":{"a":{"type":"integer","maximum":1e999999999},"b":{"const":1e-999999999},"c":{"minItems":1e400}}}`,
		"union of unions": `{"type":"object","properties":{"r":{"$ref":"#/$defs/u0"}},"$defs":{` + join(30, func(i int) string {
			return fmt.Sprintf(`"u%d":{"anyOf":[{"$ref":"#/$defs/u%d"},{"$ref":"#/$defs/u%d"}]}`, i, i+1, i+1)
		}) + `,"u30":{"type":"string"}}}`,
	}
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			if !json.Valid([]byte(schema)) {
				t.Fatal("no JSON")
			}
			for _, o := range []Options{{Widen: true}, {Extras: ExtrasKeep, Widen: true}} {
				start := time.Now()
				res, err := Generate(oneTool(t, schema, ""), o)
				if err != nil {
					t.Fatal(err)
				}
				if d := time.Since(start); d > 20*time.Second {
					t.Errorf("took %v", d)
				}
				if n := len(res.Files[0].Content); n > 64<<20 {
					t.Errorf("gives %d bytes", n)
				}
			}
		})
	}
}

func TestBudgetsAreExact(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":"string"}}}` // five values, two subschemas, depth one
	has := func(b Budgets, code string) bool {
		t.Helper()
		res, err := Generate(oneTool(t, schema, ""), Options{Budgets: b, Widen: true})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(res.Diagnostics, func(d Diagnostic) bool { return d.Code == code })
	}
	for _, tt := range []struct {
		code       string
		pass, fail Budgets
	}{
		{CodeBudgetValues, Budgets{Values: 5}, Budgets{Values: 4}},
		{CodeBudgetRun, Budgets{Run: 5}, Budgets{Run: 4}},
		{CodeBudgetNodes, Budgets{Nodes: 2}, Budgets{Nodes: 1}},
		{CodeDepth, Budgets{Depth: 2}, Budgets{RawDeep: 2}},
	} {
		if has(tt.pass, tt.code) {
			t.Errorf("%s: the budget itself does not pass", tt.code)
		}
		if !has(tt.fail, tt.code) {
			t.Errorf("%s: one more passes", tt.code)
		}
	}
	if thousands(1234567) != "1,234,567" || thousands(12) != "12" || thousands(1000) != "1,000" {
		t.Error(thousands(1234567), thousands(12), thousands(1000))
	}
}

// TestHeader holds the first line to what Go tools look for.
func TestHeader(t *testing.T) {
	src, _ := generate(t, oneTool(t, `{"type":"object"}`, ""), Options{})
	first, _, _ := strings.Cut(src, "\n")
	if first != "// Code generated by mcpctl. DO NOT EDIT." {
		t.Error(first)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "gen.go", src, parser.ParseComments)
	if err != nil || !ast.IsGenerated(f) {
		t.Errorf("not taken for generated: %v", err)
	}
}

// TestNonObjects gives schemas of results that are no objects.
func TestNonObjects(t *testing.T) {
	for schema, want := range map[string]string{
		`true`: "struct{ json.RawMessage }", `false`: "struct{ json.RawMessage }", `{}`: "struct{ json.RawMessage }",
		`{"type":"string"}`: "SampleOutput string", `{"type":"integer"}`: "SampleOutput int64", `{"type":"number"}`: "SampleOutput float64", `{"type":"boolean"}`: "SampleOutput bool",
		`{"type":"array","items":{"type":"string"}}`:                 "SampleOutput []string",
		`{"type":"object","additionalProperties":{"type":"string"}}`: "Extras map[string]string",
		`{"type":"object"}`:                                  "SampleOutput map[string]json.RawMessage",
		`{"type":["string","null"]}`:                         "struct{ rt.Null[string] }",
		`{"type":["object","null"],"properties":{"a":true}}`: "struct{ rt.Null[SampleOutputValue] }",
		`{"enum":["a","b"]}`:                                 "SampleOutputA SampleOutput = \"a\"",
		`{"type":["string","integer"]}`:                      "Integer *int64",
		`{"type":"null"}`:                                    "struct{ rt.JSONNull }",
		`{"const":true}`:                                     "struct{ rt.True }",
		`{"type":"integer","maximum":1e30}`:                  "struct{ json.RawMessage }",
	} {
		src, _ := generate(t, oneTool(t, `{"type":"object"}`, schema), Options{})
		if !strings.Contains(strings.Join(strings.Fields(src), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s: no %s in\n%s", schema, want, src)
		}
	}
}

func TestErrorText(t *testing.T) {
	_, err := Generate(oneTool(t, `{"type":"object","properties":{"a/b":{"$ref":"#/x"}}}`, ""), Options{})
	want := &Error{Code: CodeUnresolvedRef, Server: "demo", Tool: "sample", Side: Input, Pointer: "/properties/a~1b", Reason: `the reference "#/x" leads to no schema`}
	got, ok := AsError(err)
	if !ok {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.Error() != `server "demo", tool "sample", input schema at "/properties/a~1b": the reference "#/x" leads to no schema` {
		t.Error(got)
	}
}

// FuzzGenerate gives any JSON as schema: a diagnosis, or output that parses
// and is as gofmt writes it.
func FuzzGenerate(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(casesDir, "*", "case.json"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for i, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var c goldenCase
		if err := json.Unmarshal(b, &c); err != nil {
			f.Fatal(err)
		}
		var small bytes.Buffer
		if err := json.Compact(&small, c.Schema); err != nil {
			f.Fatal(err)
		}
		f.Add(small.Bytes(), byte(i))
	}
	for i, x := range diagnosedExamples {
		f.Add([]byte(x.input), byte(i))
	}
	f.Fuzz(func(t *testing.T, schema []byte, mode byte) {
		if !json.Valid(schema) {
			return
		}
		o := Options{
			Extras: []Extras{ExtrasExplicit, ExtrasKeep, ExtrasDrop}[mode%3],
			Widen:  mode&4 != 0, NoValidate: mode&8 != 0,
			Budgets: Budgets{Work: 2000, Depth: 20},
		}
		if mode&16 != 0 {
			o.Numbers, o.Formats = NumbersExact, FormatsTime
		}
		tool := catalog.Tool{Name: "sample", InputSchema: schema, OutputSchema: schema}
		tool.Raw = []byte(`{"name":"sample","inputSchema":` + string(schema) + `,"outputSchema":` + string(schema) + `}`)
		start := time.Now()
		res, err := Generate(catalog.New(catalog.Server{Name: "s", Tools: []catalog.Tool{tool}}), o)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("took %v", d)
		}
		if err != nil {
			if e, ok := AsError(err); !ok || o.Widen && e.Code != CodeNotJSON {
				t.Errorf("%v", err)
			}
			return
		}
		src := res.Files[0].Content
		formatted, err := format.Source(src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if !bytes.Equal(src, formatted) {
			t.Errorf("not gofmt-clean: %s", firstDiff(src, formatted))
		}
		seen := map[string]bool{}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "gen.go", src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok == token.IMPORT {
				continue
			}
			for _, s := range g.Specs {
				name := ""
				switch s := s.(type) {
				case *ast.TypeSpec:
					name = s.Name.Name
				case *ast.ValueSpec:
					name = s.Names[0].Name
				}
				if seen[name] {
					t.Errorf("%s is declared twice", name)
				}
				seen[name] = true
			}
		}
	})
}

// TestMalformedKeywords holds that a keyword of the wrong shape is ignored
// with a warning, and that what stands beside it keeps its type.
func TestMalformedKeywords(t *testing.T) {
	for keyword, value := range map[string]string{
		"type": `7`, "enum": `"a"`, "properties": `[]`, "required": `"a"`, "patternProperties": `[]`, "prefixItems": `{}`,
		"allOf": `{}`, "anyOf": `[]`, "oneOf": `"x"`, "dependentSchemas": `[]`, "$ref": `1`, "$dynamicRef": `1`,
	} {
		schema := `{"type":"object","properties":{"ok":{"type":"string"},"bad":{"` + keyword + `":` + value + `}}}`
		src, res := generate(t, oneTool(t, schema, ""), Options{})
		if !strings.Contains(src, "Ok ") || !strings.Contains(src, "*string") {
			t.Errorf("%s: the member beside it has lost its type", keyword)
		}
		if !slices.ContainsFunc(res.Diagnostics, func(d Diagnostic) bool {
			return d.Code == CodeMalformed && d.Keyword == keyword && d.Pointer == "/properties/bad"
		}) {
			t.Errorf("%s: %v", keyword, res.Diagnostics)
		}
	}
	// These are no mistakes.
	for _, member := range []string{`"required":true`, `"minItems":"x"`, `"maximum":"1"`, `"format":1`, `"default":{"type":7}`, `"x-own":[1]`, `"$id":7`, `"$anchor":null`, `"definitions":{}`, `"dependencies":{"a":["b"]}`, `"propertyNames":{"type":"string"}`, `"propertyNames":true`} {
		_, res := generate(t, oneTool(t, `{"type":"object","properties":{"a":{"type":"string",`+member+`}}}`, ""), Options{})
		for _, d := range res.Diagnostics {
			if d.Severity == Warning {
				t.Errorf("%s: %v", member, d)
			}
		}
	}
}

func TestDynamicReferences(t *testing.T) {
	for ref, want := range map[string]string{
		"#only": "A *string", "#/$defs/S": "A *string", "#plain": "A *int64", "other.json#x": "A json.RawMessage",
	} {
		src, _ := generate(t, oneTool(t, `{"type":"object","properties":{"a":{"$dynamicRef":"`+ref+`"}},"$defs":{"S":{"$dynamicAnchor":"only","type":"string"},"I":{"$anchor":"plain","type":"integer"}}}`, ""), Options{})
		if !strings.Contains(strings.Join(strings.Fields(src), " "), want) {
			t.Errorf("%s: no %s in\n%s", ref, want, src)
		}
	}
	if _, err := Generate(oneTool(t, `{"type":"object","properties":{"a":{"$dynamicRef":"#none"}}}`, ""), Options{}); err == nil {
		t.Error("a dynamic reference without a target passes")
	}
}

// TestValueCycles gives types that would contain themselves.
func TestValueCycles(t *testing.T) {
	src, _ := generate(t, oneTool(t, `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"n":{"$ref":"#/$defs/N"},"p":{"$ref":"#/$defs/P"}},"required":["a","n"],"$defs":{
		"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}},"required":["b"]},
		"B":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"free":{"$ref":"#/$defs/N"}},"required":["a","free"]},
		"N":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]}},"required":["next"]},
		"P":{"type":"array","prefixItems":[{"anyOf":[{"$ref":"#/$defs/P"},{"type":"null"}]}],"minItems":1}}}`, ""), Options{})
	flat := strings.Join(strings.Fields(src), " ")
	for _, want := range []string{"B *SampleInputB `json", "A *SampleInputA `json", "Free SampleInputN `json", "Next rt.Null[*SampleInputN] `json", "F0 rt.Null[*SampleInputP] `json", "A SampleInputA `json"} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %s in\n%s", want, src)
		}
	}
}

// TestEnumsThatReadAlike gives values of several kinds that would be named
// alike.
func TestEnumsThatReadAlike(t *testing.T) {
	src, _ := generate(t, oneTool(t, `{"type":"object","properties":{"e":{"enum":["1",1,"number 1","string number 1",true,"true",-1,"Minus 1","",[],{},"[]","boolean true",1.5,"1 Point 5"]},"n":{"enum":[1e3,1000,-0.5,1e-7,12e300]},"i":{"enum":[1e3,2.0,-3]}}}`, ""), Options{})
	decls := declarationTexts(t, []byte(src))
	constants := 0
	for name := range decls {
		if strings.HasPrefix(name, "SampleInputE") && name != "SampleInputE" && !strings.Contains(name, ".") {
			constants++
		}
	}
	if constants != 15 {
		t.Errorf("%d names for 15 values: %v", constants, slices.Sorted(keys(decls)))
	}
	for _, want := range []string{"SampleInputN1000", "SampleInputNMinus0Point5", "SampleInputN1EMinus7", "SampleInputI1000", "SampleInputI2", "SampleInputIMinus3"} {
		if decls[want] == "" {
			t.Errorf("no %s among %v", want, slices.Sorted(keys(decls)))
		}
	}
}

// TestLongToolNames holds that a name near the limit collides with nothing.
func TestLongToolNames(t *testing.T) {
	for n := 85; n < 105; n++ {
		name := strings.Repeat("a", n)
		schema := `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`
		_, res := generate(t, catalog.New(catalog.Server{Name: "s", Tools: tools(t, map[string]string{name: schema})}), Options{})
		for _, d := range res.Diagnostics {
			if d.Code == CodeCollision {
				t.Errorf("%d: %v", n, d)
			}
		}
	}
}

// TestMethodsOfInterfaces holds that no tool's method is one that go vet wants
// with another signature.
func TestMethodsOfInterfaces(t *testing.T) {
	c := catalog.New(catalog.Server{Name: "s", Tools: tools(t, map[string]string{
		"seek": `{}`, "marshal_json": `{}`, "write_to": `{}`, "read_byte": `{}`, "unwrap": `{}`,
	})})
	src, _ := generate(t, c, Options{})
	for _, want := range []string{"SeekTool(", "MarshalJSONTool(", "WriteToTool(", "ReadByteTool(", "UnwrapTool("} {
		if !strings.Contains(src, ") "+want) {
			t.Errorf("no method %s", want)
		}
	}
}

// TestHugeNumbers holds that a schema's numbers are placed right, and fast,
// however long they are.
func TestHugeNumbers(t *testing.T) {
	nines := strings.Repeat("9", 1<<20)
	for keyword, want := range map[string]string{
		`"maximum":` + nines:                                 "json.Number",
		`"minimum":-1e` + nines:                              "json.Number",
		`"minimum":1e-` + nines:                              "int64",
		`"maximum":100.` + nines:                             "int64",
		`"minimum":-123456789012345678901234567890.` + nines: "json.Number",
		`"const":1e` + nines:                                 "json.Number",
		`"enum":[1,` + nines + `]`:                           "json.Number",
	} {
		start := time.Now()
		schema := `{"type":"object","properties":{"a":{"type":"integer",` + keyword + `}},"required":["a"]}`
		src, _ := generate(t, catalog.New(catalog.Server{Name: "s", Tools: tools(t, map[string]string{"get": schema})}), Options{NoValidate: true})
		if got := declarationTexts(t, []byte(src))["GetInput"]; !strings.Contains(got, want) {
			t.Errorf("%s…: no %s in %s", keyword[:20], want, got)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s… took %v", keyword[:20], took)
		}
	}
}
