package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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

// legacyRevisions are the revisions with a handshake, newest first; that one
// is offered.
var legacyRevisions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// connect opens a session with the server. One that has turned out to be an
// older one is not probed again, unless that fails (specification 2026-07-28,
// versioning).
func (s *Server) connect(ctx context.Context) (*session, error) {
	protocol := s.spec.Protocol
	if last := s.Peer().Revision; protocol == "" && last != "" && last < string(Protocol20260728) {
		sess, err := s.connectAs(ctx, ProtocolLegacy)
		if err == nil || ctx.Err() != nil {
			return sess, err
		}
		s.log.Debug("the server does not answer as it did before", "err", err)
	}
	return s.connectAs(ctx, protocol)
}

func (s *Server) connectAs(ctx context.Context, protocol Protocol) (*session, error) {
	if s.spec.Stdio != nil {
		return s.connectStdio(ctx, protocol)
	}
	return s.connectHTTP(ctx, protocol)
}

// newSession returns a session on which nothing has been agreed yet, and the
// handler for its connection.
func (s *Server) newSession(transport string) (*session, wire.Handler) {
	sess := &session{server: s, transport: transport}
	return sess, wire.Handler{Notification: sess.notified, Request: sess.requested}
}

// connectStdio starts a server, and starts it again without the probe if that
// was its end.
func (s *Server) connectStdio(ctx context.Context, protocol Protocol) (*session, error) {
	sess, died, err := s.spawn(ctx, protocol)
	if err != nil && died && ctx.Err() == nil {
		s.log.Debug("the server ended at the probe; starting it again without one")
		sess, _, err = s.spawn(ctx, ProtocolLegacy)
	}
	return sess, err
}

// spawn starts a server and opens a session with it. If that fails it reports
// whether the server died before it had answered the probe.
func (s *Server) spawn(ctx context.Context, protocol Protocol) (_ *session, died bool, err error) {
	if ctx.Err() != nil {
		return nil, false, s.failure(ctx, opConnect, ctx.Err(), nil)
	}
	spec := s.spec.Stdio
	sess, handler := s.newSession(TransportStdio)
	conn, err := wire.StartStdio(
		wire.Command{Name: spec.Command, Args: spec.Args, Env: environment(spec, s.opts.LookupEnv), Dir: spec.Dir},
		wire.StdioConfig{Handler: handler, MaxMessageSize: s.opts.MaxMessageSize, Log: s.log, Secrets: s.secrets},
	)
	if err != nil {
		return nil, false, s.failure(ctx, opConnect, err, nil)
	}
	sess.conn, sess.stdio = conn, conn
	probe, err := sess.negotiate(ctx, protocol)
	if err == nil {
		return sess, false, nil
	}
	ended := conn.StreamEnded()
	if broken := conn.Err(); broken != nil && ctx.Err() == nil {
		// Its last words and its status say more than the end of the pipe.
		conn.Settle(ctx)
		err = broken
	}
	conn.Abort()
	failed := s.failure(ctx, opConnect, err, conn)
	if n := conn.StrayLines(); n > 0 && failed.Class == ClassTimeout {
		failed.detail = fmt.Sprintf("stdout had %d lines that are no messages", n)
	}
	return nil, ended && protocol == "" && !isAnswer(probe), failed
}

// connectHTTP opens a session over streamable HTTP, or over HTTP with SSE if
// the server turns out to be one of those (specification 2026-07-28,
// streamable HTTP, backward compatibility).
func (s *Server) connectHTTP(ctx context.Context, protocol Protocol) (*session, error) {
	sess, handler := s.newSession(TransportHTTP)
	cfg, err := s.httpConfig(handler)
	if err != nil {
		return nil, s.failure(ctx, opConnect, err, nil)
	}
	sess.conn = wire.DialHTTP(cfg)
	_, err = sess.negotiate(ctx, protocol)
	if err == nil {
		return sess, nil
	}
	sess.conn.Close(ctx)
	failed := s.failure(ctx, opConnect, err, nil)
	if s.spec.Protocol == Protocol20260728 || ctx.Err() != nil || !oldSSE(err) {
		return nil, failed
	}
	s.log.Debug("trying the older SSE transport", "status", failed.HTTPStatus)
	sess, handler = s.newSession(TransportSSE)
	cfg.Handler = handler
	if sess.conn, err = wire.DialSSE(ctx, cfg); err != nil {
		if ctx.Err() == nil && !errors.Is(err, wire.ErrForeignEndpoint) {
			// No such server either, so the first answer is the one that
			// counts.
			return nil, failed
		}
		return nil, s.failure(ctx, opConnect, err, nil)
	}
	if _, err = sess.negotiate(ctx, ProtocolLegacy); err != nil {
		sess.conn.Close(ctx)
		return nil, s.failure(ctx, opConnect, err, nil)
	}
	return sess, nil
}

// oldSSE reports whether initialize failed over streamable HTTP as it does
// where a server speaks HTTP with SSE only (specification 2026-07-28,
// streamable HTTP, backward compatibility).
func oldSSE(err error) bool {
	failed, ok := errors.AsType[*wire.HTTPError](err)
	if !ok {
		return false
	}
	switch failed.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	default:
		return false
	}
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	return !ok || rpc.Code != jsonrpc.CodeMethodNotFound && !isModernError(rpc)
}

// isModernError recognises the errors that only a server of revision
// 2026-07-28 or later sends (specification 2026-07-28, error codes).
func isModernError(rpc *jsonrpc.Error) bool {
	switch rpc.Code {
	case mcp.CodeUnsupportedProtocolVersion, mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapabilities:
		return true
	}
	return false
}

// isAnswer reports whether a server answered with a JSON-RPC error.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}

// noAnswer reports whether a request failed in a way that makes another
// attempt on the same host pointless: nothing was reached, or a login is
// needed.
func noAnswer(err error) bool {
	if failed, ok := errors.AsType[*wire.HTTPError](err); ok {
		return needsLogin(failed)
	}
	class, _, _ := classifyNetwork(err)
	return class != ""
}

// negotiate agrees on a revision: it asks with server/discover, unless the
// protocol is pinned to older ones, and falls back to initialize unless it is
// pinned to the current one. It also returns how the probe failed.
func (s *session) negotiate(ctx context.Context, protocol Protocol) (probe, err error) {
	if protocol != ProtocolLegacy {
		probe = s.discover(ctx, protocol == "")
		if probe == nil {
			return nil, nil
		}
		if fallback, err := s.afterProbe(ctx, probe, protocol); !fallback {
			return probe, err
		}
	}
	return probe, s.initialize(ctx)
}

// afterProbe decides what a failed probe means: to fall back to initialize, or
// the error.
func (s *session) afterProbe(ctx context.Context, probe error, protocol Protocol) (fallback bool, err error) {
	rpc, answered := errors.AsType[*jsonrpc.Error](probe)
	switch {
	case ctx.Err() != nil, noAnswer(probe), s.over():
		return false, probe
	case answered && rpc.Code == mcp.CodeUnsupportedProtocolVersion:
		// A server that names an older revision speaks that with its
		// handshake.
		legacy := slices.ContainsFunc(supportedRevisions(rpc), func(v string) bool { return slices.Contains(legacyRevisions, v) })
		if protocol == "" && legacy {
			return true, nil
		}
		return false, errors.Join(ErrRevisionNotOffered, probe)
	case answered && isModernError(rpc):
		return false, probe
	case errors.Is(probe, ErrRevisionNotOffered):
		return protocol == "" && errors.Is(probe, errOlderOnly), probe
	case protocol == Protocol20260728 && answered:
		return false, errors.Join(ErrRevisionNotOffered, probe)
	}
	return protocol == "", probe
}

// supportedRevisions returns what an UnsupportedProtocolVersionError names.
func supportedRevisions(rpc *jsonrpc.Error) []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil {
		return nil
	}
	return data.Supported
}

// errOlderOnly says that a server answers the probe and offers older revisions
// alone.
var errOlderOnly = fmt.Errorf("%w: the server offers older ones only", ErrRevisionNotOffered)

// discover asks a server of the current era what it is.
func (s *session) discover(ctx context.Context, limited bool) error {
	if limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(probeTimeout, s.server.timeout()/2))
		defer cancel()
	}
	s.revision = string(Protocol20260728)
	if err := s.setMeta(); err != nil {
		return err
	}
	p, err := s.params(requestMeta{}).done()
	if err != nil {
		return err
	}
	again := false
	for {
		raw, err := s.request(ctx, wire.Request{Method: "server/discover", Params: p, Revision: s.revision})
		if err != nil {
			rpc, ok := errors.AsType[*jsonrpc.Error](err)
			if ok && rpc.Code == mcp.CodeUnsupportedProtocolVersion && !again && slices.Contains(supportedRevisions(rpc), s.revision) {
				// It does speak it; specification 2026-07-28, versioning, has
				// clients retry.
				again = true
				continue
			}
			s.revision, s.meta = "", nil
			return err
		}
		parts := members(raw, "supportedVersions", "capabilities", "instructions", "_meta")
		var offered []string
		if parts[0] == nil || json.Unmarshal(parts[0], &offered) != nil {
			s.revision, s.meta = "", nil
			return protocolErrorf("the result of server/discover names no revisions")
		}
		if !slices.Contains(offered, s.revision) {
			s.revision, s.meta = "", nil
			if slices.ContainsFunc(offered, func(v string) bool { return slices.Contains(legacyRevisions, v) }) {
				return errOlderOnly
			}
			return ErrRevisionNotOffered
		}
		s.info = member(parts[3], mcp.MetaKeyServerInfo)
		s.learn(parts[1], parts[2])
		s.conn.SetRevision(s.revision)
		return nil
	}
}

// initialize makes the handshake of older revisions (specification 2025-11-25,
// lifecycle).
func (s *session) initialize(ctx context.Context) error {
	info, capabilities, err := s.server.identity(legacyRevisions[0])
	if err != nil {
		return err
	}
	s.meta = nil
	p, err := (&params{buf: []byte{'{'}}).
		set("protocolVersion", legacyRevisions[0]).set("capabilities", capabilities).set("clientInfo", info).done()
	if err != nil {
		return err
	}
	raw, err := s.request(ctx, wire.Request{Method: "initialize", Params: p})
	if err != nil {
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && rpc.Code == mcp.CodeUnsupportedProtocolVersion {
			return errors.Join(ErrRevisionNotOffered, err)
		}
		return err
	}
	parts := members(raw, "protocolVersion", "capabilities", "instructions", "serverInfo")
	s.revision = text(parts[0])
	if !slices.Contains(legacyRevisions, s.revision) {
		return ErrRevisionNotOffered
	}
	s.info = parts[3]
	s.learn(parts[1], parts[2])
	s.conn.SetRevision(s.revision)
	return s.conn.Notify(ctx, "notifications/initialized", nil)
}

// learn keeps what a server says of itself.
func (s *session) learn(capabilities, instructions json.RawMessage) {
	s.instructions = text(instructions)
	s.rawCaps = capabilities
	s.capabilities = new(mcp.ServerCapabilities)
	if capabilities != nil && json.Unmarshal(capabilities, s.capabilities) != nil {
		s.server.log.Debug("the server's capabilities do not have the shape of any")
		s.capabilities = new(mcp.ServerCapabilities)
	}
}

// setMeta prepares what every request of the current era says
// (specification 2026-07-28, per-request protocol fields).
func (s *session) setMeta() error {
	info, capabilities, err := s.server.identity(s.revision)
	if err != nil {
		return err
	}
	p := &params{buf: []byte{'{'}}
	b, err := p.set(mcp.MetaKeyProtocolVersion, s.revision).
		set(mcp.MetaKeyClientInfo, info).set(mcp.MetaKeyClientCapabilities, capabilities).done()
	if err != nil {
		return err
	}
	s.meta = b[1 : len(b)-1]
	return nil
}

// identity returns what the server learns about the client.
func (s *Server) identity(revision string) (info, capabilities json.RawMessage, err error) {
	own := s.spec.ClientInfo.or(s.opts.ClientInfo)
	if info, err = json.Marshal(map[string]string{"name": own.Name, "version": own.Version}); err != nil {
		return nil, nil, err
	}
	caps := make(map[string]any)
	if s.handlers.Input != nil {
		caps["elicitation"] = elicitationCapability(revision, s.handlers.InputURL)
	}
	if len(s.spec.Extensions) > 0 {
		caps["extensions"] = s.spec.Extensions
	}
	capabilities, err = json.Marshal(caps)
	return info, capabilities, err
}

// elicitationCapability is {} for revisions that know one kind of form only
// (specification 2025-06-18, elicitation).
func elicitationCapability(revision string, urls bool) map[string]any {
	capability := make(map[string]any)
	if revision >= "2025-11-25" {
		capability["form"] = struct{}{}
		if urls {
			capability["url"] = struct{}{}
		}
	}
	return capability
}
