package client

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is a handle on one server of a [Client]. The server is connected to
// when that is first needed, and again when the connection has broken; a call
// that was under way when it broke fails and is not repeated. A Server is safe
// for concurrent use.
type Server struct {
	client  *Client
	spec    Spec
	opts    *Options
	secrets *redact.Redactor
	log     *slog.Logger
	unknown bool

	lock chan struct{} // guards sess, within the patience of a context
	sess *session
}

// session is an open connection.
type session struct {
	cs        *mcp.ClientSession
	transport string
	protocol  string          // negotiated revision
	info      json.RawMessage // serverInfo as sent
	close     func(context.Context)
	ended     chan struct{} // closed when the connection has broken
	conn      *stdioConn    // nil over HTTP

	mu    sync.Mutex
	pages map[string]json.RawMessage // results of tools/list by cursor
}

// modern reports whether the session speaks revision 2026-07-28 or a later
// one. Revisions are dates and compare as text.
func (s *session) modern() bool { return s.protocol >= string(Protocol20260728) }

func newServer(c *Client, spec Spec) *Server {
	s := &Server{client: c, spec: spec, opts: &c.opts, secrets: spec.redactor(), lock: make(chan struct{}, 1)}
	s.log = slog.New(redactHandler{next: c.opts.Logger.Handler(), secrets: s.secrets}).With("server", spec.Name)
	return s
}

// Name returns the name of the server.
func (s *Server) Name() string { return s.spec.Name }

// begin starts an operation; see [Client.begin].
func (s *Server) begin(ctx context.Context, op string) (context.Context, func(), error) {
	if s.unknown {
		return ctx, nil, s.failure(ctx, op, ErrUnknownServer, nil, nil)
	}
	timeout := s.spec.Timeout
	if timeout == 0 {
		timeout = s.opts.Timeout
	}
	opCtx, end, err := s.client.begin(ctx, timeout)
	if err != nil {
		return ctx, nil, s.failure(ctx, op, err, nil, nil)
	}
	return opCtx, end, nil
}

// session returns the open session, connecting if there is none.
func (s *Server) session(ctx context.Context) (*session, error) {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, s.failure(ctx, opConnect, ctx.Err(), nil, nil)
	}
	defer func() { <-s.lock }()
	if s.sess != nil {
		if !s.sess.over() {
			return s.sess, nil
		}
		s.log.Debug("the connection had ended")
		s.sess.close(ctx)
		s.sess = nil
	}
	start := time.Now()
	sess, err := s.connect(ctx)
	if err != nil {
		s.log.Debug("connecting failed", "duration", time.Since(start), "err", err)
		return nil, err
	}
	s.log.Debug("connected", "transport", sess.transport, "revision", sess.protocol, "duration", time.Since(start))
	s.sess = sess
	return sess, nil
}

// disconnect closes the session. No operation is under way.
func (s *Server) disconnect(ctx context.Context) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.sess != nil {
		s.sess.close(ctx)
		s.sess = nil
		s.log.Debug("disconnected")
	}
}

// CallTool calls a tool, connecting first if need be. A result with IsError
// set is a result, not an error. StructuredContent of the result is a
// [json.RawMessage] with the bytes that the server sent, null included, or nil
// where it sent none.
//
// Params are not changed. Errors are [*ServerError] values.
func (s *Server) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	const op = "tools/call"
	ctx, end, err := s.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	defer end()
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	// The SDK writes into both.
	own := mcp.CallToolParams{}
	if params != nil {
		own = *params
		own.Meta = maps.Clone(params.Meta)
	}
	ctx, ex := withExchange(ctx, true)
	defer ex.done()
	result, err := sess.cs.CallTool(ctx, &own)
	if err != nil {
		sess.settle(ctx, ex)
		return nil, s.failure(ctx, op, err, ex, sess.process())
	}
	if result.NeedsInput() {
		return nil, s.failure(ctx, op, ErrInputRequired, ex, sess.process())
	}
	result.StructuredContent = nil
	if raw := member(ex.raw(), "structuredContent"); raw != nil {
		result.StructuredContent = raw
	}
	return result, nil
}

// process returns the child process behind the session, if there is one.
func (s *session) process() *process {
	if s.conn == nil {
		return nil
	}
	return s.conn.proc
}

// over reports whether the connection has broken.
func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return s.conn != nil && s.conn.broken() != nil
	}
}

// settle waits, where an operation failed because the process of the server
// ended, until it is known how it did and what it said, and where it failed in
// a way that ends the session, for that end, so that the next operation opens
// another.
func (s *session) settle(ctx context.Context, ex *exchange) {
	switch {
	case s.conn != nil && s.conn.broken() != nil:
		if s.conn.proc.ended(ctx, outputGrace) {
			s.conn.proc.leave()
		}
	case s.conn == nil && ex.ends():
		timer := time.NewTimer(outputGrace)
		defer timer.Stop()
		select {
		case <-s.ended:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}
