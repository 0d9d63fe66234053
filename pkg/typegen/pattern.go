package typegen

import (
	"regexp"
	"strings"
)

// goPattern translates an ECMA-262 pattern to the syntax of Go's regexp. It
// reports false where Go cannot express it.
func goPattern(re string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(re); i++ {
		c := re[i]
		if c != '\\' || i+1 == len(re) {
			b.WriteByte(c)
			continue
		}
		i++
		switch re[i] {
		case 'u':
			if i+4 < len(re) && isHex(re[i+1:i+5]) {
				b.WriteString(`\x{` + re[i+1:i+5] + `}`)
				i += 4
				continue
			}
			return "", false
		case 'c', 'k':
			return "", false
		case '/':
			b.WriteByte('/')
		default:
			b.WriteByte('\\')
			b.WriteByte(re[i])
		}
	}
	out := b.String()
	if _, err := regexp.Compile(out); err != nil {
		return "", false
	}
	return out, true
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}

// matchesAny reports whether a member's name matches a pattern. A pattern that
// Go cannot express matches nothing here: the member then keeps the type of
// its own schema alone.
func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		re, ok := goPattern(p)
		if ok && regexp.MustCompile(re).MatchString(name) {
			return true
		}
	}
	return false
}
