package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// sseServer is a server of the older transport that is told what to do with
// each message. Events are sent on the one stream.
type sseServer struct {
	endpoint string
	message  func(w http.ResponseWriter, r *http.Request, m received)
	events   chan string
	gone     chan struct{} // closed when the client has left the stream
}

func newSSEServer(message func(w http.ResponseWriter, r *http.Request, m received)) *sseServer {
	return &sseServer{endpoint: "/messages?s=1", message: message, events: make(chan string, 100), gone: make(chan struct{})}
}

func (s *sseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.message(w, r, receive(r))
		return
	}
	defer close(s.gone)
	sendEvents(w, ": hello\r\n\r\nid: 1\r\n\r\nevent: endpoint\r\ndata: "+s.endpoint+" \r\n\r\n")
	for {
		select {
		case ev := <-s.events:
			if ev == "" {
				return
			}
			sendEvents(w, ev)
		case <-r.Context().Done():
			return
		}
	}
}

// dialTestSSE opens a connection with a context that ends at once.
func dialTestSSE(t testing.TB, cfg HTTPConfig) Conn {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := DialSSE(ctx, cfg)
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestOldSSE(t *testing.T) {
	var log record
	var srv *sseServer
	srv = newSSEServer(func(w http.ResponseWriter, r *http.Request, m received) {
		log.add("%s %s %s %s %q %q", r.URL, m.Method, m.Params, m.Result, r.Header["Content-Type"], r.Header["Mcp-Protocol-Version"])
		w.WriteHeader(http.StatusAccepted)
		switch m.Method {
		case "tools/call":
			srv.events <- note(1) + "data: hello\n\nevent: other\ndata: {\"jsonrpc\":\"1.0\",\"id\":1}\n\n" +
				"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\",\"params\":[1]}\n\n"
		case "":
			srv.events <- answer(8) + answer(2)
		case "fail":
			srv.events <- `data: {"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}` + "\n\n"
		}
	})
	cfg := serveHTTP(t, srv)
	var got notes
	cfg.Handler = Handler{
		Notification: got.take,
		Request: func(_ context.Context, method string, params json.RawMessage) (any, error) {
			return method + string(params), nil
		},
	}
	conn := dialTestSSE(t, cfg)
	raw, err := conn.Call(t.Context(), Request{ID: 2, Method: "tools/call", Params: json.RawMessage(`{"a":1}`), Name: "x"})
	if string(raw) != `{"n":2}` || err != nil {
		t.Errorf("result %s, error %v", raw, err)
	}
	conn.SetRevision(testLegacy)
	conn.Listen()
	if err := conn.Notify(t.Context(), "n", nil); err != nil {
		t.Error(err)
	}
	_, err = conn.Call(t.Context(), Request{ID: 3, Method: "fail"})
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != -1 {
		t.Errorf("error is %v", err)
	}
	want := []string{
		`/messages?s=1 tools/call {"a":1}  ["application/json"] []`,
		`/messages?s=1   "ask[1]" ["application/json"] []`,
		`/messages?s=1 n   ["application/json"] ["2025-11-25"]`,
		`/messages?s=1 fail   ["application/json"] ["2025-11-25"]`,
	}
	if diff := cmp.Diff(want, log.all()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`0 n {"n":1}`}, got.all()); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
	conn.Close(t.Context())
	<-srv.gone
}

// The endpoint is on the origin of the server, and without credentials.
func TestOldSSEEndpoint(t *testing.T) {
	for endpoint, want := range map[string]string{
		"/m":                            "http://test.invalid/m",
		"m?x=1":                         "http://test.invalid/m?x=1",
		"?x=1":                          "http://test.invalid/mcp?x=1",
		"http://TEST.invalid:80/m":      "http://TEST.invalid:80/m",
		"http://u:p@test.invalid/m":     "http://test.invalid/m",
		"//u@test.invalid/m":            "http://test.invalid/m",
		"https://test.invalid/m":        "",
		"http://test.invalid:81/m":      "",
		"//other.invalid/m":             "",
		"http://test.invalid@other/m":   "",
		"file:///etc/passwd":            "",
		"javascript:1":                  "",
		"http://test.invalid.other/m":   "",
		"/m\ndata: /n":                  "none",
		"http://[::1":                   "none",
		"%zz":                           "none",
		"http://test.invalid:port/m":    "none",
		"\ndata: http://test.invalid/m": "http://test.invalid/m",
	} {
		synctest.Test(t, func(t *testing.T) {
			var posted *url.URL
			srv := newSSEServer(nil)
			srv.endpoint = endpoint
			cfg := testConfig(t, "http://test.invalid/mcp", tripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPost {
					posted = r.URL
					return &http.Response{StatusCode: 202, Request: r}, nil
				}
				return memory{srv}.RoundTrip(r)
			}))
			conn, err := DialSSE(t.Context(), cfg)
			switch {
			case want == "none":
				failed, ok := errors.AsType[*HTTPError](err)
				if _, broken := errors.AsType[*ProtocolError](err); !ok || !broken || failed.Status != 200 {
					t.Errorf("%q: error is %v", endpoint, err)
				}
			case want == "":
				if err != ErrForeignEndpoint {
					t.Errorf("%q: error is %v", endpoint, err)
				}
			case err != nil:
				t.Errorf("%q: %v", endpoint, err)
			default:
				if err := conn.Notify(t.Context(), "n", nil); err != nil || posted.String() != want {
					t.Errorf("%q: posted to %v, error %v", endpoint, posted, err)
				}
				conn.Close(t.Context())
			}
		})
	}
}

// What is no server of this transport.
func TestOldSSENone(t *testing.T) {
	tests := []struct {
		name string
		get  http.HandlerFunc
		is   func(error) bool
	}{
		{"405", failing(405), func(err error) bool {
			failed, ok := errors.AsType[*HTTPError](err)
			return ok && failed.Status == 405
		}},
		{"page", failing(200, "Content-Type", "text/html"), func(err error) bool {
			failed, ok := errors.AsType[*HTTPError](err)
			return ok && failed.Status == 200 && failed.Media == "text/html" && errors.Is(err, ErrNoStream)
		}},
		{"other stream", func(w http.ResponseWriter, r *http.Request) { sendEvents(w, "data: /m\n\n"); <-r.Context().Done() }, func(err error) bool {
			_, ok := errors.AsType[*ProtocolError](err)
			return ok
		}},
		{"empty stream", brings(), func(err error) bool {
			_, ok := errors.AsType[*TransportError](err)
			return ok && errors.Is(err, ErrNoResponse)
		}},
		{"huge event", brings("event: endpoint\ndata: /" + strings.Repeat("x", testLimit)), func(err error) bool {
			_, ok := errors.AsType[*netpolicy.TooLargeError](err)
			return ok
		}},
		{"nothing", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(err error) bool { return err == context.DeadlineExceeded }},
		{"silence", func(w http.ResponseWriter, r *http.Request) { sendEvents(w, ":\n\n"); <-r.Context().Done() }, func(err error) bool { return err == context.DeadlineExceeded }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := DialSSE(ctx, inMemory(t, test.get)); !test.is(err) {
					t.Errorf("error is %#v", err)
				}
			})
		})
	}
}

// hooked is a body of a stream that calls a function when it is read.
type hooked struct {
	io.Reader
	read   func()
	closed chan struct{}
}

func (b *hooked) Read(p []byte) (int, error) {
	b.read()
	return b.Reader.Read(p)
}

func (b *hooked) Close() error {
	close(b.closed)
	return nil
}

// A context that ends together with the endpoint's arrival counts, and the
// stream is closed in any case.
func TestOldSSELateCancel(t *testing.T) {
	for _, late := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := &hooked{strings.NewReader("event: endpoint\ndata: /m\n\n"), func() {}, make(chan struct{})}
		if late {
			body.read = cancel
		}
		cfg := testConfig(t, "http://test.invalid/", tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
		}))
		conn, err := DialSSE(ctx, cfg)
		if (err == context.Canceled) != late {
			t.Errorf("error is %v", err)
		}
		<-body.closed
		if err == nil {
			<-conn.Done()
			conn.Close(t.Context())
		}
	}
}

// A message that is not taken fails by itself.
func TestOldSSEStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newSSEServer(func(w http.ResponseWriter, r *http.Request, m received) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
		})
		conn := dialTestSSE(t, inMemory(t, srv.ServeHTTP))
		_, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"})
		failed, ok := errors.AsType[*HTTPError](err)
		if !ok || failed.Status != 503 || failed.RetryAfter != 7*time.Second {
			t.Errorf("error is %#v", err)
		}
		if err := conn.Notify(t.Context(), "n", nil); err == nil || err.Error() != "HTTP 503" {
			t.Errorf("error is %v", err)
		}
		if conn.Err() != nil {
			t.Errorf("the connection ended: %v", conn.Err())
		}
	})
}

// When the stream ends, so does everything.
func TestOldSSEEnds(t *testing.T) {
	for _, test := range []struct {
		name, last string
		is         func(error) bool
	}{
		{"by the server", "", func(err error) bool {
			_, ok := errors.AsType[*TransportError](err)
			return ok && errors.Is(err, ErrNoResponse)
		}},
		{"in rubbish", "data: {\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}\n\n", func(err error) bool { return errors.Is(err, errUndecodable) }},
		{"in something huge", "data: " + strings.Repeat("x", testLimit), func(err error) bool {
			_, ok := errors.AsType[*netpolicy.TooLargeError](err)
			return ok
		}},
		{"by the client", "close", func(err error) bool { return err == ErrClosed }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := newSSEServer(func(w http.ResponseWriter, r *http.Request, m received) {
					if m.Method == "hang" {
						<-r.Context().Done()
					}
				})
				conn := dialTestSSE(t, inMemory(t, srv.ServeHTTP))
				results := make(chan error, 2)
				go func() {
					_, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"})
					results <- err
				}()
				synctest.Wait()
				if test.last == "close" {
					go func() { results <- conn.Notify(t.Context(), "hang", nil) }()
					synctest.Wait()
					conn.Close(t.Context())
					if err := <-results; !test.is(err) {
						t.Errorf("error is %v", err)
					}
				} else {
					srv.events <- test.last
				}
				if err := <-results; !test.is(err) {
					t.Errorf("error is %#v", err)
				}
				<-conn.Done()
				<-srv.gone
				if _, err := conn.Call(t.Context(), Request{ID: 2, Method: "m"}); !test.is(err) || !test.is(conn.Err()) {
					t.Errorf("error of the next is %v, of the connection %v", err, conn.Err())
				}
			})
		})
	}
}

func TestOldSSECancel(t *testing.T) {
	for method, want := range map[string][]string{
		"m":          {`notifications/cancelled {"requestId":1,"reason":"timed out"}`},
		"hang":       {`notifications/cancelled {"requestId":1,"reason":"timed out"}`},
		"initialize": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			var told record
			srv := newSSEServer(func(w http.ResponseWriter, r *http.Request, m received) {
				switch m.Method {
				case "m", "initialize":
				case "hang":
					<-r.Context().Done()
				default:
					told.add("%s %s", m.Method, m.Params)
				}
			})
			conn := dialTestSSE(t, inMemory(t, srv.ServeHTTP))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := conn.Call(ctx, Request{ID: 1, Method: method}); err != context.DeadlineExceeded {
				t.Errorf("%s: error is %v", method, err)
			}
			synctest.Wait()
			if diff := cmp.Diff(want, told.all()); diff != "" {
				t.Errorf("%s: told (-want +got):\n%s", method, diff)
			}
		})
	}
}

// The scripted server of other tests agrees.
func TestOldSSEWithScript(t *testing.T) {
	script := mcptest.Legacy(mcptest.Tool("a"))
	conn := dialTestSSE(t, serveHTTP(t, script.OldSSE()))
	for i, method := range []string{"initialize", "tools/list"} {
		if raw, err := conn.Call(t.Context(), Request{ID: int64(i + 1), Method: method}); err != nil || !json.Valid(raw) {
			t.Errorf("%s: %s, %v", method, raw, err)
		}
	}
	if got := fmt.Sprint(script.Methods()); got != "[initialize tools/list]" {
		t.Errorf("methods are %s", got)
	}
	conn.Close(t.Context())
}
