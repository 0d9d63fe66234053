package interop

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// Everything that the client does, with each server of testdata/interop, in
// each era and over each transport.
func TestFeatures(t *testing.T) {
	for _, peer := range counterparts(t, needPeers(t)) {
		if peer.own {
			t.Run(peer.spec.Name, func(t *testing.T) { feature{peer, t.Context()}.all(t) })
		}
	}
}

// feature tests a counterpart.
type feature struct {
	counterpart
	ctx context.Context
}

func (f feature) all(t *testing.T) {
	srv := f.server(t)
	// First of all, so that nothing has been listed yet.
	t.Run("call", func(t *testing.T) { f.calls(t, srv) })
	t.Run("progress", func(t *testing.T) { f.progress(t, srv) })
	t.Run("logs", func(t *testing.T) { f.logs(t, srv) })
	t.Run("input", f.input)
	t.Run("cancellation", func(t *testing.T) { f.cancellation(t, srv) })
	t.Run("changes", func(t *testing.T) { f.changes(t, srv) })
	t.Run("resources", func(t *testing.T) { f.resources(t, srv) })
	t.Run("prompts", func(t *testing.T) { f.prompts(t, srv) })
	if f.spec.Name == "ts-http-legacy" {
		t.Run("lost stream", func(t *testing.T) {
			if got := text(t, f.call(t, srv, client.Call{Tool: "drop"})); got != "dropped" {
				t.Errorf("got %q", got)
			}
		})
		t.Run("lost session", func(t *testing.T) { f.lostSession(t, srv) })
	}
}

func (f feature) mastra() bool { return strings.HasPrefix(f.spec.Name, "mastra") }

// server connects once more.
func (f feature) server(t *testing.T) *client.Server {
	t.Helper()
	return open(t, []counterpart{f.counterpart}, client.Options{}).Server(f.spec.Name)
}

// call makes a call that must succeed.
func (f feature) call(t *testing.T, srv *client.Server, call client.Call) *client.Result {
	t.Helper()
	res, err := srv.Call(f.ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (f feature) calls(t *testing.T, srv *client.Server) {
	res := f.call(t, srv, client.Call{Tool: "weather", Arguments: map[string]any{"city": "Bergen"}})
	if got := string(res.StructuredContent.(json.RawMessage)); got != `{"city":"Bergen","celsius":[6]}` {
		t.Errorf("structured content %s", got)
	}
	if _, err := srv.Call(f.ctx, client.Call{Tool: "weather", Arguments: map[string]any{"city": 7}}); !errors.Is(err, client.ErrInvalidArguments) {
		t.Errorf("error %v", err)
	}
	res, err := srv.Call(f.ctx, client.Call{Tool: "fail"})
	if !errors.Is(err, client.ErrToolFailed) || !strings.Contains(err.Error(), "it did not work") || !res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = srv.Call(f.ctx, client.Call{Tool: "fail", ToolErrors: client.ReturnToolErrors})
	if err != nil || !res.IsError || !strings.Contains(text(t, res), "it did not work") {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := srv.Call(f.ctx, client.Call{Tool: "nothing"}); !errors.Is(err, client.ErrUnknownTool) {
		t.Errorf("error %v", err)
	}
}

func (f feature) progress(t *testing.T, srv *client.Server) {
	var got []client.Progress
	f.call(t, srv, client.Call{Tool: "progress", ProgressToken: "steps", OnProgress: func(p client.Progress) { got = append(got, p) }})
	var want []client.Progress
	for i := range 3 {
		want = append(want, client.Progress{
			Server: f.spec.Name, Token: "steps", Progress: float64(i + 1), Total: 3, Message: fmt.Sprint("step ", i+1),
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func (f feature) logs(t *testing.T, srv *client.Server) {
	for level, want := range map[string][]string{
		"debug": {"debug", "info", "warning", "error"},
		"":      {"info", "warning", "error"},
		"error": {"error"},
		"off":   nil,
	} {
		var got []string
		call := client.Call{Tool: "log", OnLog: func(m client.LogMessage) {
			got = append(got, m.Level)
			if !strings.Contains(string(m.Data), `"said":"`+m.Level+`"`) {
				t.Errorf("message %+v", m)
			}
		}}
		srv := srv
		switch {
		case f.revision == modern:
			call.LogLevel = level
		default:
			// It is one for the whole connection.
			other := f
			other.spec.LogLevel = level
			srv = other.server(t)
		}
		f.call(t, srv, call)
		if !slices.Equal(got, want) {
			t.Errorf("level %q: logs %q, want %q", level, got, want)
		}
	}
}

func (f feature) input(t *testing.T) {
	var (
		action    client.Action
		questions []string
	)
	f.spec.Input = func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
		questions = append(questions, r.Message)
		// The server has a default for the colour.
		return &client.InputAnswer{Action: action, Content: map[string]any{"answer": fmt.Sprint("answer ", len(questions))}}, nil
	}
	srv := f.server(t)
	for _, test := range []struct {
		action client.Action
		rounds int
		asked  int
		want   string
		mastra string // which has words of its own
	}{
		{client.Accept, 1, 1, `[{"answer":"answer 1","colour":"green"}]`, ""},
		{client.Accept, 2, 2, `[{"answer":"answer 1","colour":"green"},{"answer":"answer 2","colour":"green"}]`, ""},
		{client.Decline, 2, 1, "decline", "Tool 'ask' was declined"},
		{client.Cancel, 1, 1, "cancel", "Tool 'ask' was cancelled"},
	} {
		action, questions = test.action, nil
		res := f.call(t, srv, client.Call{Tool: "ask", Arguments: map[string]any{"rounds": test.rounds}, ToolErrors: client.ReturnToolErrors})
		want := test.want
		if f.mastra() && test.mastra != "" {
			want = test.mastra
		}
		if got := text(t, res); got != want {
			t.Errorf("%s of %d: %s, want %s", test.action, test.rounds, got, want)
		}
		var asked []string
		for i := range test.asked {
			asked = append(asked, fmt.Sprint("Question ", i+1))
		}
		if !slices.Equal(questions, asked) {
			t.Errorf("%s of %d: questions %q, want %q", test.action, test.rounds, questions, asked)
		}
	}

	// A client that answers nothing is not asked.
	f.spec.Input = nil
	_, err := f.server(t).Call(f.ctx, client.Call{Tool: "ask"})
	rpc, _ := errors.AsType[*jsonrpc.Error](err)
	if f.revision == modern && (!errors.Is(err, client.ErrInputRequired) || rpc == nil || rpc.Code != mcp.CodeMissingRequiredClientCapabilities) || f.revision == legacy && !errors.Is(err, client.ErrToolFailed) {
		t.Errorf("without a handler: %v", err)
	}
}

func (f feature) cancellation(t *testing.T, srv *client.Server) {
	// waited returns once so many calls have waited and were cancelled.
	waited := func(arguments map[string]any) (counts struct{ Waiting, Cancelled int }) {
		t.Helper()
		res := f.call(t, srv, client.Call{Tool: "waited", Arguments: arguments})
		if err := json.Unmarshal(res.StructuredContent.(json.RawMessage), &counts); err != nil {
			t.Fatal(err)
		}
		return counts
	}
	before := waited(map[string]any{})
	ctx, stop := context.WithCancel(f.ctx)
	failed := make(chan error, 1)
	go func() {
		_, err := srv.Call(ctx, client.Call{Tool: "wait"})
		failed <- err
	}()
	waited(map[string]any{"waiting": before.Waiting + 1})
	stop()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if after := waited(map[string]any{"cancelled": before.Cancelled + 1}); after.Waiting != before.Waiting+1 || after.Cancelled != before.Cancelled+1 {
		t.Errorf("%+v, before %+v", after, before)
	}
}

func (f feature) changes(t *testing.T, srv *client.Server) {
	// More than there will be: handlers do not wait.
	changed, updated := make(chan struct{}, 100), make(chan string, 100)
	stop, err := srv.OnListChanged(f.ctx, client.KindTools, func(context.Context) { changed <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	defer srv.OnUpdated(func(_ context.Context, uri string) { updated <- uri })()
	for range 2 { // the second time for nothing
		if err := srv.Subscribe(f.ctx, "memo://note"); err != nil {
			t.Fatal(err)
		}
	}
	if r := srv.Discover(f.ctx); r.Err != nil {
		t.Fatal(r.Err)
	}
	grow := func() {
		t.Helper()
		name := text(t, f.call(t, srv, client.Call{Tool: "grow"}))
		next(t, changed)
		if r := srv.Discover(f.ctx); r.Err != nil || !hasTool(r, name) {
			t.Errorf("%s is not listed: %v", name, r.Err)
		}
	}
	touch := func() {
		t.Helper()
		edit := text(t, f.call(t, srv, client.Call{Tool: "touch"}))
		if read, err := srv.ReadResource(f.ctx, "memo://note"); err != nil || read.Contents[0].Text != "edit "+edit {
			t.Errorf("resource %+v, %v; want edit %s", read, err, edit)
		}
	}
	grow()
	touch()
	if uri := next(t, updated); uri != "memo://note" {
		t.Errorf("updated %q", uri)
	}
	if len(changed)+len(updated) != 0 {
		t.Errorf("told of %d changes and %d updates too many", len(changed), len(updated))
	}
	if err := srv.Unsubscribe(f.ctx, "memo://note"); err != nil {
		t.Fatal(err)
	}
	touch()
	// What comes later comes later, but for updates, which changes may
	// overtake that arrive at the same time.
	grow()
	grow()
	if len(updated) != 0 {
		t.Errorf("told of %d updates after unsubscribing", len(updated))
	}
}

func (f feature) resources(t *testing.T, srv *client.Server) {
	list, err := srv.Resources(f.ctx)
	if err != nil || len(list) != 1 || list[0].URI != "memo://note" || list[0].MIMEType != "text/plain" {
		t.Errorf("resources %+v, %v", list, err)
	}
	templates, err := srv.ResourceTemplates(f.ctx)
	if err != nil || len(templates) != 1 {
		t.Fatalf("templates %+v, %v", templates, err)
	}
	uri, err := templates[0].Expand(map[string]any{"city": "Oslo"})
	if err != nil || uri != "memo://weather/Oslo" {
		t.Errorf("uri %q, %v", uri, err)
	}
	read, err := srv.ReadResource(f.ctx, uri)
	rpc, _ := errors.AsType[*jsonrpc.Error](err)
	switch {
	case f.mastra(): // reads only what it lists
		if rpc == nil || rpc.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("resource %+v, %v", read, err)
		}
	case err != nil || read.Contents[0].Text != `{"city":"Oslo","celsius":[4]}`:
		t.Errorf("resource %+v, %v", read, err)
	}
	completions, err := srv.Complete(f.ctx, client.Completion{Template: templates[0].URITemplate, Argument: "city", Value: "l"})
	f.completes(t, completions, err, "Lima")
}

func (f feature) prompts(t *testing.T, srv *client.Server) {
	list, err := srv.Prompts(f.ctx)
	if err != nil || len(list) != 1 || list[0].Name != "greet" || len(list[0].Arguments) != 2 {
		t.Fatalf("prompts %+v, %v", list, err)
	}
	got, err := srv.GetPrompt(f.ctx, "greet", map[string]string{"name": "Ada"})
	if err != nil || got.Messages[0].Content.(*mcp.TextContent).Text != "Greet Ada kindly." {
		t.Errorf("prompt %+v, %v", got, err)
	}
	completions, err := srv.Complete(f.ctx, client.Completion{Prompt: "greet", Argument: "name", Value: "os"})
	f.completes(t, completions, err, "Oslo", "Osaka")
}

// completes checks a completion, of which Mastra has none.
func (f feature) completes(t *testing.T, got *client.Completions, err error, want ...string) {
	t.Helper()
	switch {
	case f.mastra():
		if !errors.Is(err, client.ErrNotSupported) {
			t.Errorf("completion: %v", err)
		}
	case err != nil || !slices.Equal(got.Values, want):
		t.Errorf("completion %+v, %v; want %q", got, err, want)
	}
}

func (f feature) lostSession(t *testing.T, srv *client.Server) {
	f.call(t, srv, client.Call{Tool: "forget"})
	if _, err := srv.Call(f.ctx, client.Call{Tool: "grow"}); !errors.Is(err, client.ErrSessionExpired) {
		t.Errorf("error %v", err)
	}
	f.call(t, srv, client.Call{Tool: "weather", Arguments: map[string]any{"city": "Oslo"}})
	f.call(t, srv, client.Call{Tool: "forget"})
	if _, err := srv.Prompts(f.ctx); err != nil {
		t.Errorf("a read is repeated: %v", err)
	}
	f.call(t, srv, client.Call{Tool: "forget"})
	f.call(t, srv, client.Call{Tool: "weather", Arguments: map[string]any{"city": "Oslo"}, Repeatable: true})
}

// The reference server has a bit of everything, and speaks the older revisions
// alone.
func TestEverything(t *testing.T) {
	p := needPeers(t)
	for _, peer := range counterparts(t, p) {
		if !strings.HasPrefix(peer.spec.Name, "everything") {
			continue
		}
		t.Run(peer.spec.Name, func(t *testing.T) {
			var asked atomic.Int32
			// More than there will be: handlers do not wait.
			logged := make(chan client.LogMessage, 100)
			peer.spec.Log = func(_ context.Context, m client.LogMessage) { logged <- m }
			peer.spec.Input = func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
				asked.Add(1)
				return &client.InputAnswer{Action: client.Accept, Content: map[string]any{"name": "Ada"}}, nil
			}
			srv := open(t, []counterpart{peer}, client.Options{}).Server(peer.spec.Name)
			ctx := t.Context()
			res, err := srv.Call(ctx, client.Call{Tool: "echo", Arguments: map[string]any{"message": "hello"}})
			if err != nil || text(t, res) != "Echo: hello" {
				t.Fatalf("echo: %+v, %v", res, err)
			}
			var steps []float64
			if _, err := srv.Call(ctx, client.Call{
				Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": 0.2, "steps": 4},
				OnProgress: func(p client.Progress) { steps = append(steps, p.Progress) },
			}); err != nil || !slices.Equal(steps, []float64{1, 2, 3, 4}) {
				t.Errorf("progress %v, %v", steps, err)
			}
			if res, err := srv.Call(ctx, client.Call{Tool: "get-structured-content", Arguments: map[string]any{"location": "New York"}}); err != nil || res.StructuredContent == nil {
				t.Errorf("structured: %+v, %v", res, err)
			}
			if res, err := srv.Call(ctx, client.Call{Tool: "get-tiny-image"}); err != nil || !hasImage(res) {
				t.Errorf("image: %v", err)
			}
			if r := srv.Discover(ctx); hasTool(r, "trigger-elicitation-request") {
				res, err := srv.Call(ctx, client.Call{Tool: "trigger-elicitation-request"})
				if err != nil || asked.Load() != 1 || !strings.Contains(string(res.Raw), "Ada") {
					t.Errorf("asked %d times, %+v, %v", asked.Load(), res, err)
				}
			} else {
				t.Error("the server does not ask")
			}
			resources, err := srv.Resources(ctx)
			if err != nil || len(resources) == 0 {
				t.Fatalf("resources %d, %v", len(resources), err)
			}
			if read, err := srv.ReadResource(ctx, resources[0].URI); err != nil || len(read.Contents) == 0 {
				t.Errorf("resource: %v", err)
			}
			t.Run("changes", func(t *testing.T) { everythingChanges(t, srv, resources[0].URI, logged) })
			templates, err := srv.ResourceTemplates(ctx)
			if err != nil || len(templates) == 0 {
				t.Fatalf("templates %d, %v", len(templates), err)
			}
			uri, err := templates[0].Expand(map[string]any{"resourceId": "7"})
			if err != nil {
				t.Fatal(err)
			}
			if read, err := srv.ReadResource(ctx, uri); err != nil || !strings.HasPrefix(read.Contents[0].Text, "Resource 7: ") {
				t.Errorf("resource %s: %+v, %v", uri, read, err)
			}
			prompts, err := srv.Prompts(ctx)
			if err != nil || len(prompts) == 0 {
				t.Errorf("prompts %d, %v", len(prompts), err)
			}
			completions, err := srv.Complete(ctx, client.Completion{
				Prompt: "completable-prompt", Argument: "name", Value: "A", Arguments: map[string]string{"department": "Engineering"},
			})
			if err != nil || !slices.Equal(completions.Values, []string{"Alice"}) {
				t.Errorf("completion %+v, %v", completions, err)
			}
			prompt, err := srv.GetPrompt(ctx, "completable-prompt", map[string]string{"department": "Engineering", "name": "Alice"})
			if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Please promote Alice to the head of the Engineering team." {
				t.Errorf("prompt %+v, %v", prompt, err)
			}
			t.Run("cancellation", func(t *testing.T) { everythingCancellation(t, srv) })
		})
	}
}

// everythingChanges has the server tell what it logs, and what changes.
func everythingChanges(t *testing.T, srv *client.Server, uri string, logged <-chan client.LogMessage) {
	ctx := t.Context()
	updated, changed := make(chan string, 100), make(chan struct{}, 100)
	defer srv.OnUpdated(func(_ context.Context, uri string) { updated <- uri })()
	stop, err := srv.OnListChanged(ctx, client.KindResources, func(context.Context) { changed <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := srv.Subscribe(ctx, uri); err != nil {
		t.Fatal(err)
	}
	m := next(t, logged)
	for !strings.Contains(string(m.Data), uri) {
		m = next(t, logged)
	}
	if m.Level != "info" || !strings.Contains(string(m.Data), "Received Subscribe") {
		t.Errorf("logged %+v", m)
	}
	// The first update comes with the call, others after seconds.
	toggle := client.Call{Tool: "toggle-subscriber-updates"}
	if _, err := srv.Call(ctx, toggle); err != nil {
		t.Fatal(err)
	}
	if got := next(t, updated); got != uri {
		t.Errorf("updated %q, want %q", got, uri)
	}
	if _, err := srv.Call(ctx, toggle); err != nil {
		t.Fatal(err)
	}
	if err := srv.Unsubscribe(ctx, uri); err != nil {
		t.Fatal(err)
	}

	res, err := srv.Call(ctx, client.Call{Tool: "gzip-file-as-resource", Arguments: map[string]any{"name": "note.gz", "data": "data:text/plain,hello"}})
	if err != nil {
		t.Fatal(err)
	}
	link, ok := res.Content[0].(*mcp.ResourceLink)
	if !ok {
		t.Fatalf("no link: %s", res.Raw)
	}
	next(t, changed)
	all, err := srv.Resources(ctx)
	if err != nil || !slices.ContainsFunc(all, func(r client.Resource) bool { return r.URI == link.URI }) {
		t.Errorf("%s is not among %d resources, %v", link.URI, len(all), err)
	}
	read, err := srv.ReadResource(ctx, link.URI)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(read.Contents[0].Blob))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(plain); err != nil || string(got) != "hello" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// everythingCancellation gives up a call that the server goes on with, and
// tells about, for longer than anybody waits.
func everythingCancellation(t *testing.T, srv *client.Server) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err := srv.Call(ctx, client.Call{
		Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": 600, "steps": 6000}, Timeout: patience,
		OnProgress: func(client.Progress) { stop() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	res, err := srv.Call(t.Context(), client.Call{Tool: "echo", Arguments: map[string]any{"message": "still here"}})
	if err != nil || text(t, res) != "Echo: still here" {
		t.Errorf("%+v, %v", res, err)
	}
}

// next waits for something that a server will tell.
func next[T any](t *testing.T, told <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-told:
	case <-time.After(patience):
		t.Fatal("nothing was told")
	}
	return v
}

func text(t *testing.T, res *client.Result) string {
	t.Helper()
	content, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the result is no text: %s", res.Raw)
	}
	return content.Text
}

func hasTool(r client.ServerResult, name string) bool {
	for _, tool := range r.Server.Tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

func hasImage(res *client.Result) bool {
	return slices.ContainsFunc(res.Content, func(c mcp.Content) bool {
		image, ok := c.(*mcp.ImageContent)
		return ok && len(image.Data) > 0
	})
}

// The reference server for files: real tools on real files.
func TestFilesystem(t *testing.T) {
	p := needPeers(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	peer := counterpart{spec: client.Spec{Name: "filesystem", Stdio: &client.Stdio{Command: p.node, Args: []string{p.script("filesystem"), dir}}}}
	srv := open(t, []counterpart{peer}, client.Options{}).Server("filesystem")
	ctx := t.Context()
	if res, err := srv.Call(ctx, client.Call{Tool: "read_text_file", Arguments: map[string]any{"path": filepath.Join(dir, "note.txt")}}); err != nil || text(t, res) != "hello\n" {
		t.Errorf("read: %+v, %v", res, err)
	}
	res, err := srv.Call(ctx, client.Call{Tool: "write_file", Arguments: map[string]any{"path": filepath.Join(dir, "new.txt"), "content": "new"}})
	if got, _ := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(got) != "new" {
		t.Errorf("write: %+v, %v; the file has %q", res, err, got)
	}
	if _, err := srv.Call(ctx, client.Call{Tool: "read_text_file", Arguments: map[string]any{"path": "/etc/passwd"}}); !errors.Is(err, client.ErrToolFailed) {
		t.Errorf("outside: %v", err)
	}
	if _, err := srv.Call(ctx, client.Call{Tool: "read_text_file"}); !errors.Is(err, client.ErrInvalidArguments) {
		t.Errorf("no path: %v", err)
	}
}
