package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Upstream is a server that a proxy passes on. A *client.Server of this
// module's client is one.
type Upstream interface {
	Name() string
	// Describe returns what the server says of itself.
	Describe(ctx context.Context) (info, capabilities json.RawMessage, instructions string, err error)
	// Forward sends a request and returns its result as it came. notify gets
	// the notifications that belong to the request, ask the requests that
	// servers of revisions before 2026-07-28 make in the course of it.
	Forward(
		ctx context.Context, method string, params json.RawMessage,
		notify func(method string, params json.RawMessage),
		ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error),
	) (json.RawMessage, error)
	// Follow has notify called with the other notifications.
	Follow(ctx context.Context, notify func(method string, params json.RawMessage)) (stop func(), err error)
	// Subscribe asks to be told about a resource. Doing so twice does nothing.
	Subscribe(ctx context.Context, uri string) error
	Unsubscribe(ctx context.Context, uri string) error
}

// Proxy is a server that passes on another one: its tools, resources, prompts
// and completions, the progress and the logs of each request, cancellation,
// changes of lists and of resources, and the questions that a server asks in
// the middle of a request. Results are the upstream's own JSON, with whatever
// go-sdk does not know; clients of revision 2026-07-28 also get the members
// that this revision adds, where an older upstream does not have them.
//
// A question of an upstream of revision 2026-07-28 reaches whoever made the
// request, of any revision. One of an older upstream reaches clients of older
// revisions, provided that the upstream's client is set up for it (package
// client, ForwardInput); requests of current clients, which cannot be asked in
// that way, fail with an error that says so.
//
// What the proxy does not pass on: methods of extensions, sampling, roots,
// updates of what is below a resource that is subscribed to, and logs that
// belong to no request. The capabilities are those that the upstream had when
// the proxy was made.
type Proxy struct {
	// Server is what [NewHandler] and [ServeStdio] serve.
	Server *mcp.Server

	up    Upstream
	log   *slog.Logger
	stop  func() // ends following
	life  context.Context
	kill  context.CancelCauseFunc
	tasks sync.WaitGroup
	turn  chan struct{} // held while the upstream's subscriptions change

	mu       sync.Mutex
	closed   bool
	sessions map[*mcp.ServerSession]*downstream // that have set something
}

// downstream is what a session of a client has set.
type downstream struct {
	level string // of logs, in older revisions
	uris  map[string]bool
}

// NewProxy connects to a server and returns a proxy for it. Its Close must be
// called; the upstream is the caller's to close, after the proxy. A nil logger
// discards.
func NewProxy(ctx context.Context, up Upstream, log *slog.Logger) (*Proxy, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	rawInfo, rawCaps, instructions, err := up.Describe(ctx)
	if err != nil {
		return nil, err
	}
	info := &mcp.Implementation{Name: up.Name()}
	if rawInfo != nil && json.Unmarshal(rawInfo, info) != nil {
		info = &mcp.Implementation{Name: up.Name()}
	}
	caps := new(mcp.ServerCapabilities)
	if rawCaps != nil && json.Unmarshal(rawCaps, caps) != nil {
		return nil, fmt.Errorf("proxy of %s: the server's capabilities do not have the shape of any", up.Name())
	}
	p := &Proxy{up: up, log: log, turn: make(chan struct{}, 1), sessions: make(map[*mcp.ServerSession]*downstream)}
	p.life, p.kill = context.WithCancelCause(context.Background())
	p.Server = mcp.NewServer(info, &mcp.ServerOptions{
		Instructions: instructions, Logger: log, Capabilities: caps,
		SubscribeHandler: p.subscribe, UnsubscribeHandler: p.unsubscribe,
	})
	p.Server.AddReceivingMiddleware(p.receive)
	if p.stop, err = up.Follow(ctx, p.notified); err != nil {
		p.kill(nil)
		return nil, err
	}
	return p, nil
}

var errClosed = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the proxy is closed"}

// Close ends the proxy's own part: requests under way fail, the sessions of its
// clients are closed, and their subscriptions are taken back. Closing twice is
// fine.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.kill(errClosed)
	p.stop()
	for session := range p.Server.Sessions() {
		session.Close()
	}
	p.tasks.Wait()
}

// forwarded are the methods that are, and whether their results say how long
// they may be kept (specification 2026-07-28, caching).
var forwarded = map[string]struct{ cacheable bool }{
	"tools/list":               {true},
	"tools/call":               {false},
	"resources/list":           {true},
	"resources/templates/list": {true},
	"resources/read":           {true},
	"prompts/list":             {true},
	"prompts/get":              {false},
	"completion/complete":      {false},
}

// receive is a receiving middleware.
func (p *Proxy) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if !ok {
			return next(ctx, method, req)
		}
		//lint:ignore SA1019 logging is deprecated, and clients set the level all the same
		if level, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok {
			if err := p.set(session, func(d *downstream) { d.level = string(level.Level) }); err != nil {
				return nil, err
			}
		}
		if _, ok := forwarded[method]; !ok {
			return next(ctx, method, req)
		}
		if p.life.Err() != nil {
			return nil, errClosed
		}
		params, err := json.Marshal(req.GetParams())
		if err != nil {
			return nil, errParams
		}
		if string(params) == "null" {
			params = []byte("{}")
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(p.life, func() { cancel(errClosed) })()
		x := &exchange{p, session, method, cancel}
		if isCurrent(fmt.Appendf(nil, `{"params":%s}`, params)) {
			raw, err := x.send(ctx, params, x.refuse)
			return x.result(raw, true, err)
		}
		raw, err := x.converse(ctx, params)
		return x.result(raw, false, err)
	}
}

// exchange is a request that is passed on.
type exchange struct {
	*Proxy
	session *mcp.ServerSession
	method  string
	cancel  context.CancelCauseFunc
}

func failuref(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf(format, args...)}
}

var (
	errParams = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the parameters cannot be passed on"}
	errResult = failuref("the result of the server behind the proxy does not have the shape of one")
	errAsks   = failuref("the server behind the proxy asks for input in the way of older revisions, in which clients of revision %s cannot be asked", protocolStateless)
	errAnswer = failuref("a question of the server behind the proxy could not be put to the client")
)

// refuse is how clients of the current revision are asked in the middle of a
// request: not at all.
func (x *exchange) refuse(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	x.cancel(errAsks)
	return nil, errAsks
}

// metaLogLevel asks for the logs of one request (specification 2026-07-28,
// logging).
const metaLogLevel = "io.modelcontextprotocol/logLevel"

// Bounds of a conversation.
const (
	maxRounds    = 32
	maxQuestions = 32 // of one round
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// converse makes a request for a client of an older revision, which is asked
// in the way that it knows.
func (x *exchange) converse(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	doc := make(map[string]json.RawMessage)
	meta := make(map[string]json.RawMessage)
	if json.Unmarshal(params, &doc) != nil || doc["_meta"] != nil && json.Unmarshal(doc["_meta"], &meta) != nil {
		return nil, errParams
	}
	if meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	meta[mcp.MetaKeyClientCapabilities] = abilities(x.session)
	if level := x.level(x.session); level != "" {
		meta[metaLogLevel], _ = json.Marshal(level) // a string always encodes
	}
	doc["_meta"], _ = json.Marshal(meta) // made of valid parts
	pause := firstPause
	for range maxRounds {
		params, err := json.Marshal(doc)
		if err != nil {
			return nil, errParams
		}
		raw, err := x.send(ctx, params, func(asking context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			// The request's own context says on which stream to ask.
			both, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(asking, cancel)()
			return x.ask(both, method, params)
		})
		if err != nil {
			return nil, err
		}
		var round struct {
			ResultType    string          `json:"resultType"`
			InputRequests json.RawMessage `json:"inputRequests"`
			RequestState  json.RawMessage `json:"requestState"`
		}
		if json.Unmarshal(raw, &round) != nil || round.ResultType != "input_required" {
			return raw, nil
		}
		answers, err := x.answer(ctx, schemadoc.SplitValid(round.InputRequests))
		if err != nil {
			return nil, err
		}
		if answers == nil {
			// The server only wants to be asked again, so there is no hurry.
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return nil, x.ended(ctx)
			}
			pause = min(2*pause, longestPause)
		}
		delete(doc, "inputResponses")
		delete(doc, "requestState")
		if answers != nil {
			doc["inputResponses"] = answers
		}
		if round.RequestState != nil {
			doc["requestState"] = round.RequestState
		}
	}
	return nil, failuref("the server behind the proxy asks for input more than %d times", maxRounds)
}

// abilities says what an older client can be asked for, as clients of the
// current revision say it.
func abilities(session *mcp.ServerSession) json.RawMessage {
	can := make(map[string]any)
	if init := session.InitializeParams(); init != nil && init.Capabilities != nil {
		if e := init.Capabilities.Elicitation; e != nil {
			modes := make(map[string]any)
			if e.Form != nil || e.URL == nil {
				modes["form"] = struct{}{} // {} is what older clients say for it
			}
			if e.URL != nil {
				modes["url"] = struct{}{}
			}
			can["elicitation"] = modes
		}
		if len(init.Capabilities.Extensions) > 0 {
			can["extensions"] = init.Capabilities.Extensions
		}
	}
	raw, err := json.Marshal(can)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// answer puts the questions of a round to the client, one after the other. It
// returns nil if there are none.
func (x *exchange) answer(ctx context.Context, questions []schemadoc.RawMember) (json.RawMessage, error) {
	switch {
	case len(questions) == 0:
		return nil, nil
	case len(questions) > maxQuestions:
		return nil, failuref("the server behind the proxy asks for more than %d inputs at a time", maxQuestions)
	}
	answers := make(map[string]json.RawMessage, len(questions))
	for _, q := range questions {
		var question struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(q.Raw, &question) != nil {
			return nil, errResult
		}
		var err error
		if answers[q.Name], err = x.ask(ctx, question.Method, question.Params); err != nil {
			return nil, err
		}
	}
	return json.Marshal(answers)
}

// ask puts a question to an older client.
func (x *exchange) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	var question struct {
		mcp.ElicitParams
		// As it is, and not as a map.
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}
	if method != "elicitation/create" || json.Unmarshal(params, &question) != nil {
		return nil, failuref("the server behind the proxy asks for something that cannot be passed on")
	}
	if question.RequestedSchema != nil {
		question.ElicitParams.RequestedSchema = question.RequestedSchema
	}
	answer, err := x.session.Elicit(ctx, &question.ElicitParams)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, x.ended(ctx)
	case err != nil:
		x.log.WarnContext(ctx, "a question could not be put to the client", "method", x.method, "err", err)
		return nil, errAnswer
	}
	return json.Marshal(answer)
}

// send makes one request.
func (x *exchange) send(
	ctx context.Context, params json.RawMessage,
	ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	raw, err := x.up.Forward(ctx, x.method, params, func(method string, params json.RawMessage) {
		if err := pass(ctx, x.session, method, params); err != nil {
			x.log.DebugContext(ctx, "a notification was not passed on", "method", method, "err", err)
		}
	}, ask)
	switch {
	case err == nil:
		return raw, nil
	case ctx.Err() != nil:
		return nil, x.ended(ctx)
	}
	return nil, x.failed(ctx, x.method, err)
}

// ended says why a request was given up.
func (x *exchange) ended(ctx context.Context) error {
	if rpc, ok := errors.AsType[*jsonrpc.Error](context.Cause(ctx)); ok {
		return rpc
	}
	return failuref("the request was cancelled")
}

// failed returns what a client gets to know about a failure of the upstream:
// its own error, or what class of failure it was. More is for the log.
func (p *Proxy) failed(ctx context.Context, method string, err error) error {
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		switch rpc.Code {
		case mcp.CodeHeaderMismatch, mcp.CodeUnsupportedProtocolVersion:
			// About our request and not about the one that was made to us.
		default:
			return rpc
		}
	}
	p.log.WarnContext(ctx, "the server behind the proxy failed", "method", method, "err", err)
	if e, ok := errors.AsType[interface {
		error
		Summary() string
	}](err); ok {
		return failuref("the server behind the proxy failed: %s", e.Summary())
	}
	return failuref("the server behind the proxy failed")
}

// result makes a result of what the upstream sent.
func (x *exchange) result(raw json.RawMessage, current bool, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return nil, errResult
	}
	r := &result{raw: raw}
	var came struct {
		ResultType *string `json:"resultType"`
	}
	if !current || json.Unmarshal(raw, &came) == nil && came.ResultType != nil {
		return r, nil
	}
	r.defaults = []schemadoc.RawMember{{Name: "resultType", Raw: []byte(`"complete"`)}}
	if forwarded[x.method].cacheable {
		// Nobody knows for how long, nor for whom.
		r.defaults = append(r.defaults,
			schemadoc.RawMember{Name: "ttlMs", Raw: []byte("0")}, schemadoc.RawMember{Name: "cacheScope", Raw: []byte(`"private"`)})
	}
	return r, nil
}

// result is a result as it came. Go-sdk adds the name of the server to its
// _meta.
type result struct {
	mcp.ResultBase
	raw      json.RawMessage
	defaults []schemadoc.RawMember // for what it does not have
}

// MarshalJSON implements [json.Marshaler]. What came keeps its order.
func (r *result) MarshalJSON() ([]byte, error) {
	members := schemadoc.SplitValid(r.raw)
	has := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		has[m.Name] = m.Raw
	}
	meta, err := r.completeMeta(has["_meta"])
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	add := func(name string, value json.RawMessage) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, _ := json.Marshal(name) // a string always encodes
		out = append(append(append(out, quoted...), ':'), value...)
	}
	for _, m := range members {
		if m.Name == "_meta" {
			m.Raw = meta
		}
		add(m.Name, m.Raw)
	}
	for _, m := range r.defaults {
		if has[m.Name] == nil {
			add(m.Name, m.Raw)
		}
	}
	if has["_meta"] == nil && meta != nil {
		add("_meta", meta)
	}
	return append(out, '}'), nil
}

// completeMeta adds to the _meta that came, which may be nil, what it does not
// have.
func (r *result) completeMeta(came json.RawMessage) (json.RawMessage, error) {
	meta := make(map[string]json.RawMessage)
	if came != nil && json.Unmarshal(came, &meta) != nil || meta == nil {
		return came, nil // whoever asked may judge it
	}
	added := false
	for name, value := range r.Meta {
		if meta[name] != nil {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		meta[name], added = raw, true
	}
	if !added {
		return came, nil
	}
	return json.Marshal(meta)
}

// pass passes on a notification that belongs to a request.
func pass(ctx context.Context, session *mcp.ServerSession, method string, params json.RawMessage) error {
	switch method {
	case "notifications/progress":
		n := new(mcp.ProgressNotificationParams)
		if err := json.Unmarshal(params, n); err != nil {
			return err
		}
		return session.NotifyProgress(ctx, n)
	case "notifications/message":
		var n struct {
			mcp.LoggingMessageParams
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(params, &n); err != nil {
			return err
		}
		n.LoggingMessageParams.Data = n.Data
		//lint:ignore SA1019 logging is deprecated, and servers log all the same
		return session.Log(ctx, &n.LoggingMessageParams)
	}
	return nil
}

// notified passes on what belongs to no request.
func (p *Proxy) notified(method string, params json.RawMessage) {
	// go-sdk tells about a list when something of its own changes. Nobody sees
	// what that is, as lists are forwarded.
	const name = "proxy"
	switch method {
	case "notifications/tools/list_changed":
		p.Server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		p.Server.RemoveTools(name)
	case "notifications/prompts/list_changed":
		p.Server.AddPrompt(&mcp.Prompt{Name: name}, nil)
		p.Server.RemovePrompts(name)
	case "notifications/resources/list_changed":
		p.Server.AddResource(&mcp.Resource{Name: name, URI: "proxy:///"}, nil)
		p.Server.RemoveResources("proxy:///")
	case "notifications/resources/updated":
		n := new(mcp.ResourceUpdatedNotificationParams)
		if json.Unmarshal(params, n) != nil {
			return
		}
		if err := p.Server.ResourceUpdated(p.life, n); err != nil {
			p.log.Debug("an update was not passed on", "err", err)
		}
	}
}

// set changes what is known of a session, until it ends: go-sdk does not say
// when one with subscriptions does.
func (p *Proxy) set(session *mcp.ServerSession, change func(*downstream)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.sessions[session]
	if d == nil {
		if p.closed {
			return errClosed
		}
		d = &downstream{uris: make(map[string]bool)}
		p.sessions[session] = d
		p.tasks.Go(func() {
			_ = session.Wait() // how it ended does not matter
			p.forget(session)
		})
	}
	change(d)
	return nil
}

func (p *Proxy) level(session *mcp.ServerSession) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.sessions[session]; d != nil {
		return d.level
	}
	return ""
}

// wanted reports whether any session has subscribed to a resource.
func (p *Proxy) wanted(uri string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.sessions {
		if d.uris[uri] {
			return true
		}
	}
	return false
}

// subscribe asks the upstream for all who want to know about a resource.
func (p *Proxy) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.turn }()
	uri := req.Params.URI
	if err := p.up.Subscribe(ctx, uri); err != nil {
		return p.failed(ctx, "resources/subscribe", err)
	}
	err := p.set(req.Session, func(d *downstream) { d.uris[uri] = true })
	if err != nil && !p.wanted(uri) {
		p.end(uri)
	}
	return err
}

// unsubscribe takes that back for the last one.
func (p *Proxy) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	p.mu.Lock()
	d := p.sessions[req.Session]
	had := d != nil && d.uris[req.Params.URI]
	if had {
		delete(d.uris, req.Params.URI)
	}
	p.mu.Unlock()
	if had {
		p.takeBack(req.Params.URI)
	}
	return nil
}

// forget takes back what a session that has ended had subscribed to.
func (p *Proxy) forget(session *mcp.ServerSession) {
	p.mu.Lock()
	d := p.sessions[session]
	delete(p.sessions, session)
	p.mu.Unlock()
	for uri := range d.uris {
		p.takeBack(uri)
	}
}

// takeBackPatience bounds how long the upstream may take to end a subscription.
const takeBackPatience = 5 * time.Second

// takeBack ends the subscription to a resource that nobody wants any longer.
func (p *Proxy) takeBack(uri string) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if !p.wanted(uri) {
		p.end(uri)
	}
}

// end does not depend on a request: whoever leaves may have ended its context.
func (p *Proxy) end(uri string) {
	ctx, cancel := context.WithTimeout(context.Background(), takeBackPatience)
	defer cancel()
	if err := p.up.Unsubscribe(ctx, uri); err != nil {
		p.log.Debug("a subscription was not taken back", "err", err)
	}
}
