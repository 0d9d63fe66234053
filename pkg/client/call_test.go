package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
			"missing":       {nil, `missing "city"`, false},
			"null":          {json.RawMessage("null"), `missing "city"`, false},
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
		if _, err := srv.Call(t.Context(), client.Call{Tool: "other"}); !errors.Is(err, client.ErrUnknownTool) || serverError(t, err).Class != client.ClassNoTool {
			t.Errorf("unknown tool: %v", err)
		}
	})
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
	if !slices.Equal(kinds, []string{"a", "unknown hologram", "unknown image", "unknown "}) || raws[0] != `{"type":"hologram","x": 1}` || res.Meta["k"] != "v" {
		t.Errorf("content %q, %q, _meta %v", kinds, raws, res.Meta)
	}
}

// Secrets that a server repeats do not come back in errors.
func TestToolErrorsHaveNoSecrets(t *testing.T) {
	srv := newSpy(false).on("tools/call", `{"content":[{"type":"text","text":"bad key hunter2-token"}],"isError":true}`).
		start(t, client.Options{}, func(s *client.Spec) { s.HTTP.Headers = map[string]string{"Authorization": "Bearer hunter2-token"} })
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "bad key") {
		t.Errorf("error %v", err)
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
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(false).tools(plain)
			calls := 0
			s.results["tools/call"] = func(json.RawMessage) string {
				if calls++; calls == 1 {
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
			if len(sent) != test.calls || (err == nil) != (test.calls == 2) {
				t.Errorf("%d calls, %v", len(sent), err)
			}
			if test.calls == 2 && sent[1].Header.Get("Mcp-Param-City") != "=?base64?xYxzYWth?=" {
				t.Errorf("headers %v", sent[1].Header)
			}
		})
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

// Logs reach the logger at their level; an older server is asked once.
func TestLogs(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		s := newRawServer(misbehaviours["burst"], legacy)
		var log logBuffer
		got := make(chan client.LogMessage, 100)
		srv := serveRaw(t, s, client.Options{Logger: log.logger()}, func(spec *client.Spec) {
			spec.LogLevel = "notice"
			spec.Log = func(_ context.Context, m client.LogMessage) { got <- m }
		})
		var own []string
		for range 2 {
			if _, err := srv.Call(t.Context(), client.Call{
				Tool: "t", Arguments: map[string]any{"n": 2}, OnLog: func(m client.LogMessage) { own = append(own, string(m.Data[:3])) },
			}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(own, []string{`"0 `, `"1 `, `"0 `, `"1 `}) {
			t.Errorf("logs of the calls: %q", own)
		}
		for range 4 {
			if m := <-got; m.Server != "srv" || m.Level != "info" {
				t.Errorf("log %+v", m)
			}
		}
		if !strings.Contains(log.String(), `"level":"INFO","msg":"server log"`) {
			t.Errorf("the logger has:\n%s", &log)
		}
		want := 0
		if legacy {
			want = 1
		}
		if n := s.count("logging/setLevel"); n != want {
			t.Errorf("asked %d times", n)
		}
	}
}

// Progress of several calls at once goes to each its own, in order and whole.
func TestProgressOfSeveralCalls(t *testing.T) {
	srv := serveRaw(t, newRawServer(misbehaviours["burst"], false), client.Options{})
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

// A handler for all calls makes them ask.
func TestProgressHandler(t *testing.T) {
	got := make(chan client.Progress, 10)
	srv := serveRaw(t, newRawServer(misbehaviours["burst"], false), client.Options{Handlers: client.Handlers{
		Progress: func(_ context.Context, p client.Progress) { got <- p },
	}})
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"n": 2}, ProgressToken: 7}); err != nil {
		t.Fatal(err)
	}
	if p := <-got; p.Token != json.Number("7") || p.Progress != 1 || p.Server != "srv" {
		t.Errorf("progress %+v", p)
	}
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
		if _, err := c.Call(t.Context(), client.Call{Server: "srv", Tool: "t"}); err != nil {
			t.Error(err)
		}
		for _, test := range []struct {
			server        string
			timeout, want time.Duration
		}{{"srv", 0, time.Minute}, {"slow", 0, 5 * time.Minute}, {"slow", time.Second, time.Second}} {
			start := time.Now()
			_, err := c.Call(t.Context(), client.Call{Server: test.server, Tool: "t", Arguments: map[string]any{"hang": true}, Timeout: test.timeout})
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
