package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asker answers requests of a server.
type asker = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// Forward sends a request of somebody else to the server and returns the result
// as it came, questions of the server included: who asked answers them. It is
// what a proxy is made of; see package server.
//
// The parameters are sent as they are, but for what belongs to the connection:
// the revision, the name of the client, and the token of progress; over stdio
// line breaks are spaces. notify, which may be nil, gets the progress and the
// logs of the request, in order, and nothing after Forward has returned; what it
// gets has the token of params. Where nothing tells to which of several requests
// a log belongs, as over stdio, only one that is alone gets it. Servers of older
// revisions log what [Spec.LogLevel] says.
//
// ask, which may be nil, answers what a server of an older revision asks in the
// middle of the request, if [Handlers.Input] is [ForwardInput].
//
// [Handlers.Approve] decides about calls of tools, once for each round of
// questions. When ctx ends the server is told to stop. Nothing is sent twice, but
// for what [Server.Call] says about headers.
//
// Errors are [*ServerError] values; that of the server itself is in them as a
// *jsonrpc.Error.
func (s *Server) Forward(
	ctx context.Context, method string, params json.RawMessage,
	notify func(method string, params json.RawMessage),
	ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	ctx, op, err := s.begin(ctx, method, 0)
	if err != nil {
		return nil, err
	}
	defer op.end()
	f, err := newForwarding(method, params)
	if err != nil {
		return nil, s.failure(ctx, method, err, nil)
	}
	f.notify, f.ask = notify, ask
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	if method == opCall && (sess.modern() && sess.stdio == nil || s.handlers.Approve != nil) {
		// What is not listed is for the server to refuse.
		f.tool, _ = s.tool(ctx, f.target)
		if err := s.approve(ctx, op, Call{Tool: f.target, definition: f.tool}, f.arguments); err != nil {
			return nil, s.failure(ctx, method, err, nil)
		}
		// Any of that may have taken its time.
		if sess, err = s.session(ctx); err != nil {
			return nil, err
		}
	}
	result, err := sess.forward(ctx, f)
	if err != nil {
		return nil, s.failure(ctx, method, err, sess.stdio)
	}
	return result, nil
}

// forwarding is a request that is forwarded.
type forwarding struct {
	method       string
	rest         []schemadoc.RawMember // the parameters but for _meta
	target       string
	arguments    json.RawMessage
	tool         *catalog.Tool
	meta         map[string]any
	token        json.RawMessage // of whoever asks for progress, or nil
	capabilities json.RawMessage // of whoever asks, or nil

	notify func(method string, params json.RawMessage)
	ask    asker
}

func newForwarding(method string, raw json.RawMessage) (*forwarding, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if !json.Valid(raw) || raw[0] != '{' {
		return nil, protocolErrorf("the parameters are no JSON object")
	}
	f := &forwarding{method: method, arguments: json.RawMessage("{}"), meta: make(map[string]any)}
	for _, m := range schemadoc.SplitValid(raw) {
		switch {
		case m.Name == "_meta":
			f.setMeta(m.Raw)
			continue
		case m.Name == "uri" && method == opRead, m.Name == "name" && (method == opCall || method == opPrompt):
			f.target = text(m.Raw)
		case m.Name == "arguments":
			f.arguments = m.Raw
		}
		f.rest = append(f.rest, m)
	}
	return f, nil
}

func (f *forwarding) setMeta(raw json.RawMessage) {
	for _, m := range schemadoc.SplitValid(raw) {
		switch m.Name {
		case "progressToken":
			f.token = m.Raw
		case mcp.MetaKeyClientCapabilities:
			f.capabilities = m.Raw
		default:
			f.meta[m.Name] = json.RawMessage(m.Raw)
		}
	}
}

func (s *session) forward(ctx context.Context, f *forwarding) (json.RawMessage, error) {
	if _, logs := f.meta[metaLogLevel]; logs && !s.modern() {
		s.setLogLevel(ctx)
		delete(f.meta, metaLogLevel)
	}
	raw, err := s.forwardOnce(ctx, f)
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || rpc.Code != mcp.CodeHeaderMismatch || !s.modern() || f.method != opCall {
		return raw, err
	}
	// The server wants parameters in headers that we did not know of.
	before := f.tool
	tool, listErr := s.server.refreshTool(ctx, s, f.target)
	if listErr != nil || tool == nil || before != nil && string(before.InputSchema) == string(tool.InputSchema) {
		return raw, err
	}
	f.tool = tool
	return s.forwardOnce(ctx, f)
}

func (s *session) forwardOnce(ctx context.Context, f *forwarding) (json.RawMessage, error) {
	req := wire.Request{ID: s.nextID(), Method: f.method, Name: f.target}
	if f.tool != nil && s.modern() && s.stdio == nil {
		var err error
		if req.Header, err = parameterHeaders(f.tool, f.arguments); err != nil {
			return nil, &ArgumentError{s.server.Name(), f.target, err}
		}
	}
	meta := requestMeta{explicit: f.meta, logLevel: logOff}
	if f.token != nil {
		// Tokens of several who ask can be the same.
		meta.progressToken = rand.Text()
	}
	ours, _ := json.Marshal(meta.progressToken) // a string always encodes
	in := newInbound(nil, nil, string(ours))
	in.ask = f.ask
	in.forward = func(method string, params json.RawMessage) {
		if f.notify == nil {
			return
		}
		if method == "notifications/progress" {
			params = replaceMember(params, "progressToken", f.token)
		}
		f.notify(method, params)
	}
	s.watch(req.ID, in)
	defer func() { s.unwatch(req.ID, in) }()
	return s.exchange(ctx, req, meta, f.target, func(p *params) {
		if f.capabilities != nil && s.modern() {
			// Who asks may be able to do what this client is not.
			p.buf = replaceCapabilities(p.buf, f.capabilities)
		}
		for _, m := range f.rest {
			p.set(m.Name, json.RawMessage(m.Raw))
		}
	})
}

// replaceCapabilities replaces the capabilities in the beginning of an object
// that has only its _meta so far.
func replaceCapabilities(begun []byte, capabilities json.RawMessage) []byte {
	object := append(json.RawMessage(nil), begun...)
	meta := replaceMember(member(append(object, '}'), "_meta"), mcp.MetaKeyClientCapabilities, capabilities)
	return append([]byte(`{"_meta":`), meta...)
}

// replaceMember returns an object in valid JSON with another value of a member.
func replaceMember(valid json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	p := &params{buf: []byte{'{'}}
	for _, m := range schemadoc.SplitValid(valid) {
		if m.Name == name {
			m.Raw = value
		}
		p.set(m.Name, json.RawMessage(m.Raw))
	}
	object, _ := p.done() // made of valid parts
	return object
}

// run and ran say that a request begins and has ended.
func (s *session) run(request int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = make(map[int64]struct{})
	}
	s.running[request] = struct{}{}
}

func (s *session) ran(request int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, request)
	if len(s.running) == 0 && s.drained != nil {
		close(s.drained)
		s.drained = nil
	}
}

// drain waits until no request is under way.
func (s *session) drain() {
	s.mu.Lock()
	if len(s.running) == 0 {
		s.mu.Unlock()
		return
	}
	drained := make(chan struct{})
	s.drained = drained
	s.mu.Unlock()
	<-drained
}

// alone reports whether a request is the only one under way. The lock is held.
func (s *session) alone(request int64) bool {
	_, ok := s.running[request]
	return ok && len(s.running) == 1
}

type askerKey struct{}

// withAsker returns a context for answering a question of an older server, with
// whom [ForwardInput] is to ask: the one whose request is the only one under
// way. A question does not say to which request it belongs, and nobody must get
// that of another.
func (s *session) withAsker(ctx context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, in := range s.calls {
		if in.ask != nil && s.alone(id) {
			return context.WithValue(ctx, askerKey{}, in.ask)
		}
	}
	return ctx
}

// errNobodyToAsk says that a question is for nobody.
var errNobodyToAsk = errors.New("nothing tells whom the question is for")

// ForwardInput is the [Handlers.Input] of servers of older revisions that are
// used through [Server.Forward]: whoever made the request answers. A question
// that comes while several requests are under way is dismissed, as nothing
// tells to which it belongs. It has no answers for calls of the client's own.
func ForwardInput(ctx context.Context, r *InputRequest) (*InputAnswer, error) {
	ask, ok := ctx.Value(askerKey{}).(asker)
	if !ok {
		return nil, errNobodyToAsk
	}
	raw, err := ask(ctx, "elicitation/create", r.Raw)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Action  Action          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, errors.New("the answer is none")
	}
	return &InputAnswer{Action: answer.Action, Content: answer.Content}, nil
}

// Describe connects to the server if need be and returns what it says of
// itself: its Implementation and ServerCapabilities objects, as sent, and its
// instructions. It is [Server.Peer] for proxies.
func (s *Server) Describe(ctx context.Context) (info, capabilities json.RawMessage, instructions string, err error) {
	if err := s.Connect(ctx); err != nil {
		return nil, nil, "", err
	}
	p := s.Peer()
	return p.Info, p.Capabilities, p.Instructions, nil
}

// Follow has notify called with everything that the server tells about changes
// of its lists, as far as it tells, and of resources that are subscribed to,
// until stop is called. It is [Server.OnListChanged] and [Server.OnUpdated] for
// proxies.
func (s *Server) Follow(ctx context.Context, notify func(method string, params json.RawMessage)) (stop func(), err error) {
	stops := []func(){s.OnUpdated(func(_ context.Context, uri string) {
		p, _ := (&params{buf: []byte{'{'}}).set("uri", uri).done() // a string always encodes
		notify("notifications/resources/updated", p)
	})}
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	for _, kind := range []Kind{KindTools, KindResources, KindPrompts} {
		undo, err := s.OnListChanged(ctx, kind, func(context.Context) {
			notify("notifications/"+string(kind)+"/list_changed", json.RawMessage("{}"))
		})
		switch {
		case err == nil:
			stops = append(stops, undo)
		case isAnswer(err):
			// It promises to tell and refuses to be asked.
			s.log.Debug("the server does not tell about changes", "kind", kind, "err", err)
		case !errors.Is(err, ErrNotSupported):
			stop()
			return nil, err
		}
	}
	return stop, nil
}
