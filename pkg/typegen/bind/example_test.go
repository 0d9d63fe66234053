package bind_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/typegen/bind"
)

// A test can stand in for a server, since a client needs no more than a
// CallTool method.
func ExampleCall() {
	server := callerFunc(func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		args, _ := p.Arguments.(json.RawMessage)
		if string(args) == `{"city":"Atlantis"}` {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil
		}
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"days":3}`)}, nil
	})
	type input struct {
		City string `json:"city"`
	}
	type output struct {
		Days int64 `json:"days"`
	}
	forecast := &bind.Tool{Name: "forecast"}
	c := bind.New(server, []*bind.Tool{forecast})

	out, _, err := bind.Call[output](context.Background(), c, forecast, input{City: "Berlin"})
	fmt.Println(out.Days, err)

	_, _, err = bind.Call[output](context.Background(), c, forecast, input{City: "Atlantis"})
	if e, ok := errors.AsType[*bind.ToolError](err); ok {
		fmt.Println(e)
	}
	// Output:
	// 3 <nil>
	// tool "forecast" reports an error: no such city
}
