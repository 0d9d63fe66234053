package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exampleServer adds two numbers.
func exampleServer() *mcptest.Script {
	server := mcptest.Modern(mcptest.Tool("add"))
	server.Call = func(json.RawMessage) string {
		return `{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}}`
	}
	return server
}

func Example() {
	srv := httptest.NewServer(exampleServer())
	defer srv.Close()
	ctx := context.Background()

	c, err := client.Open(ctx, []client.Spec{
		{Name: "calculator", HTTP: &client.HTTP{URL: srv.URL}},
		{Name: "missing", Stdio: &client.Stdio{Command: "no-such-command-here"}},
	}, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	for _, r := range c.Discover(ctx).Results {
		if r.Err != nil {
			fmt.Println(r.Err)
			continue
		}
		for _, tool := range r.Server.Tools {
			fmt.Println(r.Name, r.Server.ProtocolVersion, tool.Name)
		}
	}
	// Output:
	// calculator 2026-07-28 add
	// missing: command not found
}

func ExampleServer_CallTool() {
	srv := httptest.NewServer(exampleServer())
	defer srv.Close()
	ctx := context.Background()

	c, err := client.Open(ctx, []client.Spec{{Name: "calculator", HTTP: &client.HTTP{URL: srv.URL}}}, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	result, err := c.Server("calculator").CallTool(ctx, &mcp.CallToolParams{
		Name:      "add",
		Arguments: json.RawMessage(`{"a":1,"b":2}`),
	})
	switch {
	case errors.Is(err, client.ErrAuthRequired):
		fmt.Println("please log in")
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Printf("%s\n", result.StructuredContent)
	}
	// Output:
	// {"sum":3}
}
