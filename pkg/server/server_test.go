package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	type none struct{}
	mcp.AddTool(s, &mcp.Tool{Name: "fine"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "panics"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		panic("no good")
	})
	return s
}

func connect(t *testing.T, url, version string) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

func TestBothErasOnOneAddress(t *testing.T) {
	s := httptest.NewServer(server.NewHandler(newServer(), nil))
	t.Cleanup(s.Close) // after the sessions
	for _, version := range []string{"", "2025-11-25", "2025-06-18"} {
		cs := connect(t, s.URL, version)
		want := version
		if want == "" {
			want = "2026-07-28"
		}
		if got := cs.InitializeResult().ProtocolVersion; got != want {
			t.Errorf("asked for %q: revision %s, want %s", version, got, want)
		}
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fine"})
		if err != nil || res.IsError {
			t.Errorf("revision %s: %v, %v", want, res, err)
		}
	}
}

func TestRefused(t *testing.T) {
	s := httptest.NewServer(server.NewHandler(newServer(), nil))
	t.Cleanup(s.Close) // after the sessions
	tests := []struct {
		name   string
		origin string
		body   string
		status int
	}{
		{"a foreign origin", "https://evil.example", `{}`, http.StatusForbidden},
		{"a large body", "", strings.Repeat(" ", 5<<20), http.StatusRequestEntityTooLarge},
		{"no message", "", `{`, http.StatusBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.status)
			}
		})
	}
}

func TestRecover(t *testing.T) {
	var log bytes.Buffer
	s := newServer()
	s.AddReceivingMiddleware(server.Recover(slog.New(slog.NewTextHandler(&log, nil))))
	h := httptest.NewServer(server.NewHandler(s, nil))
	t.Cleanup(h.Close)
	cs := connect(t, h.URL, "")
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "panics"}); err == nil || strings.Contains(err.Error(), "no good") {
		t.Errorf("error %v, want one without the panic's text", err)
	}
	if !strings.Contains(log.String(), "no good") {
		t.Errorf("the log does not tell: %s", &log)
	}
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fine"}); err != nil {
		t.Errorf("the next call fails: %v", err)
	}
}

func TestServeHTTPEnds(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.ServeHTTP(ctx, l, s, server.NewHandler(s, nil)) }()
	// A client of the older era holds a stream open.
	cs := connect(t, "http://"+l.Addr().String(), "2025-11-25")
	if err := cs.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("error %v after a clean end", err)
	}
	if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the address is still listened on")
	}
}

func TestServeStdioEnds(t *testing.T) {
	in, closer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- server.ServeStdio(t.Context(), newServer(), in, nopCloser{io.Discard}) }()
	closer.Close()
	if err := <-done; err != nil {
		t.Errorf("error %v after the client left", err)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
