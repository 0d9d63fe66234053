package view

import (
	"encoding/json"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Call is the output of mcpctl call. Content, structured content and _meta are
// as the server sent them.
type Call struct {
	Server            string          `json:"server"`
	Tool              string          `json:"tool"`
	IsError           bool            `json:"isError"`
	Content           json.RawMessage `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	Meta              json.RawMessage `json:"_meta,omitempty"`
}

// NewCall shows a result of tools/call, which is valid JSON.
func NewCall(server, tool string, isError bool, raw json.RawMessage) Call {
	c := Call{Server: server, Tool: tool, IsError: isError, Content: json.RawMessage("[]")}
	for _, m := range schemadoc.SplitValid(raw) {
		switch m.Name {
		case "content":
			c.Content = m.Raw
		case "structuredContent":
			c.StructuredContent = m.Raw
		case "_meta":
			c.Meta = m.Raw
		}
	}
	return c
}
