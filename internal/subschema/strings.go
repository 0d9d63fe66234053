package subschema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// strings decides lengths, patterns and single strings that are excluded.
func (s *solver) strings(b *branch) result {
	low, high := 0, -1
	not := make(map[string]bool)
	var all []wanted
	var formats []string
	opaque := false
	for _, a := range b.atoms {
		f := a.f
		switch {
		case f.op == opMinLen && !a.neg:
			low = max(low, f.n)
		case f.op == opMaxLen && a.neg:
			low = max(low, f.n+1)
		case f.op == opMaxLen:
			high = lower(high, f.n)
		case f.op == opMinLen:
			high = lower(high, f.n-1)
		case f.op == opPattern:
			m := s.machine(f.text)
			if m.prog == nil {
				opaque = true
				continue
			}
			all = append(all, wanted{m, !a.neg})
		case f.op == opFormat:
			formats = append(formats, f.text)
		case f.op == opEnum:
			for _, v := range f.enum {
				if v.Kind == schemadoc.String {
					not[v.Text] = true
				}
			}
		}
	}
	if high >= 0 && low > high {
		return none
	}
	for _, f := range formats {
		if r, ok := s.formatted(f, all, low, high, not); ok && !opaque {
			return r
		}
	}
	var r result
	if len(all) == 0 {
		r = s.anyString(low, high, not)
	} else {
		slices.SortStableFunc(all, func(a, b wanted) int { return len(a.m.prog.Inst) - len(b.m.prog.Inst) })
		text, st := s.Space.findText(all, low, high, not)
		r = result{st: st}
		switch st {
		case sat:
			r.w = stringValue(text)
		case unknown:
			r = result{why: "patterns that are too large to be compared"}
			if s.steps <= 0 {
				r = noBudget
			}
		}
	}
	if opaque && r.st != unsat {
		return result{why: patternReason}
	}
	return r
}

// examples are strings in some formats. Many validators check formats, so an
// example that is in its format convinces more of them.
var examples = map[string][]string{
	"date":          {"2024-01-31", "1999-12-01"},
	"date-time":     {"2024-01-31T10:20:30Z", "1999-12-01T00:00:00.5+02:00"},
	"time":          {"10:20:30Z", "00:00:00.5+02:00"},
	"duration":      {"P1D", "PT36H"},
	"email":         {"a@example.com", "b.c@d.org"},
	"idn-email":     {"a@example.com", "b.c@d.org"},
	"hostname":      {"example.com", "a", "b.org"},
	"idn-hostname":  {"example.com", "a", "b.org"},
	"ipv4":          {"192.0.2.1", "10.0.0.7"},
	"ipv6":          {"2001:db8::1", "::1"},
	"uri":           {"https://example.com/", "http://a.b/c", "urn:a:b"},
	"iri":           {"https://example.com/", "http://a.b/c", "urn:a:b"},
	"uri-reference": {"/a", "https://example.com/", "b"},
	"iri-reference": {"/a", "https://example.com/", "b"},
	"uri-template":  {"/a/{b}", "https://example.com/"},
	"uuid":          {"6fa459ea-ee8a-3ca4-894e-db77e160355e", "00000000-0000-4000-8000-000000000000"},
	"json-pointer":  {"/a", ""},
	"regex":         {"a", "b+"},
}

// formatted tries the examples of a format.
func (s *solver) formatted(format string, all []wanted, low, high int, not map[string]bool) (result, bool) {
	tries := examples[format]
	switch format {
	case "uri", "iri", "uri-reference", "iri-reference", "uri-template", "json-pointer", "regex":
		if low <= maxString {
			tries = append(slices.Clone(tries), tries[0]+strings.Repeat("x", max(1, low-len(tries[0]))))
		}
	}
	for _, text := range tries {
		n := utf8.RuneCountInString(text)
		if !s.spend(1+len(all)) || n < low || high >= 0 && n > high || not[text] {
			continue
		}
		if !slices.ContainsFunc(all, func(w wanted) bool { return w.m.re.MatchString(text) != w.want }) {
			return result{st: sat, w: stringValue(text)}, true
		}
	}
	return result{}, false
}

func lower(high, n int) int {
	if high < 0 || n < high {
		return n
	}
	return high
}

// maxString is the longest string that is built as an example.
const maxString = 2000

// anyString finds a string of a length that is not excluded. Of every length
// but zero there are more strings than anybody could exclude one by one.
func (s *solver) anyString(low, high int, not map[string]bool) result {
	if high == 0 {
		if not[""] {
			return none
		}
		return result{st: sat, w: stringValue("")}
	}
	length := max(low, 1)
	if length > maxString {
		return result{st: sat}
	}
	base := strings.Repeat("x", length-1)
	for i := range len(not) + 1 {
		if !s.spend(1) {
			return noBudget
		}
		if text := base + string(letter(i)); !not[text] {
			return result{st: sat, w: stringValue(text)}
		}
	}
	return result{why: "strings that are nearly all excluded"}
}

// letter returns one of many different characters, readable ones first.
func letter(i int) rune {
	if i < 26 {
		return rune('a' + (i+23)%26)
	}
	return rune(0xa1 + i - 26)
}
