package ui

import (
	"io"
	"strings"
	"testing"
)

func stream(width int, vars ...string) *Stream {
	s := NewStream(io.Discard, nil, Never, environment(vars...))
	s.Width = width
	return s
}

func TestTable(t *testing.T) {
	rows := []Row{
		{Cells: []string{"漢字", "ok", "3"}},
		{Cells: []string{"a-long-name", "ok", "12"}},
		{Cells: []string{"bad", "failed"}, Rest: "refused: connection refused"},
	}
	tests := []struct {
		name   string
		stream *Stream
		want   []string
	}{
		{"as wide as needed", stream(0), []string{
			"NAME         STATE    N",
			"漢字         ok       3",
			"a-long-name  ok      12",
			"bad          failed  refused: connection refused",
		}},
		{"too wide", stream(20), []string{
			"NAME      STATE    N",
			"漢字      ok       3",
			"a-lo…ame  ok      12",
			"bad       failed  refused: connection…",
		}},
		{"in ASCII", stream(20, "LC_ALL=C"), []string{
			"NAME      STATE    N",
			"漢字      ok       3",
			"a-l...me  ok      12",
			"bad       failed  refused: connecti...",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := tt.stream.Table([]string{"NAME", "STATE", "N"}, 2, rows), strings.Join(tt.want, "\n")+"\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestUTF8(t *testing.T) {
	tests := []struct {
		vars []string
		want bool
	}{
		{nil, true},
		{[]string{"LANG=C.UTF-8"}, true},
		{[]string{"LANG=de_DE.utf8"}, true},
		{[]string{"LANG=de_DE.ISO-8859-1"}, false},
		{[]string{"LANG=C.UTF-8", "LC_ALL=C"}, false},
		{[]string{"LANG=C", "LC_CTYPE=en_US.UTF-8"}, true},
		{[]string{"LANG=", "LC_ALL=POSIX"}, false},
	}
	for _, tt := range tests {
		if got := stream(0, tt.vars...).UTF8; got != tt.want {
			t.Errorf("%v: %v, want %v", tt.vars, got, tt.want)
		}
	}
	if got := stream(24, "LC_ALL=C").Fit(strings.Repeat("x", 30), 2); got != strings.Repeat("x", 19)+"..." {
		t.Errorf("Fit = %q", got)
	}
}
