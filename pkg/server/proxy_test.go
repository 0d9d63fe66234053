package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

var _ server.Upstream = (*client.Server)(nil)

// upstream is a server of go-sdk that has one of everything.
func upstream() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "origin", Version: "3"}, &mcp.ServerOptions{
		Instructions:       "be kind",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{req.Params.Argument.Value + "lin"}}}, nil
		},
	})
	object := json.RawMessage(`{"type":"object","properties":{"z":{"const":12345678901234567890},"a":{}}}`)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: object, Meta: mcp.Meta{"ui": "ui://x"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Meta: mcp.Meta{"seen": req.Params.Meta["mine"]}, Content: []mcp.Content{&mcp.TextContent{Text: "hello"}},
			StructuredContent: req.Params.Arguments,
		}, nil
	})
	s.AddTool(&mcp.Tool{Name: "fail", InputSchema: object}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32099, Message: "out of order"}
	})
	s.AddTool(&mcp.Tool{Name: "steps", InputSchema: object}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3,
			}); err != nil {
				return nil, err
			}
		}
		//lint:ignore SA1019 deprecated, and in use
		_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "mind the step"})
		return &mcp.CallToolResult{}, nil
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: object}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		round := len(req.Params.RequestState)
		if round == 2 {
			answer, _ := json.Marshal(req.Params.InputResponses["q"])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}}, nil
		}
		return &mcp.CallToolResult{
			RequestState: strings.Repeat("x", round+1),
			InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{
				Mode: "form", Message: fmt.Sprint("question ", round+1),
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
			}},
		}, nil
	})
	s.AddResource(&mcp.Resource{Name: "note", URI: "memo://note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "memo://note", Text: "a note"}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "city", URITemplate: "memo://{city}"}, nil)
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi " + req.Params.Arguments["who"]}}}}, nil
	})
	return s
}

// reach opens a client of a handler.
func reach(t *testing.T, s *mcp.Server, protocol client.Protocol, h client.Handlers) *client.Server {
	t.Helper()
	srv := httptest.NewServer(server.NewHandler(s, nil))
	spec := client.Spec{Name: "srv", HTTP: &client.HTTP{URL: srv.URL}, Protocol: protocol, Handlers: h}
	c, err := client.Open(t.Context(), []client.Spec{spec}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for session := range s.Sessions() {
			session.Close()
		}
		srv.Close()
	})
	return c.Server("srv")
}

func TestProxy(t *testing.T) {
	for _, eras := range [][2]client.Protocol{
		{client.Protocol20260728, client.Protocol20260728},
		{client.Protocol20260728, client.ProtocolLegacy},
		{client.ProtocolLegacy, client.Protocol20260728},
		{client.ProtocolLegacy, client.ProtocolLegacy},
	} {
		t.Run(string("upstream "+eras[0]+" downstream "+eras[1]), func(t *testing.T) {
			origin := upstream()
			asked := func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
				return &client.InputAnswer{Action: client.Accept, Content: map[string]string{"name": r.Message}}, nil
			}
			up := client.Handlers{}
			if eras[0] == client.ProtocolLegacy {
				// The upstream does not say to which request its question
				// belongs.
				up.Input = asked
			}
			proxy, err := server.NewProxy(t.Context(), reach(t, origin, eras[0], up), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			logs := make(chan client.LogMessage, 10)
			down := reach(t, proxy.Server, eras[1], client.Handlers{
				Input: asked,
				Log:   func(_ context.Context, m client.LogMessage) { logs <- m },
			})
			ctx := t.Context()

			if err := down.Connect(ctx); err != nil {
				t.Fatal(err)
			}
			if peer := down.Peer(); !strings.Contains(string(peer.Info), `"origin"`) || peer.Instructions != "be kind" {
				t.Errorf("peer: %s, %s", peer.Info, peer.Instructions)
			}
			raws, err := down.ListRawTools(ctx)
			if err != nil || len(raws) != 4 || !strings.Contains(string(raws[1]), `{"const":12345678901234567890}`) || !strings.Contains(string(raws[1]), "ui://x") {
				t.Errorf("tools: %s, %v", raws, err)
			}
			res, err := down.Call(ctx, client.Call{
				Tool: "echo", Arguments: json.RawMessage(`{"z":12345678901234567890,"a":[1.50]}`), Meta: map[string]any{"mine": "m"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(res.StructuredContent.(json.RawMessage)); got != `{"z":12345678901234567890,"a":[1.50]}` || res.Meta["seen"] != "m" {
				t.Errorf("result: %s", res.Raw)
			}
			_, err = down.Call(ctx, client.Call{Tool: "fail"})
			if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != -32099 || rpc.Message != "out of order" {
				t.Errorf("error: %v", err)
			}
			var progress []float64
			if _, err = down.Call(ctx, client.Call{
				Tool: "steps", ProgressToken: "mine",
				OnProgress: func(p client.Progress) {
					if p.Token != "mine" {
						t.Errorf("token %v", p.Token)
					}
					progress = append(progress, p.Progress)
				},
			}); err != nil || !slices.Equal(progress, []float64{1, 2, 3}) {
				t.Errorf("progress %v, %v", progress, err)
			}
			if eras[0] == client.Protocol20260728 {
				if m := <-logs; m.Level != "warning" || string(m.Data) != `"mind the step"` {
					t.Errorf("log: %+v", m)
				}
				res, err = down.Call(ctx, client.Call{Tool: "ask"})
				if err != nil || !strings.Contains(string(res.Raw), "question 2") {
					t.Errorf("ask: %+v, %v", res, err)
				}
			}
			if r, err := down.ReadResource(ctx, "memo://note"); err != nil || r.Contents[0].Text != "a note" {
				t.Errorf("resource: %v", err)
			}
			if r, err := down.Resources(ctx); err != nil || len(r) != 1 {
				t.Errorf("resources: %v, %v", r, err)
			}
			if r, err := down.ResourceTemplates(ctx); err != nil || len(r) != 1 {
				t.Errorf("templates: %v, %v", r, err)
			}
			if r, err := down.GetPrompt(ctx, "greet", map[string]string{"who": "you"}); err != nil || r.Messages[0].Content.(*mcp.TextContent).Text != "hi you" {
				t.Errorf("prompt: %v", err)
			}
			if r, err := down.Complete(ctx, client.Completion{Prompt: "greet", Argument: "who", Value: "Ber"}); err != nil || !slices.Equal(r.Values, []string{"Berlin"}) {
				t.Errorf("completion: %v, %v", r, err)
			}

			updated := make(chan string, 10)
			defer down.OnUpdated(func(_ context.Context, uri string) { updated <- uri })()
			if err := down.Subscribe(ctx, "memo://note"); err != nil {
				t.Fatal(err)
			}
			if err := origin.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "memo://note"}); err != nil {
				t.Fatal(err)
			}
			if uri := <-updated; uri != "memo://note" {
				t.Errorf("updated %q", uri)
			}
			if err := down.Unsubscribe(ctx, "memo://note"); err != nil {
				t.Fatal(err)
			}
			changed := make(chan client.Kind, 10)
			for _, kind := range []client.Kind{client.KindTools, client.KindPrompts, client.KindResources} {
				stop, err := down.OnListChanged(ctx, kind, func(context.Context) { changed <- kind })
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
			}
			origin.RemoveTools("fail")
			if kind := <-changed; kind != client.KindTools {
				t.Errorf("changed: %s", kind)
			}
			if raws, err := down.ListRawTools(ctx); err != nil || len(raws) != 3 {
				t.Errorf("%d tools, %v", len(raws), err)
			}
			origin.RemovePrompts("greet")
			if kind := <-changed; kind != client.KindPrompts {
				t.Errorf("changed: %s", kind)
			}
			origin.RemoveResources("memo://note")
			if kind := <-changed; kind != client.KindResources {
				t.Errorf("changed: %s", kind)
			}
		})
	}
}

// Cancelling at one end reaches the other.
func TestProxyCancels(t *testing.T) {
	origin := mcp.NewServer(&mcp.Implementation{Name: "origin"}, nil)
	started, cancelled := make(chan struct{}), make(chan struct{})
	origin.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(started)
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	proxy, err := server.NewProxy(t.Context(), reach(t, origin, "", client.Handlers{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	down := reach(t, proxy.Server, "", client.Handlers{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := down.Call(ctx, client.Call{Tool: "wait"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	<-cancelled
}

// What went wrong behind the proxy is not for those before it.
func TestProxyHidesFailures(t *testing.T) {
	script := mcptest.Modern(mcptest.Tool("t"))
	srv := httptest.NewServer(script)
	c, err := client.Open(t.Context(), []client.Spec{{
		Name: "srv", HTTP: &client.HTTP{URL: srv.URL + "/?key=hunter2", Headers: map[string]string{"X-Key": "hunter3"}},
	}}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	proxy, err := server.NewProxy(t.Context(), c.Server("srv"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	down := reach(t, proxy.Server, "", client.Handlers{})
	if _, err := down.ListRawTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Close()
	_, err = down.ListRawTools(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the server behind the proxy failed: connection ") ||
		strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error: %v", err)
	}
}
