package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/mcpctl/mcpctl/internal/redact"
)

// testApp is a program without configuration in an empty folder.
func testApp(t *testing.T) *App {
	t.Helper()
	dir := t.TempDir()
	return &App{
		In: strings.NewReader(""), Dir: dir, UserDir: filepath.Join(dir, "user"),
		LookupEnv: func(string) (string, bool) { return "", false },
		secrets:   redact.New(),
	}
}

// severalFiles writes a catalogue of some servers with one tool each, and a
// configuration that makes a package of each.
func severalFiles(t *testing.T, dir, tool string) {
	t.Helper()
	var servers, configured []string
	for _, name := range []string{"a", "b", "c"} {
		servers = append(servers, fmt.Sprintf(`{"name": %q, "tools": [{"name": %q, "inputSchema": {"type": "object"}}]}`, name, tool))
		configured = append(configured, fmt.Sprintf(`%q: {"command": "x"}`, name))
	}
	for name, text := range map[string]string{
		"catalogue.json": `{"mcpctlCatalog": 1, "servers": [` + strings.Join(servers, ",") + `]}`,
		"mcp.json":       `{"mcpServers": {` + strings.Join(configured, ",") + `}, "typegen": {"outDir": "gen"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// generated reads all files below gen.
func generated(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(filepath.Join(dir, "gen"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestKilledWhileWriting kills the command at every step of replacing several
// files. Each file is the old or the new one, whole, and the next run leaves
// nothing behind.
func TestKilledWhileWriting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that is killed there holds its files for a while")
	}
	mcpctl := func(t *testing.T, dir string, kill int) error {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "generate", "mcp.json", "--from", "catalogue.json")
		cmd.Args[0] = "mcpctl" // by which the test binary knows its part
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", killAt, kill))
		return cmd.Run()
	}
	run := func(t *testing.T, dir, tool string) map[string]string {
		severalFiles(t, dir, tool)
		if err := mcpctl(t, dir, 0); err != nil {
			t.Fatal(err)
		}
		return generated(t, dir)
	}
	reference := t.TempDir()
	before, after := run(t, reference, "before"), run(t, reference, "after")
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("%d and %d files", len(before), len(after))
	}
	for step := 1; ; step++ {
		dir := t.TempDir()
		run(t, dir, "before")
		severalFiles(t, dir, "after")
		if mcpctl(t, dir, step) == nil {
			// Each of three files is cleaned, created, written, synced and
			// renamed; then come three folders.
			if step < 18 {
				t.Errorf("only %d steps", step)
			}
			return
		}
		now := generated(t, dir)
		for path := range before {
			if now[path] != before[path] && now[path] != after[path] {
				t.Errorf("step %d: %s is neither the old nor the new file", step, path)
			}
		}
		if err := mcpctl(t, dir, 0); err != nil {
			t.Fatal(err)
		}
		now = generated(t, dir)
		for path, want := range after {
			if now[path] != want {
				t.Errorf("step %d: %s is not the new file after the next run", step, path)
			}
		}
		if len(now) != len(after) {
			t.Errorf("step %d: after the next run there are %d files", step, len(now))
		}
	}
}

// TestFullDisk gives the process a limit on the size of files, which fails
// writes like a full disk does.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such limit")
	}
	dir := t.TempDir()
	severalFiles(t, dir, "before")
	app := testApp(t)
	app.Dir = dir
	if code := app.Run(t.Context(), []string{"generate", "mcp.json", "--from", "catalogue.json"}, &bytes.Buffer{}, &bytes.Buffer{}); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	before := generated(t, dir)
	severalFiles(t, dir, "after")
	// Pipes are no files, so the message gets through.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `ulimit -f 0; exec -a mcpctl "$0" generate mcp.json --from catalogue.json`, self)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exitLocal {
		t.Fatalf("%v\n%s", err, out)
	}
	if text := string(out); !strings.HasPrefix(text, "mcpctl: write ") || !strings.Contains(text, "file too large") || strings.Count(text, "\n") != 1 {
		t.Errorf("message %q", text)
	}
	now := generated(t, dir)
	for path, want := range before {
		if now[path] != want {
			t.Errorf("%s changed", path)
		}
	}
	if len(now) != len(before) {
		t.Errorf("%d files, want %d", len(now), len(before))
	}
}

func TestStoppedBeforeWriting(t *testing.T) {
	dir := t.TempDir()
	severalFiles(t, dir, "before")
	ctx, cancel := context.WithCancelCause(t.Context())
	app := testApp(t)
	app.Dir = dir
	app.Files = atomicfile.Options{Step: func(name string) {
		if strings.HasPrefix(name, "sync") {
			cancel(signalError{15})
		}
	}}
	var stderr bytes.Buffer
	if code := app.Run(ctx, []string{"generate", "mcp.json", "--from", "catalogue.json"}, &bytes.Buffer{}, &stderr); code != 143 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "gen")); err == nil {
		t.Error("files or folders are left")
	}
	if got := stderr.String(); got != "mcpctl: terminated\n" {
		t.Errorf("message %q", got)
	}
}
