// Package catalog holds what MCP servers publish, byte for byte: the tools
// with their schemas exactly as sent, and for each tool two digests that tell
// a change of its contract from a change of its words.
//
// A catalogue is plain data. It is made by a client's discovery or read from
// a file, and may be saved as stable JSON that a repository can hold. Nothing
// in this package touches the network.
package catalog

import "encoding/json"

// Catalog is what a set of servers publishes, sorted by server name.
type Catalog struct {
	Servers []Server
}

// Server is what one server publishes.
type Server struct {
	// Name is the name under which the server is configured, not what it
	// calls itself.
	Name string
	// ProtocolVersion is the negotiated revision, such as "2026-07-28".
	// Empty where it is not known.
	ProtocolVersion string
	// Info is the server's own Implementation object (name, version, title)
	// as sent; nil where it sent none.
	Info json.RawMessage
	// Instructions are the server's instructions for models. Untrusted text.
	Instructions string
	// Tools are all tools, sorted by name, those that [Tool.Problem]
	// complains about included.
	Tools []Tool
	// Missing says why the server could not be asked, by the class of the
	// failure such as "refused"; it has no tools then, and nothing is known
	// of those that it may have. Empty for a server that answered.
	Missing string
}

// Tool is one tool exactly as the server published it, with the members that
// callers need most beside it. All text in it is untrusted.
type Tool struct {
	// Raw is the whole tool object as sent.
	Raw json.RawMessage
	// Name identifies the tool within its server.
	Name string
	// Title is the display name by the precedence of the specification:
	// title, then annotations.title, else empty.
	Title string
	// Description is the tool's description, empty where absent.
	Description string
	// InputSchema and OutputSchema are the exact bytes of the schemas inside
	// Raw; OutputSchema is nil where the tool has none.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	// Annotations are the behaviour hints. They are claims of the server and
	// no security boundary.
	Annotations Annotations
	// Problem says why clients must not offer the tool: an invalid
	// x-mcp-header annotation (specification 2026-07-28, tools). Empty for a
	// usable tool.
	Problem string
}

// Annotations are a tool's hints as published; nil means not said.
// (Specification, ToolAnnotations.)
type Annotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
}
