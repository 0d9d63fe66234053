package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The transports, as results name them.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "streamable-http"
	TransportSSE   = "sse"
)

// probeTimeout is how long a server may think about server/discover before it
// is taken for an older one, which may not answer at all. (Specification
// 2026-07-28, stdio transport, backward compatibility.)
const probeTimeout = 5 * time.Second

// newestLegacy is what initialize offers.
const newestLegacy = "2025-11-25"

// handshake is one attempt to agree on a revision, and what it saw.
type handshake struct {
	strict   bool
	probe    *exchange // server/discover; nil if not sent
	probeErr error
	init     *exchange // initialize; nil if not sent
}

// shake opens a session over a transport.
func (s *Server) shake(ctx context.Context, t mcp.Transport, protocol Protocol) (*handshake, *mcp.ClientSession, error) {
	h := &handshake{strict: protocol == Protocol20260728}
	info := s.spec.ClientInfo.or(s.opts.ClientInfo)
	client := mcp.NewClient(&mcp.Implementation{Name: info.Name, Version: info.Version}, &mcp.ClientOptions{
		Logger:         s.sdkLog(),
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	client.AddSendingMiddleware(h.middleware)
	opts := &mcp.ClientSessionOptions{}
	if protocol == ProtocolLegacy {
		opts.ProtocolVersion = newestLegacy
	}
	cs, err := client.Connect(ctx, t, opts)
	return h, cs, err
}

// middleware watches the two methods of the handshake.
func (h *handshake) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "server/discover":
			ctx, h.probe = withExchange(ctx, true)
			defer h.probe.done()
			if !h.strict {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, probeLimit(ctx))
				defer cancel()
			}
			var res mcp.Result
			res, h.probeErr = next(ctx, method, req)
			return res, h.probeErr
		case "initialize":
			if err := h.refuse(); err != nil {
				return nil, err
			}
			ctx, h.init = withExchange(ctx, true)
			defer h.init.done()
		}
		return next(ctx, method, req)
	}
}

// probeLimit leaves initialize half of a short deadline.
func probeLimit(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(probeTimeout, time.Until(deadline)/2)
	}
	return probeTimeout
}

// refuse returns why initialize is not to be sent, or nil.
func (h *handshake) refuse() error {
	if h.probe == nil {
		return nil
	}
	if h.probe.noAnswer() {
		return h.probeErr
	}
	if !h.strict {
		return nil
	}
	if h.probeErr == nil || h.answered() {
		return ErrRevisionNotOffered
	}
	return h.probeErr
}

// answered reports whether the server answered the probe with a JSON-RPC
// error, as an older one should.
func (h *handshake) answered() bool { return rpcError(h.probeErr) != nil }

// last returns what passed the wire last.
func (h *handshake) last() *exchange {
	if h.init != nil {
		return h.init
	}
	return h.probe
}

// serverInfo returns the server's own Implementation object as sent, nil if
// it sent none.
func (h *handshake) serverInfo() json.RawMessage {
	if h.init != nil {
		return member(h.init.raw(), "serverInfo")
	}
	if h.probe != nil {
		return member(member(h.probe.raw(), "_meta"), mcp.MetaKeyServerInfo)
	}
	return nil
}

func (s *Server) connect(ctx context.Context) (*session, error) {
	if s.spec.Stdio != nil {
		return s.connectStdio(ctx)
	}
	return s.connectHTTP(ctx)
}

// newSession completes what all transports have in common.
func newSession(h *handshake, cs *mcp.ClientSession, transport string) *session {
	sess := &session{
		cs: cs, transport: transport,
		protocol: cs.InitializeResult().ProtocolVersion,
		info:     h.serverInfo(),
		ended:    make(chan struct{}),
	}
	go func() {
		_ = cs.Wait()
		close(sess.ended)
	}()
	return sess
}

// connectStdio starts a server, and starts it again without the probe if that
// was its end.
func (s *Server) connectStdio(ctx context.Context) (*session, error) {
	sess, died, err := s.spawn(ctx, s.spec.Protocol)
	if err != nil && died && ctx.Err() == nil {
		s.log.Debug("the server ended at the probe; starting it again without one")
		sess, _, err = s.spawn(ctx, ProtocolLegacy)
	}
	return sess, err
}

// spawn starts a server and opens a session with it. If that fails it reports
// whether the server died before it had answered the probe.
func (s *Server) spawn(ctx context.Context, protocol Protocol) (sess *session, died bool, err error) {
	if ctx.Err() != nil {
		return nil, false, s.failure(ctx, opConnect, ctx.Err(), nil, nil)
	}
	proc, err := startProcess(s.spec.Stdio, environment(s.spec.Stdio, s.opts.LookupEnv), s.log, s.secrets)
	if err != nil {
		return nil, false, s.failure(ctx, opConnect, err, nil, nil)
	}
	conn := newStdioConn(proc, s.opts.MaxMessageSize, s.log, s.secrets)
	transport := transportFunc(func(context.Context) (mcp.Connection, error) { return recorded(conn), nil })
	h, cs, err := s.shake(ctx, transport, protocol)
	if err != nil {
		broken := conn.broken()
		if broken != nil && ctx.Err() == nil {
			// Its last words and its status say more than the end of the pipe.
			proc.ended(ctx, stdinGrace)
		}
		_ = conn.Close()
		proc.abort()
		died = broken == errStreamEnd && protocol == "" && !h.answered()
		if broken != nil {
			err = broken
		}
		failed := s.failure(ctx, opConnect, err, h.last(), proc)
		if n := conn.strayLines(); n > 0 && failed.Class == ClassTimeout {
			failed.detail = fmt.Sprintf("stdout had %d lines that are no messages", n)
		}
		return nil, died, failed
	}
	sess = newSession(h, cs, TransportStdio)
	sess.conn = conn
	sess.close = func(ctx context.Context) {
		_ = conn.Close()
		_ = cs.Close()
		proc.stop(ctx)
	}
	return sess, false, nil
}

// connectHTTP opens a session over streamable HTTP, or over HTTP with SSE if
// the server turns out to be one of those (specification 2026-07-28,
// streamable HTTP, backward compatibility).
func (s *Server) connectHTTP(ctx context.Context) (*session, error) {
	sess, h, err := s.dial(ctx, s.spec.Protocol, TransportHTTP)
	if err == nil {
		return sess, nil
	}
	if s.spec.Protocol == "" && h.broken() && ctx.Err() == nil {
		s.log.Debug("the answer to the probe broke the connection; trying without one")
		if sess, h, err = s.dial(ctx, ProtocolLegacy, TransportHTTP); err == nil {
			return sess, nil
		}
	}
	failed := s.failure(ctx, opConnect, err, h.last(), nil)
	if h.init == nil || !h.init.oldSSE() || ctx.Err() != nil {
		return nil, failed
	}
	s.log.Debug("trying the older SSE transport", "status", failed.HTTPStatus)
	sess, h, err = s.dial(ctx, ProtocolLegacy, TransportSSE)
	switch {
	case err == nil:
		return sess, nil
	case h.init == nil && ctx.Err() == nil:
		// No such server either, so the first answer is the one that counts.
		return nil, failed
	}
	return nil, s.failure(ctx, opConnect, err, h.last(), nil)
}

// broken reports whether the answer to the probe was such that the SDK gave up
// the connection, so that initialize had no chance.
func (h *handshake) broken() bool {
	if h.probe == nil || h.probeErr == nil || h.answered() {
		return false
	}
	status, _ := h.probe.outcome()
	return status >= 200 && status < 300
}

// dial opens a session over one of the HTTP transports.
func (s *Server) dial(ctx context.Context, protocol Protocol, transport string) (*session, *handshake, error) {
	// The session outlives the operation that opens it, but until it is open
	// it must not.
	life, kill := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, kill)
	client, endpoint, err := s.httpClient(life)
	if err != nil {
		kill()
		return nil, new(handshake), err
	}
	var t mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint:   endpoint.String(),
		HTTPClient: client,
		// One's own requests are answered on their own streams.
		DisableStandaloneSSE: true,
		MaxEventSize:         s.opts.MaxMessageSize + eventSlack,
	}
	if transport == TransportSSE {
		t = transportFunc(func(context.Context) (mcp.Connection, error) {
			// The stream lives as long as the context that it is opened with.
			conn, err := (&mcp.SSEClientTransport{
				Endpoint:     endpoint.String(),
				HTTPClient:   client,
				MaxEventSize: s.opts.MaxMessageSize + eventSlack,
			}).Connect(life)
			if err != nil {
				return nil, withoutURL(err)
			}
			return recorded(conn), nil
		})
	}
	h, cs, err := s.shake(ctx, t, protocol)
	if err != nil {
		kill()
		return nil, h, err
	}
	if !stop() {
		_ = cs.Close()
		return nil, h, context.Cause(ctx)
	}
	sess := newSession(h, cs, transport)
	sess.close = func(ctx context.Context) {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = cs.Close() // ends a session of older revisions with a DELETE
		}()
		timer := time.NewTimer(terminateGrace)
		defer timer.Stop()
		select {
		case <-closed:
		case <-ctx.Done():
		case <-timer.C:
		}
		kill()
		<-closed
	}
	return sess, h, nil
}

// eventSlack is how much larger than its data an event may be for the SDK; we
// count ourselves, with a better error.
const eventSlack = 64 << 10

// withoutURL takes the URL, and with it the query, out of an error.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
