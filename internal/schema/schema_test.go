package schema

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

func mustCompile(t testing.TB, text string, opts Options) *Schema {
	t.Helper()
	s, err := Compile([]byte(text), opts)
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

// list repeats a text, #i standing for the number, between commas.
func list(n int, text string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(text, "#i", fmt.Sprint(i))
	}
	return strings.Join(items, ",")
}

func nest(n int, open, within, end string) string {
	return strings.Repeat(open, n) + within + strings.Repeat(end, n)
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name, schema, value string
		want                []Problem
	}{
		{"valid", `{"type":"object","required":["a"]}`, `{"a":1}`, nil},
		{"boolean schemas", `{"properties":{"a":true,"b":false}}`, `{"a":1,"b":1}`, []Problem{{"/b", "", "not allowed"}}},
		{"places are escaped and sorted", `{"additionalProperties":{"type":["string","null"]}}`, `{"b":1,"a/b":1}`, []Problem{{"/a~1b", "type", "want null or string, have number"}, {"/b", "type", "want null or string, have number"}}},
		{"enum", `{"enum":["secret",{"b":[1.0],"a":null},true]}`, `{"a":null,"b":[1]}`, nil},
		{"enum keeps the value out", `{"enum":["a",null,false,0,"1"]}`, `"secret"`, []Problem{{"", "enum", "not one of the allowed values"}}},
		{"a text is not its number", `{"enum":["1"]}`, `1`, []Problem{{"", "enum", "not one of the allowed values"}}},
		{"const", `{"items":{"const":[1,{"a":"b"}]}}`, `[[1e0,{"a":"b"}],[1]]`, []Problem{{"/1", "const", "not the only allowed value"}}},
		{"const of null", `{"const":null}`, `false`, []Problem{{"", "const", "not the only allowed value"}}},
		{"enum and const in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"enum":[1],"format":"email"},"b":{"const":1}}}`, `{"a":2,"b":2}`, []Problem{{"/a", "enum", "not one of the allowed values"}, {"/b", "const", "not the only allowed value"}}},
		{"unique", `{"uniqueItems":true}`, `["1",1,{"a":1,"b":2},{"b":2,"a":1.0}]`, []Problem{{"", "uniqueItems", "items 2 and 3 are equal"}}},
		{"all are unique", `{"uniqueItems":true}`, `["1",1,true,null,[],{},[[]],"[]"]`, nil},
		{"not unique", `{"uniqueItems":false}`, `[1,1]`, nil},
		{"names, at their places", `{"additionalProperties":{"additionalProperties":{"propertyNames":{"maxLength":1}}}}`, `{"a":{"b":{"xx":1},"c":{"yy":1}},"d":{"e":{"zz":1}}}`, []Problem{
			{"/a/b", "propertyNames", `the name "xx" is not allowed`}, {"/a/c", "propertyNames", `the name "yy" is not allowed`}, {"/d/e", "propertyNames", `the name "zz" is not allowed`},
		}},
		{"names under a combinator", `{"not":{"propertyNames":{"maxLength":1}}}`, `{"a":1}`, []Problem{{"", "not", "matches what is excluded"}}},
		{"a number out of proportion", `{}`, `{"a":[0,1e99999]}`, []Problem{{"/a/1", "", "a number is too long, or too large or small"}}},
		{"formats are annotations", `{"format":"email"}`, `"x"`, nil},
		{"formats are annotations in draft-07 too", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"enum":{"format":"ipv4"},"r":{"format":"regex"}}}`, `{"enum":"x","r":"("}`, nil},
		{"pattern", `{"pattern":"^(?!b)\\p{Letter}+$"}`, `"b"`, []Problem{{"", "pattern", `does not match the pattern "^(?!b)\\p{L}+$"`}}},
		{"big numbers", `{"maximum":18446744073709551615}`, `18446744073709551616`, []Problem{{"", "maximum", "more than 18446744073709551615"}}},
		{"null", `{"type":"null"}`, ` null `, nil},
		{"unevaluated", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []Problem{{"/b", "", "not allowed"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := mustCompile(t, tt.schema, Options{}).Validate([]byte(tt.value))
			if tt.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(tt.want, e.Problems); d != "" {
				t.Error(d)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error repeats the value: %v", err)
			}
		})
	}
}

// TestReferences leads references to every kind of place, in the dialects that
// have them.
func TestReferences(t *testing.T) {
	const want = `/a: want string, have number`
	for name, schema := range map[string]string{
		"pointer":        `{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`,
		"place":          `{"properties":{"a":{"$ref":"#/properties/b"},"b":{"type":"string"}}}`,
		"no keyword":     `{"properties":{"a":{"$ref":"#/components/s"}},"components":{"s":{"type":"string"}}}`,
		"anchor":         `{"properties":{"a":{"$ref":"#s"}},"$defs":{"s":{"$anchor":"s","type":"string"}}}`,
		"id":             `{"$id":"https://example.test/root","properties":{"a":{"$ref":"s"}},"$defs":{"s":{"$id":"s","type":"string"}}}`,
		"dynamic anchor": `{"$id":"https://example.test/strings","$ref":"list","$defs":{"T":{"$dynamicAnchor":"T","type":"string"},"list":{"$id":"list","properties":{"a":{"$dynamicRef":"#T"}},"$defs":{"T":{"$dynamicAnchor":"T"}}}}}`,
		"recursive":      `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":["string","object"],"properties":{"a":{"$recursiveRef":"#"}},"anyOf":[{"type":"object"},{"type":"string"}]}`,
		"2020-12":        `{"$schema":"https://json-schema.org/draft/2020-12/schema#","properties":{"a":{"type":"string"}}}`,
		"draft-07":       `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","type":"number"}},"definitions":{"s":{"type":"string"}}}`,
		"draft-06":       `{"$schema":"http://json-schema.org/draft-06/schema","properties":{"a":{"$ref":"#s"}},"definitions":{"s":{"$id":"#s","type":"string"}}}`,
		"draft-04":       `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"$ref":"#s"}},"definitions":{"s":{"id":"#s","type":"string"}}}`,
	} {
		s := mustCompile(t, schema, Options{})
		if name == "recursive" {
			if err := s.Validate([]byte(`{"a":{"a":{"a":1}}}`)); err == nil || err.Error() != "/a/a/a: want object or string, have number" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err := s.Validate([]byte(`{"a":1}`)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Validate([]byte(`{"a":"s"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	meta := mustCompile(t, `{"$ref":"http://json-schema.org/draft-07/schema#"}`, Options{})
	if err := meta.Validate([]byte(`{"type":"text"}`)); err == nil {
		t.Error("a published metaschema is not known")
	}
}

// TestDefaultDialect tells 2020-12 from the others by a keyword of its own.
func TestDefaultDialect(t *testing.T) {
	if err := mustCompile(t, `{"prefixItems":[{"type":"string"}]}`, Options{}).Validate([]byte(`[1]`)); err == nil {
		t.Error("prefixItems is not known without $schema")
	}
	if err := mustCompile(t, `{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[{"type":"string"}]}`, Options{}).Validate([]byte(`[1]`)); err != nil {
		t.Errorf("draft-07 has prefixItems: %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	const remote = "it refers to another document, and those are not loaded"
	for schema, want := range map[string]CompileError{
		`{`:        {"", "not valid JSON"},
		`"s3cret"`: {"", "want boolean or object, have string"},
		`{"$ref":"https://s3cret.test/other.json"}`:                     {"", remote},
		`{"$ref":"file:///etc/passwd"}`:                                 {"", remote},
		`{"$ref":"s3cret.json"}`:                                        {"", remote},
		`{"$dynamicRef":"https://s3cret.test/other.json#a"}`:            {"", remote},
		`{"$defs":{"a":{"$id":"a","$schema":"https://s3cret.test/d"}}}`: {"", remote},
		`{"$ref":"#/$defs/s3cret"}`:                                     {"", "a reference leads nowhere"},
		`{"$ref":"#s3cret"}`:                                            {"", "a reference leads nowhere"},
		`{"$ref":"#"}`:                                                  {"", "a reference leads back to itself"},
		`{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#"}}}`: {"", "a reference leads back to itself"},
		`{"$schema":"https://s3cret.test/dialect"}`:                                   {"/$schema", "the dialect is not supported"},
		`{"$schema":"http://json-schema.org/draft-03/schema#"}`:                       {"/$schema", "the dialect is not supported"},
		`{"properties":{"a~/b":{"minimum":"s3cret"}}}`:                                {"/properties/a~0~1b/minimum", "want number, have string"},
		`{"type":"s3cret"}`:                                             {"/type", "none of the alternatives"},
		`{"items":[{}]}`:                                                {"/items", "want boolean or object, have array"},
		`{"pattern":"(s3cret"}`:                                         {"/pattern", "no regex"},
		`{"patternProperties":{"(s3cret":{}}}`:                          {"/patternProperties", `the name "(s3cret" is not allowed`},
		`{"anyOf":[{"multipleOf":1e999999999}]}`:                        {"/anyOf/0/multipleOf", "a number is too long, or too large or small"},
		`{"$defs":{"a":{"$anchor":"s3cret"},"b":{"$anchor":"s3cret"}}}`: {"", "two schemas have the same name"},
		`{"x":{"a":{"$dynamicAnchor":"s3cret"}}}`:                       {"", "a $dynamicAnchor is where no schema can be"},
	} {
		_, err := Compile([]byte(schema), Options{})
		got, ok := errors.AsType[*CompileError](err)
		if !ok {
			t.Errorf("%s: error %v", schema, err)
			continue
		}
		if d := cmp.Diff(want, *got); d != "" {
			t.Errorf("%s: %s", schema, d)
		}
	}
}

// TestNothingIsLoaded refers to a file that is there and holds a schema.
func TestNothingIsLoaded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(name, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "file", Path: path.Join("/", filepath.ToSlash(name))}
	for _, ref := range []string{u.String(), u.String() + "#"} {
		if _, err := Compile([]byte(`{"$ref":"`+ref+`"}`), Options{}); err == nil {
			t.Errorf("%s is loaded", ref)
		}
	}
}

func TestBudgets(t *testing.T) {
	levels := func(n int) string { return nest(n, `{"items":`, `{}`, `}`) }
	nodes := func(n int) string {
		return `{"x":true,"default":{"properties":{"a":{}}},"properties":{"b":true,` + list(n-1, `"p#i":{}`) + `}}`
	}
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d1","$defs":{`)
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"d%d":{"type":"null"}}}`, n)
		return b.String()
	}
	// What references make of places that hold no schemas counts as well.
	hidden := func(n int) string {
		return `{"x":{"y":{"properties":{` + list(n-2, `"p#i":{"type":"null"}`) + `}}},"$ref":"#/x/y"}`
	}
	// Neither the root's part of this chain nor the anchor's is too long.
	dynamic := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"$id":"https://example.test/a","$ref":"b","$defs":{"b":{"$id":"b","$dynamicRef":"#T","$defs":{"T":{"$dynamicAnchor":"T"}}},`)
		b.WriteString(`"T":{"$dynamicAnchor":"T","$ref":"#/$defs/d3"},`)
		for i := 3; i < n; i++ {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"d%d":{"type":"null"}}}`, n)
		return b.String()
	}
	for _, tt := range []struct {
		name string
		text func(int) string
		most int
		opts Options
		what string
	}{
		{"depth", levels, 128, Options{}, "levels of subschemas"},
		{"less depth", levels, 3, Options{Depth: 3}, "levels of subschemas"},
		{"more depth", levels, 200, Options{Depth: 200}, "levels of subschemas"},
		{"nodes", nodes, 10_000, Options{}, "subschemas"},
		{"fewer nodes", nodes, 3, Options{Nodes: 3}, "subschemas"},
		{"hidden nodes", hidden, 50, Options{Nodes: 50}, "subschemas"},
		{"chain", chain, 128, Options{}, "schemas in a chain of references"},
		{"dynamic chain", dynamic, 9, Options{Depth: 9}, "schemas in a chain of references"},
	} {
		mustCompile(t, tt.text(tt.most), tt.opts)
		_, err := Compile([]byte(tt.text(tt.most+1)), tt.opts)
		got, ok := errors.AsType[*BudgetError](err)
		if !ok || *got != (BudgetError{tt.what, tt.most}) {
			t.Errorf("%s: error %v", tt.name, err)
		}
	}
}

// TestWork gives schemas and values whose check would take hours, or more
// memory than there is.
func TestWork(t *testing.T) {
	twice := func(keyword, leaf string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
		}
		return b.String() + `"d60":` + leaf + `}}`
	}
	often := func(schema string) string {
		return `{"allOf":[` + list(400, `{"$ref":"#/$defs/s"}`) + `],"$defs":{"s":` + schema + `}}`
	}
	numbers := `[` + list(10_000, `#i`) + `]`
	long := `"` + strings.Repeat("a", 1_000_000) + `"`
	for name, tt := range map[string]struct{ schema, value string }{
		"allOf":              {twice("allOf", `{"type":"number"}`), `1`},
		"anyOf that fails":   {twice("anyOf", `{"type":"string"}`), `1`},
		"oneOf":              {twice("oneOf", `{"minimum":2}`), `1`},
		"draft-07":           {`{"$schema":"http://json-schema.org/draft-07/schema#",` + twice("allOf", `{}`)[1:], `1`},
		"recursion":          {`{"additionalProperties":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`, nest(60, `{"a":`, `1`, `}`)},
		"where no schema is": {`{"$ref":"#/x/a","x":{"a":` + strings.ReplaceAll(twice("allOf", `{"type":"number"}`), "#/$defs", "#/x/a/$defs") + `}}`, `1`},
		"dynamic anchors": {`{"$id":"https://example.test/a","$ref":"b","$defs":{` +
			`"over":{"$dynamicAnchor":"T","$id":"over","$defs":{"x":` + strings.ReplaceAll(twice("allOf", `{"type":"number"}`), "#/$defs", "#/$defs/x/$defs") + `},"$ref":"#/$defs/x"},` +
			`"T":{"$dynamicAnchor":"T","$ref":"over"},` +
			`"b":{"$id":"b","$dynamicRef":"#T","$defs":{"T":{"$dynamicAnchor":"T"}}}}}`, `1`},
		"wide alternatives": {`{"items":{"items":{"anyOf":[` + list(5000, `{"type":"string"}`) + `]}}}`, `[[` + list(1000, `1`) + `],[` + list(1000, `1`) + `]]`},
		"names that lack":   {often(`{"required":[` + list(20_000, `"p#i"`) + `]}`), `{}`},
		"enumerations":      {often(`{"enum":[` + numbers + `]}`), numbers},
		"constants":         {often(`{"const":` + numbers + `}`), numbers},
		"equal items":       {often(`{"uniqueItems":true}`), `[[` + numbers[1:len(numbers)-1] + `]]`},
		"long texts":        {often(`{"pattern":"b"}`), long},
	} {
		t.Run(name, func(t *testing.T) {
			if err := mustCompile(t, tt.schema, Options{}).Validate([]byte(tt.value)); !errors.Is(err, ErrWork) {
				t.Errorf("%.200v", err)
			}
		})
	}
}

// TestPatternsCost gives a pattern whose time grows exponentially.
func TestPatternsCost(t *testing.T) {
	s := mustCompile(t, `{"pattern":"^(?=a)(a+)+$"}`, Options{})
	text := strings.Repeat("a", 40) + "!"
	if err := s.Validate([]byte(`"` + text + `"`)); err != nil {
		t.Errorf("what could not be checked fails: %v", err)
	}
	if spent := baseWork - s.meter.left; spent < int(patternTime.Microseconds()) {
		t.Errorf("it cost %d units", spent)
	}
}

// TestLargeValues checks values that are large and honest.
func TestLargeValues(t *testing.T) {
	s := mustCompile(t, `{"type":"array","items":{"anyOf":[`+list(30, `{"type":"object","properties":{"kind":{"const":"k#i"},"n":{"type":"integer","minimum":0}},"required":["kind","n"]}`)+`]}}`, Options{})
	if err := s.Validate([]byte(`[` + list(5_000, `{"kind":"k29","n":#i}`) + `]`)); err != nil {
		t.Error(err)
	}
}

// TestDeepValues fills the stack as far as depths allow.
func TestDeepValues(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d1","$defs":{`)
	for i := 1; i < 127; i++ {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	b.WriteString(`"d127":{"items":{"$ref":"#"}}}}`)
	s := mustCompile(t, b.String(), Options{})
	if err := s.Validate([]byte(nest(512, `[`, ``, `]`))); err != nil {
		t.Error(err)
	}
	err := s.Validate([]byte(nest(513, `[`, ``, `]`)))
	if _, ok := errors.AsType[*schemadoc.LimitError](err); !ok {
		t.Errorf("error %v", err)
	}
}

func TestFormats(t *testing.T) {
	for _, dialect := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
		s := mustCompile(t, `{"$schema":"`+dialect+`","properties":{"email":{"type":"string","format":"email"},"uri":{"format":"uri"},"date":{"format":"date"},`+
			`"date-time":{"format":"date-time"},"uuid":{"format":"uuid"},"regex":{"format":"regex"},"other":{"format":"other"}}}`, Options{Formats: true})
		for member, texts := range map[string][2]string{
			"email":     {"a@example.com", "a.example.com"},
			"uri":       {"https://example.com/a?b#c", "/a/b"},
			"date":      {"2028-02-29", "2027-02-29"},
			"date-time": {"2027-02-28T23:59:59.5+02:00", "2027-02-28 23:59"},
		} {
			if err := s.Validate([]byte(`{"` + member + `":"` + texts[0] + `"}`)); err != nil {
				t.Errorf("%s: %v", member, err)
			}
			err := s.Validate([]byte(`{"` + member + `":"` + texts[1] + `"}`))
			e, ok := errors.AsType[*Error](err)
			if !ok || len(e.Problems) != 1 || e.Problems[0] != (Problem{"/" + member, "format", "no " + member}) {
				t.Errorf("%s: error %v", member, err)
			}
		}
		if err := s.Validate([]byte(`{"date":1,"uuid":"x","regex":"(","other":"x"}`)); err != nil {
			t.Errorf("other formats and types: %v", err)
		}
	}
}

func TestWhatIsNoValue(t *testing.T) {
	s := mustCompile(t, `{}`, Options{})
	for _, in := range []string{``, `{`, `1 2`, `nul`} {
		if err := s.Validate([]byte(in)); !errors.Is(err, schemadoc.ErrNotJSON) {
			t.Errorf("%q: error %v", in, err)
		}
	}
}

func TestManyProblems(t *testing.T) {
	s := mustCompile(t, `{"items":{"type":"string"}}`, Options{})
	err := s.Validate([]byte(`[` + list(30, `1`) + `]`))
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Problems) != 10 || e.More != 20 || !strings.HasSuffix(err.Error(), "; and 20 more") {
		t.Errorf("%v", err)
	}
	err = s.Validate([]byte(`[` + list(30_000, `1`) + `]`))
	if e, ok := errors.AsType[*Error](err); !ok || len(e.Problems) != 10 || e.More != maxFound-10 {
		t.Errorf("%v", err)
	}
	names := mustCompile(t, `{"additionalProperties":false}`, Options{})
	err = names.Validate([]byte(`{` + list(9, `"p#i":1`) + `,"` + strings.Repeat("z", 500) + `":1}`))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
}

// TestConcurrentUse has checks that fail, pass and spend too much at once.
func TestConcurrentUse(t *testing.T) {
	s := mustCompile(t, `{"additionalProperties":{"allOf":[{"$ref":"#"},{"$ref":"#"}]},"propertyNames":{"pattern":"^(?!b)"}}`, Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := s.Validate([]byte(nest(60, `{"a":`, `1`, `}`))); !errors.Is(err, ErrWork) {
				t.Errorf("error %v", err)
			}
			for range 50 {
				if err := s.Validate([]byte(`{"a":{"a":1}}`)); err != nil {
					t.Error(err)
				}
				if _, ok := errors.AsType[*Error](s.Validate([]byte(`{"a":{"b":1}}`))); !ok {
					t.Error("it passes")
				}
			}
		})
	}
	wg.Wait()
}
