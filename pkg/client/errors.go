package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Errors that callers tell apart with [errors.Is]. Each comes wrapped in a
// [*ServerError].
var (
	// ErrAuthRequired says that the server wants a login, or one with more
	// rights: HTTP 401, or 403 with insufficient_scope (RFC 6750, section 3.1).
	ErrAuthRequired = errors.New("login needed")
	// ErrRevisionNotOffered says that the server does not speak the revision
	// that was asked for, or none that this client knows.
	ErrRevisionNotOffered = errors.New("protocol revision not offered")
	// ErrInputRequired says that a server answered a call with a question.
	ErrInputRequired = errors.New("the server asks for input")
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("client closed")
	// ErrUnknownServer says that the client has no server of that name.
	ErrUnknownServer = errors.New("no such server")
)

// Class is the kind of a failure. It says nothing that the server said.
type Class string

// The classes of failures.
const (
	ClassNotFound  Class = "command-not-found" // there is no such command
	ClassSpawn     Class = "spawn"             // the command cannot be started
	ClassExited    Class = "exited"            // the server's process ended
	ClassDNS       Class = "dns"               // the host has no address
	ClassRefused   Class = "refused"           // nothing listens there
	ClassTLS       Class = "tls"               // certificate or handshake
	ClassNetwork   Class = "network"           // the connection broke, or was never made
	ClassRedirect  Class = "redirect"          // one that cannot be followed
	ClassBlocked   Class = "blocked"           // not among the allowed hosts
	ClassHTTP      Class = "http"              // HTTP status of a failure
	ClassAuth      Class = "auth"              // ErrAuthRequired
	ClassTimeout   Class = "timeout"           // a deadline passed
	ClassCancelled Class = "cancelled"         // the caller's context was cancelled
	ClassProtocol  Class = "protocol"          // rubbish, a JSON-RPC error, something oversized
	ClassRevision  Class = "revision"          // ErrRevisionNotOffered
	ClassInput     Class = "input-required"    // ErrInputRequired
	ClassClosed    Class = "closed"            // ErrClosed
	ClassUnknown   Class = "unknown-server"    // ErrUnknownServer
)

// ServerError is how an operation on a server failed. All text in it is free
// of the secrets of the server's [Spec].
type ServerError struct {
	// Server is the name of the server, Op what was attempted: "connect", or
	// a method of the protocol such as "tools/list".
	Server, Op string
	Class      Class
	// HTTPStatus is the status of the response that failed, Code the code of
	// the JSON-RPC error; zero where there was none.
	HTTPStatus int
	Code       int64
	// Stderr are the last lines that the server wrote to its standard error
	// before the connection failed. They are the server's own words.
	Stderr string
	// Err is the cause, for errors.Is and for errors.As to a *jsonrpc.Error.
	Err error

	summary string // the class in words
	detail  string // more, in words that may be the server's
}

// Error returns one line: server, operation, class and detail. The detail may
// hold words of the server, such as the message of a JSON-RPC error, but never
// a response body. [ServerError.Summary] has none.
func (e *ServerError) Error() string {
	parts := []string{e.Server}
	if e.Op != opConnect {
		parts = append(parts, e.Op)
	}
	parts = append(parts, e.summary)
	if e.detail != "" {
		parts = append(parts, e.detail)
	}
	return strings.Join(parts, ": ")
}

// Summary returns the class in a few words, such as "connection refused",
// "HTTP 403", "exited with status 1", "timed out after 5s" or "login needed".
// It holds nothing that the server chose, so it may be shown anywhere.
func (e *ServerError) Summary() string { return e.summary }

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

const opConnect = "connect"

// cause stands for an error whose text must not leave the package: it can be
// compared, and shows a JSON-RPC error without secrets.
type cause struct {
	err  error
	text string
	rpc  *jsonrpc.Error
}

func (c *cause) Error() string        { return c.text }
func (c *cause) Is(target error) bool { return errors.Is(c.err, target) }

func (c *cause) Unwrap() error {
	if c.rpc == nil {
		return nil
	}
	return c.rpc
}

// timeoutError is the cause of a context whose deadline is ours.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string        { return fmt.Sprintf("timed out after %s", e.after) }
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
func (e timeoutError) Timeout() bool        { return true }

// commandError says that a process could not be started.
type commandError struct {
	class   Class
	summary string
	err     error
}

func (e *commandError) Error() string { return e.summary }
func (e *commandError) Unwrap() error { return e.err }

// exitError says how a process ended.
type exitError struct{ summary string }

func (e *exitError) Error() string { return e.summary }

// failure turns what went wrong in an operation of s into a [*ServerError], by
// the most telling evidence: what the SDK returns says little. ctx is the
// operation's own, ex what passed the wire and proc the child process; both
// may be nil.
func (s *Server) failure(ctx context.Context, op string, err error, ex *exchange, proc *process) *ServerError {
	if known, ok := errors.AsType[*ServerError](err); ok {
		return known
	}
	e := &ServerError{Server: s.spec.Name, Op: op}
	e.classify(ctx, err, ex, proc)
	e.detail = clean(s.secrets.String(e.detail), maxDetail)
	c := &cause{err: e.Err, text: e.summary}
	if e.detail != "" {
		c.text += ": " + e.detail
	}
	if rpc := rpcError(e.Err); rpc != nil {
		e.Code = rpc.Code
		c.rpc = &jsonrpc.Error{Code: rpc.Code, Message: s.secrets.String(rpc.Message)}
		if rpc.Data != nil {
			c.rpc.Data = json.RawMessage(s.secrets.String(string(rpc.Data)))
		}
	}
	e.Err = c
	if proc != nil && (op == opConnect || e.Class == ClassExited) {
		e.Stderr = proc.stderr.String()
	}
	return e
}

func (e *ServerError) classify(ctx context.Context, err error, ex *exchange, proc *process) {
	set := func(class Class, summary, detail string, cause error) {
		e.Class, e.summary, e.detail, e.Err = class, summary, detail, cause
	}
	var wire error
	login := false
	if ex != nil {
		if e.HTTPStatus, wire = ex.outcome(); wire != nil {
			err = wire
		}
		login = ex.needsLogin()
	}
	start, notStarted := errors.AsType[*commandError](err)
	broken, isBroken := errors.AsType[*protocolError](err)
	large, isLarge := errors.AsType[*netpolicy.TooLargeError](err)
	rpc := rpcError(err)
	switch {
	case notStarted:
		set(start.class, start.summary, "", err)
	case login:
		set(ClassAuth, ErrAuthRequired.Error(), "", ErrAuthRequired)
	case isBroken:
		set(ClassProtocol, broken.summary, "", err)
	case isLarge:
		set(ClassProtocol, large.Error(), "", err)
	case ctx.Err() != nil:
		set(classifyEnd(ctx))
	case errors.Is(err, ErrRevisionNotOffered):
		set(ClassRevision, ErrRevisionNotOffered.Error(), "", err)
	case e.HTTPStatus == http.StatusForbidden, e.HTTPStatus >= 400 && rpc == nil:
		set(ClassHTTP, fmt.Sprintf("HTTP %d", e.HTTPStatus), strings.ToLower(http.StatusText(e.HTTPStatus)), err)
	case rpc != nil:
		set(ClassProtocol, fmt.Sprintf("JSON-RPC error %d", rpc.Code), rpc.Message, err)
	default:
		set(classifyRest(err, proc))
		if ex != nil && e.Class == ClassProtocol && ex.foreign() != "" {
			e.detail = "the response is " + ex.foreign()
		}
		if wire != nil && e.Class == ClassProtocol {
			set(ClassNetwork, "connection failed", err.Error(), err)
		}
	}
}

// rpcError returns the JSON-RPC error that a server sent. The SDK uses the
// same type, with codes that JSON-RPC leaves to implementations, for errors of
// its own.
func rpcError(err error) *jsonrpc.Error {
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || rpc.Code == sdkRejected && rpc.Message == "rejected by transport" {
		return nil
	}
	return rpc
}

const sdkRejected = -32005

// classifyEnd says why a context has ended.
func classifyEnd(ctx context.Context) (class Class, summary, detail string, cause error) {
	why := context.Cause(ctx)
	if errors.Is(why, ErrClosed) {
		return ClassClosed, ErrClosed.Error(), "", why
	}
	if ours, ok := errors.AsType[timeoutError](why); ok {
		return ClassTimeout, ours.Error(), "", why
	}
	cause = errors.Join(ctx.Err(), why)
	if errors.Is(cause, context.DeadlineExceeded) {
		return ClassTimeout, "timed out", "", cause
	}
	return ClassCancelled, "cancelled", "", cause
}

// classifyRest classifies an error that no response and no deadline explains.
func classifyRest(err error, proc *process) (class Class, summary, detail string, cause error) {
	for _, known := range []struct {
		err   error
		class Class
	}{
		{ErrClosed, ClassClosed},
		{ErrUnknownServer, ClassUnknown},
		{ErrInputRequired, ClassInput},
	} {
		if errors.Is(err, known.err) {
			return known.class, known.err.Error(), "", err
		}
	}
	if errors.Is(err, netpolicy.ErrRedirect) {
		return ClassRedirect, netpolicy.ErrRedirect.Error(), "", err
	}
	if class, summary, detail := classifyNetwork(err); class != "" {
		return class, summary, detail, err
	}
	if proc != nil {
		if exit := proc.exitError(); exit != nil {
			return ClassExited, exit.summary, "", errors.Join(exit, err)
		}
	}
	if strings.Contains(err.Error(), "unsupported protocol version") {
		// The SDK's type for this is not exported.
		return ClassRevision, ErrRevisionNotOffered.Error(), "", ErrRevisionNotOffered
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return ClassProtocol, "the server closed the connection", "", err
	}
	return ClassProtocol, "no valid answer", "", err
}

// protocolError is something that a server must not send.
type protocolError struct {
	summary string // in our words alone
}

func (e *protocolError) Error() string { return e.summary }

func protocolErrorf(format string, args ...any) error {
	return &protocolError{fmt.Sprintf(format, args...)}
}

// classifyNetwork recognises what [http.Transport] returns when there is no
// response. The class is empty for anything else.
func classifyNetwork(err error) (class Class, summary, detail string) {
	// The text of a url.Error repeats the URL with its query.
	inner := err
	if u, ok := errors.AsType[*url.Error](err); ok {
		inner = u.Err
	}
	if blocked, ok := errors.AsType[*netpolicy.BlockedHostError](err); ok {
		return ClassBlocked, "host not allowed", blocked.Error()
	}
	if errors.Is(err, errForeignEndpoint) {
		return ClassBlocked, "host not allowed", errForeignEndpoint.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return ClassDNS, "host not found", dns.Err
	}
	if isRefused(err) {
		return ClassRefused, "connection refused", ""
	}
	if isTLS(err) {
		return ClassTLS, "TLS error", inner.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return ClassNetwork, "connection failed", op.Err.Error()
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return ClassNetwork, "connection failed", inner.Error()
	}
	return "", "", ""
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	return errors.Is(err, http.ErrSchemeMismatch) || strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "TLS handshake")
}

// maxDetail bounds, in bytes, what a server can put into an error.
const maxDetail = 300

// clean makes foreign text fit for one line of a terminal.
func clean(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s))
}
