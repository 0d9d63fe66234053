package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Forward sends a request of somebody else to the server and returns the result
// as it came, questions of the server included: who asked answers them. It is
// what a proxy is made of; see package server.
//
// The parameters are sent as they are, but for what belongs to the connection:
// the revision, the name of the client, and the token of progress. notify, which
// may be nil, gets the progress and the logs of the request, in order, and
// nothing after Forward has returned; what it gets has the token of params.
// When ctx ends the server is told to stop. Nothing is sent twice.
//
// Errors are [*ServerError] values; that of the server itself is in them as a
// *jsonrpc.Error.
func (s *Server) Forward(
	ctx context.Context, method string, raw json.RawMessage, notify func(method string, params json.RawMessage),
) (json.RawMessage, error) {
	ctx, op, err := s.begin(ctx, method, 0)
	if err != nil {
		return nil, err
	}
	defer op.end()
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	result, err := sess.forward(ctx, method, raw, notify)
	if err != nil {
		return nil, s.failure(ctx, method, err, sess.stdio)
	}
	return result, nil
}

func (s *session) forward(
	ctx context.Context, method string, raw json.RawMessage, notify func(method string, params json.RawMessage),
) (json.RawMessage, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if !json.Valid(raw) || raw[0] != '{' {
		return nil, protocolErrorf("the parameters are no JSON object")
	}
	req := wire.Request{ID: s.nextID(), Method: method}
	parts := members(raw, "_meta", "name", "uri", "arguments")
	switch method {
	case opCall, opPrompt:
		req.Name = text(parts[1])
	case opRead:
		req.Name = text(parts[2])
	}
	if method == opCall && s.modern() && s.stdio == nil {
		tool, err := s.server.tool(ctx, req.Name)
		if err != nil {
			return nil, err
		}
		if req.Header, err = parameterHeaders(tool, parts[3]); err != nil {
			return nil, &ArgumentError{s.server.Name(), req.Name, err}
		}
	}
	meta := make(map[string]any)
	var token, capabilities json.RawMessage
	for _, m := range schemadoc.SplitValid(parts[0]) {
		switch m.Name {
		case "progressToken":
			token = m.Raw
		case mcp.MetaKeyClientCapabilities:
			capabilities = m.Raw
		default:
			meta[m.Name] = json.RawMessage(m.Raw)
		}
	}
	rm := requestMeta{explicit: meta}
	if token != nil {
		rm.progressToken = rand.Text()
	}
	if notify != nil {
		ours, _ := json.Marshal(rm.progressToken) // a string always encodes
		in := newInbound(nil, nil, string(ours))
		in.forward = func(method string, params json.RawMessage) {
			if method == "notifications/progress" {
				params = replaceMember(params, "progressToken", token)
			}
			notify(method, params)
		}
		s.watch(req.ID, in)
		defer func() { s.unwatch(req.ID, in) }()
	}
	p := s.params(rm)
	if capabilities != nil && s.modern() {
		// Who asks may be able to do what this client is not.
		p.buf = replaceCapabilities(p.buf, capabilities)
	}
	for _, m := range schemadoc.SplitValid(raw) {
		if m.Name != "_meta" {
			p.set(m.Name, json.RawMessage(m.Raw))
		}
	}
	var err error
	if req.Params, err = p.done(); err != nil {
		return nil, protocolErrorf("the parameters cannot be encoded")
	}
	return s.request(ctx, req)
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
		case !errors.Is(err, ErrNotSupported):
			stop()
			return nil, err
		}
	}
	return stop, nil
}
