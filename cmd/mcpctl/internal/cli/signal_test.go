//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInterruptedWhileReading interrupts the program while it waits for input
// that does not come: a named pipe, and standard input.
func TestInterruptedWhileReading(t *testing.T) {
	for name, args := range map[string][]string{
		"configuration": {"list", "--config", "pipe"},
		"catalogue":     {"generate", "--from", "pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			if err := unix.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
			cmd.Args[0] = "mcpctl" // by which the test binary knows its part
			cmd.Dir = dir
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// Opening for writing waits for a reader.
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 143 {
				t.Errorf("exit code %d, want 143", code)
			}
		})
	}
}
