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
	Saved             []Saved         `json:"saved,omitzero"`
}

// Saved is a file into which content of a result was saved.
type Saved struct {
	Path     string `json:"path"`
	MIMEType string `json:"mimeType"`
	Bytes    int    `json:"bytes"`
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

// Read is the output of mcpctl read. Contents and _meta are as the server sent
// them.
type Read struct {
	Server   string          `json:"server"`
	URI      string          `json:"uri"`
	Contents json.RawMessage `json:"contents"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
	Saved    []Saved         `json:"saved,omitzero"`
}

// NewRead shows a result of resources/read, which is valid JSON.
func NewRead(server, uri string, raw json.RawMessage) Read {
	r := Read{Server: server, URI: uri, Contents: json.RawMessage("[]")}
	for _, m := range schemadoc.SplitValid(raw) {
		switch m.Name {
		case "contents":
			r.Contents = m.Raw
		case "_meta":
			r.Meta = m.Raw
		}
	}
	return r
}

// Prompt is the output of mcpctl prompt. Messages and _meta are as the server
// sent them.
type Prompt struct {
	Server      string          `json:"server"`
	Prompt      string          `json:"prompt"`
	Description json.RawMessage `json:"description,omitempty"`
	Messages    json.RawMessage `json:"messages"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
	Saved       []Saved         `json:"saved,omitzero"`
}

// NewPrompt shows a result of prompts/get, which is valid JSON.
func NewPrompt(server, prompt string, raw json.RawMessage) Prompt {
	p := Prompt{Server: server, Prompt: prompt, Messages: json.RawMessage("[]")}
	for _, m := range schemadoc.SplitValid(raw) {
		switch m.Name {
		case "description":
			p.Description = m.Raw
		case "messages":
			p.Messages = m.Raw
		case "_meta":
			p.Meta = m.Raw
		}
	}
	return p
}
