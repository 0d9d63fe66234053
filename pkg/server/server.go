// Package server serves an MCP server to clients of every protocol revision,
// over standard input and output or over streamable HTTP.
//
// The server itself is a go-sdk [mcp.Server]; this package adds what a real
// host needs around it: current and older clients on one address, foreign
// origins refused, panics in handlers turned into errors, and an end that
// lets running calls finish.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocolStateless is the first revision without sessions (specification
// 2026-07-28, lifecycle).
const protocolStateless = "2026-07-28"

// maxBody is the largest request body, in bytes.
const maxBody = 4 << 20

// NewHandler returns the streamable HTTP endpoint of a server for clients of
// revision 2026-07-28, which have no sessions, and for older ones, which have.
// Requests that browsers make from other origins are refused. A nil logger
// discards.
func NewHandler(s *mcp.Server, log *slog.Logger) http.Handler {
	get := func(*http.Request) *mcp.Server { return s }
	h := &handler{
		current: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless: true, Logger: log, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		}),
		legacy: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Logger: log, MaxRequestBodyBytes: maxBody, EventStore: mcp.NewMemoryEventStore(nil),
		}),
	}
	return http.NewCrossOriginProtection().Handler(h)
}

// handler tells the two eras apart: go-sdk serves each well, but with options
// that exclude each other.
type handler struct{ current, legacy http.Handler }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") != "" {
		h.legacy.ServeHTTP(w, r)
		return
	}
	if r.Header.Get("MCP-Protocol-Version") >= protocolStateless {
		h.current.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if isCurrent(body) {
		h.current.ServeHTTP(w, r)
		return
	}
	h.legacy.ServeHTTP(w, r)
}

// isCurrent reports whether a message without the protocol header comes from a
// client of the current era.
func isCurrent(body []byte) bool {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Meta struct {
				Version string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return false
	}
	return m.Method == "server/discover" || m.Params.Meta.Version >= protocolStateless
}

// Recover is a receiving middleware that turns a panic in a handler into an
// error of that request; without it one bad call ends the process. The panic
// and its stack go to the log.
func Recover(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					log.ErrorContext(ctx, "panic in a handler", "method", method, "panic", p, "stack", string(debug.Stack()))
					res, err = nil, errors.New("internal error")
				}
			}()
			return next(ctx, method, req)
		}
	}
}

// drain is how long running requests may go on after the end was asked for.
const drain = 5 * time.Second

// ServeHTTP serves a handler on a listener until the context ends, then lets
// running requests finish for some seconds. It closes the listener. The error
// is nil after a clean end.
func ServeHTTP(ctx context.Context, l net.Listener, s *mcp.Server, h http.Handler) error {
	hs := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- hs.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	// Streams never end by themselves, so sessions are closed first.
	for session := range s.Sessions() {
		session.Close()
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := hs.Shutdown(end); err != nil {
		hs.Close()
	}
	return nil
}

// ServeStdio serves one client over a pair of streams until the client closes
// its end or the context ends. The error is nil after both.
func ServeStdio(ctx context.Context, s *mcp.Server, in io.ReadCloser, out io.WriteCloser) error {
	err := s.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
