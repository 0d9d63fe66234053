package typegen

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

func pad3(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

// clipText makes a server's text fit for a message: no control characters, no
// characters that change the direction or shape of text, and a bounded length.
func clipText(s string, most int) string {
	if cut := 4 * (most + 1); len(s) > cut {
		s = strings.ToValidUTF8(s[:cut], "") // no need to look at the rest
	}
	clean := true
	for _, r := range s {
		if unsafeRune(r) {
			clean = false
			break
		}
	}
	if !clean {
		s = strings.Map(func(r rune) rune {
			if unsafeRune(r) {
				return -1
			}
			return r
		}, s)
	}
	if utf8.RuneCountInString(s) > most {
		r := []rune(s)
		s = string(r[:most-1]) + "…"
	}
	return s
}

// unsafeRune reports whether a rune has no place in a comment or message.
func unsafeRune(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' ||
		unicode.Is(unicode.Co, r) || unicode.Is(unicode.Cs, r)
}

func lowerFirst(s string) string {
	// An initialism at the start is lowered as a whole: ListURLs gives
	// listURLs, URLList gives urlList.
	r := []rune(s)
	n := 0
	for n < len(r) && unicode.IsUpper(r[n]) {
		n++
	}
	switch {
	case n == 0:
		return "x" + s
	case n > 1 && n < len(r):
		n--
	}
	for i := range n {
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}

// quoteText quotes a server's text for a message or comment.
func quoteText(s string) string { return strconv.Quote(clipText(s, 80)) }

// tagName reports whether encoding/json takes a name from a struct tag.
func tagName(name string) bool {
	if name == "" {
		return false
	}
	for _, r := range name {
		switch {
		case strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r):
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			return false
		}
	}
	return true
}

// goKeywords and predeclared names that a package must not be called.
var goKeywords = map[string]bool{
	"break": true, "case": true, "chan": true, "const": true, "continue": true, "default": true, "defer": true,
	"else": true, "fallthrough": true, "for": true, "func": true, "go": true, "goto": true, "if": true,
	"import": true, "interface": true, "map": true, "package": true, "range": true, "return": true,
	"select": true, "struct": true, "switch": true, "type": true, "var": true,
}

func validPackage(name string) bool {
	if name == "" || goKeywords[name] || name == "_" || name == "init" {
		return false
	}
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return true
}

// specialFolders are package names that Go reads in a way of its own: nobody
// can import a package main, and the tools skip or hide the others.
var specialFolders = map[string]bool{"main": true, "internal": true, "vendor": true, "testdata": true, "documentation": true}

// packageNames gives each server a package of its own, in the letters and
// digits that an import path may have.
func packageNames(s *scope, servers []string) map[string]string {
	out := make(map[string]string, len(servers))
	wants := map[string][]string{}
	for _, raw := range servers {
		n := strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf {
				return -1
			}
			return r
		}, strings.ToLower(goName(raw)))
		switch {
		case n == "":
			n = "server"
		case !validPackage(n) || specialFolders[n]:
			n = "mcp" + n
		}
		wants[n] = append(wants[n], raw)
	}
	for n, raws := range wants {
		if len(raws) == 1 {
			out[raws[0]] = n
			s.take(n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(wants)) {
		if len(wants[n]) == 1 {
			continue
		}
		for _, raw := range slices.Sorted(slices.Values(wants[n])) {
			name := n + shortHash(raw)
			for !s.take(name) {
				name += "x"
			}
			out[raw] = name
		}
	}
	return out
}
