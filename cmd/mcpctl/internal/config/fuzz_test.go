package config

import (
	"errors"
	"strings"
	"testing"
)

// FuzzLoad: any bytes give a configuration or an *Error of one line that
// points into the file; so does using what was loaded. A secret variable never
// shows.
func FuzzLoad(f *testing.F) {
	const secret = "correct horse battery staple"
	for _, text := range []string{
		`{"mcpServers": {"x": {"command": "a", "args": ["${SECRET}"], "env": {"A": 1}, "timeout": "${SECRET}"}}}`,
		`{"servers": {"x": {"url": "https://${SECRET}/", "headers": {"A": "${SECRET:-b}"}, "type": "http"}}, "timeout": 5}`,
		`{"typegen": {"outFile": "${SECRET}.go", "tools": {"include": ["*.a?"]}, "extras": "${SECRET}"}}`,
		"// comment\n{\"clientInfo\": {\"name\": \"${input:a}\",},} /* */",
		"\ufeff{}", "[[[[", `{"a": "\u2028"}`, "{\"mcpServers\": {\"\\u001b\": {\"command\": \"\\n\"}}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(err error) {
			t.Helper()
			if err == nil {
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if text := lines(e); strings.Count(text, "\n") > 2 || strings.Contains(text, secret) {
				t.Errorf("error text:\n%s", text)
			}
			if size := strings.Count(string(data), "\n") + 1; e.Line < 0 || e.Line > size {
				t.Errorf("line %d of %d", e.Line, size)
			}
		}
		c, err := parse(File{Path: file.Path, Name: file.Name, Found: Upward}, data, options("SECRET", secret))
		check(err)
		if err != nil {
			return
		}
		for _, w := range c.Warnings {
			check(w)
		}
		for _, reason := range c.NeedsTrust() {
			if strings.ContainsAny(reason, "\n\x1b") || strings.Contains(reason, secret) {
				t.Errorf("reason %q", reason)
			}
		}
		_, err = c.Specs()
		check(err)
		_, err = c.Specs(c.Names()...)
		check(err)
		_, err = c.Typegen()
		check(err)
	})
}
