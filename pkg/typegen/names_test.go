package typegen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
	"github.com/google/go-cmp/cmp"
)

func TestGoName(t *testing.T) {
	tests := map[string]string{
		"": "", "city": "City", "get_forecast": "GetForecast", "get-forecast": "GetForecast", "getForecast": "GetForecast",
		"GetForecast": "GetForecast", "user_id": "UserID", "userId": "UserID", "userIds": "UserIDs", "html_url": "HTMLURL",
		"HTTPServer": "HTTPServer", "JSONPath": "JSONPath", "mongoDBVersion": "MongoDBVersion", "MAX_VALUE": "MaxValue", "USD": "Usd",
		"v1.0": "V10", "2nd": "2nd", "a b\tc": "ABC", "日本": "日本", "ünï": "Ünï", "ǆ": "Ǆ", "-": "", "😀": "", "x-mcp-header": "XMCPHeader",
		"\xff": "", "a\xffb": "AB", "_": "", "snake_CASE": "SnakeCASE",
	}
	for in, want := range tests {
		if got := goName(in); got != want {
			t.Errorf("goName(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"2nd": "N2nd", "日本": "X日本", "": "", "ok": "Ok", "ǆ": "Ǆ"} {
		if got := goIdent(in, "N"); got != want {
			t.Errorf("goIdent(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAssign(t *testing.T) {
	var told []string
	assign := func(s *scope, prefix string, texts ...string) map[string]string {
		told = nil
		return s.assign(texts, prefix, "N", "Field", "Member", func(raw, got string) { told = append(told, raw+" "+got) })
	}
	got := assign(newScope("Validate"), "", "host-name", "host_name", "host.name", "hostName", "host name", "$host_name", "validate", "1st", "", "+", "😀")
	want := map[string]string{
		"hostName": "HostName", "host_name": "HostUnderscoreName", "host-name": "HostMinusName", "host.name": "HostDotName",
		"host name": "HostSpaceName", "$host_name": "DollarHostUnderscoreName", "validate": "ValidateMember", "1st": "N1st",
		"": "Empty", "+": "Plus", "😀": "FieldX" + shortHash("😀"),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(told) != 5 {
		t.Errorf("told %q", told)
	}
	// Where spelling does not help either, a hash does.
	got = assign(newScope(), "Kind", "a_b", "aB", "AB", "a\x00b")
	for raw, name := range got {
		if !token.IsIdentifier(name) || !strings.HasPrefix(name, "Kind") {
			t.Errorf("%q is named %q", raw, name)
		}
	}
	if len(slices.Compact(slices.Sorted(maps.Values(got)))) != 4 {
		t.Errorf("names are not unique: %v", got)
	}
}

// TestAssignIsStable holds that names depend on the set of texts alone, and
// that an unrelated text changes none.
func TestAssignIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "B", "host", "Name", "_", "-", ".", " ", "1", "é", "日", "+", "id"}
	for range 300 {
		texts := map[string]bool{}
		for range 2 + r.IntN(10) {
			var b strings.Builder
			for range r.IntN(4) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			texts[b.String()] = true
		}
		list := slices.Sorted(maps.Keys(texts))
		none := func(string, string) {}
		want := newScope().assign(list, "", "N", "Field", "", none)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if d := cmp.Diff(want, newScope().assign(list, "", "N", "Field", "", none)); d != "" {
			t.Fatalf("%q: the order counts: %s", list, d)
		}
		more := newScope().assign(append(list, "unrelated"), "", "N", "Field", "", none)
		for raw, name := range want {
			if more[raw] != name {
				t.Fatalf("%q: an unrelated text renames %q from %s to %s", list, raw, name, more[raw])
			}
		}
	}
}

func TestLongNames(t *testing.T) {
	long := strings.Repeat("word_", 1000)
	a, b := clipIdent(goName(long)), clipIdent(goName(long+"x"))
	if utf8.RuneCountInString(a) > maxIdent || a == b || !token.IsIdentifier(a) {
		t.Errorf("%s, %s", a, b)
	}
	if s := strings.Repeat("é", maxIdent); clipIdent(s) != s {
		t.Error("runes are counted as bytes")
	}
}

func TestLowerFirst(t *testing.T) {
	for in, want := range map[string]string{"GetForecast": "getForecast", "URLList": "urlList", "ID": "id", "X": "x", "N1": "n1", "日本": "x日本", "": "x"} {
		if got := lowerFirst(in); got != want {
			t.Errorf("lowerFirst(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPackageNames(t *testing.T) {
	got := packageNames(newScope(), []string{"git-hub", "weather", "func", "1password", "😀", "gitHub", "main", "internal", "日本a", "münchen", "mnchen", "mnchen" + shortHash("mnchen")})
	for raw, want := range map[string]string{"weather": "weather", "func": "mcpfunc", "1password": "mcp1password", "😀": "server", "main": "mcpmain", "internal": "mcpinternal", "日本a": "a"} {
		if got[raw] != want {
			t.Errorf("%q is %q, want %q", raw, got[raw], want)
		}
	}
	if got["git-hub"] == got["gitHub"] || !validPackage(got["git-hub"]) {
		t.Errorf("%v", got)
	}
	seen := map[string]bool{}
	for raw, n := range got {
		if seen[n] || !validPackage(n) || strings.IndexFunc(n, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			t.Errorf("%q is %q", raw, n)
		}
		seen[n] = true
	}
	for _, bad := range []string{"", "1a", "a-b", "func", "_", "init", "a b"} {
		if validPackage(bad) {
			t.Errorf("%q passes as a package name", bad)
		}
	}
}

func FuzzIdent(f *testing.F) {
	for _, s := range []string{"", "a", "host-name", "日本", "😀", "1", "\xff\u202e", "ǆ", "ﬀ", "a\u0301", strings.Repeat("x", 500)} {
		f.Add(s, s+"_")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, digits := range []string{"N", "X"} {
			if name := goIdent(a, digits); name != "" && (!token.IsIdentifier(name) || !token.IsExported(name)) {
				t.Errorf("goIdent(%q) = %q", a, name)
			}
		}
		if n := lowerFirst("T" + goName(a)); !token.IsIdentifier(n) && !token.IsKeyword(n) {
			t.Errorf("lowerFirst gives %q for %q", n, a)
		}
		s := newScope("Validate")
		got := s.assign(slices.Compact([]string{a, b}), "", "N", "Field", "Member", func(string, string) {})
		for raw, name := range got {
			if !token.IsIdentifier(name) || !token.IsExported(name) || utf8.RuneCountInString(name) > maxIdent+16 {
				t.Errorf("%q is named %q", raw, name)
			}
		}
		if a != b && got[a] == got[b] {
			t.Errorf("%q and %q are both %q", a, b, got[a])
		}
		for _, line := range paragraphs(a + "\n" + b) {
			for _, w := range wrap(line, 20) {
				if strings.ContainsAny(w, "\n\r\x00") || strings.HasPrefix(w, "go:") || strings.HasPrefix(w, "#") || strings.HasPrefix(w, "+build") || strings.HasPrefix(w, "Deprecated:") {
					t.Errorf("comment line %q of %q", w, a)
				}
			}
		}
		want := fieldTag(field{json: a, omitzero: len(b)%2 == 0})
		tag := tagInSource(t, want)
		for key, value := range want {
			if got := tag.Get(key); got != value {
				t.Errorf("tag %s is %q in the source, want %q", key, got, value)
			}
		}
		_ = fmt.Sprint(clipText(a, 10))
	})
}

// tagInSource writes a field with a tag and reads the tag back as Go does.
func tagInSource(t *testing.T, tag map[string]string) reflect.StructTag {
	t.Helper()
	source := "package p\n" + jen.Type().Id("T").Struct(jen.Id("F").String().Tag(tag)).GoString()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	var literal string
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			literal = f.Tag.Value
		}
		return true
	})
	value, err := strconv.Unquote(literal)
	if err != nil {
		t.Fatalf("tag %s: %v", literal, err)
	}
	return reflect.StructTag(value)
}

func TestClientNames(t *testing.T) {
	servers := []string{"x", "new-x", "new-new-x", "new", "news", "newX"}
	warned := map[string]bool{}
	got := clientNames(servers, func(raw, _ string) { warned[raw] = true })
	seen := map[string]bool{}
	for raw, n := range got {
		for _, name := range []string{n + "Client", "New" + n + "Client"} {
			if seen[name] {
				t.Errorf("%q: %s is taken", raw, name)
			}
			seen[name] = true
		}
	}
	if got["x"] != "X" || got["new"] != "New" || got["news"] != "News" || warned["x"] || !warned["new-x"] || !warned["new-new-x"] {
		t.Errorf("%v, warned of %v", got, warned)
	}
	slices.Reverse(servers)
	if d := cmp.Diff(got, clientNames(servers, func(string, string) {})); d != "" {
		t.Errorf("the order matters: %s", d)
	}
}
