package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

// librarian is a server that lends books, and asks for how long.
func librarian() *httptest.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{
		Name:        "lend",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"book":{"type":"string"}},"required":["book"]}`),
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, ok := req.Params.InputResponses["days"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"days": &mcp.ElicitParams{
				Mode: "form", Message: "For how many days?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer","default":14}}}`),
			}}}, nil
		}
		for step := range 2 {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Progress: float64(step + 1), Total: 2,
			})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("lent for %v days", answer.Content["days"])}}}, nil
	})
	s.AddResource(&mcp.Resource{Name: "hours", URI: "library://hours"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "library://hours", Text: "9 to 5"}}}, nil
	})
	return httptest.NewServer(server.NewHandler(s, nil))
}

// A call that asks, that is approved, and that tells how far it is.
func ExampleServer_Call() {
	srv := librarian()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Open(ctx, []client.Spec{{Name: "library", HTTP: &client.HTTP{URL: srv.URL}}}, client.Options{
		Handlers: client.Handlers{
			Input: func(_ context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
				fmt.Println(r.Server, "asks:", r.Message)
				return &client.InputAnswer{Action: client.Accept}, nil // the defaults will do
			},
			Approve: func(_ context.Context, a client.Approval) (bool, error) {
				return !strings.Contains(string(a.Arguments), "forbidden"), nil
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	library := c.Server("library")

	result, err := library.Call(ctx, client.Call{
		Tool: "lend", Arguments: map[string]any{"book": "Middlemarch"},
		OnProgress: func(p client.Progress) { fmt.Printf("%v of %v\n", p.Progress, p.Total) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)

	_, err = library.Call(ctx, client.Call{Tool: "lend", Arguments: map[string]any{"book": "the forbidden one"}})
	fmt.Println(errors.Is(err, client.ErrNotApproved), err)
	_, err = library.Call(ctx, client.Call{Tool: "lend", Arguments: map[string]any{"title": "Middlemarch"}})
	fmt.Println(errors.Is(err, client.ErrInvalidArguments), err)
	// Output:
	// library asks: For how many days?
	// 1 of 2
	// 2 of 2
	// lent for 14 days
	// true library: tools/call: the call was not approved
	// true library: tools/call: the arguments are not valid: tool lend: missing "book"
}

// The resources of all servers, each with its own error and within its own
// time.
func ExampleCollect() {
	srv := librarian()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Open(ctx, []client.Spec{
		{Name: "library", HTTP: &client.HTTP{URL: srv.URL}},
		{Name: "closed", Stdio: &client.Stdio{Command: "no-such-command-here"}},
	}, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	for _, r := range client.Collect(ctx, c, 0, func(ctx context.Context, s *client.Server) ([]client.Resource, error) {
		return s.Resources(ctx)
	}) {
		if r.Err != nil {
			fmt.Println(r.Err)
			continue
		}
		for _, resource := range r.Value {
			fmt.Println(r.Server, resource.URI)
		}
	}
	// Output:
	// library library://hours
	// closed: command not found
}

// A tool whose definition was saved: nothing is asked before it is called.
func ExampleClient_Tools() {
	srv := librarian()
	defer srv.Close()
	ctx := context.Background()
	specs := []client.Spec{{Name: "library", HTTP: &client.HTTP{URL: srv.URL}}}
	c, err := client.Open(ctx, specs, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	saved := c.Discover(ctx).Catalog() // or catalog.Read
	for _, tool := range c.Tools(saved) {
		fmt.Println(tool.FlatName(), tool.QualifiedName(), tool.DisplayName())
	}
	// Output:
	// library_lend library.lend lend
}

// Being told when a resource changes.
func ExampleServer_Subscribe() {
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddResource(&mcp.Resource{Name: "hours", URI: "library://hours"}, nil)
	srv := httptest.NewServer(server.NewHandler(s, nil))
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Open(ctx, []client.Spec{{Name: "library", HTTP: &client.HTTP{URL: srv.URL}}}, client.Options{
		Handlers: client.Handlers{Error: func(_ context.Context, err error) { fmt.Println("no longer subscribed:", err) }},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	library := c.Server("library")

	changed := make(chan string, 1)
	stop := library.OnUpdated(func(_ context.Context, uri string) { changed <- uri })
	defer stop()
	if err := library.Subscribe(ctx, "library://hours"); err != nil {
		log.Fatal(err)
	}
	if err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "library://hours"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed:", <-changed)
	// Output:
	// changed: library://hours
}
