package typegen

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIdent bounds the length in runes of one identifier. Names of nested types
// are made of the names of everything around them, so that a deep schema would
// otherwise give names of thousands of runes.
const maxIdent = 96

// initialisms are the words that Go writes in capitals throughout.
var initialisms = map[string]bool{
	"acl": true, "api": true, "ascii": true, "cpu": true, "css": true, "dns": true,
	"eof": true, "guid": true, "html": true, "http": true, "https": true, "id": true,
	"ip": true, "json": true, "mcp": true, "qps": true, "ram": true, "rpc": true,
	"sla": true, "smtp": true, "sql": true, "ssh": true, "tcp": true, "tls": true,
	"ttl": true, "udp": true, "ui": true, "uid": true, "uri": true, "url": true,
	"utf8": true, "uuid": true, "vm": true, "xml": true, "xsrf": true, "xss": true,
}

// plurals of initialisms keep a small s: IDs, URLs.
var pluralInitialisms = map[string]string{
	"ids": "IDs", "urls": "URLs", "uris": "URIs", "apis": "APIs", "uuids": "UUIDs", "ips": "IPs", "uids": "UIDs",
}

// goName turns any text into the exported part of a Go identifier: words are
// split at everything that is no letter or digit and where a small letter is
// followed by a capital one, capitalised and joined. The result may be empty
// (a text without letters and digits) and may start with a digit; see [goIdent].
func goName(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	shout := strings.IndexFunc(s, unicode.IsLower) < 0
	for _, w := range words(s) {
		b.WriteString(capitalise(w, shout))
	}
	return b.String()
}

// words splits a text into the words of an identifier.
func words(s string) []string {
	var out []string
	start, prevLower, prevUpper := -1, false, false
	runes := []rune(s)
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, string(runes[start:end]))
		}
		start = -1
	}
	for i, r := range runes {
		if !identRune(r) {
			flush(i)
			prevLower, prevUpper = false, false
			continue
		}
		upper := unicode.IsUpper(r)
		switch {
		case start < 0:
			start = i
		case upper && prevLower:
			flush(i)
			start = i
		case !upper && unicode.IsLower(r) && prevUpper && i-1 > start:
			// The last capital of a run belongs to the next word: HTTPServer.
			flush(i - 1)
			start = i - 1
		}
		prevLower = unicode.IsLower(r) || unicode.IsDigit(r)
		prevUpper = upper
	}
	flush(len(runes))
	return out
}

// identRune reports whether Go allows r inside an identifier. The underscore
// is allowed but never used: it separates words.
func identRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.Is(unicode.Nd, r))
}

// capitalise makes one word of an identifier. shout is set where the whole
// text is in capitals, which then mean nothing.
func capitalise(w string, shout bool) string {
	low := strings.ToLower(w)
	if initialisms[low] {
		return strings.ToUpper(w)
	}
	if p, ok := pluralInitialisms[low]; ok {
		return p
	}
	r, n := utf8.DecodeRuneInString(w)
	rest := w[n:]
	if shout && len(rest) > 0 {
		rest = strings.ToLower(rest) // MAX_VALUE gives MaxValue
	}
	u := unicode.ToTitle(r)
	if !unicode.IsUpper(u) {
		u = unicode.ToUpper(r)
	}
	return string(u) + rest
}

// goIdent makes an exported identifier of a text, or "" where nothing of the
// text can be used. digitPrefix goes before a name that starts with a digit.
func goIdent(s, digitPrefix string) string {
	return exported(goName(s), digitPrefix)
}

// exported makes name start with a capital letter.
func exported(name, digitPrefix string) string {
	if name == "" {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(name)
	switch {
	case unicode.IsDigit(r):
		return digitPrefix + name
	case !unicode.IsUpper(r):
		return "X" + name
	}
	return name
}

// symbolNames spell what an identifier cannot hold. They are used only where a
// name would otherwise be empty or taken.
var symbolNames = map[rune]string{
	'+': "Plus", '-': "Minus", '.': "Dot", '<': "Less", '>': "Greater", '=': "Equal",
	'!': "Not", '?': "Question", '*': "Star", '/': "Slash", '\\': "Backslash", '%': "Percent",
	'$': "Dollar", '#': "Hash", '@': "At", '&': "And", '|': "Or", '^': "Caret", '~': "Tilde",
	':': "Colon", ';': "Semicolon", ',': "Comma", '(': "LeftParen", ')': "RightParen",
	'[': "LeftBracket", ']': "RightBracket", '{': "LeftBrace", '}': "RightBrace",
	'_': "Underscore", ' ': "Space", '"': "Quote", '\'': "Apostrophe", '`': "Backquote",
}

// spelledName is goName with symbols written as words.
func spelledName(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case identRune(r):
			b.WriteRune(r)
		case symbolNames[r] != "":
			b.WriteString(" " + symbolNames[r] + " ")
		default:
			b.WriteByte(' ')
		}
	}
	return goName(b.String())
}

// shortHash is what makes a name unique when nothing readable does. It depends
// on the raw text alone, so nothing else that comes or goes changes it.
func shortHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:4])
}

// clipIdent bounds an identifier, keeping its head, its tail and a hash of the
// whole.
func clipIdent(name string) string {
	if len(name) <= maxIdent {
		return name
	}
	r := []rune(name)
	if len(r) <= maxIdent {
		return name
	}
	return string(r[:maxIdent/2]) + "X" + shortHash(name) + string(r[len(r)-maxIdent/4:])
}

// scope is one allocator of names: a package has one for its types, constants
// and functions, a struct one for its fields and methods.
type scope struct {
	used map[string]bool
}

func newScope(reserved ...string) *scope {
	s := &scope{used: make(map[string]bool, len(reserved)+8)}
	for _, r := range reserved {
		s.used[r] = true
	}
	return s
}

func (s *scope) take(name string) bool {
	if s.used[name] {
		return false
	}
	s.used[name] = true
	return true
}

// assign gives every raw text a name that is new in the scope: prefix and the
// text's own Go name. The outcome depends on the set of texts, not on their
// order. A text whose name no other one wants always gets it; of several that
// want one name, the one with the fewest symbols gets it, and the others have
// their symbols spelled, then a hash of their raw text added.
// collided is called with each text that did not get its plain name.
func (s *scope) assign(texts []string, prefix, digitPrefix, empty, reserved string, collided func(raw, got string)) map[string]string {
	out := make(map[string]string, len(texts))
	wants := make(map[string][]string, len(texts))
	order := make([]string, 0, len(texts))
	for _, t := range texts {
		w := goName(t)
		if prefix == "" {
			w = exported(w, digitPrefix)
		}
		if w != "" {
			w = clipIdent(prefix + w)
			if s.used[w] && reserved != "" {
				w += reserved
			}
		}
		if _, ok := wants[w]; !ok {
			order = append(order, w)
		}
		wants[w] = append(wants[w], t)
	}
	var losers []string
	for _, w := range order {
		group := wants[w]
		if w == "" {
			losers = append(losers, group...)
			continue
		}
		best := group[0]
		for _, t := range group[1:] {
			if plainer(t, best) {
				best = t
			}
		}
		if !s.take(w) {
			losers = append(losers, group...)
			continue
		}
		out[best] = w
		for _, t := range group {
			if t != best {
				losers = append(losers, t)
			}
		}
	}
	sortStrings(losers)
	for _, t := range losers {
		plain := goName(t)
		name := spelledName(t)
		if prefix == "" {
			name = exported(name, digitPrefix)
		}
		nothing := name == ""
		switch {
		case t == "":
			name, nothing = "Empty", false
		case nothing:
			name = empty
		}
		name = clipIdent(prefix + name)
		if nothing || name == prefix+plain || !s.take(name) {
			name += "X" + shortHash(t)
			for !s.take(name) {
				name += "X"
			}
		}
		out[t] = name
		if plain != "" {
			collided(t, name)
		}
	}
	return out
}

// plainer orders texts that want one name: fewest symbols, then small letters
// before capitals, then byte order.
func plainer(a, b string) bool {
	if x, y := symbols(a), symbols(b); x != y {
		return x < y
	}
	return a < b
}

func symbols(s string) int {
	n := 0
	for _, r := range s {
		if !identRune(r) {
			n++
			if r != '_' && r != '-' {
				n += 2
			}
		}
	}
	return n
}

// fresh takes a name, or makes it new.
func (s *scope) fresh(name string) string {
	for !s.take(name) {
		name += "X"
	}
	return name
}
