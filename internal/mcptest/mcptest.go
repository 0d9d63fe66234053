// Package mcptest has MCP servers for tests: scripted ones that answer with
// exact bytes, over stdio and HTTP, and ones that misbehave on demand. It
// speaks the wire format itself, so that a test also sees what an SDK would
// hide.
package mcptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Script is a server that answers as it is told. Results are JSON texts and
// are sent as they are. It is safe for concurrent use.
type Script struct {
	// Discover is the result of server/discover; empty makes it a server
	// older than revision 2026-07-28, which does not know the method.
	Discover string
	// Initialize is the result of initialize; empty makes it a server that
	// does not know the method.
	Initialize string
	// List is the result of tools/list for a cursor, nil for the first page.
	List func(cursor *string) string
	// Call is the result of tools/call for the parameters. A text that starts
	// with "error:" is the message of a JSON-RPC error instead, or all of it
	// if that is an object.
	Call func(params json.RawMessage) string
	// Results are the results of further methods.
	Results map[string]string
	// Mute are methods that are never answered.
	Mute []string
	// Stream answers HTTP requests with an event stream.
	Stream bool
	// OnRequest sees every message.
	OnRequest func(method string)

	mu      sync.Mutex
	methods []string
}

// DiscoverResult is a result of server/discover with the tools capability.
const DiscoverResult = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
	`"instructions":"be kind","ttlMs":0,"cacheScope":"public",` +
	`"_meta":{"io.modelcontextprotocol/serverInfo":{"version":"1.0", "name":"script"}}}`

// InitializeResult is a result of initialize with the tools capability.
const InitializeResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
	`"instructions":"be kind","serverInfo":{"version":"1.0", "name":"script"}}`

// Modern returns a server of revision 2026-07-28 with one page of tools.
func Modern(tools ...string) *Script {
	return &Script{Discover: DiscoverResult, List: Page(tools...)}
}

// Legacy returns a server of revision 2025-11-25 with one page of tools.
func Legacy(tools ...string) *Script {
	return &Script{Initialize: InitializeResult, List: Page(tools...)}
}

// Page returns a list of tools in one page.
func Page(tools ...string) func(*string) string {
	result := `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` + strings.Join(tools, ",") + `]}`
	return func(*string) string { return result }
}

// Tool returns a plain tool of that name.
func Tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"description":"a tool","inputSchema":{"type":"object"}}`, name)
}

// Methods returns the methods of the messages so far.
func (s *Script) Methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.methods...)
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Answer returns the answer to a message, nil for none.
func (s *Script) Answer(raw []byte) []byte {
	var m message
	if json.Unmarshal(raw, &m) != nil || m.Method == "" {
		return nil
	}
	s.mu.Lock()
	s.methods = append(s.methods, m.Method)
	s.mu.Unlock()
	if s.OnRequest != nil {
		s.OnRequest(m.Method)
	}
	if m.ID == nil {
		return nil
	}
	if slices.Contains(s.Mute, m.Method) {
		return nil
	}
	result := s.Results[m.Method]
	switch m.Method {
	case "server/discover":
		result = s.Discover
	case "initialize":
		result = s.Initialize
	case "tools/list":
		var p struct {
			Cursor *string `json:"cursor"`
		}
		_ = json.Unmarshal(m.Params, &p)
		if s.List != nil {
			result = s.List(p.Cursor)
		}
	case "tools/call":
		if s.Call != nil {
			result = s.Call(m.Params)
		}
	}
	if result == "" {
		return rpcError(m.ID, -32601, "no such method: "+m.Method)
	}
	if text, ok := strings.CutPrefix(result, "error:"); ok && strings.HasPrefix(text, "{") {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, text)
	} else if ok {
		if strings.HasPrefix(text, "{") {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, text)
		}
		return rpcError(m.ID, -32603, text)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func rpcError(id json.RawMessage, code int, text string) []byte {
	quoted, _ := json.Marshal(text)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted)
}

// Serve speaks newline-delimited JSON until r ends.
func (s *Script) Serve(r io.Reader, w io.Writer) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if answer := s.Answer(bytes.TrimSpace(line)); answer != nil {
			if _, err := w.Write(append(answer, '\n')); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// ServeHTTP answers a POST of streamable HTTP. Unanswered methods hang until
// the client goes away.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m message
	_ = json.Unmarshal(body, &m)
	answer := s.Answer(body)
	switch {
	case answer == nil && m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case answer == nil:
		<-r.Context().Done()
	case s.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	}
}

// OldSSE serves s over HTTP with SSE as revision 2024-11-05 describes it: a
// GET of any path opens the stream, whose first event names /message, and a
// POST to any other path is not found.
func (s *Script) OldSSE() http.Handler {
	streams := make(map[string]chan []byte)
	var mu sync.Mutex
	next := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			mu.Lock()
			next++
			id := strconv.Itoa(next)
			answers := make(chan []byte, 16)
			streams[id] = answers
			mu.Unlock()
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: /message?session=%s\n\n", id)
			_ = http.NewResponseController(w).Flush()
			for {
				select {
				case answer := <-answers:
					fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
					_ = http.NewResponseController(w).Flush()
				case <-r.Context().Done():
					return
				}
			}
		case r.Method == http.MethodPost && r.URL.Path == "/message":
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			answers := streams[r.URL.Query().Get("session")]
			mu.Unlock()
			if answers == nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusAccepted)
			if answer := s.Answer(body); answer != nil {
				answers <- answer
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
}
