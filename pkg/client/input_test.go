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
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

const form = `{"type":"object","properties":{"name":{"type":"string","minLength":2},"mail":{"type":"string","format":"email"},` +
	`"size":{"type":"string","enum":["S","M"],"default":"M"},"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a"]}},"required":["name"]}`

func asks(state string, questions ...string) string {
	member := ""
	if state != "" {
		member = `,"requestState":` + state
	}
	return `{"resultType":"input_required","inputRequests":{` + strings.Join(questions, ",") + `}` + member + `}`
}

func question(key, message, schema string) string {
	return fmt.Sprintf(`%q:{"method":"elicitation/create","params":{"mode":"form","message":%q,"requestedSchema":%s}}`, key, message, schema)
}

// accepts answers every question with the same.
func accepts(content any) client.InputHandler {
	return func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
		return &client.InputAnswer{Action: client.Accept, Content: content}, nil
	}
}

// A conversation: several questions in order, several rounds, the state as it
// came, a new id for each round, and answers that are complete and right.
func TestInputRounds(t *testing.T) {
	s := newSpy(false).tools(`{"name":"t","inputSchema":{"type":"object"}}`)
	rounds := []string{
		asks(`"st\u00e4te/+="`, question("z", "first", form), question("a", "second", form)),
		asks("", question("k", "third", `{"type":"object","properties":{"n":{"type":"integer","default":7}}}`)),
		`{"content":[]}`,
	}
	n := 0
	s.results["tools/call"] = func(json.RawMessage) string { n++; return rounds[n-1] }
	var asked []string
	srv := s.start(t, client.Options{}, func(spec *client.Spec) {
		spec.Input = func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
			asked = append(asked, strings.Join([]string{r.Server, r.Method, r.Target, r.Key, r.Message}, " "))
			switch r.Message {
			case "second":
				return &client.InputAnswer{Action: client.Decline, Content: map[string]any{"never": "sent"}}, nil
			case "third":
				return &client.InputAnswer{Action: client.Accept}, nil
			}
			return &client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada"}}, nil
		}
	})
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"x": 1}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"srv tools/call t z first", "srv tools/call t a second", "srv tools/call t k third"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	sent := s.messages("tools/call")
	if len(sent) != 3 || sent[0].ID == sent[1].ID || sent[1].ID == sent[2].ID {
		t.Fatalf("%d calls: %+v", len(sent), sent)
	}
	for i, want := range []struct{ responses, state string }{
		{"", ""},
		{`{"z":{"action":"accept","content":{"name":"Ada","size":"M","tags":["a"]}},"a":{"action":"decline"}}`, `"st\u00e4te/+="`},
		{`{"k":{"action":"accept","content":{"n":7}}}`, ""},
	} {
		if sent[i].param("inputResponses") != want.responses || sent[i].param("requestState") != want.state || sent[i].param("arguments") != `{"x":1}` {
			t.Errorf("round %d: %s", i, sent[i].Params)
		}
	}
}

func TestInputAnswers(t *testing.T) {
	boom := errors.New("the user left")
	for name, test := range map[string]struct {
		answer *client.InputAnswer
		err    error
		sent   string // the response, or what the error says
		ok     bool
	}{
		"nothing":       {nil, nil, `{"action":"cancel"}`, true},
		"cancel":        {&client.InputAnswer{Action: client.Cancel}, nil, `{"action":"cancel"}`, true},
		"odd action":    {&client.InputAnswer{Action: "perhaps"}, nil, "unknown action", false},
		"error":         {nil, boom, "", false},
		"raw":           {&client.InputAnswer{Action: client.Accept, Content: json.RawMessage(`{"name":"Ada","size":"S","tags":[]}`)}, nil, `{"action":"accept","content":{"name":"Ada","size":"S","tags":[]}}`, true},
		"too short":     {&client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "A"}}, nil, "/name: shorter than 2", false},
		"missing":       {&client.InputAnswer{Action: client.Accept}, nil, `missing "name"`, false},
		"no mail":       {&client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada", "mail": "hunter2"}}, nil, "/mail", false},
		"no choice":     {&client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada", "size": "hunter2"}}, nil, "/size: not one of", false},
		"no such tag":   {&client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada", "tags": []string{"hunter2"}}}, nil, "/tags/0", false},
		"not an object": {&client.InputAnswer{Action: client.Accept, Content: 7}, nil, "no JSON object", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(false)
			s.results["tools/call"] = func(params json.RawMessage) string {
				if strings.Contains(string(params), "inputResponses") {
					return `{"content":[]}`
				}
				return asks(`"s"`, question("k", "q", form))
			}
			srv := s.start(t, client.Options{}, func(spec *client.Spec) {
				spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) { return test.answer, test.err }
			})
			_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
			sent := s.messages("tools/call")
			if test.ok {
				if err != nil || len(sent) != 2 || sent[1].param("inputResponses") != `{"k":`+test.sent+`}` {
					t.Errorf("%v, sent %v", err, sent)
				}
				return
			}
			if err == nil || len(sent) != 1 || !strings.Contains(err.Error(), test.sent) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, sent %v", err, sent)
			}
			if test.err != nil && (!errors.Is(err, boom) || !errors.Is(err, client.ErrInputRequired)) {
				t.Errorf("the handler's error is lost: %v", err)
			}
		})
	}
}

// A handler that leaves one question open leaves all open that came with it.
func TestInputLeftOpen(t *testing.T) {
	s := newSpy(false)
	s.results["tools/call"] = func(json.RawMessage) string {
		return asks(`"s"`, question("a", "first", `{"type":"object"}`)+","+question("b", "second", `{"type":"object"}`))
	}
	srv := s.start(t, client.Options{}, func(spec *client.Spec) {
		spec.Input = func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
			if r.Key == "a" {
				return &client.InputAnswer{Action: client.Accept, Content: map[string]any{}}, nil
			}
			return nil, fmt.Errorf("nobody is there: %w", client.ErrInputRequired)
		}
	})
	_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
	required, ok := errors.AsType[*client.InputRequiredError](err)
	if !ok || len(required.Requests) != 2 || string(required.State) != `"s"` || len(s.messages("tools/call")) != 1 {
		t.Errorf("%v: %+v", err, required)
	}
}

// Each kind of question that a form may ask is checked.
func TestInputForms(t *testing.T) {
	for name, test := range map[string]struct {
		property  string // of the question "x"
		good, bad string // answers as JSON, several apart from each other by spaces
	}{
		"text":           {`{"type":"string","minLength":2,"maxLength":3}`, `"ab" "äöü"`, `"a" "abcd" 7 null true ["ab"] {}`},
		"email":          {`{"type":"string","format":"email"}`, `"ada@example.com"`, `"ada" "ada@"`},
		"uri":            {`{"type":"string","format":"uri"}`, `"https://example.com/x"`, `"example" "/x"`},
		"date":           {`{"type":"string","format":"date"}`, `"2026-02-28"`, `"2026-02-30" "28.2.2026"`},
		"date-time":      {`{"type":"string","format":"date-time"}`, `"2026-02-28T12:00:00Z"`, `"2026-02-28" "now"`},
		"number":         {`{"type":"number","minimum":0,"maximum":100}`, `0 1.5 100`, `-1 100.5 "7"`},
		"integer":        {`{"type":"integer","minimum":18}`, `18 12345678901234567890`, `18.5 17 "18"`},
		"boolean":        {`{"type":"boolean"}`, `true false`, `"true" 1`},
		"enum":           {`{"type":"string","enum":["Red","Green"],"enumNames":["R","G"]}`, `"Red"`, `"R" "red" ""`},
		"enum, titles":   {`{"type":"string","oneOf":[{"const":"#F00","title":"Red"},{"const":"#0F0","title":"Green"}]}`, `"#F00"`, `"Red" "#00F"`},
		"several":        {`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}}`, `["a"] ["a","b"]`, `[] ["a","b","c"] ["d"] "a" [1]`},
		"several titles": {`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}`, `[] ["a","b"]`, `["A"] ["c"]`},
		"null default":   {`{"type":"string","default":null}`, `"x"`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(false)
			s.results["tools/call"] = func(params json.RawMessage) string {
				if strings.Contains(string(params), "inputResponses") {
					return `{"content":[]}`
				}
				return asks("", question("k", "q", `{"type":"object","properties":{"x":`+test.property+`}}`))
			}
			var content json.RawMessage
			srv := s.start(t, client.Options{Handlers: client.Handlers{Input: func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
				return &client.InputAnswer{Action: client.Accept, Content: content}, nil
			}}})
			answer := func(x string) (sent string, err error) {
				before := len(s.messages("tools/call"))
				if content = json.RawMessage("{}"); x != "" {
					content = json.RawMessage(`{"x":` + x + `}`)
				}
				_, err = srv.Call(t.Context(), client.Call{Tool: "t"})
				if got := s.messages("tools/call")[before:]; len(got) == 2 {
					sent = got[1].param("inputResponses")
				}
				return sent, err
			}
			for x := range strings.SplitSeq(test.good, " ") {
				if sent, err := answer(x); err != nil || sent != `{"k":{"action":"accept","content":{"x":`+x+`}}}` {
					t.Errorf("%s: sent %s, %v", x, sent, err)
				}
			}
			for x := range strings.SplitSeq(test.bad, " ") {
				sent, err := answer(x)
				wrong, ok := errors.AsType[*client.InputAnswerError](err)
				if !ok || sent != "" || wrong.Request.Key != "k" || !errors.Is(err, client.ErrInvalidArguments) || serverError(t, err).Class != client.ClassInput {
					t.Errorf("%s: sent %s, %v", x, sent, err)
				}
			}
			// Nothing has to be answered, and null is no default.
			if sent, err := answer(""); err != nil || sent != `{"k":{"action":"accept","content":{}}}` {
				t.Errorf("nothing: sent %s, %v", sent, err)
			}
		})
	}
}

// Answers are for the call that was asked, in which each round is a request of
// its own, and for no other.
func TestInputOfCallsInParallel(t *testing.T) {
	s := newSpy(false).on("resources/read", `{"contents":[]}`)
	rounds := 0
	s.results["tools/call"] = func(params json.RawMessage) string {
		if strings.Contains(string(params), "other") {
			return `{"content":[]}`
		}
		if rounds++; rounds < 3 {
			return asks(`"secret state"`, question("k", fmt.Sprint("question ", rounds), form))
		}
		return `{"content":[]}`
	}
	type key struct{}
	var srv *client.Server
	traced := 0
	srv = s.start(t, client.Options{Handlers: client.Handlers{
		Trace: func(_ context.Context, op client.Operation) (client.TraceContext, func(client.TraceContext, error)) {
			if op.Method != "tools/call" || op.Target != "t" {
				return client.TraceContext{}, nil
			}
			traced++
			return client.TraceContext{Traceparent: fmt.Sprint("round ", traced)}, nil
		},
		Input: func(ctx context.Context, _ *client.InputRequest) (*client.InputAnswer, error) {
			if ctx.Value(key{}) != "me" {
				t.Error("the context of the call is lost")
			}
			if _, err := srv.Call(ctx, client.Call{Tool: "t", Arguments: map[string]any{"other": true}}); err != nil {
				t.Error(err)
			}
			if _, err := srv.ReadResource(ctx, "u"); err != nil {
				t.Error(err)
			}
			return &client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada"}}, nil
		},
	}})
	ctx := context.WithValue(t.Context(), key{}, "me")
	if _, err := srv.Call(ctx, client.Call{Tool: "t", ProgressToken: "run", Meta: map[string]any{"mine": 1}}); err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	var parents []string
	for _, m := range append(s.messages("tools/call"), s.messages("resources/read")...) {
		ids[m.ID] = true
		other := m.Method != "tools/call" || m.param("arguments") == `{"other":true}`
		first := len(parents) == 0
		if other || first {
			if m.param("inputResponses") != "" || m.param("requestState") != "" {
				t.Errorf("%s got answers: %s", m.Method, m.Params)
			}
		} else if m.param("inputResponses") == "" || m.param("requestState") != `"secret state"` {
			t.Errorf("round %d: %s", len(parents), m.Params)
		}
		if !other {
			if m.meta("progressToken") != `"run"` || m.meta("mine") != "1" {
				t.Errorf("round %d: %s", len(parents), m.Params)
			}
		}
		if p := m.meta("traceparent"); p != "" && m.param("arguments") == "{}" {
			parents = append(parents, p)
		}
	}
	if len(ids) != 7 || !slices.Equal(parents, []string{`"round 1"`, `"round 3"`, `"round 5"`}) {
		t.Errorf("%d ids, traced %q", len(ids), parents)
	}
}

// A server that only wants to be asked again is, after a pause, and not for
// ever; it needs no handler.
func TestStateAlone(t *testing.T) {
	for name, rounds := range map[string]int{"ends": 5, "goes on": 1000} {
		s := newSpy(false)
		n := 0
		s.results["tools/call"] = func(json.RawMessage) string {
			if n++; n <= rounds {
				return fmt.Sprintf(`{"resultType":"input_required","requestState":"%d"}`, n)
			}
			return `{"content":[]}`
		}
		inBubble(t, s, false, func(t *testing.T, srv *client.Server) {
			start := time.Now()
			_, err := srv.Call(t.Context(), client.Call{Tool: "t", Timeout: time.Hour})
			took := time.Since(start)
			if rounds == 1000 {
				if n != 32 || err == nil || !strings.Contains(err.Error(), "more than 32 times") {
					t.Errorf("%s: %d calls, %v", name, n, err)
				}
				return
			}
			if err != nil || n != 6 || took < 500*time.Millisecond || took > 5*time.Second {
				t.Errorf("%s: %d calls in %v, %v", name, n, took, err)
			}
			for i, m := range s.messages("tools/call") {
				want := ""
				if i > 0 {
					want = fmt.Sprintf("%q", fmt.Sprint(i))
				}
				if m.param("requestState") != want || m.param("inputResponses") != "" {
					t.Errorf("call %d: %s", i, m.Params)
				}
			}
		})
	}
	// The pause ends with the call.
	s := newSpy(false).on("tools/call", `{"resultType":"input_required","requestState":"x"}`)
	inBubble(t, s, false, func(t *testing.T, srv *client.Server) {
		start := time.Now()
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Timeout: 2 * time.Second}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// What a server must not send ends the call, and nobody is asked.
func TestInputThatIsNone(t *testing.T) {
	many := make([]string, 33)
	for i := range many {
		many[i] = question(fmt.Sprint(i), "q", form)
	}
	for name, test := range map[string]struct{ result, want string }{
		"nothing":      {`{"resultType":"input_required"}`, "does not say what"},
		"odd state":    {asks("7", question("k", "q", form)), "requestState is no string"},
		"many":         {asks("", many...), "more than 32 inputs"},
		"odd mode":     {asks("", `"k":{"method":"elicitation/create","params":{"mode":"voice","message":"say","url":"https://a.example"}}`), "unknown mode"},
		"no url":       {asks("", `"k":{"method":"elicitation/create","params":{"mode":"url","message":"go"}}`), "without a URL"},
		"second is so": {asks("", question("a", "q", form), `"k":{"method":"elicitation/create","params":{"mode":"url","message":"go"}}`), "without a URL"},
	} {
		s := newSpy(false).on("tools/call", test.result)
		srv := s.start(t, client.Options{Handlers: client.Handlers{InputURL: true, Input: func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
			t.Errorf("%s: somebody was asked", name)
			return nil, nil
		}}})
		_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
		if err == nil || serverError(t, err).Class != client.ClassProtocol || !strings.Contains(err.Error(), test.want) || len(s.messages("tools/call")) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A page that cannot be visited is known before a form is filled in.
	s := newSpy(false).on("tools/call", asks("", question("a", "q", form), `"k":{"method":"elicitation/create","params":{"mode":"url","message":"go","url":"https://a.example/x"}}`))
	srv := s.start(t, client.Options{Handlers: client.Handlers{Input: func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
		t.Error("somebody was asked in vain")
		return nil, nil
	}}})
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); !errors.Is(err, client.ErrInputRequired) {
		t.Errorf("error %v", err)
	}
}

// A call that ends while somebody is asked has ended, and did not fail because
// of the question.
func TestInputIsCancelled(t *testing.T) {
	s := newSpy(false).on("tools/call", asks("", question("k", "q", form)))
	for name, ends := range map[string]func(context.Context) (*client.InputAnswer, error){
		"the handler says so": func(ctx context.Context) (*client.InputAnswer, error) { return nil, ctx.Err() },
		"the handler answers": func(context.Context) (*client.InputAnswer, error) {
			return &client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada"}}, nil
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		before := len(s.messages("tools/call"))
		srv := s.start(t, client.Options{Handlers: client.Handlers{Input: func(ctx context.Context, _ *client.InputRequest) (*client.InputAnswer, error) {
			cancel()
			<-ctx.Done()
			return ends(ctx)
		}}})
		_, err := srv.Call(ctx, client.Call{Tool: "t"})
		if !errors.Is(err, context.Canceled) || serverError(t, err).Class != client.ClassCancelled || len(s.messages("tools/call")) != before+1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whoever cannot be asked says so, and what was asked.
func TestInputNotPossible(t *testing.T) {
	web := `"k":{"method":"elicitation/create","params":{"mode":"url","message":"log in","url":"https://bank.example/login?secret=1"}}`
	answer := func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
		return &client.InputAnswer{Action: client.Accept}, nil
	}
	for name, test := range map[string]struct {
		questions []string
		input     client.InputHandler
		urls      bool
		want      string // "" for none
	}{
		"nobody":                {[]string{question("k", "Who?", form)}, nil, false, `"Who?" (name, mail, size, tags)`},
		"nobody for a page":     {[]string{web}, nil, false, `"log in" (visit a page on bank.example)`},
		"forms only":            {[]string{web}, answer, false, `"log in" (visit a page on bank.example)`},
		"pages too":             {[]string{web}, answer, true, ""},
		"sampling":              {[]string{`"k":{"method":"sampling/createMessage","params":{}}`}, answer, false, "sampling/createMessage"},
		"roots":                 {[]string{`"k":{"method":"roots/list"}`}, answer, false, "roots/list"},
		"one of two is no form": {[]string{question("a", "first", `{"type":"object"}`), `"k":{"method":"roots/list"}`}, answer, false, "roots/list"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(false)
			s.results["tools/call"] = func(params json.RawMessage) string {
				if strings.Contains(string(params), "inputResponses") {
					return `{"content":[]}`
				}
				return asks("", test.questions...)
			}
			srv := s.start(t, client.Options{}, func(spec *client.Spec) { spec.Input, spec.InputURL = test.input, test.urls })
			_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
			if test.want == "" {
				if got := s.messages("tools/call"); err != nil || got[1].param("inputResponses") != `{"k":{"action":"accept"}}` {
					t.Errorf("%v, %v", err, got)
				}
				return
			}
			required, ok := errors.AsType[*client.InputRequiredError](err)
			if !ok || !errors.Is(err, client.ErrInputRequired) || serverError(t, err).Class != client.ClassInput || !strings.Contains(err.Error(), test.want) || len(required.Requests) == 0 {
				t.Errorf("error %v", err)
			}
			if len(s.messages("tools/call")) != 1 {
				t.Error("it was called again")
			}
		})
	}
}

// A server that may not ask refuses, and says what it would have asked.
func TestInputIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"a form":       {`{"requiredCapabilities":{"elicitation":{}}}`, "a form: needs"},
		"form mode":    {`{"requiredCapabilities":{"elicitation":{"form":{}}}}`, "a form: needs"},
		"a page":       {`{"requiredCapabilities":{"elicitation":{"url":{}}}}`, "a page to visit: needs"},
		"both":         {`{"requiredCapabilities":{"elicitation":{"url":{},"form":{}},"sampling":{}}}`, "a form and a page to visit: needs"},
		"another":      {`{"requiredCapabilities":{"sampling":{}}}`, ""},
		"no such type": {`{"requiredCapabilities":{"elicitation":7}}`, ""},
		"nothing":      {`null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(false).on("tools/call", `error:{"code":-32021,"message":"needs s3cret-s3cret","data":`+test.data+`}`)
			srv := s.start(t, client.Options{}, func(spec *client.Spec) { spec.Secrets = []string{"s3cret-s3cret"} })
			_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
			e := serverError(t, err)
			if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != -32021 || e.Code != -32021 || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v", err)
			}
			if test.want == "" {
				if e.Class != client.ClassProtocol || errors.Is(err, client.ErrInputRequired) {
					t.Errorf("class %s of %v", e.Class, err)
				}
			} else if e.Class != client.ClassInput || !errors.Is(err, client.ErrInputRequired) || e.Summary() != client.ErrInputRequired.Error() || !strings.Contains(err.Error(), test.want) {
				t.Errorf("class %s of %v", e.Class, err)
			}
		})
	}
}

// Resources and prompts ask as tools do.
func TestInputOfResourcesAndPrompts(t *testing.T) {
	s := newSpy(false)
	answered := func(result string) func(json.RawMessage) string {
		return func(params json.RawMessage) string {
			if strings.Contains(string(params), `"inputResponses":{"k":{"action":"accept","content":{"name":"Ada"`) {
				return result
			}
			return asks(`"s"`, question("k", "q", form))
		}
	}
	s.results["resources/read"] = answered(`{"contents":[{"uri":"u","text":"read"}],"ttlMs":60000,"cacheScope":"public"}`)
	s.results["prompts/get"] = answered(`{"messages":[]}`)
	srv := s.start(t, client.Options{}, func(spec *client.Spec) {
		spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
			return &client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada"}}, nil
		}
	})
	for range 2 { // what depends on answers is not kept
		if r, err := srv.ReadResource(t.Context(), "u"); err != nil || r.Contents[0].Text != "read" {
			t.Errorf("resource: %v", err)
		}
	}
	if got := len(s.messages("resources/read")); got != 4 {
		t.Errorf("%d requests", got)
	}
	if _, err := srv.GetPrompt(t.Context(), "p", nil); err != nil {
		t.Errorf("prompt: %v", err)
	}
}

// A server of an older revision asks in the middle of a call, over its own
// stream or the call's.
func TestInputOfOlderServers(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "old"}, nil)
	s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"string","enum":["S","M"],"default":"M"}}}`,
		)})
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(res)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
	})
	srv := httptest.NewServer(server.NewHandler(s, nil))
	defer srv.Close()
	for name, test := range map[string]struct {
		answer *client.InputAnswer
		want   string
	}{
		"accept":  {&client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada"}}, `"content":{"name":"Ada","size":"M"}`},
		"decline": {&client.InputAnswer{Action: client.Decline}, `"action":"decline"`},
		"wrong":   {&client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": 7}}, `"action":"cancel"`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := httpSpec(srv.URL)
			spec.Protocol = client.ProtocolLegacy
			spec.Input = func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
				if r.Server != "srv" || r.Message != "Who?" || r.Key != "" {
					t.Errorf("asked %+v", r)
				}
				return test.answer, nil
			}
			c, err := client.Open(t.Context(), []client.Spec{spec}, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			res, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t"})
			if err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, test.want) {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	for session := range s.Sessions() {
		session.Close()
	}
}

// elicitingServer is the first argument of a test binary that is a server of
// revision 2025-11-25, whose tool makes the request that its arguments have.
const elicitingServer = "eliciting-server"

func init() {
	if len(os.Args) != 2 || os.Args[1] != elicitingServer {
		return
	}
	call, answers := json.RawMessage(nil), 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m rawMessage
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", m.ID, rawTool)
		case m.Method == "tools/call" && m.arg("method") != "":
			call = m.ID
			fmt.Printf(`{"jsonrpc":"2.0","id":"ask","method":%q,"params":%s}`+"\n", m.arg("method"), m.arg("params"))
		case m.Method == "tools/call":
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}`)
			fmt.Println(result(call, "taken back"))
			fmt.Println(result(m.ID, fmt.Sprint(answers, " answers")))
		case m.Method == "": // an answer
			answers++
			fmt.Println(result(call, lines.Text()))
		}
	}
	os.Exit(0)
}

// What an older server asks for may be a page, may be nothing that we know, and
// may be taken back.
func TestRequestsOfOlderServers(t *testing.T) {
	spec := client.Spec{
		Name: "srv", Timeout: 20 * time.Second, Protocol: client.ProtocolLegacy,
		Stdio: &client.Stdio{Command: os.Args[0], Args: []string{elicitingServer}},
	}
	const page = `{"mode":"url","message":"go","url":"https://a.example/x","elicitationId":"e1"}`
	for name, test := range map[string]struct {
		method, params string
		input          client.InputHandler
		urls           bool
		want           string // of the answer
	}{
		"page":          {"elicitation/create", page, accepts(map[string]any{"never": "sent"}), true, `"result":{"action":"accept"}`},
		"no pages":      {"elicitation/create", page, accepts(nil), false, `"code":-32602`},
		"odd mode":      {"elicitation/create", `{"mode":"voice","message":"say"}`, accepts(nil), true, `"code":-32602`},
		"no schema":     {"elicitation/create", `{"message":"sure?"}`, accepts(nil), false, `"result":{"action":"accept","content":{}}`},
		"nobody":        {"elicitation/create", `{"message":"sure?"}`, nil, false, `"code":-32601`},
		"roots":         {"roots/list", `{}`, accepts(nil), false, `"code":-32601`},
		"sampling":      {"sampling/createMessage", `{"messages":[]}`, accepts(nil), false, `"code":-32601`},
		"handler fails": {"elicitation/create", `{"message":"sure?"}`, func(context.Context, *client.InputRequest) (*client.InputAnswer, error) { return nil, errors.New("no") }, false, `"result":{"action":"cancel"}`},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Input, spec.InputURL = test.input, test.urls
			c := open(t, client.Options{}, spec)
			if got := said(t, c, map[string]any{"method": test.method, "params": test.params}); !strings.Contains(got, test.want) {
				t.Errorf("answered %s, want %s", got, test.want)
			}
		})
	}
	t.Run("taken back", func(t *testing.T) {
		asked, ended := make(chan struct{}), make(chan error, 1)
		spec.Input = func(ctx context.Context, _ *client.InputRequest) (*client.InputAnswer, error) {
			close(asked)
			<-ctx.Done()
			ended <- ctx.Err()
			return &client.InputAnswer{Action: client.Accept}, nil
		}
		var log logBuffer
		c := open(t, client.Options{Logger: log.logger()}, spec)
		go func() {
			<-asked
			if _, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t"}); err != nil {
				t.Error(err)
			}
		}()
		if got := said(t, c, map[string]any{"method": "elicitation/create", "params": `{"message":"sure?"}`}); got != "taken back" {
			t.Errorf("answered %s", got)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler ended with %v", err)
		}
		if got := said(t, c, nil); got != "0 answers" || strings.Contains(log.String(), "was not answered") {
			t.Errorf("there are %s, and the log has\n%s", got, &log)
		}
	})
}

// The same over HTTP, in the middle of the call.
func TestInputIsTakenBack(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	s := newRawServer(func(_ *rawServer, m rawMessage, send func(string)) {
		send(`{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"sure?"}}`)
		<-asked
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}`)
		send(`{}`) // what is no notification is not held back
		<-ended
		send(result(m.ID, "taken back"))
	}, true)
	srv := serveRaw(t, s, client.Options{Handlers: client.Handlers{Input: func(ctx context.Context, _ *client.InputRequest) (*client.InputAnswer, error) {
		close(asked)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}})
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err != nil {
		t.Error(err)
	}
	if n := s.count("answer"); n != 0 {
		t.Errorf("%d answers", n)
	}
}

// What a server asks on the stream of a call ends with the call, however that
// ends, and the server is told.
func TestInputEndsWithTheCall(t *testing.T) {
	for _, how := range []string{"answered", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			asked, ended, told := make(chan struct{}), make(chan error, 1), make(chan string, 1)
			s := newRawServer(func(_ *rawServer, m rawMessage, send func(string)) {
				send(`{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"sure?"}}`)
				if how == "answered" {
					<-asked
					send(result(m.ID, "never mind"))
					return
				}
				<-m.left
			}, true)
			s.extra = func(m rawMessage, _ func(string)) bool {
				if string(m.ID) == `"ask"` {
					told <- string(m.Result)
				}
				return false
			}
			var log logBuffer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			srv := serveRaw(t, s, client.Options{Logger: log.logger(), Handlers: client.Handlers{Input: func(asking context.Context, _ *client.InputRequest) (*client.InputAnswer, error) {
				close(asked)
				if how == "cancelled" {
					cancel()
				}
				<-asking.Done()
				ended <- asking.Err()
				return &client.InputAnswer{Action: client.Accept}, nil
			}}})
			_, err := srv.Call(ctx, client.Call{Tool: "t"})
			if (err == nil) != (how == "answered") {
				t.Errorf("error %v", err)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the handler ended with %v", err)
			}
			if got := <-told; got != `{"action":"cancel"}` || strings.Contains(log.String(), "was not answered") {
				t.Errorf("the server is told %s, and the log has\n%s", got, &log)
			}
		})
	}
}

// Pages that an older server sends to are visited one after the other, and
// when one is not, that is the end.
func TestURLElicitationDeclined(t *testing.T) {
	for name, test := range map[string]struct {
		answers []client.Action
		visited int
		again   bool
	}{
		"both":  {[]client.Action{client.Accept, client.Accept}, 2, true},
		"first": {[]client.Action{client.Decline}, 1, false},
		"then":  {[]client.Action{client.Accept, client.Cancel}, 2, false},
	} {
		s := newSpy(true)
		n := 0
		s.results["tools/call"] = func(json.RawMessage) string {
			if n++; n == 1 {
				return `error:{"code":-32042,"message":"go there","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://a.example/x","message":"log in"},{"mode":"url","elicitationId":"e2","url":"https://b.example/x","message":"pay"}]}}`
			}
			return `{"content":[]}`
		}
		visited := 0
		srv := s.start(t, client.Options{Handlers: client.Handlers{InputURL: true, Input: func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
			visited++
			return &client.InputAnswer{Action: test.answers[visited-1]}, nil
		}}})
		_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
		if test.again != (err == nil) || test.again != (n == 2) || visited != test.visited {
			t.Errorf("%s: %d calls, %d visits, %v", name, n, visited, err)
		}
		if required, ok := errors.AsType[*client.InputRequiredError](err); !test.again && (!ok || len(required.Requests) != 2) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Revision 2025-11-25 sends to pages with an error.
func TestURLElicitationRequired(t *testing.T) {
	for _, urls := range []bool{true, false} {
		s := newSpy(true)
		n := 0
		s.results["tools/call"] = func(json.RawMessage) string {
			if n++; n == 1 {
				return `error:{"code":-32042,"message":"go there","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://a.example/x","message":"log in"}]}}`
			}
			return `{"content":[]}`
		}
		var visited []string
		srv := s.start(t, client.Options{}, func(spec *client.Spec) {
			spec.Input = func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
				visited = append(visited, r.URL+" "+r.ElicitationID)
				return &client.InputAnswer{Action: client.Accept}, nil
			}
			spec.InputURL = urls
		})
		_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
		if urls && (err != nil || !slices.Equal(visited, []string{"https://a.example/x e1"})) || !urls && (!errors.Is(err, client.ErrInputRequired) || len(visited) != 0) {
			t.Errorf("urls %v: visited %q, %v", urls, visited, err)
		}
	}
}

// A person who has seen the defaults may leave them out; the answer is checked
// all the same.
func TestInputAsIs(t *testing.T) {
	for content, sent := range map[string]string{
		`{"name":"Ada","size":"S"}`: `{"k":{"action":"accept","content":{"name":"Ada","size":"S"}}}`,
		`{"size":"S"}`:              "",
	} {
		s := newSpy(false)
		s.results["tools/call"] = func(params json.RawMessage) string {
			if strings.Contains(string(params), "inputResponses") {
				return `{"content":[]}`
			}
			return asks(`"s"`, question("k", "q", form))
		}
		srv := s.start(t, client.Options{}, func(spec *client.Spec) {
			spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
				return &client.InputAnswer{Action: client.Accept, Content: json.RawMessage(content), AsIs: true}, nil
			}
		})
		_, err := srv.Call(t.Context(), client.Call{Tool: "t"})
		calls := s.messages("tools/call")
		if sent == "" {
			if _, ok := errors.AsType[*client.InputAnswerError](err); !ok || len(calls) != 1 {
				t.Errorf("%s: %v, sent %v", content, err, calls)
			}
		} else if err != nil || len(calls) != 2 || calls[1].param("inputResponses") != sent {
			t.Errorf("%s: %v, sent %v", content, err, calls)
		}
	}
}
