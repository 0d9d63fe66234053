package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

// What the test binary is when it is started with one of these.
const (
	originProcess = "origin-process"
	proxyProcess  = "proxy-process" // of an origin that is spoken to in the revision of the second argument
)

func TestMain(m *testing.M) {
	ctx := context.Background()
	switch {
	case len(os.Args) == 2 && os.Args[1] == originProcess:
		if err := server.ServeStdio(ctx, upstream(), os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
	case len(os.Args) == 3 && os.Args[1] == proxyProcess:
		c, err := client.Open(ctx, []client.Spec{{
			Name: "origin", Protocol: client.Protocol(os.Args[2]), Stdio: &client.Stdio{Command: os.Args[0], Args: []string{originProcess}},
		}}, client.Options{Handlers: client.Handlers{Input: client.ForwardInput}})
		if err != nil {
			panic(err)
		}
		p, err := server.NewProxy(ctx, c.Server("origin"), nil)
		if err != nil {
			panic(err)
		}
		if err := server.ServeStdio(ctx, p.Server, os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		p.Close()
		_ = c.Close(ctx)
	default:
		goleak.VerifyTestMain(m)
	}
}

var _ server.Upstream = (*client.Server)(nil)

const onceSchema = `{"type":"object","properties":{"name":{"type":"string"},"also":{"type":"integer","maximum":12345678901234567890}}}`

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
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: object}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
		<-ctx.Done()
		s.RemoveTools("fail") // tells that it was cancelled
		return nil, ctx.Err()
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
	s.AddTool(&mcp.Tool{Name: "once", InputSchema: object}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := req.Params.InputResponses["q"]; ok {
			raw, _ := json.Marshal(answer)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{
			Mode: "form", Message: "once?", RequestedSchema: json.RawMessage(onceSchema),
		}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "change", InputSchema: object}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch string(req.Params.Arguments) {
		case `{"a":"tools"}`:
			s.RemoveTools("fail")
		case `{"a":"prompts"}`:
			s.RemovePrompts("greet")
		case `{"a":"resources"}`:
			s.RemoveResources("memo://note")
		case `{"a":"memo"}`:
			_ = s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "memo://note"})
		}
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

// proxied returns a proxy that is closed at the end of the test.
func proxied(t *testing.T, up server.Upstream, log *slog.Logger) *server.Proxy {
	t.Helper()
	p, err := server.NewProxy(t.Context(), up, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// matrix runs a test with an upstream and a downstream of each era.
func matrix(t *testing.T, f func(t *testing.T, up, down client.Protocol)) {
	t.Helper()
	both := []client.Protocol{client.Protocol20260728, client.ProtocolLegacy}
	for _, up := range both {
		for _, down := range both {
			t.Run(string("upstream "+up+" downstream "+down), func(t *testing.T) { f(t, up, down) })
		}
	}
}

// echoes answers questions with their own words.
func echoes(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
	if r.Message == "once?" && string(r.Schema) != onceSchema {
		return nil, fmt.Errorf("the schema is %s", r.Schema)
	}
	return &client.InputAnswer{Action: client.Accept, Content: map[string]string{"name": r.Message}}, nil
}

func TestProxy(t *testing.T) {
	matrix(t, func(t *testing.T, up, down client.Protocol) {
		p := proxied(t, reach(t, upstream(), up, client.Handlers{Input: client.ForwardInput}), nil)
		logs := make(chan client.LogMessage, 10)
		everything(t, up, down, logs, reach(t, p.Server, down, client.Handlers{
			Input: echoes, Log: func(_ context.Context, m client.LogMessage) { logs <- m },
		}))
	})
}

// The same with a process before a process.
func TestProxyStdio(t *testing.T) {
	matrix(t, func(t *testing.T, up, down client.Protocol) {
		logs := make(chan client.LogMessage, 10)
		c, err := client.Open(t.Context(), []client.Spec{{
			Name: "proxy", Protocol: down, Stdio: &client.Stdio{Command: os.Args[0], Args: []string{proxyProcess, string(up)}},
			Handlers: client.Handlers{Input: echoes, Log: func(_ context.Context, m client.LogMessage) { logs <- m }},
		}}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		everything(t, up, down, logs, c.Server("proxy"))
	})
}

// everything uses a proxy of upstream.
func everything(t *testing.T, up, down client.Protocol, logs <-chan client.LogMessage, srv *client.Server) {
	ctx := t.Context()
	if err := srv.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	if peer := srv.Peer(); !strings.Contains(string(peer.Info), `"origin"`) || peer.Instructions != "be kind" {
		t.Errorf("peer: %s, %s", peer.Info, peer.Instructions)
	}
	raws, err := srv.ListRawTools(ctx)
	if err != nil || len(raws) != 7 || !strings.Contains(string(raws[1]), `{"const":12345678901234567890}`) || !strings.Contains(string(raws[2]), "ui://x") {
		t.Errorf("tools: %s, %v", raws, err)
	}
	res, err := srv.Call(ctx, client.Call{
		Tool: "echo", Arguments: json.RawMessage(`{"z":12345678901234567890,"a":[1.50]}`), Meta: map[string]any{"mine": "m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(res.StructuredContent.(json.RawMessage)); got != `{"z":12345678901234567890,"a":[1.50]}` || res.Meta["seen"] != "m" {
		t.Errorf("result: %s", res.Raw)
	}
	_, err = srv.Call(ctx, client.Call{Tool: "fail"})
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != -32099 || rpc.Message != "out of order" {
		t.Errorf("error: %v", err)
	}
	if r, err := srv.ReadResource(ctx, "memo://note"); err != nil || r.Contents[0].Text != "a note" {
		t.Errorf("resource: %v", err)
	}
	if r, err := srv.Resources(ctx); err != nil || len(r) != 1 {
		t.Errorf("resources: %v, %v", r, err)
	}
	if r, err := srv.ResourceTemplates(ctx); err != nil || len(r) != 1 {
		t.Errorf("templates: %v, %v", r, err)
	}
	if r, err := srv.GetPrompt(ctx, "greet", map[string]string{"who": "you"}); err != nil || r.Messages[0].Content.(*mcp.TextContent).Text != "hi you" {
		t.Errorf("prompt: %v", err)
	}
	if r, err := srv.Complete(ctx, client.Completion{Prompt: "greet", Argument: "who", Value: "Ber"}); err != nil || !slices.Equal(r.Values, []string{"Berlin"}) {
		t.Errorf("completion: %v, %v", r, err)
	}

	var progress []float64
	if _, err = srv.Call(ctx, client.Call{Tool: "steps", ProgressToken: "mine", OnProgress: func(p client.Progress) {
		if p.Token != "mine" {
			t.Errorf("token %v", p.Token)
		}
		progress = append(progress, p.Progress)
	}}); err != nil || !slices.Equal(progress, []float64{1, 2, 3}) {
		t.Errorf("progress %v, %v", progress, err)
	}
	if m := <-logs; m.Level != "warning" || string(m.Data) != `"mind the step"` {
		t.Errorf("log: %+v", m)
	}

	res, err = srv.Call(ctx, client.Call{Tool: "once"})
	if up == client.ProtocolLegacy && down == client.Protocol20260728 {
		if err == nil || !strings.Contains(err.Error(), "in the way of older revisions") {
			t.Errorf("once: %+v, %v", res, err)
		}
	} else if err != nil || res.Content[0].(*mcp.TextContent).Text != `{"action":"accept","content":{"name":"once?"}}` {
		t.Errorf("once: %+v, %v", res, err)
	}
	if up == client.Protocol20260728 { // go-sdk asks older clients once
		res, err = srv.Call(ctx, client.Call{Tool: "ask"})
		if err != nil || !strings.Contains(string(res.Raw), "question 2") {
			t.Errorf("ask: %+v, %v", res, err)
		}
	}

	change := func(what string) {
		t.Helper()
		if _, err := srv.Call(ctx, client.Call{Tool: "change", Arguments: map[string]any{"a": what}}); err != nil {
			t.Error(err)
		}
	}
	updated := make(chan string, 10)
	defer srv.OnUpdated(func(_ context.Context, uri string) { updated <- uri })()
	if err := srv.Subscribe(ctx, "memo://note"); err != nil {
		t.Fatal(err)
	}
	change("memo")
	if uri := <-updated; uri != "memo://note" {
		t.Errorf("updated %q", uri)
	}
	changed := make(chan client.Kind, 10)
	for _, kind := range []client.Kind{client.KindTools, client.KindPrompts, client.KindResources} {
		stop, err := srv.OnListChanged(ctx, kind, func(context.Context) { changed <- kind })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
	}
	for _, kind := range []client.Kind{client.KindPrompts, client.KindResources} {
		change(string(kind))
		if got := <-changed; got != kind {
			t.Errorf("changed: %s, want %s", got, kind)
		}
	}

	// A call that is cancelled is cancelled at the other end, which then takes
	// a tool away.
	short, cancel := context.WithCancel(ctx)
	if _, err := srv.Call(short, client.Call{Tool: "wait", OnProgress: func(client.Progress) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	if kind := <-changed; kind != client.KindTools {
		t.Errorf("changed: %s", kind)
	}
	if raws, err := srv.ListRawTools(ctx); err != nil || len(raws) != 6 {
		t.Errorf("%d tools, %v", len(raws), err)
	}
	// Not before: servers on go-sdk 1.8 forget over stdio that they are to
	// tell about lists when another subscription of the session ends.
	if err := srv.Unsubscribe(ctx, "memo://note"); err != nil {
		t.Error(err)
	}
}

// post makes a request of revision 2026-07-28 and returns the response.
func post(t *testing.T, h http.Handler, method, name, params string) (response struct {
	Result json.RawMessage
	Error  *jsonrpc.Error
},
) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}%s}}`, method, params)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		if value != "" {
			r.Header.Set(key, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer := w.Body.String()
	if _, data, ok := strings.Cut(answer, "data: "); ok {
		answer, _, _ = strings.Cut(data, "\n")
	}
	if err := json.Unmarshal([]byte(answer), &response); err != nil {
		t.Fatalf("%s: %d %s", method, w.Code, w.Body)
	}
	return response
}

// reachScript opens a client of a server that answers as it is told.
func reachScript(t *testing.T, script http.Handler, h client.Handlers) *client.Server {
	t.Helper()
	srv := httptest.NewServer(script)
	c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: srv.URL}, Handlers: h}}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close(context.Background())
		srv.Close()
	})
	return c.Server("srv")
}

// Results are what the upstream sent, with what nobody knows; current clients
// get what their revision has and an older upstream does not.
func TestProxyIsExact(t *testing.T) {
	const (
		capabilities = `"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}},"experimental":{"x":{"y":1}}}`
		info         = `{"name":"odd","title":"Odd","version":"1"}`
		meta         = `"_meta":{"z":1,"io.modelcontextprotocol/serverInfo":{"name":"itself"}}`
		served       = `"_meta":{"io.modelcontextprotocol/serverInfo":` + info + `}`
		content      = `"content":[{"type":"hologram","z":1,"a":12345678901234567890},{"type":"image","data":"no base64!"}],"structuredContent":[1.50,null],"odd":{"b":1,"a":2}`
		list         = `[{"z":12345678901234567890,"name":"x","uri":"ui://x","_meta":{"ui":{"csp":1.50}}}]`
	)
	modern := `{"resultType":"complete","supportedVersions":["2026-07-28"],` + capabilities + `,"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":` + info + `}}`
	legacy := `{"protocolVersion":"2025-11-25",` + capabilities + `,"serverInfo":` + info + `}`
	for name, test := range map[string]struct {
		older                bool
		method, name, params string
		result, want         string
	}{
		"current call": {
			false, "tools/call", "t", `,"name":"t"`,
			`{"resultType":"complete",` + content + `,` + meta + `}`,
			`{"resultType":"complete",` + content + `,` + meta + `}`,
		},
		"current call without _meta": {
			false, "tools/call", "t", `,"name":"t"`,
			`{` + content + `,"resultType":"complete"}`,
			`{` + content + `,"resultType":"complete",` + served + `}`,
		},
		"another type of result": {
			false, "tools/call", "t", `,"name":"t"`,
			`{"resultType":"task","task":{"id":1.50},` + meta + `}`,
			`{"resultType":"task","task":{"id":1.50},` + meta + `}`,
		},
		"questions": {
			false, "resources/read", "u://x", `,"uri":"u://x"`,
			`{"resultType":"input_required","inputRequests":{"b":{"method":"odd/one","params":{"n":1.50}},"a":{"method":"roots/list"}},"requestState":"s\u00e9",` + meta + `}`,
			`{"resultType":"input_required","inputRequests":{"b":{"method":"odd/one","params":{"n":1.50}},"a":{"method":"roots/list"}},"requestState":"s\u00e9",` + meta + `}`,
		},
		"current list": {
			false, "resources/list", "", "",
			`{"resultType":"complete","ttlMs":60000,"cacheScope":"public","resources":` + list + `,"nextCursor":"",` + meta + `}`,
			`{"resultType":"complete","ttlMs":60000,"cacheScope":"public","resources":` + list + `,"nextCursor":"",` + meta + `}`,
		},
		"older call": {
			true, "tools/call", "t", `,"name":"t"`,
			`{` + content + `}`,
			`{` + content + `,"resultType":"complete",` + served + `}`,
		},
		"older list": {
			true, "tools/list", "", "",
			`{"_meta":{"n":1.50},"tools":` + list + `}`,
			`{"_meta":{"io.modelcontextprotocol/serverInfo":` + info + `,"n":1.50},"tools":` + list + `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`,
		},
		"older resource": {
			true, "resources/read", "ui://x", `,"uri":"ui://x"`,
			`{"contents":` + list + `}`,
			`{"contents":` + list + `,"resultType":"complete","ttlMs":0,"cacheScope":"private",` + served + `}`,
		},
		"no object": {false, "tools/call", "t", `,"name":"t"`, `[]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			script := &mcptest.Script{Discover: modern, Results: map[string]string{test.method: test.result}}
			if test.older {
				script.Discover, script.Initialize = "", legacy
			}
			if test.method == "tools/list" {
				script.List = func(*string) string { return test.result }
			}
			h := server.NewHandler(proxied(t, reachScript(t, script, client.Handlers{}), nil).Server, nil)
			got := post(t, h, test.method, test.name, test.params)
			switch {
			case test.want == "":
				if got.Error == nil || got.Error.Code != jsonrpc.CodeInternalError {
					t.Errorf("result %s, error %v", got.Result, got.Error)
				}
			case string(got.Result) != test.want:
				t.Errorf("result %s\nwant   %s\nerror  %v", got.Result, test.want, got.Error)
			}
			if test.method != "tools/list" && test.want != "" {
				got := post(t, h, "server/discover", "", "")
				for _, want := range []string{`"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}`, `"experimental":{"x":{"y":1}}`, `"completions":{}`, `"title":"Odd"`} {
					if !strings.Contains(string(got.Result), want) {
						t.Errorf("%s has no %s", got.Result, want)
					}
				}
			}
		})
	}
}

// An upstream learns what the one can do who asks, and not what its own client
// can.
func TestProxyTellsWhoAsks(t *testing.T) {
	log := func(context.Context, client.LogMessage) {}
	for name, test := range map[string]struct {
		protocol     client.Protocol
		level        string
		h            client.Handlers
		capabilities string
		want         string
	}{
		"current":            {client.Protocol20260728, "error", client.Handlers{}, `{}`, `"error"`},
		"current with forms": {client.Protocol20260728, "off", client.Handlers{Input: echoes}, `{"elicitation":{"form":{}}}`, ``},
		"older":              {client.ProtocolLegacy, "", client.Handlers{}, `{}`, ``},
		"older with forms":   {client.ProtocolLegacy, "critical", client.Handlers{Input: echoes, Log: log}, `{"elicitation":{"form":{}}}`, `"critical"`},
		"older with pages":   {client.ProtocolLegacy, "", client.Handlers{Input: echoes, InputURL: true, Log: log}, `{"elicitation":{"form":{},"url":{}}}`, `"info"`},
	} {
		t.Run(name, func(t *testing.T) {
			var params json.RawMessage
			script := mcptest.Modern(mcptest.Tool("t"))
			script.Discover = strings.Replace(script.Discover, `"tools":{}`, `"tools":{},"logging":{}`, 1)
			script.Call = func(p json.RawMessage) string {
				params = p
				return `{"content":[],"resultType":"complete"}`
			}
			p := proxied(t, reachScript(t, script, client.Handlers{Input: client.ForwardInput, InputURL: true}), nil)
			srv := httptest.NewServer(server.NewHandler(p.Server, nil))
			defer srv.Close()
			c, err := client.Open(t.Context(), []client.Spec{{
				Name: "srv", HTTP: &client.HTTP{URL: srv.URL}, Protocol: test.protocol, Handlers: test.h, LogLevel: test.level,
			}}, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			if _, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t"}); err != nil {
				t.Fatal(err)
			}
			var got struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			}
			if err := json.Unmarshal(params, &got); err != nil {
				t.Fatal(err)
			}
			if caps := string(got.Meta[mcp.MetaKeyClientCapabilities]); caps != test.capabilities {
				t.Errorf("capabilities %s, want %s", caps, test.capabilities)
			}
			if level := string(got.Meta["io.modelcontextprotocol/logLevel"]); level != test.want {
				t.Errorf("level %s, want %s", level, test.want)
			}
		})
	}
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
	down := reach(t, proxied(t, c.Server("srv"), nil).Server, "", client.Handlers{})
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

// An error of the upstream is passed on as it is, unless it is about how the
// proxy asked; one that a client of its revision would act upon.
func TestProxyErrors(t *testing.T) {
	script := mcptest.Modern(mcptest.Tool("t"))
	var answer string
	up := reachScript(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/call" {
			script.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var m struct{ ID json.RawMessage }
		_ = json.Unmarshal(body, &m)
		if strings.HasPrefix(answer, "{") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, answer)
			return
		}
		http.Error(w, answer, http.StatusForbidden)
	}), client.Handlers{Approve: func(context.Context, client.Approval) (bool, error) { return answer != "", nil }})
	h := server.NewHandler(proxied(t, up, nil).Server, nil)
	for _, test := range []struct {
		answer, want string
		code         int64
	}{
		{`{"code":-32099,"message":"own","data":{"n":1.50}}`, `own`, -32099},
		{`{"code":-32021,"message":"needs","data":{"requiredCapabilities":{}}}`, `needs`, -32021},
		{`{"code":-32020,"message":"headers"}`, "the server behind the proxy failed: JSON-RPC error -32020", jsonrpc.CodeInternalError},
		{`{"code":-32022,"message":"revision","data":{"supported":["2099-01-01"]}}`, "the server behind the proxy failed: JSON-RPC error -32022", jsonrpc.CodeInternalError},
		{`hunter2`, "the server behind the proxy failed: HTTP 403", jsonrpc.CodeInternalError},
		{``, "the server behind the proxy failed: the call was not approved", jsonrpc.CodeInternalError},
	} {
		answer = test.answer
		got := post(t, h, "tools/call", "t", `,"name":"t"`)
		if got.Error == nil || got.Error.Code != test.code || got.Error.Message != test.want || strings.Contains(answer, "1.50") && string(got.Error.Data) != `{"n":1.50}` {
			t.Errorf("%s: %+v, want %s", answer, got.Error, test.want)
		}
	}
}

// One subscription of the upstream serves all who subscribe, and ends with the
// last of them, however that one goes.
func TestProxySubscriptions(t *testing.T) {
	matrix(t, func(t *testing.T, up, down client.Protocol) {
		events := make(chan string, 20)
		origin := mcp.NewServer(&mcp.Implementation{Name: "origin"}, &mcp.ServerOptions{
			SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
				if r.Params.URI == "memo://no" {
					return &jsonrpc.Error{Code: -32099, Message: "not that one"}
				}
				events <- "+" + r.Params.URI
				return nil
			},
			UnsubscribeHandler: func(_ context.Context, r *mcp.UnsubscribeRequest) error {
				events <- "-" + r.Params.URI
				return nil
			},
		})
		origin.AddResource(&mcp.Resource{Name: "a", URI: "memo://a"}, nil)
		h := server.NewHandler(proxied(t, reach(t, origin, up, client.Handlers{}), nil).Server, nil)
		updated := make(chan string, 20)
		join := func() (srv *client.Server, leave func()) {
			s := httptest.NewServer(h)
			c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: s.URL}, Protocol: down}}, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			leave = sync.OnceFunc(func() {
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
				s.Close()
			})
			t.Cleanup(leave)
			c.Server("srv").OnUpdated(func(_ context.Context, uri string) { updated <- uri })
			return c.Server("srv"), leave
		}
		next := func(want string) {
			t.Helper()
			if got := <-events; got != want {
				t.Errorf("the upstream got %s, want %s", got, want)
			}
		}
		subscribe := func(srv *client.Server) {
			t.Helper()
			if err := srv.Subscribe(t.Context(), "memo://a"); err != nil {
				t.Fatal(err)
			}
		}
		first, firstLeaves := join()
		subscribe(first)
		next("+memo://a")
		second, secondLeaves := join()
		subscribe(second)
		firstLeaves()
		if err := origin.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "memo://a"}); err != nil {
			t.Fatal(err)
		}
		<-updated
		if err := second.Unsubscribe(t.Context(), "memo://a"); err != nil {
			t.Fatal(err)
		}
		next("-memo://a")
		subscribe(second)
		next("+memo://a")
		secondLeaves()
		next("-memo://a")

		third, _ := join()
		if up == client.ProtocolLegacy {
			if err := third.Subscribe(t.Context(), "memo://no"); err == nil {
				t.Error("subscribed to what the upstream refuses")
			}
		}
		subscribe(third)
		next("+memo://a")
		if len(events) > 0 {
			t.Errorf("the upstream also got %s", <-events)
		}
	})
}

// Closing a proxy ends what is under way, takes back what was subscribed to,
// and leaves the upstream alone.
func TestProxyCloses(t *testing.T) {
	matrix(t, func(t *testing.T, up, down client.Protocol) {
		events := make(chan string, 20)
		started := make(chan struct{})
		origin := mcp.NewServer(&mcp.Implementation{Name: "origin"}, &mcp.ServerOptions{
			SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error { events <- "+"; return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error {
				events <- "-"
				return nil
			},
		})
		origin.AddResource(&mcp.Resource{Name: "a", URI: "memo://a"}, nil)
		origin.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(started)
			<-ctx.Done()
			events <- "cancelled"
			return nil, ctx.Err()
		})
		srv := reach(t, origin, up, client.Handlers{})
		p := proxied(t, srv, nil)
		h := server.NewHandler(p.Server, nil)
		s := httptest.NewServer(h)
		defer s.Close()
		c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: s.URL}, Protocol: down}}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		if err := c.Server("srv").Subscribe(t.Context(), "memo://a"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "wait"})
			done <- err
		}()
		<-started
		p.Close()
		p.Close()
		if err := <-done; err == nil {
			t.Error("the call has not failed")
		}
		// The upstream is subscribed to anew whenever something else changes.
		subscribed, cancelled := 0, false
		next := func() {
			switch <-events {
			case "+":
				subscribed++
			case "-":
				subscribed--
			case "cancelled":
				cancelled = true
			}
		}
		for next(); subscribed > 0 || !cancelled; {
			next()
		}
		for range 20 {
			if got := post(t, h, "tools/list", "", ""); got.Error == nil || got.Error.Message != "the proxy is closed" {
				t.Errorf("%s, %v", got.Result, got.Error)
			}
		}
		if got := post(t, h, "subscriptions/listen", "", `,"notifications":{"resourceSubscriptions":["memo://a"]}`); got.Error == nil || got.Error.Message != "the proxy is closed" {
			t.Errorf("%s, %v", got.Result, got.Error)
		}
		for next(); subscribed > 0; {
			next()
		}
		if raws, err := srv.ListRawTools(t.Context()); err != nil || len(raws) != 1 {
			t.Errorf("%s, %v", raws, err)
		}
	})
}

// scripted is an upstream that answers as it is told.
type scripted struct {
	server.Upstream
	answer func(n int, params json.RawMessage) string
	ask    func(ask func(context.Context, string, json.RawMessage) (json.RawMessage, error)) // before that
	calls  []string
}

func (s *scripted) Name() string { return "scripted" }

func (s *scripted) Describe(context.Context) (info, capabilities json.RawMessage, instructions string, err error) {
	return nil, json.RawMessage(`{"tools":{}}`), "", nil
}

func (s *scripted) Follow(context.Context, func(string, json.RawMessage)) (func(), error) {
	return func() {}, nil
}

func (s *scripted) Forward(
	_ context.Context, _ string, params json.RawMessage, _ func(string, json.RawMessage), ask func(context.Context, string, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	if s.ask != nil {
		s.ask(ask)
	}
	s.calls = append(s.calls, string(params))
	return json.RawMessage(s.answer(len(s.calls), params)), nil
}

// older runs a test with a client of an older revision, in time that is made
// up.
func older(t *testing.T, up server.Upstream, f func(t *testing.T, cs *mcp.ClientSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := proxied(t, up, nil)
		here, there := mcp.NewInMemoryTransports()
		if _, err := p.Server.Connect(t.Context(), there, nil); err != nil {
			t.Fatal(err)
		}
		c := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{},
			ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				switch r.Params.Message {
				case "no":
					return nil, errors.New("hunter2")
				case "wait":
					time.Sleep(time.Hour)
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"asked": r.Params.Message}}, nil
			},
		})
		cs, err := c.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		defer cs.Close()
		f(t, cs)
	})
}

const elicit = `{"method":"elicitation/create","params":{"message":%q,"requestedSchema":{"type":"object","properties":{}}}}`

// A server that only wants to be asked again is, after a pause, and not for
// ever.
func TestProxyPauses(t *testing.T) {
	for name, rounds := range map[string]int{"ends": 5, "goes on": 1000} {
		up := &scripted{answer: func(n int, _ json.RawMessage) string {
			if n <= rounds {
				return fmt.Sprintf(`{"resultType":"input_required","requestState":"s%d"}`, n)
			}
			return `{"content":[]}`
		}}
		older(t, up, func(t *testing.T, cs *mcp.ClientSession) {
			start := time.Now()
			_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			took := time.Since(start)
			if rounds == 1000 {
				if err == nil || !strings.Contains(err.Error(), "more than 32 times") || len(up.calls) != 32 || took < time.Minute {
					t.Errorf("%s: %d calls in %v, %v", name, len(up.calls), took, err)
				}
				return
			}
			if err != nil || len(up.calls) != 6 || took != 3100*time.Millisecond {
				t.Errorf("%s: %d calls in %v, %v", name, len(up.calls), took, err)
			}
			if !strings.Contains(up.calls[5], `"requestState":"s5"`) || strings.Contains(up.calls[5], "inputResponses") || strings.Contains(up.calls[0], "requestState") {
				t.Errorf("calls %q", up.calls)
			}
		})
	}
	up := &scripted{answer: func(int, json.RawMessage) string { return `{"resultType":"input_required","requestState":"s"}` }}
	older(t, up, func(t *testing.T, cs *mcp.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "t"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		synctest.Wait()
		before := len(up.calls)
		time.Sleep(time.Hour)
		if len(up.calls) != before {
			t.Error("asked again after the end")
		}
	})
}

// Questions are asked in their order, however many rounds it takes; what cannot
// be asked ends the request, and nothing of what went wrong with the client is
// told.
func TestProxyQuestions(t *testing.T) {
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":`+elicit, i, "q")
	}
	for name, test := range map[string]struct{ questions, want string }{
		"many":    {strings.Join(many, ","), "more than 32 inputs"},
		"roots":   {`"k":{"method":"roots/list"}`, "cannot be passed on"},
		"nothing": {`"k":7`, "does not have the shape of one"},
		"fails":   {`"k":` + fmt.Sprintf(elicit, "no"), "could not be put to the client"},
		"page":    {`"k":{"method":"elicitation/create","params":{"mode":"url","message":"go","url":"https://a.example"}}`, "could not be put to the client"},
	} {
		up := &scripted{answer: func(int, json.RawMessage) string {
			return `{"resultType":"input_required","inputRequests":{` + test.questions + `}}`
		}}
		older(t, up, func(t *testing.T, cs *mcp.ClientSession) {
			_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			rpc, ok := errors.AsType[*jsonrpc.Error](err)
			if !ok || rpc.Code != jsonrpc.CodeInternalError || !strings.Contains(rpc.Message, test.want) || strings.Contains(rpc.Message, "hunter2") || len(up.calls) != 1 {
				t.Errorf("%s: %d calls, %v", name, len(up.calls), err)
			}
		})
	}

	up := &scripted{answer: func(n int, _ json.RawMessage) string {
		switch n {
		case 1:
			return fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"z":`+elicit+`,"a":`+elicit+`},"requestState":"s"}`, "first", "second")
		case 2:
			return fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"k":`+elicit+`}}`, "third")
		}
		return `{"content":[],"resultType":"complete"}`
	}}
	older(t, up, func(t *testing.T, cs *mcp.ClientSession) {
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(`{"n":1.50}`)}); err != nil {
			t.Fatal(err)
		}
		for i, want := range [][2]string{
			{"", ""},
			{`{"a":{"action":"accept","content":{"asked":"second"}},"z":{"action":"accept","content":{"asked":"first"}}}`, `"s"`},
			{`{"k":{"action":"accept","content":{"asked":"third"}}}`, ""},
		} {
			p := make(map[string]json.RawMessage)
			_ = json.Unmarshal([]byte(up.calls[i]), &p)
			if string(p["inputResponses"]) != want[0] || string(p["requestState"]) != want[1] || string(p["arguments"]) != `{"n":1.50}` {
				t.Errorf("call %d: %s", i, up.calls[i])
			}
		}
	})
}

// A question that an older upstream takes back is taken back.
func TestProxyTakesQuestionsBack(t *testing.T) {
	up := &scripted{
		answer: func(int, json.RawMessage) string { return `{"content":[]}` },
		ask: func(ask func(context.Context, string, json.RawMessage) (json.RawMessage, error)) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if answer, err := ask(ctx, "elicitation/create", json.RawMessage(`{"message":"wait"}`)); err == nil {
				t.Errorf("answer %s", answer)
			}
		},
	}
	older(t, up, func(t *testing.T, cs *mcp.ClientSession) {
		start := time.Now()
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"}); err != nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// A proxy of what is no server is none.
func TestNoProxy(t *testing.T) {
	script := mcptest.Modern()
	script.Discover = strings.Replace(script.Discover, `"tools":{}`, `"tools":7`, 1)
	if _, err := server.NewProxy(t.Context(), reachScript(t, script, client.Handlers{}), nil); err == nil || !strings.Contains(err.Error(), "capabilities") {
		t.Errorf("error %v", err)
	}
	gone := httptest.NewServer(script)
	gone.Close()
	c, err := client.Open(t.Context(), []client.Spec{{Name: "gone", HTTP: &client.HTTP{URL: gone.URL}}}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := server.NewProxy(t.Context(), c.Server("gone"), nil); err == nil {
		t.Error("a server that is gone has a proxy")
	}
}
