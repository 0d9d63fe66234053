package ecma

import "testing"

func TestProperties(t *testing.T) {
	for in, want := range map[string]string{
		`^a$`: `^a$`, `\p{Letter}+`: `\p{L}+`, `\P{Lowercase_Letter}`: `\P{Ll}`, `\p{Script=Greek}`: `\p{Greek}`, `\p{gc=Nd}\d`: `\p{Nd}\d`,
		`\\p{Letter}`: `\\p{Letter}`, `\p{L`: `\p{L`, `\p`: `\p`, `[\p{Letter}x]`: `[\p{L}x]`, `a\`: `a\`,
	} {
		if got := Properties(in); got != want {
			t.Errorf("Properties(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCompile(t *testing.T) {
	tests := []struct {
		re, yes, no string
	}{
		{`^x-`, "x-a", "ax-"},
		{`^\/a`, "/a", "a"},
		{`^\u0041$`, "A", "a"},
		{`^\p{Letter}$`, "π", "1"},
		{`^[^\d]$`, "a", "1"},
		{`\$`, "a$", "a"},
	}
	for _, tt := range tests {
		re, ok := Compile(tt.re)
		if !ok || !re.MatchString(tt.yes) || re.MatchString(tt.no) {
			t.Errorf("%s: %v, %v", tt.re, re, ok)
		}
	}
	for _, re := range []string{`^(?!x)`, `(?<=a)b`, `(a)\1`, `\cA`, `\u12`, `\uzzzz`, `(`, `\k<a>`, `a{1001}`} {
		if _, ok := Compile(re); ok {
			t.Errorf("%s compiles", re)
		}
	}
}
