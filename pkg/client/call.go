package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/content"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Call is a call of a tool.
type Call struct {
	// Server is the name of the server, which [Client.Call] needs, and Tool
	// that of the tool on it.
	Server, Tool string
	// Arguments are anything that encodes as a JSON object; nil is the empty
	// one. A [json.RawMessage] is sent as it is, but that line breaks are
	// spaces over stdio.
	Arguments any
	// Meta is added to the _meta of the request.
	Meta map[string]any
	// Timeout bounds the call, without the time that people take to answer;
	// zero means that of the server.
	Timeout time.Duration
	// Repeatable allows to send the call again, a few times and with growing
	// pauses, where the connection broke or the server was busy. Nothing else
	// does: that a server calls its tool idempotent does not count.
	Repeatable bool
	// OnProgress is told about the progress of this call, one after the other
	// and never after the call has returned. Setting it asks for progress.
	OnProgress func(Progress)
	// ProgressToken is sent instead of a token of the client's, for instance
	// the id of a run: a string or an integer, unique among the calls under
	// way.
	ProgressToken any
	// OnLog is told what the server logs during this call, in the same way.
	// Over stdio, and over HTTP with SSE, nothing tells to which of several
	// calls under way a message belongs, so each gets it.
	OnLog func(LogMessage)
	// LogLevel replaces [Spec.LogLevel] for the call, on servers that speak
	// 2026-07-28.
	LogLevel string
	// NoValidate turns off the checks of arguments and structured results
	// against the schemas of the tool.
	NoValidate bool
	// ToolErrors says what becomes of a result with IsError set.
	ToolErrors ToolErrors

	// definition is the tool, where the caller has it.
	definition *catalog.Tool
}

// ToolErrors says what becomes of results with IsError set.
type ToolErrors int

const (
	// ThrowToolErrors makes them a [*ToolError] beside the result.
	ThrowToolErrors ToolErrors = iota
	// ReturnToolErrors returns them as results.
	ReturnToolErrors
)

// Result is the result of a tool call.
type Result struct {
	// CallToolResult is the result as go-sdk has it, but that
	// StructuredContent is a [json.RawMessage] with the bytes that the server
	// sent, null included, or nil where it sent none, and that content of a
	// kind that go-sdk does not know is an [UnknownContent].
	*mcp.CallToolResult
	// Raw is the whole result as the server sent it.
	Raw json.RawMessage
}

// Call calls a tool of the server that the call names; see [Server.Call].
func (c *Client) Call(ctx context.Context, call Call) (*Result, error) {
	return c.Server(call.Server).Call(ctx, call)
}

const opCall = "tools/call"

// Call calls a tool. Arguments that fail the tool's input schema are not sent;
// a structured result that fails its output schema is an error that has the
// result. What the tool's schemas are is asked first, unless it is known.
//
// Questions of the server go to [Handlers.Input], each call to
// [Handlers.Approve]. Nothing is sent twice unless [Call.Repeatable] allows
// it; the exception is a request that a server refused for its headers before
// it looked at it (specification 2026-07-28, streamable HTTP, client
// behavior). When ctx ends the server is told to stop.
//
// Errors are [*ServerError] values.
func (s *Server) Call(ctx context.Context, call Call) (*Result, error) {
	ctx, op, err := s.begin(ctx, opCall, call.Timeout)
	if err != nil {
		return nil, err
	}
	defer op.end()
	if call.definition == nil {
		if call.definition, err = s.tool(ctx, call.Tool); err != nil {
			return nil, err
		}
	}
	result, err := s.call(ctx, op, call)
	if err != nil {
		return nil, err
	}
	if result.IsError {
		if call.ToolErrors == ReturnToolErrors {
			return result, nil
		}
		return result, s.failure(ctx, opCall, &ToolError{s.Name(), call.Tool, result, s.secrets}, nil)
	}
	if !call.NoValidate {
		if err := s.checkResult(call.definition, result); err != nil {
			return result, s.failure(ctx, opCall, err, nil)
		}
	}
	return result, nil
}

// CallTool calls a tool for generated code and for programs that know go-sdk:
// a result with IsError set is a result and not an error, and arguments and
// structured results are not checked, since generated code does that. It is
// [Server.Call] in everything else; params are not changed.
func (s *Server) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	call := Call{NoValidate: true}
	if params != nil {
		call.Tool, call.Arguments, call.Meta = params.Name, params.Arguments, params.Meta
	}
	ctx, op, err := s.begin(ctx, opCall, 0)
	if err != nil {
		return nil, err
	}
	defer op.end()
	if call.definition = s.lists.tool(call.Tool); call.definition == nil && s.handlers.Approve != nil {
		// The decision wants to know what the server says about the tool.
		if call.definition, err = s.tool(ctx, call.Tool); err != nil {
			return nil, err
		}
	}
	result, err := s.call(ctx, op, call)
	if err != nil {
		return nil, err
	}
	return result.CallToolResult, nil
}

// call makes the call itself, with all rounds of questions.
func (s *Server) call(ctx context.Context, op *operation, call Call) (*Result, error) {
	arguments, err := encodeArguments(call.Arguments)
	if err != nil {
		return nil, s.failure(ctx, opCall, &ArgumentError{s.Name(), call.Tool, err}, nil)
	}
	if call.definition != nil && !call.NoValidate {
		if err := s.checkArguments(call.definition, arguments); err != nil {
			return nil, s.failure(ctx, opCall, err, nil)
		}
		// What could not be checked afterwards is not called to begin with.
		if err := s.checkable(call.definition); err != nil {
			return nil, s.failure(ctx, opCall, err, nil)
		}
	}
	if err := s.approve(ctx, op, call, arguments); err != nil {
		return nil, s.failure(ctx, opCall, err, nil)
	}
	if call.Arguments = arguments; call.ProgressToken == nil && (call.OnProgress != nil || s.handlers.Progress != nil) {
		call.ProgressToken = rand.Text()
	}
	var raw json.RawMessage
	err = s.attempts(ctx, opCall, call.Repeatable, func(sess *session) error {
		var err error
		raw, err = sess.rounds(ctx, op, opCall, call.Tool, func(ctx context.Context, answers inputAnswers) (json.RawMessage, error) {
			return sess.callOnce(ctx, &call, arguments, answers)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	result, err := decodeResult(raw)
	if err != nil {
		return nil, s.failure(ctx, opCall, err, nil)
	}
	return &Result{result, raw}, nil
}

// encodeArguments returns arguments as a JSON object.
func encodeArguments(arguments any) (json.RawMessage, error) {
	raw, ok := arguments.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(arguments); err != nil {
			return nil, errors.New("they cannot be encoded as JSON")
		}
	}
	switch trimmed := bytes.TrimSpace(raw); {
	case len(raw) == 0, string(trimmed) == "null":
		return json.RawMessage("{}"), nil
	case ok && !json.Valid(raw):
		return nil, errors.New("not valid JSON")
	case trimmed[0] != '{':
		return nil, errors.New("they are no JSON object")
	}
	return raw, nil
}

// approve asks whether a call may be made.
func (s *Server) approve(ctx context.Context, op *operation, call Call, arguments json.RawMessage) error {
	if s.handlers.Approve == nil {
		return nil
	}
	approval := Approval{Server: s.Name(), Tool: call.Tool, Arguments: arguments}
	if call.definition != nil {
		approval.Annotations = annotations(call.definition)
	}
	resume := op.pause()
	ok, err := s.handlers.Approve(ctx, approval)
	resume()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &approvalError{err}
	case !ok:
		return ErrNotApproved
	}
	return nil
}

// approvalError is how [Handlers.Approve] failed. It is an [ErrNotApproved].
type approvalError struct{ err error }

func (e *approvalError) Error() string        { return e.err.Error() }
func (e *approvalError) Unwrap() error        { return e.err }
func (e *approvalError) kind() (Class, error) { return ClassApproval, ErrNotApproved }

// annotations returns what a server says about a tool, nil if nothing.
func annotations(t *catalog.Tool) *mcp.ToolAnnotations {
	raw := member(t.Raw, "annotations")
	if raw == nil {
		return nil
	}
	a := new(mcp.ToolAnnotations)
	if json.Unmarshal(raw, a) != nil {
		return nil
	}
	return a
}

// callOnce sends one round of a call.
func (s *session) callOnce(ctx context.Context, call *Call, arguments json.RawMessage, answers inputAnswers) (json.RawMessage, error) {
	raw, err := s.send(ctx, call, arguments, answers)
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || rpc.Code != mcp.CodeHeaderMismatch || !s.modern() {
		return raw, err
	}
	// The server wants parameters in headers that we did not know of.
	before := call.definition
	tool, listErr := s.server.refreshTool(ctx, s, call.Tool)
	if listErr != nil || tool == nil || before != nil && string(before.InputSchema) == string(tool.InputSchema) {
		return raw, err
	}
	call.definition = tool
	return s.send(ctx, call, arguments, answers)
}

func (s *session) send(ctx context.Context, call *Call, arguments json.RawMessage, answers inputAnswers) (json.RawMessage, error) {
	req := wire.Request{ID: s.nextID(), Method: opCall, Name: call.Tool}
	if call.definition != nil && s.modern() && s.stdio == nil {
		header, err := parameterHeaders(call.definition, arguments)
		if err != nil {
			return nil, &ArgumentError{s.server.Name(), call.Tool, err}
		}
		req.Header = header
	}
	meta := requestMeta{explicit: call.Meta, logLevel: call.LogLevel, progressToken: call.ProgressToken}
	if token, ok := call.Meta["progressToken"]; ok {
		meta.progressToken = token
	}
	if srv := s.server; call.OnLog != nil || srv.log.Enabled(ctx, slogLevel(srv.logLevel())) {
		s.setLogLevel(ctx)
	}
	if call.OnProgress != nil || call.OnLog != nil {
		token, err := json.Marshal(meta.progressToken)
		if err != nil {
			return nil, &ArgumentError{s.server.Name(), call.Tool, errors.New("the progress token cannot be encoded")}
		}
		in := newInbound(call.OnProgress, call.OnLog, string(token))
		s.watch(req.ID, in)
		defer func() { s.unwatch(req.ID, in) }()
	}
	return s.exchange(ctx, req, meta, call.Tool, func(p *params) {
		p.set("name", call.Tool).set("arguments", arguments)
		answers.add(p)
	})
}

// exchange completes a request with _meta and tracing, and sends it.
func (s *session) exchange(ctx context.Context, req wire.Request, meta requestMeta, target string, add func(*params)) (json.RawMessage, error) {
	if meta.logLevel == "" {
		meta.logLevel = s.server.logLevel()
	} else if meta.logLevel == logOff {
		meta.logLevel = ""
	}
	var end func(TraceContext, error)
	if trace := s.server.handlers.Trace; trace != nil {
		meta.trace, end = trace(ctx, Operation{s.server.Name(), req.Method, target})
	}
	p := s.params(meta)
	add(p)
	var raw json.RawMessage
	var err error
	if req.Params, err = p.done(); err != nil {
		err = protocolErrorf("the parameters cannot be encoded")
	} else {
		raw, err = s.request(ctx, req)
	}
	if end != nil {
		failed := err
		if string(member(raw, "isError")) == "true" {
			failed = ErrToolFailed
		}
		if failed != nil {
			failed = s.server.failure(ctx, req.Method, failed, s.stdio)
		}
		parts := members(member(raw, "_meta"), "traceparent", "tracestate", "baggage")
		end(TraceContext{text(parts[0]), text(parts[1]), text(parts[2])}, failed)
	}
	return raw, err
}

// UnknownContent is content of a kind that go-sdk does not know, or that does
// not have the shape of its kind. Raw is the content as the server sent it,
// Type what it says it is.
type UnknownContent = content.Unknown

// decodeResult reads a result of tools/call.
func decodeResult(raw json.RawMessage) (*mcp.CallToolResult, error) {
	parts := members(raw, "content", "structuredContent", "isError", "_meta")
	result := new(mcp.CallToolResult)
	if parts[3] != nil && json.Unmarshal(parts[3], &result.Meta) != nil {
		return nil, protocolErrorf("the _meta of the result is no object")
	}
	if parts[2] != nil && json.Unmarshal(parts[2], &result.IsError) != nil {
		return nil, protocolErrorf("isError of the result is no boolean")
	}
	if parts[1] != nil {
		result.StructuredContent = parts[1]
	}
	var err error
	if result.Content, err = content.Decode(parts[0]); err != nil {
		return nil, protocolErrorf("%v", err)
	}
	return result, nil
}

// ToolError says that a tool reported a failure. It is an [ErrToolFailed].
type ToolError struct {
	Server, Tool string
	// Result is the whole result, as the server sent it.
	Result *Result

	secrets *redact.Redactor
}

// Error returns the text of the result, as far as there is one, without the
// secrets of the server's [Spec].
func (e *ToolError) Error() string {
	var words []string
	for _, c := range e.Result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			words = append(words, t.Text)
		}
	}
	return e.secrets.String(strings.Join(append([]string{"tool " + e.Tool}, words...), ": "))
}

func (e *ToolError) kind() (Class, error) { return ClassTool, ErrToolFailed }

// ArgumentError says that the arguments of a call cannot be sent, or fail the
// input schema. It is an [ErrInvalidArguments].
type ArgumentError struct {
	Server, Tool string
	// Err says why, without the values.
	Err error
}

func (e *ArgumentError) Error() string { return "tool " + e.Tool + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ArgumentError) Unwrap() error { return e.Err }

func (e *ArgumentError) kind() (Class, error) { return ClassArguments, ErrInvalidArguments }

// ResultError says that a structured result fails the output schema. It is an
// [ErrInvalidResult].
type ResultError struct {
	Server, Tool string
	Result       *Result
	// Err says why, without the values.
	Err error
}

func (e *ResultError) Error() string { return "tool " + e.Tool + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ResultError) Unwrap() error { return e.Err }

func (e *ResultError) kind() (Class, error) { return ClassResult, ErrInvalidResult }

// notSupportedError is an [ErrNotSupported].
type notSupportedError struct{ what, revision string }

func (e *notSupportedError) Error() string {
	return e.what + " (the negotiated revision is " + e.revision + ")"
}

func (e *notSupportedError) kind() (Class, error) { return ClassSupport, ErrNotSupported }
