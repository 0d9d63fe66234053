package client_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

func status(code int, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "the words of the server")
	})
}

func TestDiscoverHTTP(t *testing.T) {
	paged := mcptest.Modern()
	paged.List = func(cursor *string) string {
		switch {
		case cursor == nil:
			return `{"tools":[` + mcptest.Tool("c") + `],"nextCursor":""}`
		case *cursor == "":
			return `{"tools":[` + mcptest.Tool("b") + `],"nextCursor":"x"}`
		}
		return `{"tools":[` + mcptest.Tool("a") + `],"nextCursor":null}`
	}
	oldPaged := mcptest.Legacy()
	oldPaged.List = func(cursor *string) string {
		if cursor == nil {
			return `{"tools":[` + mcptest.Tool("c") + `],"nextCursor":"1"}`
		}
		return `{"tools":[` + mcptest.Tool("b") + `],"nextCursor":""}`
	}
	stream := mcptest.Modern(mcptest.Tool("a"))
	stream.Stream = true
	tests := []struct {
		name      string
		handler   http.Handler
		protocol  client.Protocol
		timeout   time.Duration
		tools     string
		revision  string
		transport string

		class   client.Class
		message string
		status  int
	}{
		{name: "modern", handler: mcptest.Modern(mcptest.Tool("a")), tools: "a", revision: "2026-07-28", transport: "streamable-http"},
		{name: "legacy", handler: mcptest.Legacy(mcptest.Tool("a")), tools: "a", revision: "2025-11-25", transport: "streamable-http"},
		{name: "stream", handler: stream, tools: "a", revision: "2026-07-28", transport: "streamable-http"},
		{name: "old SSE", handler: mcptest.Legacy(mcptest.Tool("a")).OldSSE(), tools: "a", revision: "2025-11-25", transport: "sse"},
		{
			name: "old SSE by pin", handler: mcptest.Legacy(mcptest.Tool("a")).OldSSE(), protocol: client.ProtocolLegacy,
			tools: "a", revision: "2025-11-25", transport: "sse",
		},
		{
			name: "old SSE, other pin", handler: mcptest.Legacy(mcptest.Tool("a")).OldSSE(), protocol: client.Protocol20260728,
			class: client.ClassHTTP, message: "srv: HTTP 404: not found", status: 404,
		},
		{name: "empty cursor is one", handler: paged, tools: "a b c", revision: "2026-07-28", transport: "streamable-http"},
		{name: "empty cursor is the end", handler: oldPaged, tools: "b c", revision: "2025-11-25", transport: "streamable-http"},
		{
			name: "plain 400 to the probe", handler: plainProbe(400), tools: "a", revision: "2025-11-25", transport: "streamable-http",
		},
		{
			name: "500 to the probe", handler: plainProbe(500), tools: "a", revision: "2025-11-25", transport: "streamable-http",
		},
		{
			name: "HTML to the probe", handler: plainProbe(200), tools: "a", revision: "2025-11-25", transport: "streamable-http",
		},
		{
			name: "404 with an error", handler: notFound(mcptest.Legacy()), protocol: client.Protocol20260728,
			class: client.ClassRevision, message: "srv: protocol revision not offered", status: 404,
		},
		{name: "401", handler: status(401), class: client.ClassAuth, message: "srv: login needed", status: 401},
		{name: "403", handler: status(403), class: client.ClassHTTP, message: "srv: HTTP 403: forbidden", status: 403},
		{
			name: "403 for lack of scope", handler: status(403, "WWW-Authenticate", `Bearer error="insufficient_scope", scope="a"`),
			class: client.ClassAuth, message: "srv: login needed", status: 403,
		},
		{name: "404", handler: status(404), class: client.ClassHTTP, message: "srv: HTTP 404: not found", status: 404},
		{name: "500", handler: status(500), class: client.ClassHTTP, message: "srv: HTTP 500: internal server error", status: 500},
		{name: "200", handler: status(200), class: client.ClassProtocol, message: "srv: no valid answer: the response is text/plain", status: 200},
		{
			name: "not JSON", handler: status(200, "Content-Type", "application/json"),
			class: client.ClassProtocol, message: "srv: no valid answer", status: 200,
		},
		{
			name: "hang", handler: &mcptest.Script{Mute: []string{"server/discover", "initialize"}}, timeout: 200 * time.Millisecond,
			class: client.ClassTimeout, message: "srv: timed out after 200ms",
		},
		{
			name: "drip", handler: http.HandlerFunc(drip), timeout: 200 * time.Millisecond,
			class: client.ClassTimeout, message: "srv: timed out after 200ms", status: anyStatus,
		},
		{
			name: "huge body", handler: huge("application/json", `{"jsonrpc":"2.0","id":1,"result":{"x":"`),
			class: client.ClassProtocol, message: "srv: the response is larger than 1048576 bytes", status: 200,
		},
		{
			name: "huge event", handler: huge("text/event-stream", `data: {"x":"`),
			class: client.ClassProtocol, message: "srv: an event of the stream is larger than 1048576 bytes", status: 200,
		},
		{
			name: "error of the list", handler: failingList(), revision: "2026-07-28", transport: "streamable-http",
			class: client.ClassProtocol, message: "srv: tools/list: JSON-RPC error -32603: tool index locked",
		},
		{
			name: "login for the list", handler: statusOf("tools/list", 401, mcptest.Modern()), revision: "2026-07-28", transport: "streamable-http",
			class: client.ClassAuth, message: "srv: tools/list: login needed", status: 401,
		},
		{
			name: "tools without a name are no reason to lose the others", handler: mcptest.Modern(`{"inputSchema":{}}`, mcptest.Tool("a"), `7`, `{"name":7}`),
			tools: "a", revision: "2026-07-28", transport: "streamable-http",
		},
		{
			name: "no list", handler: &mcptest.Script{Discover: mcptest.DiscoverResult, List: func(*string) string { return `{"tools":{}}` }},
			revision: "2026-07-28", transport: "streamable-http",
			class: client.ClassProtocol, message: "srv: tools/list: the result of tools/list has no list",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			spec := httpSpec(serve(t, test.handler))
			spec.Protocol = test.protocol
			if test.timeout != 0 {
				spec.Timeout = test.timeout
			}
			r := open(t, client.Options{MaxMessageSize: 1 << 20}, spec).Discover(t.Context()).Results[0]
			got := []any{toolNames(r), r.Server.ProtocolVersion, r.Transport}
			want := []any{test.tools, test.revision, test.transport}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tools, revision, transport (-want +got):\n%s", diff)
			}
			if test.class == "" {
				if r.Err != nil {
					t.Error(r.Err)
				}
				return
			}
			e := serverError(t, r.Err)
			if e.Class != test.class || e.Error() != test.message || test.status != anyStatus && e.HTTPStatus != test.status {
				t.Errorf("class %q, error %q, status %d; want %q, %q, %d",
					e.Class, e, e.HTTPStatus, test.class, test.message, test.status)
			}
			if errors.Is(e, client.ErrAuthRequired) != (test.class == client.ClassAuth) {
				t.Error("errors.Is is wrong about ErrAuthRequired")
			}
		})
	}
}

// anyStatus is for a status that depends on timing.
const anyStatus = -1

// plainProbe answers the probe with a status and a page.
func plainProbe(code int) http.Handler {
	script := mcptest.Legacy(mcptest.Tool("a"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "server/discover" {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<html>")
			return
		}
		script.ServeHTTP(w, r)
	})
}

// statusOf answers one method with a status alone.
func statusOf(method string, code int, script *mcptest.Script) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == method {
			w.WriteHeader(code)
			return
		}
		script.ServeHTTP(w, r)
	})
}

// notFound answers as script does, with status 404.
func notFound(script *mcptest.Script) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(404)
		_, _ = w.Write(script.Answer(body))
	})
}

func failingList() http.Handler {
	script := mcptest.Modern()
	script.List = func(*string) string { return "error:tool index locked" }
	return script
}

// huge sends a body that never ends.
func huge(contentType, start string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, err := io.WriteString(w, start)
		for chunk := strings.Repeat("x", 64<<10); err == nil; {
			_, err = io.WriteString(w, chunk)
		}
	})
}

// drip sends one byte and waits for the client to go.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{")
	_ = http.NewResponseController(w).Flush()
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestNetworkErrors(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	secure := httptest.NewUnstartedServer(mcptest.Modern())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := serve(t, mcptest.Modern())
	hangUp := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
	old := httptest.NewUnstartedServer(mcptest.Modern())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	old.Config.ErrorLog = quiet
	old.StartTLS()
	defer old.Close()
	tests := []struct {
		name, url string
		class     client.Class
		summary   string
	}{
		{"refused", "http://" + closed.Addr().String(), client.ClassRefused, "connection refused"},
		{"unknown authority", secure.URL, client.ClassTLS, "TLS error"},
		{"no TLS", strings.Replace(plain, "http:", "https:", 1), client.ClassTLS, "TLS error"},
		{"old TLS", old.URL, client.ClassTLS, "TLS error"},
		{"hang up", hangUp, client.ClassNetwork, "connection failed"},
		{"no such host", "http://nowhere.invalid", client.ClassDNS, "host not found"},
		{"redirect to nowhere", serve(t, http.RedirectHandler("ftp://x/", http.StatusTemporaryRedirect)), client.ClassRedirect, "redirect not followed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := httpSpec(test.url + "/mcp?key=abcdefgh")
			if test.name == "no such host" {
				spec.HTTP.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}}
				}}
			}
			e := serverError(t, discoverOne(t, spec).Err)
			if e.Class != test.class || e.Summary() != test.summary || e.HTTPStatus != 0 {
				t.Errorf("class %q, summary %q, status %d; want %q, %q (%v)", e.Class, e.Summary(), e.HTTPStatus, test.class, test.summary, e)
			}
			if strings.Contains(e.Error(), "key=") {
				t.Errorf("error %q has the query", e)
			}
		})
	}
}

// The bytes of tools, of the server's identity and of structured content are
// those that were sent, over every transport.
func TestExactBytes(t *testing.T) {
	tool := `{ "outputSchema":{"type":"object","properties":{"z":{"const":12345678901234567890},"a":{"default":1.50e+3}}},` +
		`"x-unknown":[1,1.0],"name":"t","title":"\u0041",  "inputSchema":{"type":"object","required":[],"minProperties":0.0}}`
	structured := `{ "big":9007199254740993,"f":1.0,"z":1,"a":"\u00e9" }`
	info := `{"version":"1.0", "name":"script"}`
	build := func(s *mcptest.Script, stream bool) *mcptest.Script {
		s.Stream = stream
		s.Call = func(json.RawMessage) string {
			return `{"resultType":"complete","isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":` + structured + `}`
		}
		return s
	}
	tests := map[string]http.Handler{
		"json":          build(mcptest.Modern(tool), false),
		"stream":        build(mcptest.Modern(tool), true),
		"legacy json":   build(mcptest.Legacy(tool), false),
		"legacy stream": build(mcptest.Legacy(tool), true),
		"sse":           build(mcptest.Legacy(tool), false).OldSSE(),
		"sse normalised": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			oddStream(build(mcptest.Modern(tool), true), w, r)
		}),
	}
	for name, handler := range tests {
		t.Run(name, func(t *testing.T) {
			c := open(t, client.Options{}, httpSpec(serve(t, handler)))
			for range 2 { // the second may come from a cache
				r := c.Discover(t.Context()).Results[0]
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				if len(r.Server.Tools) != 1 || string(r.Server.Tools[0].Raw) != tool {
					t.Errorf("tools are %+v, want %s", r.Server.Tools, tool)
				}
				if string(r.Server.Info) != info || r.Server.Instructions != "be kind" {
					t.Errorf("info is %s, instructions %q", r.Server.Info, r.Server.Instructions)
				}
			}
			params := &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(`{"n":9007199254740993}`), Meta: mcp.Meta{"k": "v"}}
			result, err := c.Server("srv").CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			if raw, ok := result.StructuredContent.(json.RawMessage); !ok || string(raw) != structured || !result.IsError {
				t.Errorf("structured content is %T %s, error %v", result.StructuredContent, result.StructuredContent, result.IsError)
			}
			if len(params.Meta) != 1 {
				t.Errorf("parameters were changed: %v", params.Meta)
			}
		})
	}
}

// oddStream sends the answer as the standard of event streams allows but few
// servers do.
func oddStream(s *mcptest.Script, w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answer := s.Answer(body)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprintf(w, "\xef\xbb\xbf: hello\r\rdata\revent:message\r")
	fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\r\r")
	fmt.Fprintf(w, "retry\nevent\r\ndata:%s\r\r", answer)
}

func TestCallResults(t *testing.T) {
	script := mcptest.Modern(mcptest.Tool("t"))
	c := open(t, client.Options{}, httpSpec(serve(t, script)))
	tests := []struct{ result, structured, message string }{
		{`{"content":[],"structuredContent":null}`, "null", ""},
		{`{"content":[],"structuredContent":[1, 2]}`, "[1, 2]", ""},
		{`{"content":[]}`, "", ""},
		{
			`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":` +
				`{"type":"object","properties":{"name":{"type":"string"}}}}}},"requestState":"s"}`,
			"", `srv: tools/call: the server asks for input: "Who?" (name)`,
		},
		{`{"resultType":"input_required"}`, "", "srv: tools/call: the server asks for input and does not say what"},
		{`error:you may not`, "", "srv: tools/call: JSON-RPC error -32603: you may not"},
		// The TypeScript SDK puts the code into the message, too.
		{`error:MCP error -32603: you may not`, "", "srv: tools/call: JSON-RPC error -32603: you may not"},
	}
	for _, test := range tests {
		script.Call = func(json.RawMessage) string { return test.result }
		result, err := c.Server("srv").CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		if test.message != "" {
			if err == nil || err.Error() != test.message {
				t.Errorf("%s: error is %v", test.result, err)
			}
			sent, isError := strings.CutPrefix(test.result, "error:")
			if rpc, ok := errors.AsType[*jsonrpc.Error](err); isError && (!ok || rpc.Message != sent) {
				t.Errorf("%s: JSON-RPC error is %v", test.result, rpc)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.result, err)
			continue
		}
		got := ""
		if result.StructuredContent != nil {
			got = string(result.StructuredContent.(json.RawMessage))
		}
		if got != test.structured {
			t.Errorf("%s: structured content is %s", test.result, got)
		}
	}
	if _, err := c.Server("other").CallTool(t.Context(), nil); !errors.Is(err, client.ErrUnknownServer) || err.Error() != "other: tools/call: no such server" {
		t.Errorf("error is %v", err)
	}
}

// What the server was asked, in order: no more than needed.
func TestRequests(t *testing.T) {
	tests := []struct {
		name     string
		script   *mcptest.Script
		protocol client.Protocol
		want     []string
	}{
		{"modern", mcptest.Modern(), "", []string{"server/discover", "tools/list"}},
		{"legacy", mcptest.Legacy(), "", []string{"server/discover", "initialize", "notifications/initialized", "tools/list"}},
		{"modern pinned", mcptest.Modern(), client.Protocol20260728, []string{"server/discover", "tools/list"}},
		{"legacy pinned", mcptest.Legacy(), client.ProtocolLegacy, []string{"initialize", "notifications/initialized", "tools/list"}},
		{"modern pin, legacy server", mcptest.Legacy(), client.Protocol20260728, []string{"server/discover"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := httpSpec(serve(t, test.script))
			spec.Protocol = test.protocol
			discoverOne(t, spec)
			if diff := cmp.Diff(test.want, test.script.Methods()); diff != "" {
				t.Errorf("methods (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("401", func(t *testing.T) {
		requests := 0
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.WriteHeader(401)
		}))
		discoverOne(t, httpSpec(url))
		if requests != 1 {
			t.Errorf("%d requests, want 1", requests)
		}
	})
}

func TestHeaders(t *testing.T) {
	var mu sync.Mutex
	var seen []http.Header
	script := mcptest.Modern(mcptest.Tool("a"))
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := r.Header.Clone()
		h.Set("Host", r.Host)
		seen = append(seen, h)
		mu.Unlock()
		script.ServeHTTP(w, r)
	}))
	spec := httpSpec(strings.Replace(url, "://", "://me:pass%20word@", 1))
	spec.HTTP.Headers = map[string]string{"x-key": "v", "host": "elsewhere.example", "Accept": "text/plain"}
	type key struct{}
	spec.HTTP.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Context().Value(key{}) != "seen" {
			return nil, errors.New("the context of the call is missing")
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	c := open(t, client.Options{}, spec)
	r := c.Discover(context.WithValue(t.Context(), key{}, "seen")).Results[0]
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, h := range seen {
		got := []string{h.Get("Authorization"), h.Get("X-Key"), h.Get("Host"), h.Get("Accept")}
		want := []string{"Basic bWU6cGFzcyB3b3Jk", "v", "elsewhere.example", "application/json, text/event-stream"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAllowedHosts(t *testing.T) {
	target := mcptest.Modern(mcptest.Tool("a"))
	var leaked http.Header
	targetURL := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = r.Header.Clone()
		target.ServeHTTP(w, r)
	}))
	start := serve(t, http.RedirectHandler(targetURL, http.StatusTemporaryRedirect))
	host := func(u string) string { return strings.TrimPrefix(u, "http://") }
	tests := []struct {
		name    string
		allowed []string
		blocked string
	}{
		{"no limit", nil, ""},
		{"both", []string{host(start), host(targetURL)}, ""},
		{"first only", []string{host(start)}, host(targetURL)},
		{"none", []string{}, host(start)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			leaked = nil
			spec := httpSpec(start)
			spec.HTTP.AllowedHosts = test.allowed
			spec.HTTP.Headers = map[string]string{"Authorization": "Bearer abcdefghijkl", "X-Key": "abcdefghijkl"}
			r := discoverOne(t, spec)
			if test.blocked == "" {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				if leaked.Get("Authorization") != "" || leaked.Get("X-Key") != "" {
					t.Errorf("credentials went to another origin: %v", leaked)
				}
				return
			}
			e := serverError(t, r.Err)
			want := fmt.Sprintf("srv: host not allowed: host %q is not among the allowed hosts", test.blocked)
			if e.Class != client.ClassBlocked || e.Error() != want {
				t.Errorf("class %q, error %q; want %q", e.Class, e, want)
			}
			if leaked != nil {
				t.Error("a blocked host was dialled")
			}
		})
	}
	t.Run("endpoint of an SSE server", func(t *testing.T) {
		leaked = nil
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(405)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/message\n\n", targetURL)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		e := serverError(t, discoverOne(t, httpSpec(url)).Err)
		if e.Class != client.ClassBlocked || leaked != nil {
			t.Errorf("class %q, error %q, dialled %v", e.Class, e, leaked != nil)
		}
	})
}

// Over HTTP nothing is waited for in vain, and the limits are the documented
// ones: 5 s for the probe, 60 s for everything.
func TestDefaultTimeouts(t *testing.T) {
	tests := []struct {
		name     string
		mute     []string
		protocol client.Protocol
		after    time.Duration
		tools    string
	}{
		{"deaf to the probe", []string{"server/discover"}, "", 5 * time.Second, "a"},
		{"deaf", []string{"server/discover", "initialize"}, "", time.Minute, ""},
		{"deaf and pinned", []string{"server/discover"}, client.Protocol20260728, time.Minute, ""},
		{"deaf to the list", []string{"tools/list"}, "", time.Minute, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := mcptest.Legacy(mcptest.Tool("a"))
				script.Mute = test.mute
				spec := client.Spec{Name: "srv", Protocol: test.protocol, HTTP: &client.HTTP{URL: "http://test.invalid/mcp", Transport: direct{script}}}
				c, err := client.Open(t.Context(), []client.Spec{spec}, client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				r := c.Discover(t.Context()).Results[0]
				if took := time.Since(start); took != test.after || r.Duration != took {
					t.Errorf("took %v, want %v; says %v", took, test.after, r.Duration)
				}
				if got := toolNames(r); got != test.tools {
					t.Errorf("tools are %q, error %v", got, r.Err)
				}
				if test.tools == "" && !errors.Is(r.Err, context.DeadlineExceeded) {
					t.Errorf("error is %v", r.Err)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// direct is a transport without a network.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// A call that ends the session does not take the next one with it.
func TestReconnect(t *testing.T) {
	for _, code := range []int{400, 404, 410, 429, 500} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			script := mcptest.Modern(mcptest.Tool("a"))
			c := open(t, client.Options{}, httpSpec(serve(t, statusOf("tools/call", code, script))))
			for range 3 {
				_, err := c.Server("srv").CallTool(t.Context(), &mcp.CallToolParams{Name: "a"})
				if e := serverError(t, err); e.Class != client.ClassHTTP || e.HTTPStatus != code {
					t.Errorf("class %q, error %q", e.Class, e)
				}
				if r := c.Server("srv").Discover(t.Context()); r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
}

// A context that is cancelled at any request ends the operation and leaves
// nothing behind.
func TestCancelAtEveryRequest(t *testing.T) {
	type server struct {
		script  *mcptest.Script
		handler http.Handler
		methods []string
	}
	servers := map[string]func() server{
		"modern": func() server {
			s := mcptest.Modern(mcptest.Tool("a"))
			return server{s, s, []string{"server/discover", "tools/list"}}
		},
		"legacy": func() server {
			s := mcptest.Legacy(mcptest.Tool("a"))
			return server{s, s, []string{"server/discover", "initialize", "notifications/initialized", "tools/list"}}
		},
		"sse": func() server {
			s := mcptest.Legacy(mcptest.Tool("a"))
			return server{s, s.OldSSE(), []string{"initialize", "notifications/initialized", "tools/list"}}
		},
	}
	for name, build := range servers {
		for _, method := range build().methods {
			t.Run(name+" "+method, func(t *testing.T) {
				s := build()
				srv := httptest.NewServer(s.handler)
				before := goleak.IgnoreCurrent()
				ctx, cancel := context.WithCancel(t.Context())
				s.script.Mute = []string{method}
				s.script.OnRequest = func(m string) {
					if m == method {
						cancel()
					}
				}
				c, err := client.Open(t.Context(), []client.Spec{httpSpec(srv.URL)}, client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				r := c.Discover(ctx).Results[0]
				if e := serverError(t, r.Err); e.Class != client.ClassCancelled || !errors.Is(e, context.Canceled) {
					t.Errorf("class %q, error %q", e.Class, e)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
				srv.Close()
				goleak.VerifyNone(t, before)
			})
		}
	}
}

// Close does not wait for a server that does not let go of a session.
func TestCloseWithoutPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := mcptest.Legacy(mcptest.Tool("a"))
		spec := client.Spec{Name: "srv", HTTP: &client.HTTP{URL: "http://test.invalid/mcp", Transport: direct{http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					<-r.Context().Done()
					return
				}
				w.Header().Set("Mcp-Session-Id", "1")
				script.ServeHTTP(w, r)
			},
		)}}}
		for _, wait := range []time.Duration{time.Hour, time.Second} {
			c, err := client.Open(t.Context(), []client.Spec{spec}, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r := c.Discover(t.Context()).Results[0]; r.Err != nil {
				t.Fatal(r.Err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			start := time.Now()
			err = c.Close(ctx)
			cancel()
			if took := time.Since(start); took != min(wait, 2*time.Second) {
				t.Errorf("took %v", took)
			}
			if errors.Is(err, context.DeadlineExceeded) != (wait == time.Second) {
				t.Errorf("error is %v", err)
			}
		}
	})
}

func TestDiscoverSeveral(t *testing.T) {
	up := serve(t, mcptest.Modern(mcptest.Tool("a")))
	down := serve(t, status(500))
	z, a, m := httpSpec(up), httpSpec(down), httpSpec(up)
	z.Name, a.Name, m.Name = "z", "a", "m"
	var told []string
	c := open(t, client.Options{OnResult: func(r client.ServerResult) { told = append(told, r.Name) }}, z, a, m)
	d := c.Discover(t.Context())
	var names []string
	for _, r := range d.Results {
		names = append(names, r.Name)
	}
	if want := []string{"z", "a", "m"}; !slices.Equal(names, want) || !slices.Equal(c.Names(), want) {
		t.Errorf("results are of %v, names are %v", names, c.Names())
	}
	slices.Sort(told)
	if !slices.Equal(told, []string{"a", "m", "z"}) {
		t.Errorf("told of %v", told)
	}
	if errs := d.Errs(); len(errs) != 1 || errs[0] != d.Results[1].Err {
		t.Errorf("errors are %v", errs)
	}
	names = nil
	for _, s := range d.Catalog().Servers {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"m", "z"}) {
		t.Errorf("catalogue is of %v", names)
	}
}

func TestInvalidHeaderAnnotationStays(t *testing.T) {
	var log logBuffer
	bad := `{"name":"bad","inputSchema":{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}}`
	c := open(t, client.Options{Logger: log.logger()}, httpSpec(serve(t, mcptest.Modern(bad, mcptest.Tool("good")))))
	r := c.Discover(t.Context()).Results[0]
	if toolNames(r) != "bad good" || r.Server.Tools[0].Problem == "" || r.Server.Tools[1].Problem != "" {
		t.Errorf("tools are %+v, error %v", r.Server.Tools, r.Err)
	}
	if !strings.Contains(log.String(), `"reason":"x-mcp-header at `) || !strings.Contains(log.String(), `"tool":"bad"`) {
		t.Errorf("log is %s", log.String())
	}
}

// The handle lists tools for the generated clients' Check, exactly and decoded.
func TestListOfAHandle(t *testing.T) {
	const exact = `{"name":"exact","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993}}}}`
	bad := `{"name":"bad","inputSchema":{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}}`
	c := open(t, client.Options{}, httpSpec(serve(t, mcptest.Modern(exact, bad))))
	raws, err := c.Server("srv").ListRawTools(t.Context())
	if err != nil || len(raws) != 2 || string(raws[0]) != bad || string(raws[1]) != exact {
		t.Errorf("raw tools are %s, error %v", raws, err)
	}
	result, err := c.Server("srv").ListTools(t.Context(), nil)
	if err != nil || len(result.Tools) != 1 || result.Tools[0].Name != "exact" {
		t.Errorf("tools are %v, error %v", result, err)
	}
	if _, err := c.Server("none").ListTools(t.Context(), nil); !errors.Is(err, client.ErrUnknownServer) {
		t.Errorf("error of an unknown server is %v", err)
	}
	if _, err := c.Server("none").ListRawTools(t.Context()); !errors.Is(err, client.ErrUnknownServer) {
		t.Errorf("error of an unknown server is %v", err)
	}
}
