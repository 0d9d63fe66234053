package form

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// talk asks line by line and returns the object and what was shown.
func talk(t *testing.T, q Question, lines string) (object string, action Action, shown string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// Any change will do for what is not harmless.
	clean := func(s string) string { return strings.NewReplacer("\x1b", "·", "\n", " ").Replace(s) }
	raw, action, err := Terminal{In: strings.NewReader(lines), Out: out, Plain: true, Clean: clean}.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), action, string(all)
}

// Nothing of a server's schema gets to the terminal as it came.
func TestHostileSchema(t *testing.T) {
	const e = `\u001b[31m`
	_, action, shown := talk(t, Question{Refusable: true, Schema: []byte(`{"type":"object","required":["` + e + `n","a","b","c"],"properties":{
		"` + e + `n":{"type":"integer","description":"` + e + `d"},"a":{"type":"string","title":"` + e + `t","default":"` + e + `v"},
		"b":{"type":"string","enum":["` + e + `o"],"pattern":"` + e + `p"},
		"c":{"type":"array","items":{"anyOf":[{"const":"x","title":"` + e + `x"}]},"minItems":1}}}`)}, "x\n1\n\nv\n1\n\n1\n")
	if strings.Contains(shown, "\x1b") || !strings.Contains(shown, "·[31mn (required)") || strings.Contains(shown, "[·[31mv") {
		t.Errorf("shown %q", shown)
	}
	if action != Cancel { // the input has ended
		t.Errorf("action %q", action)
	}
}

// What was given and cannot be edited on one line stays as it is; so does what
// nobody asks for.
func TestGiven(t *testing.T) {
	object, action, shown := talk(t, Question{
		Schema: []byte(`{"properties":{"text":{"type":"string"},"n":{"type":"integer"}},"required":["text","n"]}`),
		Given:  []byte(`{"text":"a\nb","big":12345678901234567890,"n":1}`),
	}, "2\n")
	if object != `{"text":"a\nb","big":12345678901234567890,"n":2}` || action != Accept || strings.Contains(shown, "text") {
		t.Errorf("%s %s, shown %q", action, object, shown)
	}
}

// Schemas are bounded, and references and null lead to what they stand for.
func TestFields(t *testing.T) {
	object, _, shown := talk(t, Question{
		Only: []string{"a", "b", "c", "d"},
		Schema: []byte(`{"properties":{"a":{"$ref":"#/$defs/size"},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"title":"Bee"},
			"c":{"type":["string","null"]},"d":{"type":"array","items":{"type":"number"}},"e":{"$ref":"#/properties/e"}},
			"required":["a","b","c","d"],"$defs":{"size":{"enum":["s",7,null]}}}`),
	}, "2\nseven\n7\n[1]\n1\n[1]\n")
	if object != `{"a":7,"b":7,"c":"[1]","d":[1]}` || !strings.Contains(shown, "b: it takes integer") || !strings.Contains(shown, "d: it takes array as JSON") {
		t.Errorf("%s, shown %q", object, shown)
	}
	names := make([]string, maxFields+1)
	for i := range names {
		names[i] = fmt.Sprintf(`"p%d":{}`, i)
	}
	if _, err := newForm(Terminal{Clean: strings.Clone}, Question{Schema: []byte(`{"properties":{` + strings.Join(names, ",") + `}}`)}); err == nil {
		t.Error("a form of any size is asked")
	}
	if _, err := newForm(Terminal{Clean: strings.Clone}, Question{Schema: []byte(`{"properties":{"e":{"$ref":"#/properties/e"}}}`)}); err != nil {
		t.Errorf("a circle: %v", err)
	}
}
