package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestHelp holds the help page of every command against its golden file.
func TestHelp(t *testing.T) {
	app := testApp(t)
	root, _ := app.command(io.Discard, io.Discard)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "_")
		t.Run(name, func(t *testing.T) {
			var page bytes.Buffer
			args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
			if code := testApp(t).Run(t.Context(), args, &page, &page); code != exitOK {
				t.Fatalf("exit code %d: %s", code, &page)
			}
			for line := range strings.Lines(page.String()) {
				if strings.HasSuffix(line, " \n") {
					t.Errorf("a line ends with a space: %q", line)
				}
			}
			for line := range strings.Lines(cmd.Long) {
				if len(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("a line is longer than 80: %q", line)
				}
			}
			golden := filepath.Join("testdata", "help", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, page.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), page.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !cmd.HasSubCommands() && strings.Count(cmd.Example, "  # ") < 2 {
				t.Error("there are less than two examples")
			}
			if cmd.Parent() == root && cmd.GroupID == "" {
				t.Error("it is in no group of commands")
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}
