// Package ui is what mcpctl shows on a terminal: colours where there is one,
// text of servers made harmless, a sign of life while something takes long.
package ui

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"golang.org/x/term"
)

// Stream is one output of the program and what is known about it.
type Stream struct {
	io.Writer
	// Terminal says that a person may be looking.
	Terminal bool
	// Color says that colours may be used.
	Color bool
	// Kind is what TERM says.
	Kind string
	// Width is the width of the terminal in columns, zero where there is none.
	Width int
	// UTF8 says that the locale allows characters beyond ASCII.
	UTF8  bool
	dumb  bool // it is one, but can do nothing beyond printing
	style *lipgloss.Renderer
	file  *os.File // nil for none

	mu      sync.Mutex
	passing bool // a line of Progress is shown
	paused  int  // it must not be
}

// Write prints text, on a line of its own where [Stream.Progress] shows one.
func (s *Stream) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	return s.Writer.Write(text)
}

// wipe takes the line of Progress away. The lock is held.
func (s *Stream) wipe() {
	if s.passing {
		s.passing = false
		_, _ = io.WriteString(s.Writer, "\r\x1b[K")
		s.Flush()
	}
}

// pass shows a line for as long as nothing else is printed.
func (s *Stream) pass(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused > 0 {
		return
	}
	s.passing = true
	// One write, and no more than a line, or it would scroll.
	_, _ = io.WriteString(s.Writer, "\r"+ansi.Truncate(line, max(10, s.Width-1), s.Ellipsis())+"\x1b[K")
	s.Flush()
}

// When says when to use colour.
type When string

// The values of --color.
const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// NewStream looks at a file and the environment and says how to write to it.
// What is written goes to w.
func NewStream(w io.Writer, f *os.File, color When, getenv func(string) (string, bool)) *Stream {
	s := &Stream{Writer: w, UTF8: isUTF8(getenv), style: lipgloss.NewRenderer(io.Discard)}
	if f != nil && term.IsTerminal(int(f.Fd())) {
		s.Terminal, s.file = true, f
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.Width = width
		}
	}
	noColor, _ := getenv("NO_COLOR")
	s.Kind, _ = getenv("TERM")
	s.dumb = s.Kind == "dumb"
	profile := termenv.Ascii
	if color == Always || color == Auto && s.Terminal && noColor == "" && !s.dumb {
		profile, s.Color = termenv.ANSI, true
	}
	// Set by hand, or the renderer would ask the terminal and wait for it.
	s.style.SetColorProfile(profile)
	s.style.SetHasDarkBackground(true)
	return s
}

// isUTF8 reports whether the locale is one of UTF-8, by the precedence of POSIX
// (Base Definitions, section 8.2). Where nothing is said, as in most
// containers and on Windows, it is taken for one.
func isUTF8(getenv func(string) (string, bool)) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale, _ := getenv(name); locale != "" {
			locale = strings.ToLower(locale)
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// Sign returns a sign of the program's own, or what stands for it where the
// locale has no more than ASCII. Text of servers is never replaced.
func (s *Stream) Sign(sign, ascii string) string {
	if s.UTF8 {
		return sign
	}
	return ascii
}

// Ellipsis is the sign for what was cut.
func (s *Stream) Ellipsis() string { return s.Sign("…", "...") }

// Flush shows what was written of an unfinished line.
func (s *Stream) Flush() {
	if f, ok := s.Writer.(interface{ Flush() error }); ok {
		_ = f.Flush() // as with every write to the terminal, nobody could be told
	}
}

// Bold returns text in bold.
func (s *Stream) Bold(text string) string { return s.style.NewStyle().Bold(true).Render(text) }

// Faint returns text that stands back.
func (s *Stream) Faint(text string) string { return s.style.NewStyle().Faint(true).Render(text) }

// Red returns red text, of the terminal's own palette.
func (s *Stream) Red(text string) string { return s.colored(text, "1") }

// Green returns green text, of the terminal's own palette.
func (s *Stream) Green(text string) string { return s.colored(text, "2") }

// Yellow returns yellow text, of the terminal's own palette.
func (s *Stream) Yellow(text string) string { return s.colored(text, "3") }

func (s *Stream) colored(text, color string) string {
	return s.style.NewStyle().Foreground(lipgloss.Color(color)).Render(text)
}

// Fit cuts text, which may hold colours, to what fits behind an indent. Where
// the width is not known it cuts nothing.
func (s *Stream) Fit(text string, indent int) string {
	if s.Width == 0 {
		return text
	}
	return ansi.Truncate(text, max(20, s.Width-indent), s.Ellipsis())
}

// Widths of text for reading: where the width is not known, and what is still
// pleasant to read on a wide terminal.
const (
	defaultWidth = 80
	widestText   = 100
)

// Wrap breaks text, which may hold colours, into lines that fit behind an
// indent, between words where that is possible.
func (s *Stream) Wrap(text string, indent int) string {
	width := cmp.Or(s.Width, defaultWidth)
	return ansi.Wrap(text, max(20, min(width, widestText)-indent), "")
}

// Clean makes text of a server harmless in a terminal: control characters,
// escape sequences and characters that reorder text become a visible sign, and
// line breaks a space. (Terminal escapes can rewrite what was shown before.)
func Clean(text string) string {
	if !strings.ContainsFunc(text, harmful) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			b.WriteRune(utf8.RuneError)
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case harmful(r):
			b.WriteRune('\u00B7')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// CleanJSON makes a JSON text harmless in the way of [Clean], and keeps its
// value: what could do harm becomes an escape. (JSON wants escapes for some
// control characters, but not for all.)
func CleanJSON(text []byte) []byte {
	inString := func(r rune) bool { return harmful(r) && !strings.ContainsRune("\t\r\n", r) }
	if !bytes.ContainsFunc(text, inString) {
		return text
	}
	clean := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		if inString(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				clean = fmt.Appendf(clean, `\u%04x`, unit)
			}
		} else {
			clean = utf8.AppendRune(clean, r)
		}
	}
	return clean
}

// harmful reports whether a character gives orders to a terminal, changes the
// order of what is read, or is not seen at all: whole sentences can be written
// in such characters, for a model and not for the person who decides. The
// joiners are left, which scripts and emoji need, and the soft hyphen.
func harmful(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && !strings.ContainsRune("\u00ad\u200c\u200d", r)
}

// quiet is how long nothing is shown, so that quick work shows nothing at all.
const quiet = 600 * time.Millisecond

// Progress shows on a terminal that work goes on, until stop is called; then it
// leaves no trace. Message is asked anew each time. Elsewhere it does nothing.
func (s *Stream) Progress(message func() string) (stop func()) {
	if !s.Terminal || s.dumb {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		start := time.Now()
		frames := []rune(s.Sign("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", `|/-\`))
		timer := time.NewTimer(quiet)
		defer timer.Stop()
		for frame := 0; ; frame++ {
			select {
			case <-done:
				s.mu.Lock()
				defer s.mu.Unlock()
				s.wipe()
				return
			case <-timer.C:
			}
			if text := message(); text != "" {
				s.pass(fmt.Sprintf("%c %s (%s)", frames[frame%len(frames)], text, time.Since(start).Round(time.Second)))
			}
			timer.Reset(120 * time.Millisecond)
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
}

// Bar draws how much of something is done: a part from 0 to 1; others count as
// the nearer of the two.
func (s *Stream) Bar(part float64) string {
	const cells = 20
	done := int(cells * min(max(part, 0), 1))
	return strings.Repeat(s.Sign("━", "="), done) + strings.Repeat(s.Sign("╌", "."), cells-done)
}

// TTY returns the terminal, nil where there is none.
func (s *Stream) TTY() *os.File { return s.file }

// Pause takes the sign of life away until resume is called, while a person is
// asked something.
func (s *Stream) Pause() (resume func()) {
	add := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wipe()
		s.paused += n
	}
	add(1)
	return func() { add(-1) }
}
