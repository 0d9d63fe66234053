package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"go.uber.org/goleak"
)

const (
	testLegacy = "2025-11-25"
	testModern = "2026-07-28"
	testLimit  = 1 << 20
)

// memory is a network without sockets, for bubbles.
type memory struct{ handler http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.Body = http.NoBody
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		in.Body = io.NopCloser(bytes.NewReader(text))
	}
	ctx, cancel := context.WithCancel(r.Context())
	in = in.WithContext(ctx)
	out, body := io.Pipe()
	w := &memoryWriter{request: r, header: make(http.Header), body: body, response: make(chan *http.Response, 1)}
	w.reader = &memoryBody{out, context.AfterFunc(ctx, func() { out.CloseWithError(context.Cause(ctx)) }), cancel}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				w.WriteHeader(http.StatusOK)
				body.CloseWithError(io.ErrUnexpectedEOF)
			}
		}()
		m.handler.ServeHTTP(w, in)
		if ctx.Err() == nil { // over a network the rest would not arrive
			w.WriteHeader(http.StatusOK)
		}
		body.CloseWithError(ctx.Err())
	}()
	select {
	case resp := <-w.response:
		return resp, nil
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
}

type memoryWriter struct {
	request  *http.Request
	header   http.Header
	body     io.Writer
	reader   io.ReadCloser
	once     sync.Once
	response chan *http.Response
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.response <- &http.Response{
			StatusCode: status, Header: w.header.Clone(), Body: w.reader, ContentLength: -1, Request: w.request,
		}
	})
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *memoryWriter) Flush() { w.WriteHeader(http.StatusOK) }

type memoryBody struct {
	*io.PipeReader
	stop   func() bool
	cancel context.CancelFunc
}

func (b *memoryBody) Close() error {
	b.stop()
	b.cancel()
	return b.PipeReader.Close()
}

// tripper is a transport that is a function.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// testConfig returns how to reach a server.
func testConfig(t testing.TB, address string, transport http.RoundTripper) HTTPConfig {
	t.Helper()
	endpoint, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return HTTPConfig{
		Endpoint: endpoint, Transport: &netpolicy.Transport{Base: transport},
		MaxMessageSize: testLimit, Log: slog.New(slog.DiscardHandler),
	}
}

// serveHTTP starts a server and returns how to reach it. At the end of the
// test nothing must be left of either side.
func serveHTTP(t testing.TB, handler http.Handler) HTTPConfig {
	t.Helper()
	before := goleak.IgnoreCurrent()
	srv := httptest.NewServer(handler)
	transport := new(http.Transport)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
		goleak.VerifyNone(t, before)
	})
	return testConfig(t, srv.URL+"/mcp", transport)
}

// inMemory returns how to reach a server within a bubble.
func inMemory(t testing.TB, handler http.HandlerFunc) HTTPConfig {
	return testConfig(t, "http://test.invalid/mcp", memory{handler})
}

// dialTest returns a connection on which a revision is agreed, "" for none.
func dialTest(t testing.TB, cfg HTTPConfig, revision string) Conn {
	t.Helper()
	conn := DialHTTP(cfg)
	t.Cleanup(func() { conn.Close(context.Background()) })
	if revision != "" {
		conn.SetRevision(revision)
	}
	return conn
}

// received is a message that a server got.
type received struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

func receive(r *http.Request) (m received) {
	_ = json.NewDecoder(r.Body).Decode(&m)
	return m
}

// sendJSON sends a JSON body.
func sendJSON(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, format, args...)
}

// sendEvents sends a part of an event stream.
func sendEvents(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range events {
		_, _ = io.WriteString(w, ev)
	}
	_ = http.NewResponseController(w).Flush()
}

// answer is an event with the response to request id.
func answer(id int, lines ...string) string {
	return strings.Join(append(lines, fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%d,"result":{"n":%d}}`, id, id)), "\n") + "\n\n"
}

// note is an event with a notification.
func note(n int, lines ...string) string {
	return strings.Join(append(lines, fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"n","params":{"n":%d}}`, n)), "\n") + "\n\n"
}

// notes keeps the notifications of a connection.
type notes struct {
	mu   sync.Mutex
	seen []string
}

func (n *notes) take(got Notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = append(n.seen, fmt.Sprintf("%d %s %s", got.Request, got.Method, got.Params))
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.seen)
}

// record writes down what passes.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *record) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

func (r *record) Write(p []byte) (int, error) {
	r.add("%s", p)
	return len(p), nil
}
