package client

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handlers are what a client does when a server, or a call, needs a decision
// or has something to tell. All may be nil. Those of [Options] are for all
// servers; what a [Spec] sets replaces them one by one. They are called from
// several goroutines.
type Handlers struct {
	// Input answers what servers ask for in the middle of a request. Without
	// it the client advertises no elicitation, and a server that asks all the
	// same makes the request fail with an [*InputRequiredError].
	Input InputHandler
	// InputURL says that Input can deal with [InputRequest.URL].
	InputURL bool
	// Approve decides before each tool call whether it is made. An error, or
	// false, is [ErrNotApproved]. It may wait for a person: the time does not
	// count against the timeout.
	Approve func(context.Context, Approval) (bool, error)
	// Trace is asked before each request for the trace context to send, see
	// [TraceContext]; not before those that open a connection or listen for
	// changes, which belong to no caller.
	Trace TraceFunc
	// Progress is told about the progress of calls that have no
	// [Call.OnProgress]. Setting it makes every call ask for progress.
	Progress func(context.Context, Progress)
	// Log is told what servers log, in addition to [Options.Logger].
	Log func(context.Context, LogMessage)
	// Error is told about failures that no call returns: a subscription that
	// could not be restored, or that the server no longer agrees to.
	Error func(context.Context, error)
}

// or returns h with what is not set taken from other.
func (h Handlers) or(other Handlers) Handlers {
	if h.Input == nil {
		h.Input, h.InputURL = other.Input, other.InputURL
	}
	if h.Approve == nil {
		h.Approve = other.Approve
	}
	if h.Trace == nil {
		h.Trace = other.Trace
	}
	if h.Progress == nil {
		h.Progress = other.Progress
	}
	if h.Log == nil {
		h.Log = other.Log
	}
	if h.Error == nil {
		h.Error = other.Error
	}
	return h
}

// Approval is a tool call that waits for a decision.
type Approval struct {
	Server, Tool string
	// Arguments is the JSON object that would be sent.
	Arguments json.RawMessage
	// Annotations are what the server says about the tool, nil where the tool
	// is not known. They are hints, and no more trustworthy than the server
	// (specification, ToolAnnotations): use them to ask more, and to ask less
	// only where the server is trusted.
	Annotations *mcp.ToolAnnotations
}

// TraceContext is what a request carries for distributed tracing
// (specification 2026-07-28, OpenTelemetry trace context): W3C traceparent,
// tracestate and baggage. Empty members are not sent.
type TraceContext struct {
	Traceparent, Tracestate, Baggage string
}

// TraceFunc returns the trace context of a request that is about to be sent,
// and a function, which may be nil, that is called when it has ended, with the
// trace context that the server put into the result, and how it failed: nil or
// a [*ServerError], of class [ClassTool] where a tool reported a failure.
// Values that the caller of a request puts into its _meta win over the returned
// ones. A call that takes several rounds is several requests.
type TraceFunc func(ctx context.Context, op Operation) (TraceContext, func(server TraceContext, err error))

// Operation names a request.
type Operation struct {
	// Server is the name of the server, Method that of the protocol's method,
	// Target the tool, prompt or resource that it is about, if there is one.
	Server, Method, Target string
}

// Progress is what a server says about a request under way (specification,
// progress).
type Progress struct {
	// Server is the name of the server.
	Server string
	// Token is the token of the request: a string or a [json.Number].
	Token any
	// Progress grows. Total is zero where the server does not know it.
	Progress, Total float64
	// Message is the server's own text.
	Message string
}

// LogMessage is something that a server logs (specification, logging).
type LogMessage struct {
	// Server is the name of the server, Logger that of its logger, if it has
	// one.
	Server, Logger string
	// Level is one of the eight of RFC 5424, such as "info".
	Level string
	// Data is any JSON value.
	Data json.RawMessage
}
