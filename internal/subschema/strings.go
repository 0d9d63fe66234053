package subschema

import (
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// strings decides lengths, patterns and single strings that are excluded.
func (s *solver) strings(b *branch) result {
	low, high := 0, -1
	not := make(map[string]bool)
	var all []wanted
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
