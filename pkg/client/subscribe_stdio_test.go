package client_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

// tellingServer is the first argument of a test binary that is a server of
// go-sdk which tells about changes.
const tellingServer = "telling-server"

func init() {
	if len(os.Args) != 2 || os.Args[1] != tellingServer {
		return
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "teller"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddResource(&mcp.Resource{Name: "a", URI: "memo://a"}, nil)
	tool := func(name string, f func(ctx context.Context, uri string) error) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var a struct{ URI string }
			if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{}, f(ctx, a.URI)
		})
	}
	tool("touch", func(ctx context.Context, uri string) error {
		return s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	})
	tool("die", func(context.Context, string) error { os.Exit(3); return nil })
	if server.ServeStdio(context.Background(), s, os.Stdin, os.Stdout) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Subscriptions over stdio can be widened, and outlive the process.
func TestSubscriptionsOfProcesses(t *testing.T) {
	for _, protocol := range []client.Protocol{client.Protocol20260728, client.ProtocolLegacy} {
		t.Run(string(protocol), func(t *testing.T) {
			srv := open(t, client.Options{}, client.Spec{
				Name: "srv", Protocol: protocol, Timeout: 20 * time.Second,
				Stdio: &client.Stdio{Command: os.Args[0], Args: []string{tellingServer}},
			}).Server("srv")
			got := make(chan string, 100)
			defer srv.OnUpdated(func(_ context.Context, uri string) { got <- uri })()
			call := func(tool, uri string) error {
				_, err := srv.Call(t.Context(), client.Call{Tool: tool, Arguments: map[string]any{"uri": uri}})
				return err
			}
			// A touch may come before the subscription is back.
			touched := func(uri string) {
				t.Helper()
				deadline := time.After(15 * time.Second)
				for {
					if err := call("touch", uri); err != nil {
						t.Fatal(err)
					}
					select {
					case u := <-got:
						if u == uri {
							return
						}
					case <-time.After(50 * time.Millisecond):
					case <-deadline:
						t.Fatalf("nothing about %s", uri)
					}
				}
			}
			for _, uri := range []string{"memo://a", "memo://b", "memo://c"} {
				if err := srv.Subscribe(t.Context(), uri); err != nil {
					t.Fatal(err)
				}
			}
			for _, uri := range []string{"memo://a", "memo://b", "memo://c"} {
				touched(uri)
			}
			if err := call("die", ""); err == nil {
				t.Error("the server did not die")
			}
			for missed := []string{"memo://a", "memo://b", "memo://c"}; len(missed) > 0; {
				uri := <-got
				missed = slices.DeleteFunc(missed, func(m string) bool { return m == uri })
			}
			for _, uri := range []string{"memo://c", "memo://a"} {
				touched(uri)
			}
		})
	}
}
