package client_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}

// stdio returns the spec of a server with a behaviour of mcptest.
func stdio(behaviour string, args ...string) client.Spec {
	command, arguments := mcptest.Command(behaviour, args...)
	return client.Spec{Name: "srv", Stdio: &client.Stdio{Command: command, Args: arguments}, Timeout: 20 * time.Second}
}

func httpSpec(url string) client.Spec {
	return client.Spec{Name: "srv", HTTP: &client.HTTP{URL: url}, Timeout: 20 * time.Second}
}

// open returns a client that is closed, and whose goroutines are looked for,
// at the end of the test.
func open(t *testing.T, opts client.Options, specs ...client.Spec) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), specs, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// discoverOne asks the only server.
func discoverOne(t *testing.T, spec client.Spec) client.ServerResult {
	t.Helper()
	return open(t, client.Options{}, spec).Discover(t.Context()).Results[0]
}

func toolNames(r client.ServerResult) string {
	var names []string
	for _, tool := range r.Server.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func serverError(t *testing.T, err error) *client.ServerError {
	t.Helper()
	e, ok := errors.AsType[*client.ServerError](err)
	if !ok {
		t.Fatalf("error is %#v, want a *ServerError", err)
	}
	return e
}

// logBuffer is a log that tests can read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// readPID waits for a process to name itself in a file.
func readPID(t *testing.T, file string) int {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if raw, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(string(raw))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(5 * time.Millisecond) // polls another process
	}
	t.Fatal("the process did not start")
	return 0
}

// running reports whether a process is in the process table and more than a
// zombie.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
