package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/content"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Upstream is a server that a proxy passes on. A *client.Server of this
// module's client is one.
type Upstream interface {
	Name() string
	// Describe returns what the server says of itself.
	Describe(ctx context.Context) (info, capabilities json.RawMessage, instructions string, err error)
	// Forward sends a request and returns its result as it came. notify gets
	// the notifications that belong to the request.
	Forward(ctx context.Context, method string, params json.RawMessage, notify func(method string, params json.RawMessage)) (json.RawMessage, error)
	// Follow has notify called with the others.
	Follow(ctx context.Context, notify func(method string, params json.RawMessage)) (stop func(), err error)
	Subscribe(ctx context.Context, uri string) error
	Unsubscribe(ctx context.Context, uri string) error
}

// Proxy is a server that passes on another one: its tools, resources, prompts
// and completions, the progress and the logs of each request, cancellation,
// changes of lists and of resources, and the questions that a server asks in
// the middle of a request. Results keep their structured content exactly,
// and content that go-sdk does not know.
//
// A question of an upstream of revision 2026-07-28 reaches whoever made the
// request, of any revision. One of an older upstream does not say to which
// request it belongs, so the upstream's own handler answers it.
type Proxy struct {
	// Server is what [NewHandler] and [ServeStdio] serve.
	Server *mcp.Server

	up   Upstream
	log  *slog.Logger
	stop func()

	mu   sync.Mutex
	uris map[string]int // how often a resource is subscribed to
}

// NewProxy connects to a server and returns a proxy for it. Its Close must be
// called; the upstream is the caller's to close. A nil logger discards.
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
	p := &Proxy{up: up, log: log, uris: make(map[string]int)}
	p.Server = mcp.NewServer(info, &mcp.ServerOptions{
		Instructions: instructions, Logger: log, Capabilities: caps,
		SubscribeHandler: p.subscribe, UnsubscribeHandler: p.unsubscribe,
	})
	p.Server.AddReceivingMiddleware(p.forward)
	if p.stop, err = up.Follow(ctx, p.notified); err != nil {
		return nil, err
	}
	return p, nil
}

// Close ends the proxy's own part.
func (p *Proxy) Close() {
	p.stop()
	for session := range p.Server.Sessions() {
		session.Close()
	}
}

// results makes the results of the methods that are forwarded.
var results = map[string]func(json.RawMessage) (mcp.Result, error){
	"tools/list":               toolList,
	"tools/call":               callResult,
	"resources/list":           decode[mcp.ListResourcesResult],
	"resources/templates/list": decode[mcp.ListResourceTemplatesResult],
	"resources/read":           decode[mcp.ReadResourceResult],
	"prompts/list":             decode[mcp.ListPromptsResult],
	"prompts/get":              decode[mcp.GetPromptResult],
	"completion/complete":      decode[mcp.CompleteResult],
}

// forward is a receiving middleware.
func (p *Proxy) forward(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		read := results[method]
		session, ok := req.GetSession().(*mcp.ServerSession)
		if read == nil || !ok {
			return next(ctx, method, req)
		}
		params, err := json.Marshal(req.GetParams())
		if err != nil {
			return nil, err
		}
		if string(params) == "null" {
			params = []byte("{}")
		}
		if isOlder(session) {
			return p.converse(ctx, session, method, params, read)
		}
		raw, err := p.send(ctx, session, method, params)
		if err != nil {
			return nil, err
		}
		return read(raw)
	}
}

func isOlder(session *mcp.ServerSession) bool {
	init := session.InitializeParams()
	return init != nil && init.ProtocolVersion < protocolStateless
}

// maxRounds bounds how often an upstream may ask in the course of one request.
const maxRounds = 32

// converse makes a request for a client of an older revision, which is asked
// in the way that it knows.
func (p *Proxy) converse(
	ctx context.Context, session *mcp.ServerSession, method string, params json.RawMessage, read func(json.RawMessage) (mcp.Result, error),
) (mcp.Result, error) {
	doc := make(map[string]json.RawMessage)
	if err := json.Unmarshal(params, &doc); err != nil {
		return nil, err
	}
	meta := make(map[string]json.RawMessage)
	if raw := doc["_meta"]; raw != nil {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, err
		}
	}
	if caps := session.InitializeParams().Capabilities; caps != nil && caps.Elicitation != nil {
		// {} is what older clients say for forms.
		elicitation := map[string]any{"form": struct{}{}}
		if caps.Elicitation.URL != nil {
			elicitation["url"] = struct{}{}
		}
		meta[mcp.MetaKeyClientCapabilities], _ = json.Marshal(map[string]any{"elicitation": elicitation})
	}
	// The session drops what its client did not ask for.
	meta["io.modelcontextprotocol/logLevel"] = json.RawMessage(`"debug"`)
	doc["_meta"], _ = json.Marshal(meta)
	for range maxRounds {
		params, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		raw, err := p.send(ctx, session, method, params)
		if err != nil {
			return nil, err
		}
		var round struct {
			ResultType    string `json:"resultType"`
			InputRequests map[string]struct {
				Method string            `json:"method"`
				Params *mcp.ElicitParams `json:"params"`
			} `json:"inputRequests"`
			RequestState json.RawMessage `json:"requestState"`
		}
		if json.Unmarshal(raw, &round) != nil || round.ResultType != "input_required" {
			return read(raw)
		}
		answers := make(map[string]*mcp.ElicitResult, len(round.InputRequests))
		for key, question := range round.InputRequests {
			if question.Method != "elicitation/create" || question.Params == nil {
				return nil, fmt.Errorf("the server asks for %q, which cannot be passed on", question.Method)
			}
			if answers[key], err = session.Elicit(ctx, question.Params); err != nil {
				return nil, err
			}
		}
		delete(doc, "requestState")
		if round.RequestState != nil {
			doc["requestState"] = round.RequestState
		}
		if doc["inputResponses"], err = json.Marshal(answers); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the server asks for input more than %d times", maxRounds)
}

// send makes one request.
func (p *Proxy) send(ctx context.Context, session *mcp.ServerSession, method string, params json.RawMessage) (json.RawMessage, error) {
	raw, err := p.up.Forward(ctx, method, params, func(method string, params json.RawMessage) {
		if err := pass(ctx, session, method, params); err != nil {
			p.log.DebugContext(ctx, "a notification was not passed on", "method", method, "err", err)
		}
	})
	if err == nil {
		return raw, nil
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, rpc
	}
	p.log.WarnContext(ctx, "the server behind the proxy failed", "method", method, "err", err)
	// Whoever asked is not the one whom the details are for.
	text := "the server behind the proxy failed"
	if e, ok := errors.AsType[interface {
		error
		Summary() string
	}](err); ok {
		text += ": " + e.Summary()
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}
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
		//lint:ignore SA1019 logging is deprecated, and servers log all the same
		n := new(mcp.LoggingMessageParams)
		if err := json.Unmarshal(params, n); err != nil {
			return err
		}
		//lint:ignore SA1019 the same
		return session.Log(ctx, n)
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
		if err := p.Server.ResourceUpdated(context.Background(), n); err != nil {
			p.log.Debug("an update was not passed on", "err", err)
		}
	}
}

// subscribe subscribes for the first who wants to know about a resource.
func (p *Proxy) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	uri := req.Params.URI
	if p.uris[uri] == 0 {
		if err := p.up.Subscribe(ctx, uri); err != nil {
			return cmp.Or[error](rpcError(err), errors.New("the server behind the proxy does not agree to tell about the resource"))
		}
	}
	p.uris[uri]++
	return nil
}

// unsubscribe takes that back for the last one.
func (p *Proxy) unsubscribe(ctx context.Context, req *mcp.UnsubscribeRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	uri := req.Params.URI
	switch p.uris[uri] {
	case 0:
		return nil
	case 1:
		delete(p.uris, uri)
		// The one who leaves may have ended the context.
		if err := p.up.Unsubscribe(context.WithoutCancel(ctx), uri); err != nil {
			p.log.Debug("a subscription was not taken back", "err", err)
		}
		return nil
	}
	p.uris[uri]--
	return nil
}

// rpcError returns the error of the server itself, nil if err is another.
func rpcError(err error) error {
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return rpc
	}
	return nil
}

var errShape = errors.New("the result of the server behind the proxy does not have the shape of one")

// decode reads a result.
func decode[T any, R interface {
	*T
	mcp.Result
}](raw json.RawMessage) (mcp.Result, error) {
	result := new(T)
	if json.Unmarshal(raw, result) != nil {
		return nil, errShape
	}
	return R(result), nil
}

// toolList keeps schemas as they are.
func toolList(raw json.RawMessage) (mcp.Result, error) {
	result := new(mcp.ListToolsResult)
	var exact struct {
		Tools []struct {
			InputSchema  json.RawMessage `json:"inputSchema"`
			OutputSchema json.RawMessage `json:"outputSchema"`
		} `json:"tools"`
	}
	if json.Unmarshal(raw, result) != nil || json.Unmarshal(raw, &exact) != nil {
		return nil, errShape
	}
	for i, t := range exact.Tools {
		if t.InputSchema != nil {
			result.Tools[i].InputSchema = t.InputSchema
		}
		if t.OutputSchema != nil {
			result.Tools[i].OutputSchema = t.OutputSchema
		}
	}
	return result, nil
}

// callResult keeps structured content as it is, and content of kinds that
// go-sdk does not know.
func callResult(raw json.RawMessage) (mcp.Result, error) {
	rest := make(map[string]json.RawMessage)
	for _, m := range schemadoc.SplitValid(raw) {
		rest[m.Name] = m.Raw
	}
	list, err := content.Decode(rest["content"])
	if err != nil {
		return nil, errShape
	}
	structured, ok := rest["structuredContent"]
	simple := maps.Clone(rest)
	simple["content"] = json.RawMessage("[]")
	delete(simple, "structuredContent")
	doc, err := json.Marshal(simple)
	if err != nil {
		return nil, err
	}
	result := new(mcp.CallToolResult)
	if json.Unmarshal(doc, result) != nil {
		return nil, errShape
	}
	result.Content = list
	if ok {
		result.StructuredContent = structured
	}
	return result, nil
}
