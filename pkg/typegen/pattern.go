package typegen

import (
	"regexp"

	"github.com/mcpctl/mcpctl/internal/ecma"
)

// goPattern translates an ECMA-262 pattern to the syntax of Go's regexp. It
// reports false where Go cannot express it.
func (g *generator) goPattern(re string) (*regexp.Regexp, bool) {
	c, seen := g.patterns[re]
	if !seen {
		c, _ = ecma.Compile(re)
		if g.patterns == nil {
			g.patterns = map[string]*regexp.Regexp{}
		}
		g.patterns[re] = c
	}
	return c, c != nil
}

// maxMatching bounds how many bytes of names are matched in one run. Beyond it
// types are less precise.
const maxMatching = 20_000_000

// matchesAny reports whether a member's name matches a pattern. A pattern that
// Go cannot express matches nothing here: the member then keeps the type of
// its own schema alone.
func (g *generator) matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if g.matched += len(name) + 10; g.matched > maxMatching {
			return false
		}
		if re, ok := g.goPattern(p); ok && re.MatchString(name) {
			return true
		}
	}
	return false
}
