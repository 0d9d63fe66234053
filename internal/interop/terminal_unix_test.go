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

// onTerminal runs mcpctl on a terminal until it ends, and types keys as soon as
// a text is shown. It returns what was shown, and what was printed, which goes
// elsewhere.
func onTerminal(t *testing.T, awaited, keys string, args ...string) (shown, printed string, err error) {
	t.Helper()
	program, err := bin.build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	home := t.TempDir()
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	var out bytes.Buffer
	cmd.Stdout = &out
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	b := make([]byte, 4096)
	for typed := false; ; {
		n, err := terminal.Read(b)
		shown += string(b[:n])
		if !typed && strings.Contains(ansi.Strip(shown), awaited) {
			typed = true
			if _, err := terminal.WriteString(keys); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break // the program has ended
		}
	}
	return ansi.Strip(shown), out.String(), cmd.Wait()
}

// The same form on a terminal, declined and sent with its defaults.
func TestEverythingIsAskedOnATerminal(t *testing.T) {
	p := needPeers(t)
	for name, test := range map[string]struct{ keys, want string }{
		"sent":     {"Ada" + strings.Repeat("\t", 13) + "\r", `"untitledSingleSelectEnum": "Monica"`},
		"declined": {"Ada" + strings.Repeat("\t", 13) + "\x1b[B\r", `"action": "decline"`},
	} {
		t.Run(name, func(t *testing.T) {
			shown, printed, err := onTerminal(t, "Your full, legal name", test.keys, "call", "trigger-elicitation-request", "--", p.node, p.script("everything"), "stdio")
			if err != nil || !strings.Contains(printed, test.want) {
				t.Errorf("%v, printed %s, shown:\n%s", err, printed, shown)
			}
		})
	}
}

// How far the server is stands on the terminal, and Ctrl-C ends its work.
func TestProgressOnATerminal(t *testing.T) {
	p := needPeers(t)
	shown, printed, err := onTerminal(
		t, "trigger-long-running-operation: 50 % ━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌ (", "\x03",
		"call", "trigger-long-running-operation", "duration=4", "steps=2", "--", p.node, p.script("everything"), "stdio",
	)
	if err == nil || err.Error() != "exit status 130" || printed != "" || !strings.Contains(shown, "mcpctl: interrupted") {
		t.Errorf("%v, printed %s, shown:\n%s", err, printed, shown)
	}
}

// A page that the server wants visited is shown with its host, and opened by
// nobody but the person.
func TestPageOnATerminal(t *testing.T) {
	p := needPeers(t)
	shown, printed, err := onTerminal(
		t, "Visit it?", "\x1b[B\x1b[B\r", "call", "trigger-url-elicitation", "url=https://login.example/start", "--", p.node, p.script("everything"), "stdio",
	)
	if err != nil || !strings.Contains(printed, `"action": "decline"`) || !strings.Contains(shown, "a page of login.example:") || !strings.Contains(shown, "https://login.example/start") {
		t.Errorf("%v, printed %s, shown:\n%s", err, printed, shown)
	}
}
