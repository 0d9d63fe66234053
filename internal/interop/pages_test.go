package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var (
	pageBlock = regexp.MustCompile("(?ms)^```(console|jsonc)\n(.*?)^```$")
	duration  = regexp.MustCompile(`\b\d+ ms\b`)
)

// TestPages gives a shell what the pages show as typed, and compares what it
// prints. A line with an ellipsis alone stands for any lines.
func TestPages(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	program, err := bin.build()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(repository(), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, page := range append(pages, filepath.Join(repository(), "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		dir := freshModule(t)
		write := func(config string) {
			if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(`{"mcpServers": {"demo": {"command": "mcpctl", "args": ["serve", "--demo"]}}}`)
		if err := os.Symlink(filepath.Join(repository(), "testdata"), filepath.Join(dir, "testdata")); err != nil {
			t.Fatal(err)
		}
		for _, block := range pageBlock.FindAllStringSubmatch(string(text), -1) {
			if block[1] == "jsonc" {
				if strings.Contains(block[2], `"mcpServers"`) {
					write(block[2])
				}
				continue
			}
			typed, shown := splitBlock(block[2])
			commands += len(typed)
			// One shell, as $? is of the command before.
			cmd := exec.CommandContext(t.Context(), sh, "-c", strings.Join(typed, "\ns=$?; printf '\\001'; (exit $s)\n")+"\nprintf '\\001'")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"), "LC_ALL=C.UTF-8", "NO_COLOR=1",
				"HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir, "MCPCTL_CONFIG=mcp.json", "NOTES_TOKEN=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for i, got := range strings.Split(strings.TrimSuffix(string(out), "\x01"), "\x01") {
				want := strings.ReplaceAll(regexp.QuoteMeta(duration.ReplaceAllString(shown[i], "N ms")), "\n…\n", "\n(?:.*\n)*?")
				if !regexp.MustCompile(`^` + want + `$`).MatchString(duration.ReplaceAllString(got, "N ms")) {
					t.Errorf("%s shows for %s\n%s\nand it prints\n%s", filepath.Base(page), typed[i], shown[i], got)
				}
			}
		}
	}
	if commands < 10 {
		t.Errorf("%d commands were found", commands)
	}
}

// splitBlock tells what is typed in a block from what is shown below it.
func splitBlock(block string) (typed, shown []string) {
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			typed, shown = append(typed, strings.TrimSpace(command)), append(shown, "")
		} else if len(shown) > 0 {
			shown[len(shown)-1] += line
		}
	}
	return typed, shown
}
