package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	tests := map[string]string{
		"plain, ünïcode, 漢字":       "plain, ünïcode, 漢字",
		"a\x1b[2Jb":                "a·[2Jb",
		"a\u009b2Jb\x07":           "a·2Jb·",
		"a\r\nb\tc":                "a  b c",
		"\u202egpj.exe":            "·gpj.exe",
		"a\u2066b\u2028c":          "a·b·c",
		"a\u200bb\ufeff\U000e0069": "a·b··",
		"می\u200cخواهم 👩\u200d💻":   "می\u200cخواهم 👩\u200d💻",
		"bad\xffbyte, real \ufffd": "bad\ufffdbyte, real ·",
	}
	for in, want := range tests {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func environment(vars ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range vars {
			if n, value, _ := strings.Cut(v, "="); n == name {
				return value, true
			}
		}
		return "", false
	}
}

func TestColour(t *testing.T) {
	tests := []struct {
		name   string
		when   When
		vars   []string
		colour bool
	}{
		{"no terminal", Auto, nil, false},
		{"always", Always, nil, true},
		{"always wins over NO_COLOR", Always, []string{"NO_COLOR=1"}, true},
		{"never", Never, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewStream(io.Discard, nil, tt.when, environment(tt.vars...))
			if got := s.Red("x") != "x"; got != tt.colour {
				t.Errorf("colour %v, want %v", got, tt.colour)
			}
		})
	}
}

func TestFit(t *testing.T) {
	s := NewStream(io.Discard, nil, Always, func(string) (string, bool) { return "", false })
	long := s.Bold(strings.Repeat("x", 50))
	if got := s.Fit(long, 2); got != long {
		t.Errorf("cut to an unknown width: %q", got)
	}
	s.Width = 30
	if got, want := s.Fit(strings.Repeat("漢", 30), 2), strings.Repeat("漢", 13)+"…"; got != want {
		t.Errorf("Fit = %q, want %q", got, want)
	}
}

// TestCleanJSON holds that a JSON text keeps its value and does no harm.
func TestCleanJSON(t *testing.T) {
	const in = "{\n\t\"a\": \"\u009b31m \x7f \u202e é \U000e0069\"\r\n}"
	const want = "{\n\t\"a\": \"\\u009b31m \\u007f \\u202e é \\udb40\\udc69\"\r\n}"
	if got := string(CleanJSON([]byte(in))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var before, after any
	if err := errors.Join(json.Unmarshal([]byte(in), &before), json.Unmarshal([]byte(want), &after)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// TestProgressGivesWay holds that what is printed stands on a line of its own.
func TestProgressGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		s := NewStream(&screen, nil, Never, func(string) (string, bool) { return "", false })
		s.Terminal, s.Width = true, 80
		stop := s.Progress(func() string { return "working" })
		fmt.Fprintln(s, "early")
		time.Sleep(quiet + time.Millisecond)
		fmt.Fprintln(s, "first")
		fmt.Fprintln(s, "second")
		time.Sleep(120 * time.Millisecond)
		stop()
		fmt.Fprintln(s, "last")
		const clear = "\r\x1b[K"
		const want = "early\n\r⠋ working (1s)\x1b[K" + clear + "first\nsecond\n\r⠙ working (1s)\x1b[K" + clear + "last\n"
		if diff := cmp.Diff(want, screen.String()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBar(t *testing.T) {
	for _, test := range []struct {
		utf8 bool
		part float64
		want string
	}{
		{false, 0, "...................."},
		{false, 0.5, "==========.........."},
		{false, 0.999, "===================."},
		{true, 1, "━━━━━━━━━━━━━━━━━━━━"},
		{true, 1e300, "━━━━━━━━━━━━━━━━━━━━"},
		{true, -1, "╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌"},
	} {
		if got := (&Stream{UTF8: test.utf8}).Bar(test.part); got != test.want {
			t.Errorf("%v: %s, want %s", test.part, got, test.want)
		}
	}
}
