package interop

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// pinVariable says, in the environment of the client under test, that it is
// not to find out which revision the server speaks.
const pinVariable = "MCPCTL_INTEROP_PIN"

// A scenario is what the client does in one scenario of the conformance suite.
type scenario struct {
	drive func(ctx context.Context, server *client.Server) error
	// skipped are the names of checks, in order, that do not apply to what it
	// does.
	skipped []string
	// waits says what the client cannot do yet that the scenario needs.
	waits string
}

var scenarios = map[string]scenario{
	"initialize":               {drive: list},
	"json-schema-ref-no-deref": {drive: list},
	"request-metadata": {
		drive: list,
		skipped: []string{
			"ClientDeclaresElicitationCapability", "ClientDeclaresRootsCapability", "ClientDeclaresSamplingCapability",
		},
	},
	"tools_call": {drive: calls(toolCall{"add_numbers", []byte(`{"a":5,"b":3}`)})},
	"sse-retry":  {drive: calls(toolCall{"test_reconnection", []byte(`{}`)})},
	"http-custom-headers": {drive: func(ctx context.Context, server *client.Server) error {
		wanted, err := toolCalls()
		if err != nil {
			return err
		}
		return calls(wanted...)(ctx, server)
	}},
	"http-invalid-tool-headers": {drive: func(ctx context.Context, server *client.Server) error {
		tools, err := tools(ctx, server)
		for _, tool := range tools {
			if tool.Problem == "" {
				err = errors.Join(err, call(ctx, server, tool.Name, map[string]any{"region": "us-west1"}))
			}
		}
		return err
	}},
	"json-schema-2020-12-preservation": {drive: func(ctx context.Context, server *client.Server) error {
		tools, err := tools(ctx, server)
		if err != nil {
			return err
		}
		for _, tool := range tools {
			if tool.Name == "json_schema_2020_12_tool" {
				return call(ctx, server, "json_schema_echo", map[string]any{"schema": tool.InputSchema})
			}
		}
		return errors.New("the tool is not listed")
	}},
	"http-standard-headers":               {waits: "resources and prompts"},
	"elicitation-sep1034-client-defaults": {waits: "elicitation"},
	"sep-2322-client-request-state":       {waits: "elicitation"},
}

// conformanceClient is the program that the conformance suite starts, with the
// URL of a server as its last argument and the rest in the environment.
func conformanceClient(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, ok := scenarios[name]
	if !ok || s.drive == nil {
		return fmt.Errorf("no scenario %q", name)
	}
	spec := client.Spec{Name: "suite", HTTP: &client.HTTP{URL: os.Args[len(os.Args)-1]}}
	if os.Getenv(pinVariable) != "" {
		spec.Protocol = client.ProtocolLegacy
		if os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION") == modern {
			spec.Protocol = client.Protocol20260728
		}
	}
	c, err := client.Open(ctx, []client.Spec{spec}, client.Options{})
	if err != nil {
		return err
	}
	return errors.Join(s.drive(ctx, c.Server(spec.Name)), c.Close(ctx))
}

func tools(ctx context.Context, server *client.Server) ([]catalog.Tool, error) {
	r := server.Discover(ctx)
	return r.Server.Tools, r.Err
}

func list(ctx context.Context, server *client.Server) error {
	_, err := tools(ctx, server)
	return err
}

func call(ctx context.Context, server *client.Server, name string, arguments any) error {
	result, err := server.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err == nil && result.IsError {
		err = fmt.Errorf("%s failed", name)
	}
	return err
}

// calls lists the tools, as a client does that looks for them, and then calls
// some.
func calls(wanted ...toolCall) func(context.Context, *client.Server) error {
	return func(ctx context.Context, server *client.Server) error {
		if err := list(ctx, server); err != nil {
			return err
		}
		for _, c := range wanted {
			if err := call(ctx, server, c.Name, c.Arguments); err != nil {
				return err
			}
		}
		return nil
	}
}
