package client

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is an open connection on which a revision has been agreed.
type session struct {
	server       *Server
	conn         wire.Conn
	stdio        *wire.Stdio // conn, nil over HTTP
	transport    string
	revision     string
	info         json.RawMessage // serverInfo as sent
	instructions string
	capabilities *mcp.ServerCapabilities // never nil
	rawCaps      json.RawMessage

	ids     atomic.Int64
	logging atomic.Bool // whether an older server was told what to log
	meta    []byte      // members of _meta that every request has, without braces

	mu      sync.Mutex
	calls   map[int64]*inbound // calls under way that want progress or logs
	running map[int64]struct{} // all requests under way
	drained chan struct{}      // closed when the last one has ended; nil unless somebody waits
}

// modern reports whether the session speaks revision 2026-07-28 or a later
// one. Revisions are dates and compare as text.
func (s *session) modern() bool { return s.revision >= string(Protocol20260728) }

// over reports whether the connection has broken.
func (s *session) over() bool {
	select {
	case <-s.conn.Done():
		return true
	default:
		return false
	}
}

// close ends the connection.
func (s *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	s.conn.Close(ctx)
}

// closeGrace bounds how long a connection may take to end politely.
const closeGrace = 5 * time.Second

// listenPatience is how long a server may take to open the stream for messages
// that belong to no request. Some say nothing until the first message.
const listenPatience = time.Second

// listen has the server send messages that belong to no request, and gives it
// the time to get ready: what it sends before that is lost.
func (s *session) listen(ctx context.Context) {
	timer := time.NewTimer(listenPatience)
	defer timer.Stop()
	select {
	case <-s.conn.Listen():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// request sends a request and returns its result as it came.
func (s *session) request(ctx context.Context, req wire.Request) (json.RawMessage, error) {
	if req.ID == 0 {
		req.ID = s.nextID()
	}
	s.run(req.ID)
	raw, err := s.conn.Call(ctx, req)
	s.ran(req.ID)
	if err != nil && s.stdio != nil && s.over() {
		// How the process ended says more than that it did.
		s.stdio.Settle(ctx)
		if broken := s.stdio.Err(); broken != nil && ctx.Err() == nil {
			err = broken
		}
	}
	return raw, err
}

// setLogLevel asks a server of an older revision for its logs, once
// (specification 2025-11-25, logging). Newer ones are asked with each request.
func (s *session) setLogLevel(ctx context.Context) {
	level := s.server.logLevel()
	if s.modern() || level == "" || member(s.rawCaps, "logging") == nil || !s.logging.CompareAndSwap(false, true) {
		return
	}
	p, err := s.params(requestMeta{}).set("level", level).done()
	if err == nil {
		_, err = s.request(ctx, wire.Request{Method: "logging/setLevel", Params: p})
	}
	if err != nil {
		s.server.log.Debug("the server was not told which logs are wanted", "err", s.server.failure(ctx, "logging/setLevel", err, nil))
	}
}

func (s *session) nextID() int64 { return s.ids.Add(1) }

// requestMeta is what one request adds to _meta.
type requestMeta struct {
	explicit      map[string]any // of the caller; these win
	trace         TraceContext
	progressToken any
	logLevel      string
}

// params builds the parameters of a request: an object whose members come in
// the order in which they are added, _meta first.
type params struct {
	buf []byte
	err error
}

func (s *session) params(meta requestMeta) *params {
	p := &params{buf: make([]byte, 0, 512)}
	p.buf = append(p.buf, `{"_meta":{`...)
	empty := len(p.buf)
	add := func(name string, value any) {
		if len(p.buf) > empty {
			p.buf = append(p.buf, ',')
		}
		p.encode(name)
		p.buf = append(p.buf, ':')
		p.encode(value)
	}
	for name, value := range meta.explicit {
		if !reservedMeta[name] {
			add(name, value)
		}
	}
	text := func(name, value string) {
		if _, given := meta.explicit[name]; !given && value != "" {
			add(name, value)
		}
	}
	text("traceparent", meta.trace.Traceparent)
	text("tracestate", meta.trace.Tracestate)
	text("baggage", meta.trace.Baggage)
	if s.modern() {
		text(metaLogLevel, meta.logLevel)
	}
	if _, given := meta.explicit["progressToken"]; !given && meta.progressToken != nil {
		add("progressToken", meta.progressToken)
	}
	if len(s.meta) > 0 {
		if len(p.buf) > empty {
			p.buf = append(p.buf, ',')
		}
		p.buf = append(p.buf, s.meta...)
	}
	if len(p.buf) == empty {
		p.buf = append(p.buf[:0], '{')
	} else {
		p.buf = append(p.buf, '}')
	}
	return p
}

// metaLogLevel asks for the logs of one request (specification 2026-07-28,
// logging).
const metaLogLevel = "io.modelcontextprotocol/logLevel"

// reservedMeta are the members of _meta that the session itself fills in
// (specification 2026-07-28, _meta, per-request protocol fields).
var reservedMeta = map[string]bool{
	mcp.MetaKeyProtocolVersion:    true,
	mcp.MetaKeyClientInfo:         true,
	mcp.MetaKeyClientCapabilities: true,
}

// set adds a member.
func (p *params) set(name string, value any) *params {
	if p.buf[len(p.buf)-1] != '{' {
		p.buf = append(p.buf, ',')
	}
	p.encode(name)
	p.buf = append(p.buf, ':')
	p.encode(value)
	return p
}

func (p *params) encode(value any) {
	if raw, ok := value.(json.RawMessage); ok && json.Valid(raw) {
		p.buf = append(p.buf, raw...)
		return
	}
	encoded, err := json.Marshal(value)
	if err != nil && p.err == nil {
		p.err = err
	}
	p.buf = append(p.buf, encoded...)
}

func (p *params) done() (json.RawMessage, error) { return append(p.buf, '}'), p.err }

// member returns the value of a member of an object in valid JSON, nil if
// there is none.
func member(valid json.RawMessage, name string) json.RawMessage { return members(valid, name)[0] }

// members is member for several names at once. Of several members with one
// name the last counts, as in encoding/json.
func members(valid json.RawMessage, names ...string) []json.RawMessage {
	values := make([]json.RawMessage, len(names))
	for _, m := range schemadoc.SplitValid(valid) {
		for i, name := range names {
			if m.Name == name {
				values[i] = m.Raw
			}
		}
	}
	return values
}

// text returns the text of a JSON string, else "".
func text(raw json.RawMessage) string {
	var s string
	if raw == nil || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
