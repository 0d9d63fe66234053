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
	// answer is what the client says when it is asked; nil where it does not
	// say that it can be.
	answer map[string]any
}

var scenarios = map[string]scenario{
	"initialize":               {drive: list},
	"json-schema-ref-no-deref": {drive: list},
	"request-metadata": {
		drive: list,
		skipped: []string{
			"ClientDeclaresRootsCapability", "ClientDeclaresSamplingCapability",
		},
		answer: map[string]any{},
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
	// It tries all; the client is who must not call those with invalid headers.
	"http-invalid-tool-headers": {drive: func(ctx context.Context, server *client.Server) error {
		all, err := tools(ctx, server)
		for _, tool := range all {
			callErr := checked(ctx, server, tool.Name, map[string]any{"region": "us-west1"})
			if tool.Problem == "" || !errors.Is(callErr, client.ErrUnknownTool) {
				err = errors.Join(err, callErr)
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
	"http-standard-headers": {
		drive: everything,
		skipped: []string{
			"ClientMcpMethodHeader_initialize", "ClientMcpMethodHeader_notifications_initialized",
		},
	},
	"elicitation-sep1034-client-defaults": {
		drive:  calls(toolCall{"test_client_elicitation_defaults", []byte(`{}`)}),
		answer: map[string]any{},
	},
	"sep-2322-client-request-state": {
		drive: func(ctx context.Context, server *client.Server) error {
			var err error
			for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
				err = errors.Join(err, call(ctx, server, name, map[string]any{}))
			}
			return err
		},
		answer: map[string]any{"confirmed": true},
	},
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
	if s.answer != nil {
		spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
			return &client.InputAnswer{Action: client.Accept, Content: s.answer}, nil
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

// checked is call with the client's own checks.
func checked(ctx context.Context, server *client.Server, name string, arguments any) error {
	_, err := server.Call(ctx, client.Call{Tool: name, Arguments: arguments})
	return err
}

// everything lists all that there is, and uses the first of each kind.
func everything(ctx context.Context, server *client.Server) error {
	all, err := tools(ctx, server)
	if err != nil {
		return err
	}
	resources, err := server.Resources(ctx)
	if err != nil {
		return err
	}
	prompts, err := server.Prompts(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 || len(resources) == 0 || len(prompts) == 0 {
		return fmt.Errorf("%d tools, %d resources, %d prompts", len(all), len(resources), len(prompts))
	}
	if err := call(ctx, server, all[0].Name, map[string]any{}); err != nil {
		return err
	}
	if _, err := server.ReadResource(ctx, resources[0].URI); err != nil {
		return err
	}
	_, err = server.GetPrompt(ctx, prompts[0].Name, nil)
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
