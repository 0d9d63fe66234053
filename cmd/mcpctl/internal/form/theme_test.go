package form

import (
	"os"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
)

// TestColours holds that nothing in a form depends on the background: no black,
// white or grey, in the foreground or behind it.
func TestColours(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	f, err := newForm(Terminal{Out: null, Color: true, Clean: strings.Clone}, Question{Refusable: true, Schema: []byte(`{"type":"object","required":["a"],"properties":{
		"a":{"type":"string","title":"A","description":"what it is"},"b":{"type":"string","default":"there"},
		"c":{"type":"boolean","default":true},"d":{"type":"string","enum":["x","y"]},"e":{"type":"array","items":{"enum":["x","y"]},"default":["x"]}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	var action Action
	p := &program{form: f.page(&action).WithTheme(huh.ThemeFunc(theme))}
	p.Init()
	p.Update(tea.WindowSizeMsg{Width: 80, Height: 60})
	view := p.View().Content
	if len(view) < 200 {
		t.Fatalf("no form: %q", view)
	}
	for _, found := range regexp.MustCompile(`\x1b\[[\d;]*m`).FindAllString(view, -1) {
		if regexp.MustCompile(`[[;](3[078]|4[078]|9[07]|10[07])[;m]`).MatchString(found) {
			t.Errorf("%q in %q", found, view)
		}
	}
}
