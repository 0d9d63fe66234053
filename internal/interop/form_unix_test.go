//go:build unix

package interop

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// The same form on a terminal, declined and sent with its defaults.
func TestEverythingIsAskedOnATerminal(t *testing.T) {
	p := needPeers(t)
	program, err := bin.build()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ keys, want string }{
		"sent":     {"Ada" + strings.Repeat("\t", 13) + "\r", `"untitledSingleSelectEnum": "Monica"`},
		"declined": {"Ada" + strings.Repeat("\t", 13) + "\x1b[B\r", `"action": "decline"`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, "call", "trigger-elicitation-request", "--", p.node, p.script("everything"), "stdio")
			home := t.TempDir()
			cmd.Dir = home
			cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "TERM=xterm-256color", "PATH=" + os.Getenv("PATH")}
			var out bytes.Buffer
			cmd.Stdout = &out
			terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			var shown []byte
			b := make([]byte, 4096)
			for typed := false; ; {
				n, err := terminal.Read(b)
				shown = append(shown, b[:n]...)
				if !typed && strings.Contains(ansi.Strip(string(shown)), "Your full, legal name") {
					typed = true
					if _, err := terminal.WriteString(test.keys); err != nil {
						t.Fatal(err)
					}
				}
				if err != nil {
					break // the program has ended
				}
			}
			if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, printed %s, shown:\n%s", err, &out, ansi.Strip(string(shown)))
			}
		})
	}
}
