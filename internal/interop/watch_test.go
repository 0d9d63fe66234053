package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// TestWatch watches servers of others from the shell.
func TestWatch(t *testing.T) {
	p := needPeers(t)
	program, err := bin.build()
	if err != nil {
		t.Fatal(err)
	}
	url := p.listen(t, p.own("ts-sdk"), "http") + "/mcp"
	for _, revision := range []string{"2026-07-28", "legacy"} {
		t.Run(revision, func(t *testing.T) {
			lines := watch(t, program, "--protocol-version", revision, "--resource", "memo://note", "-s", url)
			// The server tells its clients of each other's doings.
			srv := open(t, []counterpart{{spec: client.Spec{Name: "other", HTTP: &client.HTTP{URL: url}, Protocol: client.Protocol(revision)}}}, client.Options{}).Server("other")
			for _, step := range []struct{ tool, kind, uri string }{{"grow", "tools", ""}, {"touch", "resource", "memo://note"}} {
				if _, err := srv.Call(t.Context(), client.Call{Tool: step.tool}); err != nil {
					t.Fatal(err)
				}
				if got := lines(); got.Kind != step.kind || got.URI != step.uri {
					t.Errorf("after %s: %+v", step.tool, got)
				}
			}
		})
	}
	// The reference server tells about its resources when its own timer says so,
	// once somebody has asked it to; that it agrees is what can be seen from here.
	t.Run("everything", func(t *testing.T) {
		config, _ := referenceServers(t, p)
		watch(t, program, "--config", config, "-s", "everything", "--resource", "demo://resource/static/document/features.md")
	})
}

type change struct{ Time, Server, Kind, URI string }

// watch starts mcpctl watch, waits until it watches, and returns what reads a
// line of it.
func watch(t *testing.T, program string, args ...string) func() change {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"watch"}, args...)...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "MCPCTL_CONFIG=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's context is done by now, which interrupts it.
		if _, err := io.Copy(io.Discard, out); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("the watch ended with %v", err)
		}
	})
	said := bufio.NewScanner(errs)
	if !said.Scan() || !strings.HasPrefix(said.Text(), "watching ") {
		t.Fatalf("it says %q", said.Text())
	}
	lines := bufio.NewScanner(out)
	return func() (c change) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal("it has ended")
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(fmt.Errorf("%w: %s", err, lines.Text()))
		}
		return c
	}
}
