package client

import (
	"context"
	"encoding/json"

	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a tool of a server, ready to be called.
type Tool struct {
	// Tool is its definition, live or saved. Name is what the server calls it.
	catalog.Tool
	server *Server
}

// Tools returns the tools of a catalogue, each with the server that has it:
// one that was discovered just now, or one that was saved earlier. No
// connection is made before a tool is called. Servers that the client does not
// have, and tools that must not be offered, are left out.
func (c *Client) Tools(cat catalog.Catalog) []Tool {
	var tools []Tool
	for _, s := range cat.Servers {
		server := c.byName[s.Name]
		if server == nil {
			continue
		}
		for _, t := range s.Tools {
			if t.Problem == "" {
				tools = append(tools, Tool{t, server})
			}
		}
	}
	return tools
}

// Server returns the handle of the tool's server.
func (t Tool) Server() *Server { return t.server }

// FlatName returns the name of the server and that of the tool, joined by an
// underscore, as models want names. Two tools can have the same.
func (t Tool) FlatName() string { return t.server.Name() + "_" + t.Name }

// QualifiedName returns the same joined by a dot, for people.
func (t Tool) QualifiedName() string { return t.server.Name() + "." + t.Name }

// DisplayName returns the title of the tool, else that of its annotations,
// else its name (specification, ToolAnnotations).
func (t Tool) DisplayName() string {
	if t.Title != "" {
		return t.Title
	}
	return t.Name
}

// Annotations returns what the server says about the tool, nil if nothing.
// They are hints, and no more trustworthy than the server (specification,
// ToolAnnotations).
func (t Tool) Annotations() *mcp.ToolAnnotations { return annotations(&t.Tool) }

// Call calls the tool; see [Server.Call]. Server and Tool of the call are
// filled in, and its definition is the one that t has.
func (t Tool) Call(ctx context.Context, call Call) (*Result, error) {
	call.Server, call.Tool, call.definition = t.server.Name(), t.Name, &t.Tool
	return t.server.Call(ctx, call)
}

// MarshalJSON returns the definition as the server sent it.
func (t Tool) MarshalJSON() ([]byte, error) { return json.RawMessage(t.Raw), nil }
