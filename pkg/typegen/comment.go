package typegen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	commentWidth = 90   // columns of a comment line, indentation aside
	maxComment   = 1500 // runes of server text in one comment
)

func (d doc) empty() bool {
	return d.lead == "" && d.text == "" && len(d.extra) == 0 && !d.deprecated
}

// comment is a doc comment, "" where there is nothing to say. The texts in it
// are a server's: control characters go, lines are wrapped, length is bounded,
// and no line can be taken for a directive, a build constraint or a heading,
// since every line begins with "// " and a character that none of these begins
// with.
func comment(d doc) string {
	var lines []string
	para := func(s string) {
		if s == "" {
			return
		}
		if len(lines) > 0 {
			lines = append(lines, "//")
		}
		for _, line := range wrap(s, commentWidth) {
			lines = append(lines, "// "+line)
		}
	}
	if d.lead != "" {
		para(straight(clipText(d.lead, 400)))
	}
	for _, s := range paragraphs(d.text) {
		para(s)
	}
	for _, s := range d.extra {
		para(safeLine(s))
	}
	if d.deprecated {
		para("Deprecated: the server marks this as deprecated.")
	}
	return strings.Join(lines, "\n")
}

// paragraphs cuts a server's text into clean paragraphs of bounded length.
func paragraphs(s string) []string {
	if s == "" {
		return nil
	}
	cut := false
	if utf8.RuneCountInString(s) > maxComment {
		r := []rune(s)
		s, cut = string(r[:maxComment]), true
		if i := strings.LastIndexAny(s, " \n\t"); i > maxComment/2 {
			s = s[:i]
		}
	}
	var out []string
	var cur []string
	flush := func() {
		if len(cur) > 0 {
			p := strings.Join(cur, " ")
			// Without a full stop gofmt takes a short paragraph for a heading.
			if r, _ := utf8.DecodeLastRuneInString(p); unicode.IsLetter(r) || unicode.IsDigit(r) {
				p += "."
			}
			out = append(out, p)
		}
		cur = nil
	}
	for _, line := range strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f'
	}) {
		if t := strings.TrimSpace(line); t == "" || strings.HasPrefix(t, "```") {
			flush() // the fence of a code block says nothing here
			continue
		}
		t := safeLine(line)
		if t == "" {
			continue
		}
		// A line that opens an item starts a new paragraph; the rest flows.
		if startsItem(line) {
			flush()
		}
		cur = append(cur, t)
	}
	flush()
	if cut && len(out) > 0 {
		out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], ".") + " …"
	}
	return out
}

func startsItem(line string) bool {
	t := strings.TrimSpace(line)
	if t == "" {
		return false
	}
	switch t[0] {
	case '-', '*', '#', '|', '>':
		return true
	}
	i := 0
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	return i > 0 && i < len(t) && (t[i] == '.' || t[i] == ')')
}

// safeLine makes one line of a server's text harmless.
func safeLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\u00a0':
			return ' '
		case unsafeRune(r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	s = straight(s)
	// "# " would be a heading, "Deprecated:" would mark what the server does
	// not, "go:", "+build", "line " and "nolint" would be read by tools.
	for {
		t := strings.TrimLeft(s, "#+/")
		t = strings.TrimSpace(t)
		if t == s {
			break
		}
		s = t
	}
	low := strings.ToLower(s)
	for _, p := range []string{"deprecated:", "go:", "line ", "nolint", "export ", "cgo ", "todo", "fixme", "code generated", "output:", "unordered output:"} {
		if strings.HasPrefix(low, p) {
			return "“" + s + "”"
		}
	}
	return s
}

// straight replaces the pairs that gofmt would turn into typographic quotes.
func straight(s string) string {
	for strings.Contains(s, "''") || strings.Contains(s, "``") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "''", "\""), "``", "\"")
	}
	return s
}

// wrap breaks a line at spaces.
func wrap(s string, width int) []string {
	if utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	var out []string
	var line strings.Builder
	n := 0
	for w := range strings.FieldsSeq(s) {
		l := utf8.RuneCountInString(w)
		if n > 0 && n+1+l > width {
			out = append(out, guard(line.String()))
			line.Reset()
			n = 0
		}
		if n > 0 {
			line.WriteByte(' ')
			n++
		}
		line.WriteString(w)
		n += l
	}
	if n > 0 {
		out = append(out, guard(line.String()))
	}
	return out
}

// guard keeps a word that a break brought to the front of a line from being
// read as something else.
func guard(line string) string { return safeLine(line) }
