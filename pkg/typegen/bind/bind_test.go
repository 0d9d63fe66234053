package bind_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/typegen/bind"
	"github.com/mcpctl/mcpctl/pkg/typegen/validate"
)

// callerFunc is a Caller made of a function.
type callerFunc func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)

func (f callerFunc) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return f(ctx, p)
}

type args struct {
	City string   `json:"city"`
	Tags []string `json:"tags"`
}

type forecast struct {
	Days int64 `json:"days"`
}

var tool = &bind.Tool{
	Name:   "forecast",
	Digest: "sha256:x",
	Input:  &validate.Schema{JSON: `{"type":"object","properties":{"city":{"minLength":1},"tags":{"type":"array"}}}`},
	Output: &validate.Schema{JSON: `{"type":"object","properties":{"days":{"type":"integer","maximum":10000000000000000000}},"required":["days"]}`},
}

func client(res *mcp.CallToolResult, err error, opts ...bind.Option) *bind.Client {
	return bind.New(callerFunc(func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return res, err
	}), []*bind.Tool{tool}, opts...)
}

func structured(v any) *mcp.CallToolResult { return &mcp.CallToolResult{StructuredContent: v} }

func TestCall(t *testing.T) {
	good := args{City: "Berlin", Tags: []string{}}
	lost := errors.New("connection lost")
	tests := []struct {
		name string
		in   args
		res  *mcp.CallToolResult
		err  error
		opts []bind.Option
		want int64
		fail string
	}{
		{name: "exact bytes", in: good, res: structured(json.RawMessage(`{"days":9007199254740993}`)), want: 9007199254740993},
		{name: "decoded", in: good, res: structured(map[string]any{"days": 3.0}), want: 3},
		{name: "decoded and perhaps rounded", in: good, res: structured(map[string]any{"days": float64(1 << 60)}), fail: "/days: the integer is past 2^53"},
		{name: "decoded and perhaps rounded, deep", in: good, res: structured(map[string]any{"x": []any{map[string]any{"y": -1e300}}}), fail: "/x/0/y: the integer is past 2^53"},
		{name: "nothing", in: good, res: &mcp.CallToolResult{}, fail: "the result has no structuredContent"},
		{name: "no bytes", in: good, res: structured(json.RawMessage{}), fail: "the result has no structuredContent"},
		{name: "invalid result", in: good, res: structured(json.RawMessage(`{"days":"3"}`)), fail: `tool "forecast": result: /days: want integer, have string`},
		{name: "result that does not fit", in: good, res: structured(json.RawMessage(`{"days":9223372036854775808}`)), fail: "/days: the number is outside of int64"},
		{name: "invalid result, unchecked", in: good, res: structured(json.RawMessage(`{}`)), opts: []bind.Option{bind.WithoutValidation()}},
		{name: "invalid arguments", in: args{Tags: []string{}}, fail: `tool "forecast": arguments: /city: shorter than 1 characters`},
		{name: "nil slice in a plain struct", in: args{City: "x"}, fail: `arguments: /tags: want array, have null`},
		{name: "error", in: good, err: lost, fail: "connection lost"},
		{name: "no result", in: good, fail: "the call gave no result"},
		{name: "tool error", in: good, res: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}}}, fail: `tool "forecast" reports an error: a b`},
		{name: "value that cannot be encoded", in: good, res: structured(func() {}), fail: "unsupported type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, res, err := bind.Call[forecast](t.Context(), client(tt.res, tt.err, tt.opts...), tool, tt.in)
			if tt.fail == "" {
				if err != nil || out.Days != tt.want || res != tt.res {
					t.Errorf("%v, %v, %v", out, res, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.fail) {
				t.Fatalf("error %v, want %q", err, tt.fail)
			}
			if out != (forecast{}) {
				t.Errorf("a value beside the error: %v", out)
			}
		})
	}
}

func TestErrorTypes(t *testing.T) {
	in := args{City: "x", Tags: []string{}}
	failed := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.ImageContent{}, &mcp.TextContent{Text: "b"}}}
	_, res, err := bind.Call[forecast](t.Context(), client(failed, nil), tool, in)
	if e, ok := errors.AsType[*bind.ToolError](err); !ok || e.Result != failed || res != failed || e.Text() != "a\nb" {
		t.Errorf("%v", err)
	}
	_, err = client(nil, nil).Call(t.Context(), tool, args{})
	if e, ok := errors.AsType[*bind.ArgumentError](err); !ok || e.Tool != "forecast" {
		t.Errorf("%v", err)
	}
	if v, ok := errors.AsType[*validate.Error](err); !ok || v.Problems[0].Pointer == "" {
		t.Errorf("%v", err)
	}
	_, res, err = bind.Call[forecast](t.Context(), client(&mcp.CallToolResult{}, nil), tool, in)
	if e, ok := errors.AsType[*bind.ResultError](err); !ok || e.Result != res || !errors.Is(err, bind.ErrNoStructuredContent) {
		t.Errorf("%v", err)
	}
	var asks mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"resultType":"input_required","content":[],"requestState":"s"}`), &asks); err != nil {
		t.Fatal(err)
	}
	_, _, err = bind.Call[forecast](t.Context(), client(&asks, nil), tool, in)
	if e, ok := errors.AsType[*bind.InputRequiredError](err); !ok || e.Result.RequestState != "s" || !strings.Contains(e.Error(), "asks for input") {
		t.Errorf("%v", err)
	}
}

func TestParams(t *testing.T) {
	var sent *mcp.CallToolParams
	c := bind.New(callerFunc(func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		sent = p
		return &mcp.CallToolResult{}, nil
	}), nil, bind.WithParams(func(p *mcp.CallToolParams) { p.Meta = mcp.Meta{"k": "v"} }))
	if _, err := c.Call(t.Context(), tool, args{City: "<é>", Tags: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	raw, ok := sent.Arguments.(json.RawMessage)
	if !ok || string(raw) != `{"city":"<é>","tags":["a"]}` || sent.Name != "forecast" || sent.Meta["k"] != "v" {
		t.Errorf("%#v", sent)
	}
	if _, err := c.Call(t.Context(), tool, make(chan int)); err == nil {
		t.Error("a channel passes as arguments")
	}
}

func TestUncheckableSchemaIsSaidOnce(t *testing.T) {
	var log bytes.Buffer
	c := client(&mcp.CallToolResult{}, nil, bind.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	bad := &bind.Tool{Name: "bad", Input: &validate.Schema{JSON: `{"$ref":"https://example.test/x"}`}}
	for range 3 {
		if _, err := c.Call(t.Context(), bad, args{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "not checked"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
}

func digest(t *testing.T, raw string) string {
	t.Helper()
	tool, err := catalog.ParseTool([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	d, err := tool.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.Contract
}

// TestCheckAgainstServer compares with a live go-sdk server.
func TestCheckAgainstServer(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	handler := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	}
	for _, name := range []string{"same", "other"} {
		server.AddTool(&mcp.Tool{Name: name, Description: "words do not count", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"x"}}}`)}, handler)
	}
	st, ct := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ss.Close()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()

	want := digest(t, `{"name":"same","inputSchema":{"properties":{"a":{"type":"string"}},"type":"object"}}`)
	tools := []*bind.Tool{
		{Name: "same", Digest: "sha256:exact", Decoded: want},
		{Name: "other", Digest: "sha256:was"},
		{Name: "gone", Digest: "sha256:was"},
	}
	var told [][]bind.Difference
	c := bind.New(cs, tools, bind.WithCheck(cs, func(d []bind.Difference, err error) {
		if err != nil {
			t.Error(err)
		}
		told = append(told, d)
	}))
	diff, err := c.Check(t.Context(), cs)
	if err != nil {
		t.Fatal(err)
	}
	expect := []bind.Difference{{Tool: "gone", Kind: bind.Missing}, {Tool: "other", Kind: bind.Changed}}
	if d := cmp.Diff(expect, diff); d != "" {
		t.Error(d)
	}
	if diff[0].String() != `tool "gone" missing` {
		t.Error(diff[0])
	}
	for range 2 {
		if _, err := c.Call(t.Context(), tools[0], struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([][]bind.Difference{expect}, told); d != "" {
		t.Error(d)
	}
}

type lister struct {
	pages map[string]*mcp.ListToolsResult
	raw   []json.RawMessage
	err   error
}

func (l lister) ListTools(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return l.pages[p.Cursor], l.err
}

type rawLister struct{ lister }

func (l rawLister) ListRawTools(context.Context) ([]json.RawMessage, error) { return l.raw, l.err }

func TestCheckLists(t *testing.T) {
	raw := `{"name":"a","execution":{"taskSupport":"required"},"inputSchema":{"maximum":18446744073709551615}}`
	c := bind.New(nil, []*bind.Tool{{Name: "a", Digest: digest(t, raw), Decoded: "sha256:never"}})
	if d, err := c.Check(t.Context(), rawLister{lister{raw: []json.RawMessage{json.RawMessage(raw)}}}); err != nil || len(d) > 0 {
		t.Errorf("exact bytes: %v, %v", d, err)
	}
	page := func(name, next string) *mcp.ListToolsResult {
		return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: name, InputSchema: map[string]any{"type": "object"}, OutputSchema: true}}, NextCursor: next}
	}
	decoded := bind.New(nil, []*bind.Tool{{Name: "b", Digest: digest(t, `{"name":"b","inputSchema":{"type":"object"},"outputSchema":true}`)}})
	if d, err := decoded.Check(t.Context(), lister{pages: map[string]*mcp.ListToolsResult{"": page("a", "1"), "1": page("b", "")}}); err != nil || len(d) > 0 {
		t.Errorf("two pages: %v, %v", d, err)
	}
	if _, err := c.Check(t.Context(), lister{pages: map[string]*mcp.ListToolsResult{"": page("a", "1"), "1": page("b", "1")}}); err == nil || !strings.Contains(err.Error(), "repeats a cursor") {
		t.Errorf("repeated cursor: %v", err)
	}
	lost := errors.New("lost")
	for _, l := range []bind.Lister{lister{err: lost}, rawLister{lister{err: lost}}} {
		if _, err := c.Check(t.Context(), l); !errors.Is(err, lost) {
			t.Error(err)
		}
	}
	if _, err := c.Check(t.Context(), rawLister{lister{raw: []json.RawMessage{json.RawMessage(`[]`)}}}); err == nil {
		t.Error("a tool that is no object passes")
	}
}
