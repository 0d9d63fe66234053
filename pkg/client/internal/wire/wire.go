// Package wire speaks JSON-RPC 2.0 with one MCP server, over the transports of
// the protocol: the standard streams of a child process, streamable HTTP of
// both eras, and HTTP with SSE. A result is the bytes that the server sent.
//
// It knows frames, streams, sessions and cancellation, and nothing of tools:
// what a method means is for the caller. What comes in is bounded in size, and
// no error has words of a response body in it other than those of a JSON-RPC
// error.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Conn is an open connection to a server. It is safe for concurrent use.
type Conn interface {
	// Call sends a request and waits for its result, which is valid JSON. When
	// ctx ends first the server is told, in the way of the transport and the
	// revision, and the error is that of ctx. An error response is a
	// [*jsonrpc.Error], inside an [*HTTPError] where HTTP said so too.
	Call(ctx context.Context, req Request) (json.RawMessage, error)
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// SetRevision says which revision was agreed on. It is called once, before
	// other requests are made.
	SetRevision(revision string)
	// Listen asks for messages that belong to no request, where a transport
	// has them on a stream of their own (streamable HTTP before 2026-07-28).
	// The channel is closed when the stream is open, or known not to be: what
	// a server sends before that may be lost. Calling it again does nothing.
	Listen() <-chan struct{}
	// Done is closed when the connection is of no more use; Err says why.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection and whatever is under way on it, and returns
	// when nothing of it is left. It is polite for as long as ctx allows, and
	// waits no longer for a handler that does not come back.
	Close(ctx context.Context)
}

// Request is a request to a server.
type Request struct {
	// ID identifies the request on its connection; positive, and never used
	// twice.
	ID     int64
	Method string
	// Params is a JSON object.
	Params json.RawMessage
	// Name is the name or URI that HTTP carries in Mcp-Name, Header the
	// parameters it carries in Mcp-Param-* (specification 2026-07-28,
	// streamable HTTP, request metadata).
	Name   string
	Header http.Header
	// Revision is what MCP-Protocol-Version says for a request that is sent
	// before [Conn.SetRevision].
	Revision string
}

// Patience is how long somebody goes on waiting, which may change on the way.
type Patience interface{ Left() time.Duration }

type patienceKey struct{}

// WithPatience returns a context for requests of somebody who waits that long:
// a server that asks to be left alone for longer makes them fail at once.
func WithPatience(ctx context.Context, p Patience) context.Context {
	return context.WithValue(ctx, patienceKey{}, p)
}

// Left returns how long there is time for what has a context.
func Left(ctx context.Context) time.Duration {
	if p, ok := ctx.Value(patienceKey{}).(Patience); ok {
		return p.Left()
	}
	return math.MaxInt64
}

// Notification is a message of a server that wants no answer.
type Notification struct {
	Method string
	Params json.RawMessage // valid JSON, or nil
	// Request is the id of the request on whose stream the notification came,
	// zero where the transport does not tell.
	Request int64
}

// Handler takes what a server sends by itself. Both functions are called from
// several goroutines. Nil ones ignore and refuse.
type Handler struct {
	// Notification takes a notification and must not block: those of one
	// stream come in order, and what follows waits.
	Notification func(Notification)
	// Request answers a request, as servers before 2026-07-28 make them, on a
	// goroutine of its own. An error that is a [*jsonrpc.Error] is sent as it
	// is, any other as an internal error without its text.
	Request func(ctx context.Context, method string, params json.RawMessage) (result any, err error)
}

// firstModern is the first revision without sessions (specification
// 2026-07-28, versioning). Revisions are dates and compare as text.
const firstModern = "2026-07-28"

// Errors of connections.
var (
	// ErrClosed says that the connection was closed by its owner.
	ErrClosed = errors.New("connection closed")
	// ErrSessionExpired says that the server has forgotten the session
	// (specification 2025-11-25, streamable HTTP, session management). The
	// request was not carried out.
	ErrSessionExpired = errors.New("the session has expired")
	// ErrNoResponse says that a stream or a body ended without the response.
	ErrNoResponse = errors.New("the connection ended before the response")
	// ErrForeignEndpoint says that a server of the older SSE transport wants
	// messages to be sent to another origin than the one it was configured
	// with.
	ErrForeignEndpoint = errors.New("the server names an endpoint on another origin")
	// ErrNoStream says that a GET did not open an event stream.
	ErrNoStream = errors.New("no event stream")
)

// HTTPError is a failed exchange over HTTP that had a response.
type HTTPError struct {
	// Status is the status code, Media the media type of the body.
	Status int
	Media  string
	// Challenges are the values of WWW-Authenticate.
	Challenges []string
	// RetryAfter is what the server said about when to come back; zero if
	// nothing.
	RetryAfter time.Duration
	// Err is a [*jsonrpc.Error] if the body was one, or says what was wrong
	// with it; nil if the status is all there is.
	Err error
}

func (e *HTTPError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("HTTP %d: %v", e.Status, e.Err)
	}
	return fmt.Sprintf("HTTP %d", e.Status)
}

// Unwrap returns Err.
func (e *HTTPError) Unwrap() error { return e.Err }

// TransportError is an exchange over HTTP that had no response, or whose
// response broke off.
type TransportError struct{ Err error }

func (e *TransportError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *TransportError) Unwrap() error { return e.Err }

// ProtocolError is something that a server must not send. Its text has no
// words of the server.
type ProtocolError struct{ Reason string }

func (e *ProtocolError) Error() string { return e.Reason }

// errUndecodable says that something is meant as a message and is none.
var errUndecodable = &ProtocolError{"a message that cannot be decoded"}

// cancelGrace bounds how long telling a server about a cancelled request may
// take.
const cancelGrace = 2 * time.Second

// callError returns the error of a JSON-RPC error response.
func callError(raw json.RawMessage) error {
	rpc := new(jsonrpc.Error)
	if json.Unmarshal(raw, rpc) != nil {
		return errUndecodable
	}
	return rpc
}
