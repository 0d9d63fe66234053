package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/docgen"
)

// TestHelpMarkdown holds that docs/cli is what the commands say of themselves.
func TestHelpMarkdown(t *testing.T) {
	committed := filepath.Join("..", "..", "..", "..", "docs", "cli")
	if *update {
		if err := docgen.Markdown(Command(), committed); err != nil {
			t.Fatal(err)
		}
	}
	fresh := t.TempDir()
	if err := docgen.Markdown(Command(), fresh); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pages(t, committed), pages(t, fresh)); diff != "" {
		t.Errorf("docs/cli is stale, make docs writes it anew (-want +got):\n%s", diff)
	}
}

// TestHelpManual holds that a manual page depends on nothing but its command and
// the date that is given.
func TestHelpManual(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, dir := range []string{first, second} {
		if err := docgen.Manual(Command(), dir, "v1.2.3", at); err != nil {
			t.Fatal(err)
		}
	}
	got := pages(t, first)
	if diff := cmp.Diff(got, pages(t, second)); diff != "" {
		t.Error(diff)
	}
	page := got["mcpctl-call.1"]
	for _, want := range []string{`.TH "MCPCTL-CALL" "1" "Dec 2026" "mcpctl 1.2.3" "mcpctl"`, ".SH EXAMPLE", "\nname:=JSON      JSON as it is\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of call has no %q", want)
		}
	}
}

func pages(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = strings.ReplaceAll(string(data), "\r\n", "\n")
	}
	return all
}
