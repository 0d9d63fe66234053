package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exchange is what passed the wire for one request: the SDK decodes results
// into Go values that forget the order of members and large numbers, and turns
// HTTP statuses into text. It travels in the context of the request.
type exchange struct {
	keep bool // whether the result is wanted

	mu        sync.Mutex
	result    json.RawMessage
	status    int
	media     string   // of the response
	challenge []string // WWW-Authenticate
	code      int64    // of a JSON-RPC error in a failed HTTP response
	err       error
	forget    func()
}

type exchangeKey struct{}

// withExchange returns a context whose request is recorded. The caller calls
// done when the request has ended.
func withExchange(ctx context.Context, keep bool) (context.Context, *exchange) {
	ex := &exchange{keep: keep}
	return context.WithValue(ctx, exchangeKey{}, ex), ex
}

func exchangeOf(ctx context.Context) *exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	return ex
}

func (ex *exchange) done() {
	ex.mu.Lock()
	forget := ex.forget
	ex.forget = nil
	ex.mu.Unlock()
	if forget != nil {
		forget()
	}
}

// onDone sets what done does.
func (ex *exchange) onDone(forget func()) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.forget = forget
}

// setResult keeps a result, which must be valid JSON.
func (ex *exchange) setResult(raw json.RawMessage) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.result = raw
}

// setMessage takes the text of a JSON-RPC message and keeps its result if it
// is the response to id. One that has an error as well has failed.
func (ex *exchange) setMessage(raw []byte, id string) {
	members, err := schemadoc.Split(raw)
	if err != nil {
		return
	}
	var result json.RawMessage
	match := false
	for _, m := range members {
		switch m.Name {
		case "id":
			match = string(m.Raw) == id
		case "result":
			result = m.Raw
		case "error":
			if string(m.Raw) != "null" {
				return
			}
		case "method":
			return
		}
	}
	if match && result != nil {
		ex.setResult(result)
	}
}

func (ex *exchange) setResponse(resp *http.Response, media string) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.status, ex.challenge, ex.err = resp.StatusCode, resp.Header.Values("WWW-Authenticate"), nil
	ex.media, ex.code = media, 0
}

func (ex *exchange) setErrorBody(body []byte) {
	msg, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return
	}
	resp, ok := msg.(*jsonrpc.Response)
	if !ok || resp.Error == nil {
		return
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](resp.Error); ok {
		ex.mu.Lock()
		defer ex.mu.Unlock()
		ex.code = rpc.Code
	}
}

func (ex *exchange) fail(err error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.err = err
}

// raw returns the result as it came, nil if none did. It is valid JSON.
func (ex *exchange) raw() json.RawMessage {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.result
}

// outcome returns the HTTP status, zero without a response, and the error of
// the transport.
func (ex *exchange) outcome() (status int, err error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.status, ex.err
}

// needsLogin reports whether the response asks for a login, or for one with
// more rights (RFC 6750, section 3.1).
func (ex *exchange) needsLogin() bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	switch ex.status {
	case http.StatusUnauthorized:
		return true
	case http.StatusForbidden:
		for _, challenge := range ex.challenge {
			if strings.Contains(challenge, "insufficient_scope") {
				return true
			}
		}
	}
	return false
}

// foreign returns the media type of a response that is none of the protocol's,
// else "".
func (ex *exchange) foreign() string {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.media == "application/json" || ex.media == "text/event-stream" {
		return ""
	}
	return ex.media
}

// ends reports whether the SDK gives up a session after the response: for
// client errors, except where they say to slow down or carry a JSON-RPC error.
func (ex *exchange) ends() bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.status >= 400 && ex.status < 500 && ex.status != http.StatusTooManyRequests && ex.code == 0
}

// noAnswer reports whether the request ended in a way that makes another
// attempt on the same host pointless: nothing was reached, or a login is
// needed.
func (ex *exchange) noAnswer() bool {
	status, err := ex.outcome()
	if status == 0 && err != nil {
		class, _, _ := classifyNetwork(err)
		return class != ""
	}
	return ex.needsLogin()
}

// member returns the value of a member of an object in valid JSON, nil if
// there is none.
func member(valid json.RawMessage, name string) json.RawMessage {
	return members(valid, name)[0]
}

// members is member for several names at once. Of several members with one
// name the last counts, as in encoding/json.
func members(valid json.RawMessage, names ...string) []json.RawMessage {
	values := make([]json.RawMessage, len(names))
	for _, m := range schemadoc.SplitValid(valid) {
		if i := slices.Index(names, m.Name); i >= 0 {
			values[i] = m.Raw
		}
	}
	return values
}

// oldSSE reports whether the response to a POST looks like one of a server
// that speaks HTTP with SSE only (specification 2026-07-28, streamable HTTP,
// backward compatibility).
func (ex *exchange) oldSSE() bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	switch ex.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	default:
		return false
	}
	switch ex.code {
	case jsonrpc.CodeMethodNotFound, mcp.CodeUnsupportedProtocolVersion, mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapabilities:
		return false
	}
	return true
}

// requestID returns the id of the JSON-RPC request in an HTTP request as it
// is spelled there, or "".
func requestID(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	// The SDK's ids are numbers and come before the parameters, so little is
	// read.
	dec := json.NewDecoder(body)
	dec.UseNumber()
	for name := ""; ; {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		switch token := token.(type) {
		case json.Delim:
			if name != "" {
				return ""
			}
		case json.Number:
			if name == "id" {
				return token.String()
			}
			name = ""
		case string:
			if name == "" {
				name = token
			} else {
				name = ""
			}
		default:
			name = ""
		}
	}
}
