package typegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The pages of the documentation have a part that people write and a part,
// behind this line, that is made of the cases here.
const docsMarker = "<!-- What follows is made by the tests of pkg/typegen with -update. -->\n"

func goldenDocs(t *testing.T, path, made string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(b), docsMarker)
	if !ok {
		t.Fatalf("%s has lost its marker line", path)
	}
	golden(t, path, []byte(head+docsMarker+made))
}

var codecMethods = regexp.MustCompile(`(?m)^// (?:Marshal|Unmarshal)JSON .*\nfunc \(v \*?\w+\) (?:Marshal|Unmarshal)JSON\(.*\n.*\n}\n\n?`)

// fileHead is what stands before the declarations.
var fileHead = regexp.MustCompile(`(?s)^.*?\npackage sample\n+(import "[^"]*"\n|import \(.*?\n\)\n)?`)

// declarations are the types of one case as Go source, without the methods
// that all types with a codec have.
func declarations(t *testing.T, c goldenCase, mode string) string {
	t.Helper()
	o := c.options(t, mode)
	o.NoValidate = true
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{opts: o, budget: newMeter(o.Budgets)}
	p, err := g.pkg("sample", oneTool(t, string(c.Schema), "").Servers, false)
	if err != nil {
		t.Fatal(err)
	}
	p.clients = nil
	source, err := emit(p, o)
	if err != nil {
		t.Fatal(err)
	}
	body := codecMethods.ReplaceAllString(fileHead.ReplaceAllString(string(source), ""), "")
	return strings.TrimSpace(body) + "\n"
}

// TestDocs keeps docs/typegen.md showing what the generator does.
func TestDocs(t *testing.T) {
	var b strings.Builder
	for _, c := range goldenCases(t) {
		title := strings.ToUpper(c.Name[:1]) + strings.ReplaceAll(c.Name[1:], "-", " ")
		var schema bytes.Buffer
		if err := json.Indent(&schema, c.Schema, "", "  "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n```json\n%s\n```\n", title, c.About, schema.String())
		shown := map[string][]string{}
		var order []string
		for _, mode := range caseModes {
			src := declarations(t, c, mode)
			if shown[src] == nil {
				order = append(order, src)
			}
			shown[src] = append(shown[src], "`"+mode+"`")
		}
		for _, src := range order {
			fmt.Fprintf(&b, "\nWith `--extras` %s:\n\n```go\n%s```\n", strings.Join(shown[src], " and "), src)
		}
	}
	goldenDocs(t, "../../docs/typegen.md", b.String())
}

// diagnosed is an example of a diagnostic.
type diagnosed struct {
	code    string
	meaning string
	input   string
	output  string
	options Options
	fails   bool
	tool    string // the whole tool instead of its schema
}

var diagnosedExamples = []diagnosed{
	{code: CodeBudgetValues, meaning: "A schema has more than 100,000 JSON values, annotations included. It is neither copied nor read; the type is any JSON value. The example was run with a budget of five values.", input: `{"type":"object","properties":{"a":{"enum":[1,2,3]}}}`, options: Options{Budgets: Budgets{Values: 5}}},
	{code: CodeBudgetRun, meaning: "All schemas of a run together have more than 1,000,000 JSON values. This schema and all that come after it are any JSON value. The example was run with a budget of six values.", input: `{"type":"object"}`, output: `{"type":"object","properties":{"a":{"enum":[1,2]}}}`, options: Options{Budgets: Budgets{Run: 6}}},
	{code: CodeBudgetNodes, meaning: "A schema has more than 10,000 subschemas. The example was run with a budget of two.", input: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, options: Options{Budgets: Budgets{Nodes: 2}}},
	{code: CodeBudgetOutput, meaning: "A schema combines others in so many ways that its types would be many times larger than itself. What is left after 200,000 schemas and members is any JSON value. The example was run with a budget of three.", input: `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"string"}}}}}}}`, options: Options{Budgets: Budgets{Work: 3}}},
	{code: CodeDepth, meaning: "Subschemas nest deeper than 128 levels. That fails the run, unless `--widen` makes it any JSON value with this warning. The example was run with a budget of two levels.", input: `{"type":"object","properties":{"a":{"properties":{"b":{"properties":{"c":{"type":"string"}}}}}}}`, options: Options{Budgets: Budgets{Depth: 2}}, fails: true},
	{code: CodeUnresolvedRef, meaning: "A reference inside the document leads nowhere. That fails the run, unless `--widen` is given.", input: `{"type":"object","properties":{"a":{"$ref":"#/$defs/Gone"}}}`, fails: true},
	{code: CodeRefCycle, meaning: "References and combinators lead back to themselves without a member or item in between, so that there is no type. That fails the run, unless `--widen` is given. Recursion through members and items is no problem at all.", input: `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"allOf":[{"$ref":"#/$defs/A"}]}}}`, fails: true},
	{code: CodeExternalRef, meaning: "A reference leads to another document. Nothing is ever fetched; the place takes any JSON value. At run time such a schema checks nothing.", input: `{"type":"object","properties":{"a":{"$ref":"https://example.test/other.json"}}}`},
	{code: CodeDynamicRef, meaning: "A dynamic reference may mean several schemas, depending on how it is reached.", input: `{"type":"object","properties":{"a":{"$dynamicRef":"#x"}},"$defs":{"A":{"$dynamicAnchor":"x","type":"string"},"B":{"$id":"b","$dynamicAnchor":"x","type":"integer"}}}`},
	{code: CodeMalformed, meaning: "A keyword has a value of the wrong shape. It is ignored.", input: `{"type":"object","properties":{"a":{"type":"text"}}}`},
	{code: CodeNotSchema, meaning: "Something that is neither an object nor a boolean stands where a schema belongs.", input: `{"type":"object","properties":{"a":"string"}}`},
	{code: CodeNotJSON, meaning: "A schema or tool is not valid JSON. That fails the run.", fails: true, tool: `{"name":"sample","inputSchema":{}`},
	{code: CodeContradiction, meaning: "No value can satisfy a schema.", input: `{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]}}}`},
	{code: CodeCollision, meaning: "Two names become the same Go name. The plainest keeps it, the others have their symbols spelled or get a short hash of what they are called. A tool, member or value that is unrelated changes none of these names.", input: `{"type":"object","properties":{"user_id":{"type":"string"},"userId":{"type":"string"}}}`},
	{code: CodePattern, meaning: "A pattern of patternProperties uses something that Go's regular expressions lack, such as look-ahead. Its members are kept with the other unknown ones.", input: `{"type":"object","patternProperties":{"^(?!x)":{"type":"string"}}}`},
	{code: CodeOverlap, meaning: "One name may match several patterns. The first in byte order takes it.", input: `{"type":"object","patternProperties":{"^a":{"type":"string"},"z$":{"type":"string"}}}`},
	{code: CodeToolProblem, meaning: "Clients must not offer the tool, because of an invalid `x-mcp-header`. It has no types and no method.", input: `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"not valid"}}}`},
	{code: CodeDialect, meaning: "`$schema` names a dialect that is not known. The schema is read as 2020-12. At run time it checks nothing.", input: `{"$schema":"https://example.test/dialect","type":"object"}`},
	{code: CodeRuntime, meaning: "A note, no warning: the type is as precise as it can be, and a rule beyond it is checked when a tool is called.", input: `{"type":"object","properties":{"a":{"type":"string","not":{"const":"x"}}}}`},
}

// TestDiagnostics holds one example of each code, and keeps
// docs/diagnostics.md showing them.
func TestDiagnostics(t *testing.T) {
	var b strings.Builder
	for _, x := range diagnosedExamples {
		c := oneTool(t, `{"type":"object"}`, "")
		if x.tool != "" {
			c.Servers[0].Tools[0].Raw = []byte(x.tool)
		} else {
			c = oneTool(t, x.input, x.output)
		}
		res, err := Generate(c, x.options)
		var line string
		if x.fails {
			e, ok := AsError(err)
			if !ok || e.Code != x.code {
				t.Errorf("%s: error %v", x.code, err)
				continue
			}
			line = e.Error()
			if x.code != CodeNotJSON {
				o := x.options
				o.Widen = true
				if res, err = Generate(c, o); err != nil {
					t.Errorf("%s: with Widen: %v", x.code, err)
				}
			}
		} else if err != nil {
			t.Errorf("%s: %v", x.code, err)
			continue
		}
		i := slices.IndexFunc(res.Diagnostics, func(d Diagnostic) bool { return d.Code == x.code })
		if i < 0 && x.code != CodeNotJSON {
			t.Errorf("%s: diagnostics %v", x.code, res.Diagnostics)
			continue
		}
		if i >= 0 {
			if !x.fails {
				line = res.Diagnostics[i].String()
			}
			if want := Note; (res.Diagnostics[i].Severity == want) != (x.code == CodeRuntime) {
				t.Errorf("%s: severity %s", x.code, res.Diagnostics[i].Severity)
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", x.code, x.meaning)
		if x.tool == "" {
			schema := x.input
			if x.output != "" {
				schema = x.output
			}
			fmt.Fprintf(&b, "\n```json\n%s\n```\n", schema)
		}
		fmt.Fprintf(&b, "\n```text\n%s\n```\n", line)
	}
	goldenDocs(t, "../../docs/diagnostics.md", b.String())

	// Every code has its example.
	have := map[string]bool{CodeDuplicate: true}
	for _, x := range diagnosedExamples {
		have[x.code] = true
	}
	src, err := os.ReadFile("typegen.go")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, m := range regexp.MustCompile(`\tCode\w+\s+= "([a-z-]+)"`).FindAllStringSubmatch(string(src), -1) {
		want[m[1]] = true
	}
	if !maps.Equal(have, want) {
		t.Errorf("codes with an example %v, codes %v", slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want)))
	}
}
