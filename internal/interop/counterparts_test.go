package interop

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// A counterpart is a server that the client speaks with, and what was agreed
// on with it.
type counterpart struct {
	spec      client.Spec
	transport string
	revision  string
	// own says that it is one of testdata/interop, which offer the same tools.
	own bool
}

// ownTools are what the servers of testdata/interop have in common.
var ownTools = []string{"ask", "fail", "grow", "log", "progress", "touch", "wait", "waited", "weather"}

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

func counterparts(t testing.TB, p peers) []counterpart {
	t.Helper()
	tsHTTP := p.listen(t, p.own("ts-sdk"), "http") + "/mcp"
	stdio := func(args ...string) *client.Stdio { return &client.Stdio{Command: p.node, Args: args} }
	return []counterpart{
		{client.Spec{Name: "ts-stdio", Stdio: stdio(p.own("ts-sdk"), "stdio")}, client.TransportStdio, modern, true},
		{client.Spec{Name: "ts-stdio-legacy", Stdio: stdio(p.own("ts-sdk"), "stdio"), Protocol: client.ProtocolLegacy}, client.TransportStdio, legacy, true},
		{client.Spec{Name: "ts-http", HTTP: &client.HTTP{URL: tsHTTP}}, client.TransportHTTP, modern, true},
		{client.Spec{Name: "ts-http-legacy", HTTP: &client.HTTP{URL: tsHTTP}, Protocol: client.ProtocolLegacy}, client.TransportHTTP, legacy, true},
		{client.Spec{Name: "mastra-stdio", Stdio: stdio(p.own("mastra"), "stdio")}, client.TransportStdio, modern, true},
		{client.Spec{Name: "mastra-http", HTTP: &client.HTTP{URL: p.listen(t, p.own("mastra"), "http") + "/mcp"}}, client.TransportHTTP, modern, true},
		{client.Spec{Name: "everything-stdio", Stdio: stdio(p.script("everything"), "stdio")}, client.TransportStdio, legacy, false},
		{client.Spec{Name: "everything-http", HTTP: &client.HTTP{URL: p.everything(t, "streamableHttp") + "/mcp"}}, client.TransportHTTP, legacy, false},
		{client.Spec{Name: "everything-sse", HTTP: &client.HTTP{URL: p.everything(t, "sse") + "/sse"}}, client.TransportSSE, legacy, false},
		{client.Spec{Name: "filesystem", Stdio: stdio(p.script("filesystem"), t.TempDir())}, client.TransportStdio, legacy, false},
	}
}

// open connects one client to all counterparts, and closes it with the test.
func open(t testing.TB, all []counterpart, opts client.Options) *client.Client {
	t.Helper()
	if opts.Timeout == 0 {
		opts.Timeout = patience
	}
	var specs []client.Spec
	for _, peer := range all {
		specs = append(specs, peer.spec)
	}
	c, err := client.Open(t.Context(), specs, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// All at once, each with its own transport and revision.
func TestCounterparts(t *testing.T) {
	all := counterparts(t, needPeers(t))
	c := open(t, all, client.Options{})
	found := c.Discover(t.Context())
	for i, want := range all {
		t.Run(want.spec.Name, func(t *testing.T) {
			got := found.Results[i]
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if got.Transport != want.transport || got.Server.ProtocolVersion != want.revision {
				t.Errorf("speaks %s over %s, want %s over %s", got.Server.ProtocolVersion, got.Transport, want.revision, want.transport)
			}
			var names []string
			for _, tool := range got.Server.Tools {
				names = append(names, tool.Name)
			}
			if !want.own {
				if len(names) == 0 {
					t.Error("no tools")
				}
				return
			}
			for _, name := range ownTools {
				if !slices.Contains(names, name) {
					t.Errorf("tool %s is not among %q", name, names)
				}
			}
			if got.Server.Instructions != "Ask it anything." {
				t.Errorf("instructions %q", got.Server.Instructions)
			}
			callOwn(t, c.Server(want.spec.Name))
		})
	}
	t.Run("collect", func(t *testing.T) {
		got, want := make(map[string]bool), make(map[string]bool)
		for _, r := range client.Collect(t.Context(), c, 0, func(ctx context.Context, s *client.Server) ([]client.Resource, error) { return s.Resources(ctx) }) {
			if r.Err != nil {
				t.Errorf("%s: %v", r.Server, r.Err)
			}
			got[r.Server] = len(r.Value) > 0
		}
		for _, peer := range all {
			want[peer.spec.Name] = peer.spec.Name != "filesystem" // which has tools alone
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("servers with resources (-want +got):\n%s", diff)
		}
	})
}

// callOwn calls tools of a server in testdata/interop. HTTP carries the city
// in a header too, which the server compares.
func callOwn(t *testing.T, server *client.Server) {
	for city, want := range map[string]string{
		"Oslo":       `{"city":"Oslo","celsius":[4,5]}`,
		"Ōsaka":      `{"city":"Ōsaka","celsius":[5,6]}`,
		" Lima":      `{"city":" Lima","celsius":[5,6]}`,
		"Ulan\nUde":  `{"city":"Ulan\nUde","celsius":[8,9]}`,
		"=?base64?=": `{"city":"=?base64?=","celsius":[10,11]}`,
		"":           `{"city":"","celsius":[0,1]}`,
	} {
		got, err := server.CallTool(t.Context(), &mcp.CallToolParams{Name: "weather", Arguments: map[string]any{"city": city, "days": 2}})
		switch {
		case err != nil:
			t.Errorf("weather in %q: %v", city, err)
		case got.IsError:
			t.Errorf("weather in %q failed: %v", city, got.Content)
		default:
			if diff := cmp.Diff(want, string(got.StructuredContent.(json.RawMessage))); diff != "" {
				t.Errorf("weather in %q (-want +got):\n%s", city, diff)
			}
		}
	}
	if got, err := server.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"}); err != nil || !got.IsError {
		t.Errorf("fail gave %+v, %v; want a result with isError", got, err)
	}
}
