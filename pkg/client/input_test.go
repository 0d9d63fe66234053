package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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
