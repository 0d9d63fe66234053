package subschema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const patternReason = "a pattern uses what is not compared, such as look-around or a back reference"

// machine is a pattern as an automaton: what it finds anywhere in a text, as
// JSON Schema has it. A machine without a program is not modelled.
type machine struct {
	prog   *syntax.Prog
	re     *regexp.Regexp
	ranges [][]rune // of each instruction, pairs
}

const (
	maxPattern = 2000
	maxProgram = 4000
)

func (s *Space) machine(pattern string) *machine {
	if m, ok := s.patterns[pattern]; ok {
		return m
	}
	m := newMachine(pattern)
	s.patterns[pattern] = m
	return m
}

func newMachine(pattern string) *machine {
	m := &machine{}
	translated, ok := translate(pattern)
	if !ok || len(pattern) > maxPattern {
		return m
	}
	re, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return m
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return m
	}
	m.re, err = regexp.Compile(translated)
	if err != nil {
		return m
	}
	m.prog = prog
	m.ranges = make([][]rune, len(prog.Inst))
	for i := range prog.Inst {
		m.ranges[i] = instRanges(&prog.Inst[i])
	}
	return m
}

// instRanges lists what an instruction that takes a character takes.
func instRanges(in *syntax.Inst) []rune {
	switch in.Op {
	case syntax.InstRuneAny:
		return []rune{0, utf8.MaxRune}
	case syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, utf8.MaxRune}
	case syntax.InstRune1:
		return []rune{in.Rune[0], in.Rune[0]}
	case syntax.InstRune:
		if len(in.Rune) == 1 {
			return []rune{in.Rune[0], in.Rune[0]}
		}
		return in.Rune
	}
	return nil
}

// translate rewrites a regular expression of ECMA-262 (with the u flag or
// without, where both agree) in the syntax of package regexp, with the meaning
// that ECMA-262 gives to classes and the dot. It reports false for what cannot
// be said there.
func translate(p string) (string, bool) {
	const (
		space    = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
		lineEnds = `\n\r\x{2028}\x{2029}`
	)
	var b strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case c == '\\':
			if i++; i == len(p) {
				return "", false
			}
			switch c := p[i]; {
			case strings.IndexByte("dDwW", c) >= 0 || !class && (c == 'b' || c == 'B'):
				b.WriteString(p[i-1 : i+1])
			case class && c == 'b':
				b.WriteString(`\x08`)
			case strings.IndexByte("tnrfv", c) >= 0:
				b.WriteString(p[i-1 : i+1])
			case c == 's' && class:
				b.WriteString(space)
			case c == 's':
				b.WriteString("[" + space + "]")
			case c == 'S' && !class:
				b.WriteString("[^" + space + "]")
			case c == '0' && (i+1 == len(p) || p[i+1] < '0' || p[i+1] > '9'):
				b.WriteString(`\x00`)
			case c == 'c' && i+1 < len(p) && (p[i+1]|0x20) >= 'a' && (p[i+1]|0x20) <= 'z':
				i++
				fmt.Fprintf(&b, `\x{%x}`, p[i]&31)
			case c == 'x' && i+2 < len(p) && isHex(p[i+1:i+3]):
				b.WriteString(`\x{` + p[i+1:i+3] + `}`)
				i += 2
			case c == 'u' && i+4 < len(p) && isHex(p[i+1:i+5]):
				n, _ := strconv.ParseUint(p[i+1:i+5], 16, 32)
				if n >= 0xd800 && n < 0xe000 {
					return "", false // half of a pair
				}
				b.WriteString(`\x{` + p[i+1:i+5] + `}`)
				i += 4
			case c == 'p' || c == 'P':
				// Go knows the short names of the general categories and the
				// names of scripts, the latter by themselves.
				end := strings.IndexByte(p[i:], '}')
				if i+1 >= len(p) || p[i+1] != '{' || end < 0 {
					return "", false
				}
				name := p[i+2 : i+end]
				for _, prefix := range []string{"Script=", "sc=", "General_Category=", "gc="} {
					name = strings.TrimPrefix(name, prefix)
				}
				switch name {
				case "Letter", "Number", "Punctuation", "Symbol", "Mark":
					name = name[:1]
				case "Separator":
					name = "Z"
				}
				fmt.Fprintf(&b, `\%c{%s}`, c, name)
				i += end
			case c < utf8.RuneSelf && !isWord(rune(c)):
				b.WriteString(p[i-1 : i+1])
			default:
				return "", false
			}
		case class && c == '[':
			b.WriteString(`\[`)
		case class && c == ']':
			class = false
			b.WriteByte(c)
		case class:
			b.WriteByte(c)
		case c == '[':
			class = true
			b.WriteByte(c)
			if i+1 < len(p) && p[i+1] == '^' {
				b.WriteByte('^')
				i++
			}
			if i+1 < len(p) && p[i+1] == ']' {
				return "", false // [] and [^] mean none and any in ECMA-262
			}
		case c == '.':
			b.WriteString("[^" + lineEnds + "]")
		case c == '(' && i+1 < len(p) && p[i+1] == '?':
			switch rest := p[i:]; {
			case strings.HasPrefix(rest, "(?:"):
				b.WriteString("(?:")
				i += 2
			case strings.HasPrefix(rest, "(?<") && len(rest) > 3 && rest[3] != '=' && rest[3] != '!':
				end := strings.IndexByte(rest, '>')
				if end < 0 {
					return "", false
				}
				b.WriteByte('(')
				i += end
			default:
				return "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), !class
}

func isHex(s string) bool {
	_, err := strconv.ParseUint(s, 16, 32)
	return err == nil && s[0] != '+' && s[0] != '-' && s[0] != '_'
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// matches tells whether a pattern is found in a text.
func (s *Space) matches(pattern, text string) tri {
	m := s.machine(pattern)
	if m.re == nil {
		return maybe
	}
	s.spend(1 + len(text)/16)
	if m.re.MatchString(text) {
		return yes
	}
	return no
}

// track is where one machine stands: the places that it may be in before
// looking at what follows, and whether it has found something already.
type track struct {
	pcs   []uint32
	found bool
}

// position is where all machines stand after some text.
type position struct {
	tracks []track
	text   []rune
	last   rune // -1 at the start
}

type wanted struct {
	m    *machine
	want bool
}

// findText looks for a text that some patterns are found in and others are not,
// of a length within bounds (high < 0: none), and not among some. It goes by
// length, so that a shortest one is found first.
func (s *Space) findText(all []wanted, low, high int, not map[string]bool) (string, status) {
	alphabet := s.alphabet(all, not)
	start := position{tracks: make([]track, len(all)), last: -1}
	for i, w := range all {
		start.tracks[i].pcs = []uint32{uint32(w.m.prog.Start)}
	}
	visits := map[string]int{start.key(0): 1}
	queue := []position{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if n := len(at.text); n >= low && (high < 0 || n <= high) && at.accepts(all) && !not[string(at.text)] {
			return string(at.text), sat
		}
		if high >= 0 && len(at.text) >= high {
			continue
		}
		for _, r := range alphabet {
			cost := 4
			for _, t := range at.tracks {
				cost += 2 * len(t.pcs)
			}
			if !s.spend(cost/4+1) || len(visits) > maxPositions {
				return "", unknown
			}
			next, alive := at.step(all, r)
			if !alive {
				continue
			}
			k := next.key(min(len(next.text), low))
			// Texts that lead to the same place end the same way, so as many
			// as may be excluded, and one more, are enough.
			if visits[k] > len(not) {
				continue
			}
			visits[k]++
			queue = append(queue, next)
		}
	}
	return "", unsat
}

const maxPositions = 20_000

func (p position) key(length int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", length)
	if p.last < 0 {
		b.WriteByte('^')
	} else if isWord(p.last) {
		b.WriteByte('w')
	}
	for _, t := range p.tracks {
		b.WriteByte('|')
		if t.found {
			b.WriteByte('!')
			continue
		}
		for _, pc := range t.pcs {
			b.WriteString(strconv.Itoa(int(pc)))
			b.WriteByte(',')
		}
	}
	return b.String()
}

// accepts reports whether the text may end here.
func (p position) accepts(all []wanted) bool {
	for i, w := range all {
		found := p.tracks[i].found
		if !found {
			_, found = w.m.closure(p.tracks[i].pcs, syntax.EmptyOpContext(p.last, -1))
		}
		if found != w.want {
			return false
		}
	}
	return true
}

// step reads one character. It reports false where no continuation can be
// accepted.
func (p position) step(all []wanted, r rune) (position, bool) {
	next := position{tracks: make([]track, len(all)), text: append(slices.Clone(p.text), r), last: r}
	flags := syntax.EmptyOpContext(p.last, r)
	for i, w := range all {
		t := p.tracks[i]
		if !t.found {
			var pcs []uint32
			pcs, t.found = w.m.closure(t.pcs, flags)
			if !t.found {
				t.pcs = w.m.advance(pcs, r)
				if len(t.pcs) == 0 && w.want {
					return next, false
				}
			}
		}
		if t.found {
			t.pcs = nil
			if !w.want {
				return next, false
			}
		}
		next.tracks[i] = t
	}
	return next, true
}

// closure follows the steps that read nothing, and tells whether they lead to
// a match.
func (m *machine) closure(pcs []uint32, flags syntax.EmptyOp) (reached []uint32, found bool) {
	seen := make([]bool, len(m.prog.Inst))
	stack := slices.Clone(pcs)
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &m.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return nil, true
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				stack = append(stack, in.Out)
			}
		case syntax.InstFail:
		default:
			reached = append(reached, pc)
		}
	}
	return reached, false
}

// advance reads a character at some places, and begins anew, since a pattern
// may be found anywhere.
func (m *machine) advance(pcs []uint32, r rune) []uint32 {
	next := []uint32{uint32(m.prog.Start)}
	if m.anchored() {
		next = next[:0]
	}
	for _, pc := range pcs {
		if in := &m.prog.Inst[pc]; in.MatchRune(r) {
			next = append(next, in.Out)
		}
	}
	slices.Sort(next)
	return slices.Compact(next)
}

// anchored reports whether the pattern can begin at the start of a text only.
func (m *machine) anchored() bool {
	return m.prog.StartCond()&syntax.EmptyBeginText != 0
}

// alphabet returns one character for each class that the machines tell apart;
// the characters of the excluded texts are classes of their own.
func (s *Space) alphabet(all []wanted, not map[string]bool) []rune {
	bounds := []rune{0}
	words := false
	add := func(lo, hi rune) { bounds = append(bounds, lo, hi+1) }
	for _, w := range all {
		for i, ranges := range w.m.ranges {
			in := &w.m.prog.Inst[i]
			if in.Op == syntax.InstEmptyWidth && syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
				words = true
			}
			for j := 0; j+1 < len(ranges); j += 2 {
				add(ranges[j], ranges[j+1])
			}
		}
	}
	if words {
		for _, r := range [][2]rune{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} {
			add(r[0], r[1])
		}
	}
	single := make(map[rune]bool)
	for text := range not {
		for _, r := range text {
			single[r] = true
			add(r, r)
		}
	}
	// Surrogates are no characters, and a readable one is a better example.
	add(0xd800, 0xdfff)
	for _, r := range [][2]rune{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {' ', '~'}} {
		add(r[0], r[1])
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	s.spend(len(bounds) / 4)
	classes := make(map[string]rune)
	var order []string
	for _, lo := range bounds {
		if lo > utf8.MaxRune || lo >= 0xd800 && lo <= 0xdfff {
			continue
		}
		sig := signature(all, lo, words)
		if single[lo] {
			sig += string(lo)
		}
		have, ok := classes[sig]
		if !ok {
			order = append(order, sig)
		}
		if !ok || readable(lo) < readable(have) {
			classes[sig] = lo
		}
	}
	var out []rune
	for _, sig := range order {
		out = append(out, classes[sig])
	}
	slices.SortStableFunc(out, func(a, b rune) int { return readable(a) - readable(b) })
	return out
}

// readable orders characters by how well they read in an example.
func readable(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		return 0
	case r >= 'A' && r <= 'Z':
		return 1
	case r >= '0' && r <= '9':
		return 2
	case r > ' ' && r <= '~':
		return 3
	case r == ' ':
		return 4
	case r > 0xa0:
		return 5
	}
	return 6
}

// signature tells which instructions take a character.
func signature(all []wanted, r rune, words bool) string {
	var b strings.Builder
	bit, n := byte(0), 0
	put := func(yes bool) {
		if yes {
			bit |= 1 << (n % 8)
		}
		if n++; n%8 == 0 {
			b.WriteByte(bit)
			bit = 0
		}
	}
	for _, w := range all {
		for i := range w.m.prog.Inst {
			if w.m.ranges[i] != nil {
				put(w.m.prog.Inst[i].MatchRune(r))
			}
		}
	}
	put(words && isWord(r))
	b.WriteByte(bit)
	return b.String()
}
