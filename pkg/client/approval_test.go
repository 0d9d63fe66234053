package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// A call waits for its approval, and is not sent without.
func TestApproval(t *testing.T) {
	boom := errors.New("the reviewer left")
	type key struct{}
	eras(t, func(t *testing.T, s *spy) {
		s.tools(cityTool).on("tools/call", `{"content":[],"structuredContent":{"celsius":1}}`)
		var seen []client.Approval
		decision, failure := true, error(nil)
		approve := func(ctx context.Context, a client.Approval) (bool, error) {
			if ctx.Value(key{}) != "me" {
				t.Error("the context of the call is lost")
			}
			seen = append(seen, a)
			return decision, failure
		}
		srv := s.start(t, client.Options{Handlers: client.Handlers{
			Approve: func(context.Context, client.Approval) (bool, error) { return false, errors.New("not asked") },
		}}, func(spec *client.Spec) { spec.Approve = approve })
		ctx := context.WithValue(t.Context(), key{}, "me")
		call := client.Call{Tool: "t", Arguments: map[string]any{"city": "x"}}
		if _, err := srv.Call(ctx, call); err != nil {
			t.Fatal(err)
		}
		if a := seen[0]; a.Server != "srv" || a.Tool != "t" || string(a.Arguments) != `{"city":"x"}` || a.Annotations == nil || !a.Annotations.ReadOnlyHint {
			t.Errorf("approval %+v", a)
		}
		if _, err := srv.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"city": "x"}}); err != nil || len(seen) != 2 || seen[1].Annotations == nil {
			t.Errorf("CallTool: %v, seen %+v", err, seen)
		}
		before := len(s.messages("tools/call"))
		decision = false
		if _, err := srv.Call(ctx, call); !errors.Is(err, client.ErrNotApproved) || serverError(t, err).Class != client.ClassApproval {
			t.Errorf("refused: %v", err)
		}
		decision, failure = true, boom
		if _, err := srv.Call(ctx, call); !errors.Is(err, client.ErrNotApproved) || !errors.Is(err, boom) {
			t.Errorf("failed: %v", err)
		}
		if got := len(s.messages("tools/call")); got != before {
			t.Errorf("%d calls were sent", got-before)
		}
	})
}

// reviewer is a failure with a type of the caller's.
type reviewer struct{ name string }

func (r *reviewer) Error() string { return r.name + " left" }

// What a decision gets and when it is asked: last of all, once a call.
func TestApprovalIsAskedLast(t *testing.T) {
	s := newSpy(false).tools(
		cityTool,
		`{"name":"plain","inputSchema":{"type":"object"}}`,
		`{"name":"odd","inputSchema":{"type":"object"},"annotations":7}`,
	)
	rounds := 0
	s.results["tools/call"] = func(params json.RawMessage) string {
		if rounds++; strings.Contains(string(params), `"asks"`) && rounds == 1 {
			return asks("", question("k", "more?", `{"type":"object"}`))
		}
		return `{"content":[],"structuredContent":{"celsius":1}}`
	}
	var seen []string
	var decision error
	handlers := client.Handlers{
		Approve: func(_ context.Context, a client.Approval) (bool, error) {
			seen = append(seen, fmt.Sprintf("%s %s %s %v", a.Server, a.Tool, a.Arguments, a.Annotations != nil))
			return true, decision
		},
		Input: func(context.Context, *client.InputRequest) (*client.InputAnswer, error) { return nil, nil },
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	// The spec has none of its own, so it is the one for all servers.
	c := open(t, client.Options{Handlers: handlers}, httpSpec(h.URL))
	srv := c.Server("srv")
	ctx := t.Context()
	expect := func(what string, err error, is error, asked string, calls int) {
		t.Helper()
		if (err == nil) != (is == nil) || is != nil && !errors.Is(err, is) {
			t.Errorf("%s: %v, want %v", what, err, is)
		}
		if got := strings.Join(seen, ", "); got != asked {
			t.Errorf("%s: asked %q, want %q", what, got, asked)
		}
		if got := len(s.messages("tools/call")); got != calls {
			t.Errorf("%s: %d calls were sent, want %d", what, got, calls)
		}
		seen = nil
	}
	expect("bad arguments", errOf(srv.Call(ctx, client.Call{Tool: "t", Arguments: map[string]any{"city": 7}})), client.ErrInvalidArguments, "", 0)
	expect("unknown", errOf(srv.Call(ctx, client.Call{Tool: "nothing"})), client.ErrUnknownTool, "", 0)
	_, err := srv.CallTool(ctx, &mcp.CallToolParams{Name: "nothing"})
	expect("unknown of CallTool", err, client.ErrUnknownTool, "", 0)
	expect("exact", errOf(srv.Call(ctx, client.Call{Tool: "t", Arguments: json.RawMessage(`{"city": "x", "n":12345678901234567890}`)})), nil,
		`srv t {"city": "x", "n":12345678901234567890} true`, 1)
	expect("no annotations", errOf(srv.Call(ctx, client.Call{Tool: "plain"})), nil, "srv plain {} false", 2)
	expect("odd annotations", errOf(srv.Call(ctx, client.Call{Tool: "odd"})), nil, "srv odd {} false", 3)
	rounds = 0
	expect("rounds", errOf(srv.Call(ctx, client.Call{Tool: "plain", Arguments: map[string]any{"asks": 1}})), nil, `srv plain {"asks":1} false`, 5)
	tool, err := catalog.ParseTool(json.RawMessage(cityTool))
	if err != nil {
		t.Fatal(err)
	}
	saved := c.Tools(catalog.New(catalog.Server{Name: "srv", Tools: []catalog.Tool{tool}}))
	expect("saved", errOf(saved[0].Call(ctx, client.Call{Arguments: map[string]any{"city": "x"}})), nil, `srv t {"city":"x"} true`, 6)

	decision = &reviewer{"Ann"}
	err = errOf(srv.Call(ctx, client.Call{Tool: "plain"}))
	if r, ok := errors.AsType[*reviewer](err); !ok || r.name != "Ann" || !errors.Is(err, client.ErrNotApproved) || serverError(t, err).Class != client.ClassApproval || !strings.Contains(err.Error(), "Ann left") {
		t.Errorf("error %v", err)
	}
	expect("failed", err, client.ErrNotApproved, "srv plain {} false", 6)
	// A decision that was not waited for is none.
	gone, cancel := context.WithCancel(ctx)
	decision = nil
	for _, failure := range []error{nil, context.Canceled} {
		handlers.Approve = func(context.Context, client.Approval) (bool, error) {
			cancel()
			return true, failure
		}
		srv = s.start(t, client.Options{Handlers: handlers})
		err = errOf(srv.Call(gone, client.Call{Tool: "plain"}))
		if serverError(t, err).Class != client.ClassCancelled {
			t.Errorf("error %v", err)
		}
		expect("cancelled", err, context.Canceled, "", 6)
		gone, cancel = context.WithCancel(ctx)
		defer cancel()
	}
}
