package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// Parameters are sent as they are, but for what belongs to the connection, and
// results come as they are.
func TestForward(t *testing.T) {
	const result = `{"content":[{"type":"hologram","n":12345678901234567890}], "odd":1.50}`
	eras(t, func(t *testing.T, s *spy) {
		s.on("tools/call", result)
		srv := s.start(t, client.Options{}, func(spec *client.Spec) { spec.ClientInfo = client.Implementation{Name: "me", Version: "1"} })
		raw, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(`{"odd":[1.0],"arguments":{"z":12345678901234567890,"a":1.50},`+
			`"name":"t","inputResponses":{"k":{"action":"decline"}},"requestState":"st","_meta":{"mine":{"b":1,"a":2},"progressToken":7,`+
			`"traceparent":"theirs","io.modelcontextprotocol/logLevel":"error","io.modelcontextprotocol/protocolVersion":"2031-01-01",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"them"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}`), nil, nil)
		if err != nil || string(raw) != result {
			t.Fatalf("%s, %v", raw, err)
		}
		m := s.messages("tools/call")[0]
		for name, want := range map[string]string{
			"odd": "[1.0]", "arguments": `{"z":12345678901234567890,"a":1.50}`, "name": `"t"`,
			"inputResponses": `{"k":{"action":"decline"}}`, "requestState": `"st"`,
		} {
			if got := m.param(name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		ours := map[string]string{
			"mine": `{"b":1,"a":2}`, "traceparent": `"theirs"`, "io.modelcontextprotocol/logLevel": `"error"`,
			"io.modelcontextprotocol/protocolVersion": `"2026-07-28"`, "io.modelcontextprotocol/clientInfo": `{"name":"me","version":"1"}`,
			"io.modelcontextprotocol/clientCapabilities": `{"sampling":{}}`,
		}
		if s.legacy {
			for name := range ours {
				if strings.HasPrefix(name, "io.") {
					ours[name] = ""
				}
			}
			if got := s.messages("logging/setLevel"); len(got) != 1 || got[0].param("level") != `"info"` {
				t.Errorf("levels set: %v", got)
			}
		}
		for name, want := range ours {
			if got := m.meta(name); got != want {
				t.Errorf("_meta has %s: %s, want %s", name, got, want)
			}
		}
		if token := m.meta("progressToken"); len(token) < 20 || token[0] != '"' {
			t.Errorf("token %s", token)
		}

		// Nothing is added, and what there is need not be known.
		s.on("prompts/get", `{}`).on("tools/call", `error:{"code":-32099,"message":"no","data":{"n":1.50}}`)
		if raw, err := srv.Forward(t.Context(), "prompts/get", json.RawMessage(`{"name":"p"}`), nil, nil); err != nil || string(raw) != "{}" {
			t.Errorf("%s, %v", raw, err)
		}
		if m := s.messages("prompts/get")[0]; m.meta("progressToken") != "" || m.meta("io.modelcontextprotocol/logLevel") != "" || m.Header.Get("Mcp-Name") != "p" && !s.legacy {
			t.Errorf("sent %s %v", m.Params, m.Header)
		}
		_, err = srv.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"not listed"}`), nil, nil)
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != -32099 || string(rpc.Data) != `{"n":1.50}` {
			t.Errorf("error %v", err)
		}
		for _, params := range []string{`[]`, `"x"`, `{`, `7`} {
			if _, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(params), nil, nil); serverError(t, err).Class != client.ClassProtocol {
				t.Errorf("%s: %v", params, err)
			}
		}
		if n := len(s.messages("tools/call")); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

// The tokens of those who ask may be the same; each gets what is about its own
// request, with its own token, and nothing after the end.
func TestForwardProgress(t *testing.T) {
	both := make(chan struct{}, 2)
	s := newRawServer(func(_ *rawServer, m rawMessage, send func(string)) {
		var p struct {
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &p)
		both <- struct{}{}
		for len(both) < 2 {
			time.Sleep(time.Millisecond) // polls the other call
		}
		for i := range 50 {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%q,"odd":1}}`, p.Meta.Token, i, m.arg("me")))
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%q}}`, m.arg("me")))
		}
		send(result(m.ID, "done"))
	}, false)
	srv := serveRaw(t, s, client.Options{})
	var wg sync.WaitGroup
	for _, me := range []string{"a", "b"} {
		wg.Go(func() {
			var got []string
			ended := false
			_, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"t","arguments":{"me":"`+me+`"},"_meta":{"progressToken":7}}`), func(method string, params json.RawMessage) {
				if ended {
					t.Error("told after the end")
				}
				got = append(got, method+" "+string(params))
			}, nil)
			ended = true
			var want []string
			for i := range 50 {
				want = append(want, fmt.Sprintf(`notifications/progress {"progressToken":7,"progress":%d,"message":%q,"odd":1}`, i, me),
					fmt.Sprintf(`notifications/message {"level":"info","data":%q}`, me))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %q", me, err, got)
			}
		})
	}
	wg.Wait()
}

// forwardServer is the first argument of a test binary that is a server of
// revision 2025-11-25. A call with the argument "hold" is answered with the
// next one, which asks and logs first.
const forwardServer = "forward-server"

func init() {
	if len(os.Args) != 2 || os.Args[1] != forwardServer {
		return
	}
	var held []json.RawMessage
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m rawMessage
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/call" && m.arg("hold") != "":
			held = append(held, m.ID)
			var p struct {
				Meta struct {
					Token string `json:"progressToken"`
				} `json:"_meta"`
			}
			_ = json.Unmarshal(m.Params, &p)
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":1}}`+"\n", p.Meta.Token)
		case m.Method == "tools/call":
			held = append(held, m.ID)
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"psst"}}`)
			fmt.Println(`{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"odd":1.50}}`)
		case m.Method == "": // an answer
			for _, id := range held {
				fmt.Println(result(id, lines.Text()))
			}
			held = nil
		}
	}
	os.Exit(0)
}

// What an older server asks and logs over stdio belongs to a request that is
// alone, and otherwise to nobody.
func TestForwardInput(t *testing.T) {
	open := func(t *testing.T, h client.Handlers) *client.Server {
		return open(t, client.Options{}, client.Spec{
			Name: "srv", Timeout: 20 * time.Second, Protocol: client.ProtocolLegacy, Handlers: h,
			Stdio: &client.Stdio{Command: os.Args[0], Args: []string{forwardServer}},
		}).Server("srv")
	}
	answers := func(answer string, err error) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(answer), err
		}
	}
	boom := errors.New("boom")
	const call = `{"name":"t"}`
	for name, test := range map[string]struct {
		input client.InputHandler
		ask   func(context.Context, string, json.RawMessage) (json.RawMessage, error)
		want  string
	}{
		"answered":       {client.ForwardInput, answers(`{"action":"accept","content":{"n":12345678901234567890}}`, nil), `"result":{"action":"accept","content":{"n":12345678901234567890}}`},
		"declined":       {client.ForwardInput, answers(`{"action":"decline"}`, nil), `"result":{"action":"decline"}`},
		"not an answer":  {client.ForwardInput, answers(`[`, nil), `"result":{"action":"cancel"}`},
		"does not fit":   {client.ForwardInput, answers(`{"action":"accept","content":{"n":"x"}}`, nil), `"result":{"action":"cancel"}`},
		"fails":          {client.ForwardInput, answers("", boom), `"result":{"action":"cancel"}`},
		"nobody asks":    {client.ForwardInput, nil, `"result":{"action":"cancel"}`},
		"not set up":     {nil, answers(`{"action":"accept","content":{}}`, nil), `"code":-32601`},
		"answers itself": {accepts(map[string]int{"n": 3}), answers("", boom), `"content":{"n":3}`},
	} {
		t.Run(name, func(t *testing.T) {
			var asked, told []string
			ask := test.ask
			if ask != nil {
				ask = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
					asked = append(asked, method+" "+string(params))
					return test.ask(ctx, method, params)
				}
			}
			raw, err := open(t, client.Handlers{Input: test.input}).Forward(t.Context(), "tools/call", json.RawMessage(call), func(method string, params json.RawMessage) {
				told = append(told, method+" "+string(params))
			}, ask)
			if err != nil || !strings.Contains(string(raw), strings.ReplaceAll(test.want, `"`, `\"`)) {
				t.Errorf("%s, %v", raw, err)
			}
			if strings.HasPrefix(name, "answered") && !slices.Equal(asked, []string{
				`elicitation/create {"message":"who?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"odd":1.50}`,
			}) {
				t.Errorf("asked %q", asked)
			}
			if !slices.Equal(told, []string{`notifications/message {"level":"info","data":"psst"}`}) {
				t.Errorf("told %q", told)
			}
		})
	}
	for name, first := range map[string]func(srv *client.Server, held func()) error{
		"beside another": func(srv *client.Server, held func()) error {
			_, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"t","arguments":{"hold":true},"_meta":{"progressToken":1}}`),
				func(method string, _ json.RawMessage) {
					if method != "notifications/progress" {
						t.Error("the first is told", method)
					}
					held()
				},
				func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					t.Error("the first is asked")
					return nil, boom
				})
			return err
		},
		"beside our own": func(srv *client.Server, held func()) error {
			_, err := srv.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"hold": true}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			held := make(chan struct{})
			once := sync.OnceFunc(func() { close(held) })
			srv := open(t, client.Handlers{Input: client.ForwardInput, Progress: func(context.Context, client.Progress) { once() }})
			done := make(chan error, 1)
			go func() { done <- first(srv, once) }()
			<-held
			raw, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(call),
				func(method string, _ json.RawMessage) { t.Error("the second is told", method) },
				func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					t.Error("the second is asked")
					return nil, boom
				})
			if err != nil || !strings.Contains(string(raw), `\"action\":\"cancel\"`) {
				t.Errorf("%s, %v", raw, err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// Who owns the connection decides about what goes over it.
func TestForwardApproval(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		s.tools(`{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
		var asked []client.Approval
		srv := s.start(t, client.Options{Handlers: client.Handlers{Approve: func(_ context.Context, a client.Approval) (bool, error) {
			asked = append(asked, a)
			return a.Tool == "t", nil
		}}})
		if _, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"t","arguments":{"n":1.50}}`), nil, nil); err != nil {
			t.Error(err)
		}
		if _, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"other"}`), nil, nil); !errors.Is(err, client.ErrNotApproved) {
			t.Errorf("error %v", err)
		}
		if _, err := srv.Forward(t.Context(), "tools/list", nil, nil, nil); err != nil {
			t.Error(err)
		}
		if len(asked) != 2 || string(asked[0].Arguments) != `{"n":1.50}` || asked[0].Annotations == nil || !asked[0].Annotations.ReadOnlyHint || string(asked[1].Arguments) != "{}" {
			t.Errorf("asked %+v", asked)
		}
		if n := len(s.messages("tools/call")); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// Parameters go into headers, also where the list was out of date.
func TestForwardHeaders(t *testing.T) {
	s := newSpy(false)
	lists := 0
	s.results["tools/list"] = func(json.RawMessage) string {
		lists++
		header := ""
		if lists > 1 {
			header = `,"x-mcp-header":"City"`
		}
		return `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"city":{"type":"string"` + header + `}}}}]}`
	}
	s.results["tools/call"] = func(json.RawMessage) string {
		if lists == 1 {
			return `error:{"code":-32020,"message":"header mismatch"}`
		}
		return `{"content":[]}`
	}
	srv := s.start(t, client.Options{})
	if _, err := srv.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"t","arguments":{"city":"Oslo"}}`), nil, nil); err != nil {
		t.Fatal(err)
	}
	sent := s.messages("tools/call")
	if len(sent) != 2 || sent[0].Header.Get("Mcp-Param-City") != "" || sent[1].Header.Get("Mcp-Param-City") != "Oslo" || sent[0].ID == sent[1].ID || sent[1].Header.Get("Mcp-Name") != "t" {
		t.Errorf("sent %+v", sent)
	}
}

// A request that nobody waits for any longer ends at the server too.
func TestForwardCancels(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		started := make(chan struct{})
		s := newRawServer(func(s *rawServer, m rawMessage, _ func(string)) {
			close(started)
			select {
			case c := <-s.cancelled:
				s.cancelled <- c
			case <-m.gone:
				s.cancelled <- m
			}
		}, legacy)
		srv := serveRaw(t, s, client.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		if _, err := srv.Forward(ctx, "tools/call", json.RawMessage(`{"name":"t"}`), nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		<-s.cancelled
	}
}

// A server that promises to tell about changes, and then does not, can be
// followed all the same.
func TestFollow(t *testing.T) {
	for _, answer := range []string{`error:{"code":-32601,"message":"no such method"}`, `error:{"code":-32603,"message":"not now"}`} {
		srv := newSpy(false).on("subscriptions/listen", answer).start(t, client.Options{})
		stop, err := srv.Follow(t.Context(), func(method string, _ json.RawMessage) { t.Error("told", method) })
		if err != nil {
			t.Fatal(err)
		}
		stop()
		stop()
	}

	gone := httptest.NewServer(newSpy(false))
	c := open(t, client.Options{}, httpSpec(gone.URL))
	gone.Close()
	if _, err := c.Server("srv").Follow(t.Context(), nil); serverError(t, err).Class != client.ClassRefused {
		t.Errorf("error %v", err)
	}
	if _, _, _, err := c.Server("srv").Describe(t.Context()); serverError(t, err).Class != client.ClassRefused {
		t.Errorf("error %v", err)
	}
}
