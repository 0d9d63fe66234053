package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestDiscoverStdio(t *testing.T) {
	tests := []struct {
		behaviour string
		arg       string
		timeout   time.Duration
		protocol  client.Protocol

		tools, revision string
		class           client.Class
		summary, stderr string
		message         string // of the error, where it is more than the summary
	}{
		{behaviour: "modern", tools: "a b", revision: "2026-07-28"},
		{behaviour: "modern", protocol: client.Protocol20260728, tools: "a b", revision: "2026-07-28"},
		{behaviour: "legacy", tools: "a b", revision: "2025-11-25"},
		{behaviour: "legacy", protocol: client.ProtocolLegacy, tools: "a b", revision: "2025-11-25"},
		{behaviour: "stray", tools: "a b", revision: "2026-07-28"},
		{behaviour: "dies-on-probe", tools: "old", revision: "2025-11-25"},
		{behaviour: "deaf-to-probe", timeout: 2 * time.Second, tools: "old", revision: "2025-11-25"},
		{behaviour: "no-tools", revision: "2026-07-28"},
		{
			behaviour: "legacy", protocol: client.Protocol20260728,
			class: client.ClassRevision, summary: "protocol revision not offered",
		},
		{
			behaviour: "modern", protocol: client.ProtocolLegacy,
			class: client.ClassProtocol, summary: "JSON-RPC error -32601",
			message: "srv: JSON-RPC error -32601: no such method: initialize",
		},
		{
			behaviour: "exit", arg: "1",
			class: client.ClassExited, summary: "exited with status 1", stderr: "first complaint\ncannot go on",
		},
		{
			behaviour: "exit", arg: "0", protocol: client.Protocol20260728,
			class: client.ClassExited, summary: "exited with status 0", stderr: "first complaint\ncannot go on",
		},
		{behaviour: "rubbish-exit", class: client.ClassExited, summary: "exited with status 3"},
		{
			behaviour: "rubbish", timeout: 300 * time.Millisecond,
			class: client.ClassTimeout, summary: "timed out after 300ms",
			message: "srv: timed out after 300ms: stdout had 4 lines that are no messages",
		},
		{behaviour: "hang", timeout: 300 * time.Millisecond, class: client.ClassTimeout, summary: "timed out after 300ms"},
		{behaviour: "deaf", timeout: 300 * time.Millisecond, class: client.ClassTimeout, summary: "timed out after 300ms"},
		{behaviour: "close", class: client.ClassProtocol, summary: "the server closed the connection"},
		{
			behaviour: "long-line", arg: "67108864", revision: "2026-07-28",
			class: client.ClassProtocol, summary: "a line on stdout is larger than 16777216 bytes",
			message: "srv: tools/list: a line on stdout is larger than 16777216 bytes",
		},
		{behaviour: "deep-line", arg: "9000", revision: "2026-07-28"},
		{
			behaviour: "deep-line", arg: "10000", revision: "2026-07-28",
			class: client.ClassProtocol, summary: "a message that cannot be decoded",
			message: "srv: tools/list: a message that cannot be decoded",
		},
		{
			behaviour: "endless-pages", revision: "2026-07-28",
			class: client.ClassProtocol, summary: "the list of tools has more than 1000 pages",
			message: "srv: tools/list: the list of tools has more than 1000 pages",
		},
		{
			behaviour: "repeated-cursor", revision: "2026-07-28",
			class: client.ClassProtocol, summary: "the list of tools repeats a cursor",
			message: "srv: tools/list: the list of tools repeats a cursor",
		},
	}
	for _, test := range tests {
		t.Run(strings.TrimSuffix(test.behaviour+" "+string(test.protocol), " "), func(t *testing.T) {
			t.Parallel()
			spec := stdio(test.behaviour, strings.Fields(test.arg)...)
			spec.Protocol = test.protocol
			if test.timeout != 0 {
				spec.Timeout = test.timeout
			}
			r := discoverOne(t, spec)
			if r.Name != "srv" || r.Server.Name != "srv" || r.Duration <= 0 {
				t.Errorf("result is named %q, its server %q, and took %v", r.Name, r.Server.Name, r.Duration)
			}
			if got := toolNames(r); got != test.tools {
				t.Errorf("tools are %q, want %q", got, test.tools)
			}
			if r.Server.ProtocolVersion != test.revision {
				t.Errorf("revision is %q, want %q", r.Server.ProtocolVersion, test.revision)
			}
			if test.class == "" {
				if r.Err != nil || r.Transport != client.TransportStdio {
					t.Errorf("transport %q, error %v", r.Transport, r.Err)
				}
				return
			}
			e := serverError(t, r.Err)
			if e.Class != test.class || e.Summary() != test.summary || e.Stderr != test.stderr {
				t.Errorf("class %q, summary %q, stderr %q; want %q, %q, %q",
					e.Class, e.Summary(), e.Stderr, test.class, test.summary, test.stderr)
			}
			want := test.message
			if want == "" {
				want = "srv: " + test.summary
			}
			if e.Error() != want {
				t.Errorf("error is %q, want %q", e, want)
			}
			if got := errors.Is(e, context.DeadlineExceeded); got != (test.class == client.ClassTimeout) {
				t.Errorf("error is a deadline: %v", got)
			}
			if got := errors.Is(e, client.ErrRevisionNotOffered); got != (test.class == client.ClassRevision) {
				t.Errorf("error is about the revision: %v", got)
			}
		})
	}
}

func TestStdioCannotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("POSIX modes")
	}
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	script := filepath.Join(dir, "script")
	writeFile(t, plain, "x", 0o600)
	writeFile(t, script, "#!/no/such/interpreter\n", 0o700)
	tests := []struct {
		name    string
		stdio   client.Stdio
		class   client.Class
		summary string
	}{
		{"name", client.Stdio{Command: "no-such-command-here"}, client.ClassNotFound, "command not found"},
		{"path", client.Stdio{Command: filepath.Join(dir, "none")}, client.ClassNotFound, "command not found"},
		{"relative", client.Stdio{Command: "./none", Dir: dir}, client.ClassNotFound, "command not found"},
		{"no PATH", client.Stdio{Command: "sh", NoInheritEnv: true}, client.ClassNotFound, "command not found"},
		{
			"relative PATH",
			client.Stdio{Command: "script", Dir: dir, Env: map[string]string{"PATH": "."}},
			client.ClassNotFound, "command not found",
		},
		{"mode", client.Stdio{Command: plain}, client.ClassSpawn, "the command is not executable"},
		{"folder", client.Stdio{Command: dir}, client.ClassSpawn, "the command is not executable"},
		{"interpreter", client.Stdio{Command: script}, client.ClassSpawn, "the command cannot be started"},
		{"cwd", client.Stdio{Command: "sh", Dir: filepath.Join(dir, "none")}, client.ClassSpawn, "the working directory is no folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := serverError(t, discoverOne(t, client.Spec{Name: "srv", Stdio: &test.stdio}).Err)
			if e.Class != test.class || e.Error() != "srv: "+test.summary {
				t.Errorf("class %q, error %q; want %q, %q", e.Class, e, test.class, test.summary)
			}
		})
	}
}

func TestStdioLooksInTheChildsPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell script")
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "own-server"), "#!/bin/sh\nexit 7\n", 0o700)
	for name, s := range map[string]client.Stdio{
		"PATH":     {Command: "own-server", Env: map[string]string{"PATH": dir}},
		"relative": {Command: "./own-server", Dir: dir},
	} {
		t.Run(name, func(t *testing.T) {
			e := serverError(t, discoverOne(t, client.Spec{Name: "srv", Stdio: &s}).Err)
			if e.Summary() != "exited with status 7" {
				t.Errorf("error is %q", e)
			}
		})
	}
}

func TestStdioEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the POSIX list")
	}
	parent := map[string]string{
		"HOME": "/h", "LOGNAME": "l", "PATH": "/bin", "SHELL": "/bin/sh", "TERM": "() { evil; }", "USER": "u",
		"API_TOKEN": "parent secret", "LANG": "C",
		"NODE_EXTRA_CA_CERTS": "/ca.pem", "https_proxy": "http://proxy:8080", "HTTP_PROXY": "http://me:secret@proxy:8080",
	}
	lookup := func(name string) (string, bool) { v, ok := parent[name]; return v, ok }
	tests := []struct {
		name string
		edit func(*client.Stdio)
		want []string
	}{
		{"default", func(*client.Stdio) {}, []string{
			"HOME=/h", "LOGNAME=l", "NODE_EXTRA_CA_CERTS=/ca.pem", "PATH=/bin", "SHELL=/bin/sh", "USER=u", "https_proxy=http://proxy:8080",
		}},
		{
			"own", func(s *client.Stdio) { s.Env = map[string]string{"HOME": "/mine", "X": "1"} },
			[]string{
				"HOME=/mine", "LOGNAME=l", "NODE_EXTRA_CA_CERTS=/ca.pem", "PATH=/bin", "SHELL=/bin/sh", "USER=u", "X=1", "https_proxy=http://proxy:8080",
			},
		},
		{"none", func(s *client.Stdio) { s.NoInheritEnv = true }, []string{}},
		{"own only", func(s *client.Stdio) { s.NoInheritEnv = true; s.Env = map[string]string{"X": "1"} }, []string{"X=1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := stdio("environ")
			test.edit(spec.Stdio)
			r := open(t, client.Options{LookupEnv: lookup}, spec).Discover(t.Context()).Results[0]
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			var got []string
			if err := json.Unmarshal([]byte(r.Server.Instructions), &got); err != nil {
				t.Fatal(err)
			}
			got = sorted(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

// A server that has to be killed, and what a server leaves behind, are gone
// when the client is closed or the context is cancelled, at whatever moment.
func TestNoProcessSurvives(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	closed := func(ctx context.Context, c *client.Client) {}
	tests := []struct {
		name, behaviour string
		end             func(context.Context, *client.Client) // while the server runs
		wantErr         bool
	}{
		{"grandchild", "grandchild", closed, false},
		{"grandchild of a server that exits", "grandchild-exit", closed, true},
		{"stubborn", "stubborn", closed, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			c := open(t, client.Options{}, stdio(test.behaviour, file))
			r := c.Discover(t.Context()).Results[0]
			if (r.Err != nil) != test.wantErr {
				t.Fatal(r.Err)
			}
			pid := readPID(t, file)
			if !test.wantErr && !running(pid) {
				t.Fatal("the process is gone already")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // do not be patient
			if err := c.Close(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if running(pid) {
				t.Error("the process survives")
			}
		})
	}
}

func TestCancelWhileConnecting(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	// It never answers, and what it started ignores SIGTERM.
	spec := stdio("grandchild-hang", file)
	c := open(t, client.Options{}, spec)
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan client.ServerResult)
	go func() { result <- c.Server("srv").Discover(ctx) }()
	pid := readPID(t, file)
	cancel(stop)
	r := <-result
	if running(pid) {
		t.Error("the process survives")
	}
	if e := serverError(t, r.Err); e.Class != client.ClassCancelled || e.Error() != "srv: cancelled" {
		t.Errorf("class %q, error %q", e.Class, e)
	}
	if !errors.Is(r.Err, context.Canceled) || !errors.Is(r.Err, stop) {
		t.Errorf("error %v does not say why", r.Err)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	c := open(t, client.Options{}, stdio("grandchild-hang", file))
	result := make(chan client.ServerResult)
	go func() { result <- c.Server("srv").Discover(context.Background()) }()
	readPID(t, file)
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if r := <-result; !errors.Is(r.Err, client.ErrClosed) {
		t.Errorf("error is %v", r.Err)
	}
	if r := c.Server("srv").Discover(t.Context()); !errors.Is(r.Err, client.ErrClosed) || serverError(t, r.Err).Class != client.ClassClosed {
		t.Errorf("after Close: %v", r.Err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServerDiesDuringCall(t *testing.T) {
	t.Parallel()
	c := open(t, client.Options{}, stdio("dies-on-call"))
	_, err := c.Server("srv").CallTool(t.Context(), &mcp.CallToolParams{Name: "a"})
	e := serverError(t, err)
	if e.Class != client.ClassExited || e.Error() != "srv: tools/call: exited with status 4" || e.Stderr != "that was too much" {
		t.Errorf("class %q, error %q, stderr %q", e.Class, e, e.Stderr)
	}
	// The next use starts it again.
	if r := c.Server("srv").Discover(t.Context()); r.Err != nil || toolNames(r) != "a b" {
		t.Errorf("tools %q, error %v", toolNames(r), r.Err)
	}
}
