package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
)

const cityTool = `{"name":"t","inputSchema":{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"},"n":{"type":"integer"}},"required":["city"]},` +
	`"outputSchema":{"type":"object","properties":{"celsius":{"type":"number"}},"required":["celsius"]},"annotations":{"readOnlyHint":true}}`

// What does not fit is not sent.
func TestArguments(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		s.tools(cityTool).on("tools/call", `{"content":[],"structuredContent":{"celsius":1}}`)
		srv := s.start(t, client.Options{})
		for name, test := range map[string]struct {
			arguments any
			sent      string // or why not
			ok        bool
		}{
			"exact bytes": {json.RawMessage(`{ "city":"x", "n":12345678901234567890 }`), `{ "city":"x", "n":12345678901234567890 }`, true},
			"map":         {map[string]any{"city": "x"}, `{"city":"x"}`, true},
			"struct": {struct {
				City string `json:"city"`
			}{"x"}, `{"city":"x"}`, true},
			"room before":   {json.RawMessage(strings.Repeat(" ", 100) + `{"city":"x"}`), `{"city":"x"}`, true},
			"missing":       {nil, `missing "city"`, false},
			"null":          {json.RawMessage("null"), `missing "city"`, false},
			"null and room": {json.RawMessage(" null "), `missing "city"`, false},
			"nil pointer":   {(*struct{})(nil), `missing "city"`, false},
			"empty":         {json.RawMessage{}, `missing "city"`, false},
			"room alone":    {json.RawMessage("  "), "not valid JSON", false},
			"ill-typed":     {map[string]any{"city": 7}, "/city: want string, have number", false},
			"no object":     {[]int{1}, "they are no JSON object", false},
			"text":          {json.RawMessage(`"x"`), "they are no JSON object", false},
			"invalid":       {json.RawMessage(`{"city":`), "not valid JSON", false},
			"not encodable": {map[string]any{"city": func() {}}, "they cannot be encoded as JSON", false},
		} {
			before := len(s.messages("tools/call"))
			_, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: test.arguments})
			sent := s.messages("tools/call")[before:]
			if test.ok {
				if err != nil || len(sent) != 1 || sent[0].param("arguments") != test.sent {
					t.Errorf("%s: sent %v, %v", name, sent, err)
				}
				continue
			}
			e := serverError(t, err)
			argument, ok := errors.AsType[*client.ArgumentError](err)
			if !errors.Is(err, client.ErrInvalidArguments) || e.Class != client.ClassArguments || !ok || argument.Tool != "t" || argument.Server != "srv" ||
				!strings.Contains(err.Error(), test.sent) || len(sent) != 0 {
				t.Errorf("%s: %v, sent %v", name, err, sent)
			}
		}
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"city": 7}, NoValidate: true}); s.legacy && err != nil {
			t.Errorf("unchecked: %v", err)
		}
		before := len(s.messages("tools/call"))
		if _, err := srv.Call(t.Context(), client.Call{Tool: "other"}); len(s.messages("tools/call")) != before || !errors.Is(err, client.ErrUnknownTool) || serverError(t, err).Class != client.ClassNoTool {
			t.Errorf("unknown tool: %v", err)
		}
	})
}

// more are behaviours for what calls promise.
var _ = func() (none struct{}) {
	maps.Copy(misbehaviours, map[string]misbehaviour{
		"params": func(s *rawServer, m rawMessage, send func(string)) {
			send(result(m.ID, fmt.Sprint(s.count("tools/call"), " ", s.count("tools/list"), " ", string(m.Params))))
		},
		"told": func(s *rawServer, m rawMessage, send func(string)) {
			if m.arg("wait") == "" {
				send(result(m.ID, <-endings))
				return
			}
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s}}`, m.ID))
			send(`{}`) // what is no notification is not held back
			select {
			case c := <-s.cancelled:
				endings <- fmt.Sprintf("%s: %s", m.ID, c.Params)
			case <-m.gone:
				endings <- fmt.Sprintf("%s: gone", m.ID)
			}
		},
		"levels": func(_ *rawServer, m rawMessage, send func(string)) {
			for _, level := range append(levels, "loud") {
				send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"logger":"unit","data":{"n":1.50}}}`, level))
			}
			send(result(m.ID, "done"))
		},
		"late progress": func(_ *rawServer, m rawMessage, send func(string)) {
			progress := func(n int) {
				send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"token","progress":%d,"total":2.5,"message":"step"}}`, n))
			}
			progress(1)
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":7}}`)
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":8}}`)
			send(result(m.ID, "done"))
			progress(2)
		},
	})
	return none
}()

// endings are what a server was told about the ends of calls.
var endings = make(chan string, 10)

// levels are those of RFC 5424, the least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// The bytes of arguments reach the server over each transport, and stay one
// message.
func TestArgumentsOnTheWire(t *testing.T) {
	raw(t, "params", func(t *testing.T, spec client.Spec, s *rawServer) {
		c := open(t, client.Options{}, spec)
		for _, arguments := range []string{
			`{"big":12345678901234567890,"real":1.50, "text":"\n\u2028<&>"}`,
			"{\r\n\t\"a\":\r[1,\n2]\n}",
			"{\"a\":\n{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"tools/list\"}\n}",
		} {
			for how, f := range map[string]func() (string, error){
				"call": func() (string, error) {
					res, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Arguments: json.RawMessage(arguments), Meta: map[string]any{"m": json.RawMessage("[\n]")}})
					if err != nil {
						return "", err
					}
					return res.Content[0].(*mcp.TextContent).Text, nil
				},
				"forward": func() (string, error) {
					raw, err := c.Server("srv").Forward(t.Context(), "tools/call", json.RawMessage("{\n\"name\":\"t\",\r\"arguments\":"+arguments+
						",\"odd\":[\n],\"_meta\":{\n\"m\":{\n},\"io.modelcontextprotocol/clientCapabilities\":{\n\"roots\":{\r}}}}\n"), nil, nil)
					if err != nil {
						return "", err
					}
					var res struct{ Content []struct{ Text string } }
					err = json.Unmarshal(raw, &res)
					return res.Content[0].Text, err
				},
			} {
				first, _, _ := strings.Cut(said(t, c, nil), " {")
				text, err := f()
				if err != nil {
					t.Fatal(err)
				}
				second, params, _ := strings.Cut(text, " {")
				var calls, lists int
				if _, err := fmt.Sscan(first, &calls, &lists); err != nil {
					t.Fatal(err)
				}
				if second != fmt.Sprint(calls+1, " ", lists) {
					t.Errorf("%s: the server counts %s after %s", how, second, first)
				}
				want := arguments
				if s == nil { // each line is a message
					want = strings.NewReplacer("\r", " ", "\n", " ").Replace(want)
				}
				if got := (spied{Params: json.RawMessage("{" + params)}).param("arguments"); got != want {
					t.Errorf("%s: arguments %q, want %q", how, got, want)
				}
			}
		}
	})
}

// The server hears of the end of a call, in the way of the transport and the
// revision, and the caller of what ended it.
func TestCancellation(t *testing.T) {
	raw(t, "told", func(t *testing.T, spec client.Spec, s *rawServer) {
		c := open(t, client.Options{}, spec)
		srv := c.Server("srv")
		boom := errors.New("the user pressed a key")
		for _, test := range []struct {
			end     error
			timeout time.Duration
			class   client.Class
			reason  string
		}{
			{context.Canceled, 0, client.ClassCancelled, "cancelled"},
			{boom, 0, client.ClassCancelled, "cancelled"},
			{context.DeadlineExceeded, 0, client.ClassTimeout, "timed out"},
			{context.DeadlineExceeded, 300 * time.Millisecond, client.ClassTimeout, "timed out"},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			id := ""
			_, err := srv.Call(ctx, client.Call{
				Tool: "t", Arguments: map[string]any{"wait": "yes"}, Timeout: test.timeout,
				OnLog: func(m client.LogMessage) {
					if id = string(m.Data); test.timeout == 0 {
						cancel(test.end)
					}
				},
			})
			is := errors.Is(err, test.end) && (test.class == client.ClassTimeout || errors.Is(err, context.Canceled))
			if !is || serverError(t, err).Class != test.class {
				t.Errorf("%v: error %v", test, err)
			}
			want := fmt.Sprintf(`%s: {"requestId":%s,"reason":%q}`, id, id, test.reason)
			if s != nil && !s.legacy {
				want = id + ": gone"
			}
			if got := said(t, c, nil); id == "" || got != want {
				t.Errorf("%v: the server was told %s, want %s", test, got, want)
			}
		}
	})
}

// The same over HTTP with SSE.
func TestCancellationOverSSE(t *testing.T) {
	s := mcptest.Legacy(rawTool)
	s.Mute = []string{"tools/call"}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan struct{})
	s.OnRequest = func(method string) {
		switch method {
		case "tools/call":
			cancel()
		case "notifications/cancelled":
			close(cancelled)
		}
	}
	h := httptest.NewServer(s.OldSSE())
	defer h.Close()
	c, err := client.Open(t.Context(), []client.Spec{httpSpec(h.URL)}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Server("srv").Call(ctx, client.Call{Tool: "t"}); !errors.Is(err, context.Canceled) || c.Server("srv").Peer().Transport != client.TransportSSE {
		t.Errorf("%v over %s", err, c.Server("srv").Peer().Transport)
	}
	<-cancelled
}

func TestResults(t *testing.T) {
	anything := `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{}}`
	tests := map[string]struct {
		tool, result, structured string
		is                       error
		text                     string
	}{
		"object":        {cityTool, `{"content":[],"structuredContent":{"celsius":21.50}}`, `{"celsius":21.50}`, nil, ""},
		"invalid":       {cityTool, `{"content":[],"structuredContent":{"celsius":"hush"}}`, `{"celsius":"hush"}`, client.ErrInvalidResult, "/celsius: want number"},
		"missing":       {cityTool, `{"content":[]}`, ``, client.ErrInvalidResult, "no structured content"},
		"null":          {anything, `{"content":[],"structuredContent":null}`, `null`, nil, ""},
		"number":        {anything, `{"content":[],"structuredContent":12345678901234567890}`, `12345678901234567890`, nil, ""},
		"text":          {anything, `{"content":[],"structuredContent":"a\u00e4"}`, `"a\u00e4"`, nil, ""},
		"boolean":       {anything, `{"content":[],"structuredContent":false}`, `false`, nil, ""},
		"array":         {anything, `{"content":[],"structuredContent":[ 1 ]}`, `[ 1 ]`, nil, ""},
		"null, missed":  {cityTool, `{"content":[],"structuredContent":null}`, `null`, client.ErrInvalidResult, "want object"},
		"no promise":    {`{"name":"t","inputSchema":{}}`, `{"content":[],"structuredContent":{"x":1}}`, `{"x":1}`, nil, ""},
		"error":         {cityTool, `{"content":[{"type":"text","text":"it broke"}],"isError":true}`, ``, client.ErrToolFailed, "it broke"},
		"error, object": {cityTool, `{"content":[],"isError":true,"structuredContent":{"why":1}}`, `{"why":1}`, client.ErrToolFailed, ""},
		"no object":     {anything, `"x"`, ``, nil, "the result is no object"},
		"odd type":      {anything, `{"resultType":"riddle"}`, ``, nil, "unknown type"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			srv := newSpy(false).tools(test.tool).on("tools/call", test.result).start(t, client.Options{})
			res, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"city": "x"}})
			if (err == nil) != (test.is == nil && test.text == "") || test.is != nil && !errors.Is(err, test.is) || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Fatalf("error %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("the error repeats the value: %v", err)
			}
			if test.is == nil && test.text != "" {
				return
			}
			structured := ""
			if raw, ok := res.StructuredContent.(json.RawMessage); ok {
				structured = string(raw)
			}
			if structured != test.structured || string(res.Raw) != test.result {
				t.Errorf("structured content %s, raw %s", structured, res.Raw)
			}
			if test.is == client.ErrInvalidResult {
				if invalid, ok := errors.AsType[*client.ResultError](err); !ok || invalid.Result != res || serverError(t, err).Class != client.ClassResult {
					t.Errorf("the error has not the result: %v", err)
				}
				if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"city": "x"}, NoValidate: true}); err != nil {
					t.Errorf("unchecked: %v", err)
				}
				if _, err := srv.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"}); err != nil {
					t.Errorf("of generated code: %v", err)
				}
			}
			if test.is == client.ErrToolFailed {
				res, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"city": "x"}, ToolErrors: client.ReturnToolErrors})
				if err != nil || !res.IsError {
					t.Errorf("returned: %+v, %v", res, err)
				}
				if failed, ok := errors.AsType[*client.ToolError](errOf(srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"city": "x"}}))); !ok || failed.Result == nil {
					t.Error("the error has no result")
				}
				if res, err := srv.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"city": "x"}}); err != nil || !res.IsError {
					t.Errorf("CallTool: %+v, %v", res, err)
				}
			}
		})
	}
}

func errOf(_ *client.Result, err error) error { return err }

func TestContentThatIsNotKnown(t *testing.T) {
	srv := newSpy(false).on("tools/call", `{"content":[{"type":"text","text":"a"},{"type":"hologram","x": 1},{"type":"image","data":"%%","mimeType":"image/png"},7],"_meta":{"k":"v"}}`).
		start(t, client.Options{})
	res, err := srv.Call(t.Context(), client.Call{Tool: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var kinds, raws []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *client.UnknownContent:
			kinds, raws = append(kinds, "unknown "+c.Type), append(raws, string(c.Raw))
		case *mcp.TextContent:
			kinds = append(kinds, c.Text)
		}
	}
	if !slices.Equal(kinds, []string{"a", "unknown hologram", "unknown image", "unknown "}) || res.Meta["k"] != "v" ||
		!slices.Equal(raws, []string{`{"type":"hologram","x": 1}`, `{"type":"image","data":"%%","mimeType":"image/png"}`, `7`}) {
		t.Errorf("content %q, %q, _meta %v", kinds, raws, res.Meta)
	}
}

// Secrets that a server repeats do not come back in errors, whichever of them
// is printed; results stay as they came.
func TestToolErrorsHaveNoSecrets(t *testing.T) {
	const failed = `{"content":[{"type":"text","text":"bad key hunter2-token"},{"type":"text","text":"try another"}],"isError":true}`
	s := newSpy(false).on("tools/call", failed)
	secret := func(s *client.Spec) { s.HTTP.Headers = map[string]string{"Authorization": "Bearer hunter2-token"} }
	res, err := s.start(t, client.Options{}, secret).Call(t.Context(), client.Call{Tool: "t"})
	tool, ok := errors.AsType[*client.ToolError](err)
	if !ok || tool.Server != "srv" || tool.Tool != "t" || tool.Result != res || string(res.Raw) != failed {
		t.Fatalf("error %#v", err)
	}
	s.on("tools/call", asks("", question("k", "is it hunter2-token?", form)))
	_, asked := s.start(t, client.Options{}, secret).Call(t.Context(), client.Call{Tool: "t"})
	required, ok := errors.AsType[*client.InputRequiredError](asked)
	if !ok {
		t.Fatalf("error %v", asked)
	}
	for err, want := range map[error]string{err: "bad key [redacted]", tool: "bad key [redacted]: try another", asked: `"is it [redacted]?" (name,`, required: `"is it [redacted]?" (name,`} {
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "hunter2") || !strings.Contains(text, want) {
			t.Errorf("error %s", text)
		}
	}
}

// A server that misses headers is asked for the tool again, and called once
// more if that has changed.
func TestHeaderMismatch(t *testing.T) {
	plain := `{"name":"t","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}}}`
	for name, test := range map[string]struct {
		after string
		calls int
	}{
		"changed":   {cityTool, 2},
		"unchanged": {plain, 1},
		"gone":      {`{"name":"u","inputSchema":{"type":"object"}}`, 1},
		"again":     {cityTool, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(false).tools(plain)
			calls := 0
			s.results["tools/call"] = func(json.RawMessage) string {
				if calls++; calls == 1 || name == "again" {
					s.mu.Lock()
					s.results["tools/list"] = func(json.RawMessage) string { return `{"tools":[` + test.after + `]}` }
					s.mu.Unlock()
					return `error:{"code":-32020,"message":"header mismatch"}`
				}
				return `{"content":[],"structuredContent":{"celsius":1}}`
			}
			srv := s.start(t, client.Options{})
			_, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"city": "Ōsaka"}})
			sent := s.messages("tools/call")
			if ok := test.calls == 2 && name != "again"; len(sent) != test.calls || ok != (err == nil) || !ok && serverError(t, err).Code != mcp.CodeHeaderMismatch {
				t.Errorf("%d calls, %v", len(sent), err)
			}
			if test.calls == 2 && sent[1].Header.Get("Mcp-Param-City") != "=?base64?xYxzYWth?=" {
				t.Errorf("headers %v", sent[1].Header)
			}
		})
	}
}

// Generated code calls without having listed anything, and a server that says
// so with a status is understood as well.
func TestHeaderMismatchOfGeneratedCode(t *testing.T) {
	s := newSpy(false).tools(cityTool)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" && r.Header.Get("Mcp-Param-City") == "" {
			var m rawMessage
			_ = json.NewDecoder(r.Body).Decode(&m)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"header mismatch"}}`, m.ID)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer h.Close()
	srv := open(t, client.Options{}, httpSpec(h.URL)).Server("srv")
	for range 2 {
		if _, err := srv.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"city": "x"}}); err != nil {
			t.Error(err)
		}
	}
	if calls, lists := len(s.messages("tools/call")), len(s.messages("tools/list")); calls != 2 || lists != 1 {
		t.Errorf("%d calls, listed %d times", calls, lists)
	}
}

// What a request says about the client and about itself.
func TestRequestMeta(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		traced := make(map[string]int)
		var ended []client.TraceContext
		srv := s.on("tools/call", `{"content":[],"_meta":{"traceparent":"theirs"}}`).start(t, client.Options{
			ClientInfo: client.Implementation{Name: "program", Version: "7"},
			Handlers: client.Handlers{Trace: func(_ context.Context, op client.Operation) (client.TraceContext, func(client.TraceContext, error)) {
				traced[op.Server+" "+op.Method+" "+op.Target]++
				return client.TraceContext{Traceparent: "ours", Baggage: "b=1"}, func(server client.TraceContext, err error) {
					if op.Method == "tools/call" {
						ended = append(ended, server)
					}
				}
			}},
		}, func(spec *client.Spec) {
			spec.ClientInfo.Name = "special"
			spec.Extensions = map[string]any{"com.example/x": map[string]any{"a": 1}}
			spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) { return nil, nil }
			spec.InputURL = true
		})
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Meta: map[string]any{
			"mine": 1, "traceparent": "explicit", "io.modelcontextprotocol/clientInfo": "forged", "progressToken": "own",
		}, LogLevel: "error"}); err != nil {
			t.Fatal(err)
		}
		m := s.messages("tools/call")[0]
		want := map[string]string{"mine": "1", "traceparent": `"explicit"`, "baggage": `"b=1"`, "tracestate": "", "progressToken": `"own"`}
		capabilities := `{"elicitation":{"form":{},"url":{}},"extensions":{"com.example/x":{"a":1}}}`
		info := `{"name":"special","version":"7"}`
		if s.legacy {
			init := s.messages("initialize")[0]
			if init.param("capabilities") != capabilities || init.param("clientInfo") != info {
				t.Errorf("initialize %s", init.Params)
			}
			want["io.modelcontextprotocol/clientInfo"], want["io.modelcontextprotocol/logLevel"] = "", ""
		} else {
			maps.Copy(want, map[string]string{
				"io.modelcontextprotocol/protocolVersion": `"2026-07-28"`, "io.modelcontextprotocol/clientInfo": info,
				"io.modelcontextprotocol/clientCapabilities": capabilities, "io.modelcontextprotocol/logLevel": `"error"`,
			})
			if m.Header.Get("Mcp-Method") != "tools/call" || m.Header.Get("Mcp-Name") != "t" || m.Header.Get("MCP-Protocol-Version") != "2026-07-28" {
				t.Errorf("headers %v", m.Header)
			}
		}
		for name, value := range want {
			if got := m.meta(name); got != value {
				t.Errorf("%s is %s, want %s", name, got, value)
			}
		}
		if traced["srv tools/call t"] != 1 || traced["srv tools/list "] != 1 || !slices.Equal(ended, []client.TraceContext{{Traceparent: "theirs"}}) {
			t.Errorf("traced %v, ended %v", traced, ended)
		}
	})
}

// Who traces is told how each request ended, and what the server said of its
// own; one that has nothing to say sends nothing.
func TestTracing(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		var ended []string
		var operations []string
		s.on("tools/call", `{"content":[{"type":"text","text":"it broke"}],"isError":true,"_meta":{"traceparent":"theirs","tracestate":"s","baggage":"b"}}`).
			on("resources/read", `error:{"code":-32002,"message":"no such resource"}`)
		srv := s.start(t, client.Options{Handlers: client.Handlers{Trace: func(_ context.Context, op client.Operation) (client.TraceContext, func(client.TraceContext, error)) {
			operations = append(operations, op.Method+" "+op.Target)
			if op.Method == "tools/list" {
				return client.TraceContext{}, nil
			}
			return client.TraceContext{}, func(server client.TraceContext, err error) {
				class := client.Class("")
				if err != nil {
					class = serverError(t, err).Class
				}
				ended = append(ended, fmt.Sprint(server, " ", class))
			}
		}}})
		ctx := t.Context()
		if _, err := srv.Call(ctx, client.Call{Tool: "t", ToolErrors: client.ReturnToolErrors}); err != nil {
			t.Fatal(err)
		}
		if _, err := srv.ReadResource(ctx, "memo://a"); err == nil {
			t.Fatal("there is such a resource")
		}
		if _, err := srv.Call(ctx, client.Call{Tool: "t", Meta: map[string]any{"k": func() {}}}); err == nil {
			t.Fatal("a function was sent")
		}
		if want := []string{"tools/list ", "tools/call t", "resources/read memo://a", "tools/call t"}; !slices.Equal(operations, want) {
			t.Errorf("asked for %q, want %q", operations, want)
		}
		if want := []string{"{theirs s b} tool-error", "{  } protocol", "{  } protocol"}; !slices.Equal(ended, want) {
			t.Errorf("ended %q, want %q", ended, want)
		}
		if calls := s.messages("tools/call"); len(calls) != 1 || strings.Contains(string(calls[0].Params), "trace") || strings.Contains(string(calls[0].Params), "baggage") {
			t.Errorf("sent %+v", calls)
		}
	})
}

// A client without handlers claims nothing.
func TestCapabilitiesAreHonest(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		srv := s.start(t, client.Options{}, func(spec *client.Spec) { spec.LogLevel = "off" })
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err != nil {
			t.Fatal(err)
		}
		m := s.messages("tools/call")[0]
		if s.legacy {
			if got := s.messages("initialize")[0].param("capabilities"); got != "{}" || m.param("_meta") != "" || len(s.messages("logging/setLevel")) != 0 {
				t.Errorf("capabilities %s, call %s", got, m.Params)
			}
			return
		}
		if m.meta("io.modelcontextprotocol/clientCapabilities") != "{}" || m.meta("io.modelcontextprotocol/logLevel") != "" || m.meta("progressToken") != "" {
			t.Errorf("call %s", m.Params)
		}
	})
}

// Questions are for those that can be asked, pages for those that say so.
func TestElicitationIsHonest(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		for name, test := range map[string]struct {
			all, own client.Handlers
			want     string
		}{
			"forms":          {client.Handlers{Input: accepts(nil)}, client.Handlers{}, `{"elicitation":{"form":{}}}`},
			"pages":          {client.Handlers{Input: accepts(nil), InputURL: true}, client.Handlers{}, `{"elicitation":{"form":{},"url":{}}}`},
			"own forms":      {client.Handlers{Input: accepts(nil), InputURL: true}, client.Handlers{Input: accepts(nil)}, `{"elicitation":{"form":{}}}`},
			"pages, nobody":  {client.Handlers{InputURL: true}, client.Handlers{}, `{}`},
			"other handlers": {client.Handlers{Approve: func(context.Context, client.Approval) (bool, error) { return true, nil }}, client.Handlers{}, `{}`},
		} {
			srv := s.start(t, client.Options{Handlers: test.all}, func(spec *client.Spec) { spec.Handlers = test.own })
			if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err != nil {
				t.Fatal(err)
			}
			got := ""
			if s.legacy {
				all := s.messages("initialize")
				got = all[len(all)-1].param("capabilities")
			} else {
				all := s.messages("tools/call")
				got = all[len(all)-1].meta("io.modelcontextprotocol/clientCapabilities")
			}
			if got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
		}
	})
}

// Logs reach the logger at their level, the handler for all calls and that of
// the call; an older server is asked once.
func TestLogs(t *testing.T) {
	raw(t, "levels", func(t *testing.T, spec client.Spec, s *rawServer) {
		var log logBuffer
		got := make(chan client.LogMessage, 100)
		spec.LogLevel = "debug"
		spec.Log = func(_ context.Context, m client.LogMessage) { got <- m }
		srv := open(t, client.Options{Logger: log.logger()}, spec).Server("srv")
		var own []string
		for range 2 {
			if _, err := srv.Call(t.Context(), client.Call{Tool: "t", OnLog: func(m client.LogMessage) { own = append(own, m.Level) }}); err != nil {
				t.Fatal(err)
			}
		}
		want := append(slices.Clone(levels), "info") // of the one that nobody knows
		if want = append(want, want...); !slices.Equal(own, want) {
			t.Errorf("logs of the calls: %q", own)
		}
		for _, level := range want {
			if m := <-got; m.Server != "srv" || m.Level != level || m.Logger != "unit" || string(m.Data) != `{"n":1.50}` {
				t.Errorf("log %+v, want level %s", m, level)
			}
		}
		var logged []string
		for line := range strings.Lines(log.String()) {
			var entry struct{ Level, Msg, Logger, Data string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			if entry.Msg == "server log" && entry.Logger == "unit" && entry.Data == `{"n":1.50}` {
				logged = append(logged, entry.Level)
			}
		}
		one := []string{"DEBUG", "INFO", "INFO+2", "WARN", "ERROR", "ERROR+2", "ERROR+4", "ERROR+6", "INFO"}
		if !slices.Equal(logged, append(one, one...)) {
			t.Errorf("the logger has %q", logged)
		}
		if s == nil {
			return
		}
		asked := 0
		if s.legacy {
			asked = 1
		}
		if n := s.count("logging/setLevel"); n != asked {
			t.Errorf("asked %d times", n)
		}
	})
}

// Who logs at a level gets the logs of older servers too, which tell nothing
// unless they are asked.
func TestLogsOfOlderServers(t *testing.T) {
	var log logBuffer
	for name, test := range map[string]struct {
		opts  client.Options
		level string
		want  string // what is asked for
	}{
		"nobody":     {client.Options{}, "", ""},
		"a logger":   {client.Options{Logger: log.logger()}, "", `"info"`},
		"level":      {client.Options{Logger: log.logger()}, "warning", `"warning"`},
		"off":        {client.Options{Logger: log.logger()}, "off", ""},
		"not so low": {client.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(true)
			srv := s.start(t, test.opts, func(spec *client.Spec) { spec.LogLevel = test.level })
			for range 2 {
				if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err != nil {
					t.Fatal(err)
				}
			}
			var asked []string
			for _, m := range s.messages("logging/setLevel") {
				asked = append(asked, m.param("level"))
			}
			if got := strings.Join(asked, " "); got != test.want {
				t.Errorf("asked for %s, want %s", got, test.want)
			}
		})
	}
}

// What older servers log unasked is dropped where nobody is to be told.
func TestLogsThatAreOff(t *testing.T) {
	raw(t, "levels", func(t *testing.T, spec client.Spec, s *rawServer) {
		if !legacyEra(spec, s) {
			return // it may not log unasked
		}
		var log logBuffer
		spec.LogLevel = "off"
		told := func(what string) { t.Error("the", what, "is told") }
		spec.Log = func(context.Context, client.LogMessage) { told("handler") }
		c := open(t, client.Options{Logger: log.logger()}, spec)
		if _, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", OnLog: func(client.LogMessage) { told("call") }}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Server("srv").Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"t"}`), func(string, json.RawMessage) { told("proxy") }, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(t.Context()); err != nil || strings.Contains(log.String(), "server log") {
			t.Errorf("the logger is told: %v", err)
		}
	})
}

// The level of a request is that of the call, else that of the server, else
// info.
func TestLogLevels(t *testing.T) {
	for _, test := range []struct{ server, call, want string }{
		{"", "", `"info"`},
		{"warning", "", `"warning"`},
		{"warning", "debug", `"debug"`},
		{"off", "", ""},
		{"off", "error", `"error"`},
		{"info", "off", ""},
	} {
		s := newSpy(false)
		srv := s.start(t, client.Options{}, func(spec *client.Spec) { spec.LogLevel = test.server })
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t", LogLevel: test.call}); err != nil {
			t.Fatal(err)
		}
		if got := s.messages("tools/call")[0].meta("io.modelcontextprotocol/logLevel"); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
		if got := s.messages("tools/call")[0].meta("progressToken"); got != "" {
			t.Errorf("%+v: a token %s that nobody asked for", test, got)
		}
	}
}

// Progress of several calls at once goes to each its own, in order and whole.
func TestProgressOfSeveralCalls(t *testing.T) {
	raw(t, "burst", testProgressOfSeveralCalls)
}

func testProgressOfSeveralCalls(t *testing.T, spec client.Spec, _ *rawServer) {
	srv := open(t, client.Options{}, spec).Server("srv")
	failed := make(chan error, 10)
	for i := range 10 {
		go func() {
			var got []float64
			returned := false
			_, err := srv.Call(t.Context(), client.Call{
				Tool: "t", Arguments: map[string]any{"n": 20 + i},
				OnProgress: func(p client.Progress) {
					if returned {
						t.Error("told after the end")
					}
					got = append(got, p.Progress)
				},
			})
			returned = true
			if err == nil && (len(got) != 20+i || !slices.IsSorted(got)) {
				t.Errorf("call %d: progress %v", i, got)
			}
			failed <- err
		}()
	}
	for range 10 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// A token is the caller's, be it in the _meta of the call; what belongs to
// another one, or comes too late, is nobody's.
func TestProgressTokens(t *testing.T) {
	raw(t, "late progress", func(t *testing.T, spec client.Spec, _ *rawServer) {
		for name, call := range map[string]client.Call{
			"own":      {ProgressToken: "token"},
			"meta":     {Meta: map[string]any{"progressToken": "token"}},
			"raw meta": {Meta: map[string]any{"progressToken": json.RawMessage(`"token"`)}},
			"both":     {ProgressToken: "unused", Meta: map[string]any{"progressToken": "token"}},
		} {
			general := make(chan client.Progress, 10)
			spec.Progress = func(_ context.Context, p client.Progress) { general <- p }
			srv := open(t, client.Options{}, spec).Server("srv")
			var got []client.Progress
			call.Tool, call.OnProgress = "t", func(p client.Progress) { got = append(got, p) }
			for range 2 {
				if _, err := srv.Call(t.Context(), call); err != nil {
					t.Fatal(err)
				}
				if want := []client.Progress{{Server: "srv", Token: "token", Progress: 1, Total: 2.5, Message: "step"}}; !slices.Equal(got, want) {
					t.Errorf("%s: %+v, want %+v", name, got, want)
				}
				got = nil
				if p := <-general; p.Token != "other" || p.Progress != 7 {
					t.Errorf("%s: the handler for all calls got %+v", name, p)
				}
				// Over stdio what comes late is read with the next message.
				if spec.Stdio != nil {
					call.OnProgress = nil
					if _, err := srv.Call(t.Context(), call); err != nil {
						t.Fatal(err)
					}
					call.OnProgress = func(p client.Progress) { got = append(got, p) }
					for p := range general {
						if p.Token == "other" {
							break
						}
					}
					if got != nil {
						t.Errorf("%s: told after the end: %+v", name, got)
					}
					break
				}
			}
		}
	})
}

// A handler for all calls makes them ask, but for those that have their own.
func TestProgressHandler(t *testing.T) {
	raw(t, "burst", func(t *testing.T, spec client.Spec, _ *rawServer) {
		got := make(chan client.Progress, 10)
		srv := open(t, client.Options{Handlers: client.Handlers{
			Progress: func(_ context.Context, p client.Progress) { got <- p },
		}}, spec).Server("srv")
		own := 0
		for _, call := range []client.Call{
			{OnProgress: func(client.Progress) { own++ }},
			{ProgressToken: 7},
			{},
		} {
			call.Tool, call.Arguments = "t", map[string]any{"n": 2}
			if _, err := srv.Call(t.Context(), call); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []float64{1, 2, 1, 2} {
			p := <-got
			token, ours := p.Token.(string)
			if p.Progress != want || p.Server != "srv" || i < 2 && p.Token != json.Number("7") || i >= 2 && (!ours || token == "") {
				t.Errorf("progress %+v, want %v", p, want)
			}
		}
		if own != 2 {
			t.Errorf("told %d times", own)
		}
	})
}

// The time that people take is not the server's.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpy(false)
		hang := make(chan struct{})
		defer close(hang)
		s.results["tools/call"] = func(params json.RawMessage) string {
			if strings.Contains(string(params), "inputResponses") {
				return `{"content":[]}`
			}
			if strings.Contains(string(params), "hang") {
				<-hang
			}
			return `{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}}}`
		}
		spec := client.Spec{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Transport: inMemory(s)}}
		spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
			time.Sleep(time.Hour)
			return &client.InputAnswer{Action: client.Accept}, nil
		}
		spec.Approve = func(context.Context, client.Approval) (bool, error) {
			time.Sleep(time.Hour)
			return true, nil
		}
		slow := spec
		slow.Name, slow.Timeout = "slow", 5*time.Minute
		c, err := client.Open(t.Context(), []client.Spec{spec, slow}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		quick, err := client.Open(t.Context(), []client.Spec{spec, slow}, client.Options{Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer quick.Close(context.Background())
		if _, err := c.Call(t.Context(), client.Call{Server: "srv", Tool: "t"}); err != nil {
			t.Error(err)
		}
		for _, test := range []struct {
			client        *client.Client
			server        string
			timeout, want time.Duration
		}{
			{c, "srv", 0, time.Minute},
			{c, "slow", 0, 5 * time.Minute},
			{c, "slow", time.Second, time.Second},
			{quick, "srv", 0, 10 * time.Second},
			{quick, "slow", 0, 5 * time.Minute},
			{quick, "srv", time.Hour, time.Hour},
		} {
			start := time.Now()
			_, err := test.client.Call(t.Context(), client.Call{Server: test.server, Tool: "t", Arguments: map[string]any{"hang": true}, Timeout: test.timeout})
			// The approval takes an hour, beside the timeout.
			if took := time.Since(start) - time.Hour; !errors.Is(err, context.DeadlineExceeded) || took != test.want {
				t.Errorf("%+v: %v after %v", test, err, took)
			}
		}
	})
}

// A transport of the caller's sees the context of each call, to add what
// belongs to it.
func TestTransportSeesTheCall(t *testing.T) {
	type key struct{}
	s := newSpy(false)
	spec := client.Spec{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Headers: map[string]string{"X-Static": "s"}}}
	spec.HTTP.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		user, _ := r.Context().Value(key{}).(string)
		r.Header.Set("X-User", user)
		return inMemory(s).RoundTrip(r)
	})
	srv := open(t, client.Options{}, spec).Server("srv")
	for _, user := range []string{"ann", "bob"} {
		if _, err := srv.Call(context.WithValue(t.Context(), key{}, user), client.Call{Tool: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	calls := s.messages("tools/call")
	for i, user := range []string{"ann", "bob"} {
		if h := calls[i].Header; h.Get("X-User") != user || h.Get("X-Static") != "s" {
			t.Errorf("call %d: %v", i, h)
		}
	}
}
