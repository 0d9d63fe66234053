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
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
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
	// ErrNotSupported says that the server does not have what was asked of
	// it, or that the negotiated revision does not; the text names that.
	ErrNotSupported = errors.New("not supported")
	// ErrInputRequired says that a server answered with a question and that
	// nobody is there to answer it. [InputRequiredError] has the question,
	// unless the server refused the request because it may not even ask.
	ErrInputRequired = errors.New("the server asks for input")
	// ErrNotApproved says that [Handlers.Approve] refused a call, which was
	// not sent.
	ErrNotApproved = errors.New("the call was not approved")
	// ErrInvalidArguments says that arguments fail the input schema of a tool,
	// which was not called.
	ErrInvalidArguments = errors.New("the arguments are not valid")
	// ErrInvalidResult says that a structured result fails the output schema.
	// [ResultError] has the result.
	ErrInvalidResult = errors.New("the result is not valid")
	// ErrToolFailed says that a tool reported a failure in its result.
	// [ToolError] has the result.
	ErrToolFailed = errors.New("the tool failed")
	// ErrUnknownTool says that the server lists no such tool.
	ErrUnknownTool = errors.New("no such tool")
	// ErrSessionExpired says that a server has forgotten the session of an
	// older revision. The request was not carried out.
	ErrSessionExpired = wire.ErrSessionExpired
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
	ClassSupport   Class = "not-supported"     // ErrNotSupported
	ClassInput     Class = "input-required"    // ErrInputRequired
	ClassApproval  Class = "not-approved"      // ErrNotApproved
	ClassArguments Class = "invalid-arguments" // ErrInvalidArguments
	ClassBudget    Class = "schema-budget"     // ErrSchemaBudget
	ClassResult    Class = "invalid-result"    // ErrInvalidResult
	ClassTool      Class = "tool-error"        // ErrToolFailed
	ClassNoTool    Class = "unknown-tool"      // ErrUnknownTool
	ClassExpired   Class = "session-expired"   // ErrSessionExpired
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
	// RetryAfter is how long the server asked to be left alone; zero if it
	// did not.
	RetryAfter time.Duration
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
// compared, and shows what in it is free of secrets.
type cause struct {
	err   error
	text  string
	shown error // a *jsonrpc.Error or an error of this package, or nil
}

func (c *cause) Error() string        { return c.text }
func (c *cause) Is(target error) bool { return errors.Is(c.err, target) }
func (c *cause) Unwrap() error        { return c.shown }

// kindError is an error of this package that belongs in a [*ServerError].
type kindError interface {
	error
	kind() (class Class, is error)
}

// timeoutError is the cause of a context whose deadline is ours.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string        { return fmt.Sprintf("timed out after %s", e.after) }
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
func (e timeoutError) Timeout() bool        { return true }

// failure turns what went wrong in an operation of s into a [*ServerError].
// ctx is the operation's own; proc is the child process, or nil.
func (s *Server) failure(ctx context.Context, op string, err error, proc *wire.Stdio) *ServerError {
	if known, ok := errors.AsType[*ServerError](err); ok {
		return known
	}
	e := &ServerError{Server: s.spec.Name, Op: op}
	e.classify(ctx, err, proc)
	e.detail = wire.OneLine(s.secrets.String(e.detail), maxDetail)
	c := &cause{err: e.Err, text: e.summary}
	if e.detail != "" {
		c.text += ": " + e.detail
	}
	if ours, ok := errors.AsType[kindError](e.Err); ok {
		c.shown = ours
	} else if rpc, ok := errors.AsType[*jsonrpc.Error](e.Err); ok {
		e.Code = rpc.Code
		shown := &jsonrpc.Error{Code: rpc.Code, Message: s.secrets.String(rpc.Message)}
		if rpc.Data != nil {
			shown.Data = json.RawMessage(s.secrets.String(string(rpc.Data)))
		}
		c.shown = shown
	}
	e.Err = c
	if proc != nil && (op == opConnect || e.Class == ClassExited) {
		e.Stderr = proc.Stderr()
	}
	return e
}

func (e *ServerError) classify(ctx context.Context, err error, proc *wire.Stdio) {
	set := func(class Class, summary, detail string, cause error) {
		e.Class, e.summary, e.detail, e.Err = class, summary, detail, cause
	}
	failed, hasStatus := errors.AsType[*wire.HTTPError](err)
	if hasStatus {
		e.HTTPStatus, e.RetryAfter = failed.Status, failed.RetryAfter
	}
	command, notStarted := errors.AsType[*wire.CommandError](err)
	broken, isBroken := errors.AsType[*wire.ProtocolError](err)
	large, isLarge := errors.AsType[*netpolicy.TooLargeError](err)
	rpc, isRPC := errors.AsType[*jsonrpc.Error](err)
	ours, isOurs := errors.AsType[kindError](err)
	switch {
	case isOurs:
		class, is := ours.kind()
		set(class, is.Error(), ours.Error(), errors.Join(ours, is))
	case notStarted && errors.Is(err, wire.ErrCommandNotFound):
		set(ClassNotFound, command.Reason, "", err)
	case notStarted:
		set(ClassSpawn, command.Reason, "", err)
	case hasStatus && needsLogin(failed):
		set(ClassAuth, ErrAuthRequired.Error(), "", ErrAuthRequired)
	case errors.Is(err, ErrSessionExpired):
		set(ClassExpired, ErrSessionExpired.Error(), "", err)
	case isLarge:
		set(ClassProtocol, large.Error(), "", err)
	case isBroken:
		set(ClassProtocol, broken.Reason, "", err)
		if hasStatus && failed.Media != "" && failed.Media != "application/json" && failed.Media != "text/event-stream" {
			e.summary, e.detail = "no valid answer", "the response is "+failed.Media
		}
	case ctx.Err() != nil:
		set(classifyEnd(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		set(classifyTimeout(err))
	case errors.Is(err, ErrRevisionNotOffered):
		set(ClassRevision, ErrRevisionNotOffered.Error(), "", err)
	case hasStatus && failed.Status == http.StatusForbidden, hasStatus && failed.Status >= 400 && !isRPC:
		set(ClassHTTP, fmt.Sprintf("HTTP %d", failed.Status), strings.ToLower(http.StatusText(failed.Status))+comeBack(failed.RetryAfter), err)
	case isRPC && wantsInput(rpc) != "":
		set(ClassInput, ErrInputRequired.Error(), wantsInput(rpc)+": "+rpc.Message, errors.Join(ErrInputRequired, err))
	case isRPC:
		// Errors of the TypeScript SDK repeat their code in the message.
		detail := strings.TrimPrefix(rpc.Message, fmt.Sprintf("MCP error %d: ", rpc.Code))
		set(ClassProtocol, fmt.Sprintf("JSON-RPC error %d", rpc.Code), detail, err)
		if hasStatus {
			e.summary += fmt.Sprintf(" (HTTP %d)", failed.Status)
		}
	default:
		set(classifyRest(err, proc))
	}
}

// wantsInput says what a server would ask that refuses a request because this
// client answers no such thing; empty if that is not why (specification
// 2026-07-28, MissingRequiredClientCapabilityError).
func wantsInput(rpc *jsonrpc.Error) string {
	if rpc.Code != mcp.CodeMissingRequiredClientCapabilities {
		return ""
	}
	var data struct {
		Required struct {
			Elicitation map[string]json.RawMessage `json:"elicitation"`
		} `json:"requiredCapabilities"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil || data.Required.Elicitation == nil {
		return ""
	}
	_, form := data.Required.Elicitation["form"]
	_, page := data.Required.Elicitation["url"]
	switch {
	case form && page:
		return "a form and a page to visit"
	case page:
		return "a page to visit"
	}
	return "a form"
}

// needsLogin reports whether a response asks for a login, or for one with more
// rights (RFC 6750, section 3.1).
func needsLogin(failed *wire.HTTPError) bool {
	switch failed.Status {
	case http.StatusUnauthorized:
		return true
	case http.StatusForbidden:
		return slices.ContainsFunc(failed.Challenges, func(challenge string) bool {
			return strings.Contains(challenge, "insufficient_scope")
		})
	}
	return false
}

// comeBack says when a server wants to be asked again, if it did.
func comeBack(after time.Duration) string {
	if after == 0 {
		return ""
	}
	return ", come back in " + after.Round(time.Second).String()
}

// classifyEnd says why a context has ended.
func classifyEnd(ctx context.Context) (class Class, summary, detail string, cause error) {
	why := context.Cause(ctx)
	if errors.Is(why, ErrClosed) {
		return ClassClosed, ErrClosed.Error(), "", why
	}
	cause = errors.Join(ctx.Err(), why)
	if errors.Is(cause, context.DeadlineExceeded) {
		return classifyTimeout(cause)
	}
	return ClassCancelled, "cancelled", "", cause
}

func classifyTimeout(err error) (class Class, summary, detail string, cause error) {
	if ours, ok := errors.AsType[timeoutError](err); ok {
		return ClassTimeout, ours.Error(), "", ours
	}
	return ClassTimeout, "timed out", "", err
}

// classifyRest classifies an error that no response and no deadline explains.
func classifyRest(err error, proc *wire.Stdio) (class Class, summary, detail string, cause error) {
	for _, known := range []struct {
		err   error
		class Class
	}{
		{ErrClosed, ClassClosed},
		{ErrUnknownServer, ClassUnknown},
		{ErrNotApproved, ClassApproval},
		{ErrToolFailed, ClassTool},
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
		if exit := proc.Exit(); exit != nil {
			return ClassExited, exit.Error(), "", errors.Join(exit, err)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, wire.ErrClosed) || errors.Is(err, wire.ErrNoResponse) {
		return ClassProtocol, "the server closed the connection", "", err
	}
	return ClassProtocol, "no valid answer", "", err
}

func protocolErrorf(format string, args ...any) error {
	return &wire.ProtocolError{Reason: fmt.Sprintf(format, args...)}
}

// classifyNetwork recognises what [http.Transport] returns when there is no
// response. The class is empty for anything else.
func classifyNetwork(err error) (class Class, summary, detail string) {
	if errors.Is(err, wire.ErrNoResponse) {
		return "", "", ""
	}
	// The text of a url.Error, which a caller's transport may return, repeats
	// the URL with its query.
	inner := err
	if u, ok := errors.AsType[*url.Error](err); ok {
		inner = u.Err
	}
	if blocked, ok := errors.AsType[*netpolicy.BlockedHostError](err); ok {
		return ClassBlocked, "host not allowed", blocked.Error()
	}
	if errors.Is(err, wire.ErrForeignEndpoint) {
		return ClassBlocked, "host not allowed", wire.ErrForeignEndpoint.Error()
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
	if _, ok := errors.AsType[*wire.TransportError](err); ok {
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
