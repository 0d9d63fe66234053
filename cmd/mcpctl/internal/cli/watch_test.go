package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// changing is a server whose tools, resources and prompts can change.
func changing() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "changing", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTool(s, "first")
	s.AddResource(&mcp.Resource{Name: "note", URI: "memo://note"}, nil)
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, nil)
	return s
}

func addTool(s *mcp.Server, name string) {
	mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
}

// restless serves a server whose tools change as long as the script runs.
func restless(ts *testscript.TestScript) http.Handler {
	s := changing()
	tick := time.NewTicker(20 * time.Millisecond)
	done := make(chan struct{})
	ts.Defer(func() {
		tick.Stop()
		close(done)
	})
	go func() {
		for {
			select {
			case <-tick.C:
				addTool(s, "second")
				s.RemoveTools("second")
			case <-done:
				return
			}
		}
	}()
	return server.NewHandler(s, nil)
}

// TestWatch changes a server while it is watched, and interrupts the watch.
func TestWatch(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "legacy"} {
		t.Run(revision, func(t *testing.T) {
			s := changing()
			web := httptest.NewServer(server.NewHandler(s, nil))
			t.Cleanup(web.Close)
			ctx, interrupt := context.WithCancelCause(t.Context())
			outR, outW := io.Pipe()
			errR, errW := io.Pipe()
			code := make(chan int, 1)
			go func() {
				code <- testApp(t).Run(ctx, []string{"watch", web.URL + "/mcp", "--resource", "memo://note", "--protocol-version", revision}, outW, errW)
				outW.Close()
				errW.Close()
			}()
			out, errs := bufio.NewScanner(outR), bufio.NewScanner(errR)
			if errs.Scan(); !strings.HasSuffix(errs.Text(), ": tools, resources, prompts, memo://note") {
				t.Fatalf("first of all it says %q", errs.Text())
			}
			name := strings.TrimPrefix(web.URL, "http://")
			for _, step := range []struct {
				change func()
				want   view.Change
			}{
				{func() { addTool(s, "second") }, view.Change{Server: name, Kind: "tools"}},
				{func() { s.AddResource(&mcp.Resource{Name: "other", URI: "memo://other"}, nil) }, view.Change{Server: name, Kind: "resources"}},
				{func() { s.AddPrompt(&mcp.Prompt{Name: "part"}, nil) }, view.Change{Server: name, Kind: "prompts"}},
				{func() {
					if err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "memo://note"}); err != nil {
						t.Error(err)
					}
				}, view.Change{Server: name, Kind: "resource", URI: "memo://note"}},
			} {
				step.change()
				if !out.Scan() {
					t.Fatal("it has ended")
				}
				var got view.Change
				if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Time.IsZero() {
					t.Fatalf("%v: %s", err, out.Text())
				}
				got.Time = step.want.Time
				if got != step.want {
					t.Errorf("got %+v, want %+v", got, step.want)
				}
			}
			interrupt(signalError{syscall.SIGINT})
			if out.Scan() || errs.Scan() {
				t.Errorf("then it says %q and %q", out.Text(), errs.Text())
			}
			if got := <-code; got != exitOK {
				t.Errorf("exit code %d", got)
			}
		})
	}
}

// TestWatchLost replaces a server by one that tells about less.
func TestWatchLost(t *testing.T) {
	var serving atomic.Pointer[http.Handler]
	serve := func(s *mcp.Server) { serving.Store(new(server.NewHandler(s, nil))) }
	serve(changing())
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*serving.Load()).ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	ctx, interrupt := context.WithCancelCause(t.Context())
	errR, errW := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- testApp(t).Run(ctx, []string{"watch", web.URL + "/mcp"}, io.Discard, errW)
		errW.Close()
	}()
	errs := bufio.NewScanner(errR)
	if errs.Scan(); !strings.HasPrefix(errs.Text(), "watching ") {
		t.Fatalf("first of all it says %q", errs.Text())
	}
	serve(mcp.NewServer(&mcp.Implementation{Name: "less", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}}))
	web.CloseClientConnections()
	if errs.Scan(); !strings.HasPrefix(errs.Text(), `{"kind":"not-supported"`) || !strings.Contains(errs.Text(), "no longer agrees to tell about its prompts, its resources") {
		t.Errorf("then it says %q", errs.Text())
	}
	interrupt(signalError{syscall.SIGTERM})
	if errs.Scan() {
		t.Errorf("at last it says %q", errs.Text())
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d", got)
	}
}
