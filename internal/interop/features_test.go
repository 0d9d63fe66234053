package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// Everything that the client does, with each server of testdata/interop, in
// each era and over each transport.
func TestFeatures(t *testing.T) {
	p := needPeers(t)
	for _, peer := range counterparts(t, p) {
		if !peer.own {
			continue
		}
		t.Run(peer.spec.Name, func(t *testing.T) {
			mastra := strings.HasPrefix(peer.spec.Name, "mastra")
			action := client.Accept
			var questions []string
			peer.spec.Input = func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
				questions = append(questions, r.Message)
				return &client.InputAnswer{Action: action, Content: map[string]any{"answer": fmt.Sprint("answer ", len(questions))}}, nil
			}
			c := open(t, []counterpart{peer}, client.Options{})
			srv := c.Server(peer.spec.Name)
			ctx := t.Context()
			call := func(t *testing.T, call client.Call) *client.Result {
				t.Helper()
				res, err := srv.Call(ctx, call)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}

			// First of all, so that nothing has been listed yet.
			t.Run("call", func(t *testing.T) {
				res := call(t, client.Call{Tool: "weather", Arguments: map[string]any{"city": "Bergen"}})
				if got := string(res.StructuredContent.(json.RawMessage)); got != `{"city":"Bergen","celsius":[6]}` {
					t.Errorf("structured content %s", got)
				}
				if _, err := srv.Call(ctx, client.Call{Tool: "weather", Arguments: map[string]any{"city": 7}}); !errors.Is(err, client.ErrInvalidArguments) {
					t.Errorf("error %v", err)
				}
				if _, err := srv.Call(ctx, client.Call{Tool: "fail"}); !errors.Is(err, client.ErrToolFailed) || !strings.Contains(err.Error(), "it did not work") {
					t.Errorf("error %v", err)
				}
				if _, err := srv.Call(ctx, client.Call{Tool: "nothing"}); !errors.Is(err, client.ErrUnknownTool) {
					t.Errorf("error %v", err)
				}
			})
			t.Run("progress", func(t *testing.T) {
				var got []client.Progress
				call(t, client.Call{Tool: "progress", OnProgress: func(p client.Progress) { got = append(got, p) }})
				if len(got) != 3 || got[0].Progress != 1 || got[2].Progress != 3 || got[2].Total != 3 {
					t.Errorf("progress %+v", got)
				}
			})
			t.Run("logs", func(t *testing.T) {
				var got []string
				call(t, client.Call{Tool: "log", LogLevel: "info", OnLog: func(m client.LogMessage) { got = append(got, m.Level) }})
				want := []string{"info", "warning", "error"}
				if !mastra && !slices.Equal(got, want) || mastra && len(got) == 0 {
					t.Errorf("logs %q, want %q", got, want)
				}
			})
			t.Run("input", func(t *testing.T) {
				for _, rounds := range []int{1, 2} {
					questions = nil
					res := call(t, client.Call{Tool: "ask", Arguments: map[string]any{"rounds": rounds}})
					if len(questions) != rounds || !strings.Contains(string(res.Raw), fmt.Sprint("answer ", rounds)) || !strings.Contains(string(res.Raw), "green") {
						t.Errorf("%d rounds: questions %q, result %s", rounds, questions, res.Raw)
					}
				}
				action = client.Decline
				defer func() { action = client.Accept }()
				res, err := srv.Call(ctx, client.Call{Tool: "ask", ToolErrors: client.ReturnToolErrors})
				if err != nil || !strings.Contains(strings.ToLower(string(res.Raw)), "decline") {
					t.Errorf("declined: %+v, %v", res, err)
				}
			})
			t.Run("cancellation", func(t *testing.T) {
				var counts struct{ Waiting, Cancelled int }
				read := func(res *client.Result) {
					t.Helper()
					if err := json.Unmarshal(res.StructuredContent.(json.RawMessage), &counts); err != nil {
						t.Fatal(err)
					}
				}
				read(call(t, client.Call{Tool: "waited", Arguments: map[string]any{}}))
				before := counts
				stopped, stop := context.WithCancel(ctx)
				failed := make(chan error, 1)
				go func() {
					_, err := srv.Call(stopped, client.Call{Tool: "wait"})
					failed <- err
				}()
				call(t, client.Call{Tool: "waited", Arguments: map[string]any{"waiting": before.Waiting + 1}})
				stop()
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
				read(call(t, client.Call{Tool: "waited", Arguments: map[string]any{"cancelled": before.Cancelled + 1}}))
				if counts.Cancelled != before.Cancelled+1 {
					t.Errorf("%+v, before %+v", counts, before)
				}
			})
			t.Run("list changed", func(t *testing.T) {
				changed := make(chan struct{}, 10)
				stop, err := srv.OnListChanged(ctx, client.KindTools, func(context.Context) { changed <- struct{}{} })
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				name := text(t, call(t, client.Call{Tool: "grow"}))
				<-changed
				if r := srv.Discover(ctx); r.Err != nil || !hasTool(r, name) {
					t.Errorf("%s is not listed: %v", name, r.Err)
				}
			})
			t.Run("resources", func(t *testing.T) {
				updated := make(chan string, 10)
				defer srv.OnUpdated(func(_ context.Context, uri string) { updated <- uri })()
				for range 2 { // the second time for nothing
					if err := srv.Subscribe(ctx, "memo://note"); err != nil {
						t.Fatal(err)
					}
				}
				edit := text(t, call(t, client.Call{Tool: "touch"}))
				if uri := <-updated; uri != "memo://note" {
					t.Errorf("updated %q", uri)
				}
				read, err := srv.ReadResource(ctx, "memo://note")
				if err != nil || read.Contents[0].Text != "edit "+edit {
					t.Errorf("resource %+v, %v; want edit %s", read, err, edit)
				}
				if err := srv.Unsubscribe(ctx, "memo://note"); err != nil {
					t.Fatal(err)
				}
				list, err := srv.Resources(ctx)
				if err != nil || len(list) == 0 || list[0].URI != "memo://note" {
					t.Errorf("resources %+v, %v", list, err)
				}
				templates, err := srv.ResourceTemplates(ctx)
				if err != nil || len(templates) != 1 {
					t.Fatalf("templates %+v, %v", templates, err)
				}
				uri, err := templates[0].Expand(map[string]any{"city": "Oslo"})
				if err != nil || uri != "memo://weather/Oslo" {
					t.Errorf("uri %q, %v", uri, err)
				}
				if read, err := srv.ReadResource(ctx, uri); !mastra && (err != nil || read.Contents[0].Text != `{"city":"Oslo","celsius":[4]}`) {
					t.Errorf("resource %+v, %v", read, err)
				}
			})
			t.Run("prompts", func(t *testing.T) {
				list, err := srv.Prompts(ctx)
				if err != nil || len(list) != 1 || list[0].Name != "greet" {
					t.Fatalf("prompts %+v, %v", list, err)
				}
				got, err := srv.GetPrompt(ctx, "greet", map[string]string{"name": "Ada"})
				if err != nil || got.Messages[0].Content.(*mcp.TextContent).Text != "Greet Ada kindly." {
					t.Errorf("prompt %+v, %v", got, err)
				}
				completions, err := srv.Complete(ctx, client.Completion{Prompt: "greet", Argument: "name", Value: "os"})
				if mastra {
					if !errors.Is(err, client.ErrNotSupported) {
						t.Errorf("completion: %v", err)
					}
				} else if err != nil || !slices.Equal(completions.Values, []string{"Oslo", "Osaka"}) {
					t.Errorf("completion %+v, %v", completions, err)
				}
			})
			if peer.spec.Name == "ts-http-legacy" {
				t.Run("lost stream", func(t *testing.T) {
					if got := text(t, call(t, client.Call{Tool: "drop"})); got != "dropped" {
						t.Errorf("got %q", got)
					}
				})
				t.Run("lost session", func(t *testing.T) {
					call(t, client.Call{Tool: "forget"})
					if _, err := srv.Call(ctx, client.Call{Tool: "grow"}); !errors.Is(err, client.ErrSessionExpired) {
						t.Errorf("error %v", err)
					}
					call(t, client.Call{Tool: "weather", Arguments: map[string]any{"city": "Oslo"}})
					call(t, client.Call{Tool: "forget"})
					if _, err := srv.Prompts(ctx); err != nil {
						t.Errorf("a read is repeated: %v", err)
					}
				})
			}
		})
	}
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
			if err := srv.Subscribe(ctx, resources[0].URI); err != nil {
				t.Errorf("subscribe: %v", err)
			}
			if err := srv.Unsubscribe(ctx, resources[0].URI); err != nil {
				t.Errorf("unsubscribe: %v", err)
			}
			prompts, err := srv.Prompts(ctx)
			if err != nil || len(prompts) == 0 {
				t.Errorf("prompts %d, %v", len(prompts), err)
			}
		})
	}
}

// What all servers have, asked at once.
func TestCollect(t *testing.T) {
	all := counterparts(t, needPeers(t))
	c := open(t, all, client.Options{})
	got := make(map[string]bool)
	for _, r := range client.Collect(t.Context(), c, 0, func(ctx context.Context, s *client.Server) ([]client.Resource, error) { return s.Resources(ctx) }) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Server, r.Err)
		}
		got[r.Server] = len(r.Value) > 0
	}
	want := make(map[string]bool)
	for _, peer := range all {
		want[peer.spec.Name] = peer.spec.Name != "filesystem" // which has tools alone
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers with resources (-want +got):\n%s", diff)
	}
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
