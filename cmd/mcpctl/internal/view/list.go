// Package view holds what mcpctl prints with --output json: structs whose keys
// and order are a contract. Keys may be added, never renamed or removed. What
// servers sent (schemas, annotations) is printed as they sent it.
package view

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// List is the output of mcpctl list.
type List struct {
	Servers []Server `json:"servers"`
}

// Server is one server of a list. Status is "ok" or "failed"; a failed one has
// an error. Of the arrays those are there that were asked for, empty where a
// server has none.
type Server struct {
	Name            string           `json:"name"`
	Status          string           `json:"status"`
	Transport       string           `json:"transport,omitempty"`
	ProtocolVersion string           `json:"protocolVersion,omitempty"`
	Era             string           `json:"era,omitempty"`
	ServerInfo      json.RawMessage  `json:"serverInfo,omitempty"`
	Capabilities    json.RawMessage  `json:"capabilities,omitempty"`
	Instructions    string           `json:"instructions,omitempty"`
	DurationMS      int64            `json:"durationMs"`
	Counts          *Counts          `json:"counts,omitempty"`
	Tools           []Tool           `json:"tools,omitzero"`
	Unusable        []Unusable       `json:"unusable,omitempty"`
	Resources       []Resource       `json:"resources,omitzero"`
	Templates       []Template       `json:"templates,omitzero"`
	Prompts         []PromptOverview `json:"prompts,omitzero"`
	Error           *Error           `json:"error,omitempty"`
}

// Tool is one tool of a list.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Signature    string          `json:"signature"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// Described is the output of mcpctl describe for a tool.
type Described struct {
	Server string `json:"server"`
	Tool
}

// NewDescribed shows a tool of a server.
func NewDescribed(server string, t catalog.Tool) Described { return Described{server, newTool(t)} }

// Unusable is a tool that is left out, and why.
type Unusable struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Error is a failure: what --output json prints as one line on stderr, and what
// stands with a failed server. Code is the exit code of that failure.
type Error struct {
	Kind       string `json:"kind"`
	Code       int    `json:"code"`
	Server     string `json:"server,omitempty"`
	Message    string `json:"message"`
	Hint       string `json:"hint,omitempty"`
	Example    string `json:"example,omitempty"`
	HTTPStatus int    `json:"httpStatus,omitempty"`
	// Questions are what the server asked, where nobody answered it.
	Questions []Question `json:"questions,omitempty"`
}

// NewServer shows what a server offers of some kinds. Fail turns its error into
// what is shown.
func NewServer(o Offer, kinds []Kind, fail func(error) *Error) Server {
	s := newServer(o, fail)
	for _, kind := range kinds {
		switch kind {
		case Tools:
			s.Tools = []Tool{}
			for _, t := range o.Server.Tools {
				if t.Problem != "" {
					s.Unusable = append(s.Unusable, Unusable{t.Name, t.Problem})
					continue
				}
				s.Tools = append(s.Tools, newTool(t))
			}
		case Resources:
			s.Resources = []Resource{}
			for _, r := range o.Resources {
				raw := rawParts(r.Raw)
				s.Resources = append(s.Resources, Resource{r.URI, r.Name, r.Title, r.Description, r.MIMEType, raw.Size, raw.Annotations})
			}
		case Templates:
			s.Templates = []Template{}
			for _, t := range o.Templates {
				s.Templates = append(s.Templates, Template{t.URITemplate, t.Name, t.Title, t.Description, t.MIMEType, rawParts(t.Raw).Annotations})
			}
		case Prompts:
			s.Prompts = []PromptOverview{}
			for _, p := range o.Prompts {
				s.Prompts = append(s.Prompts, newPromptOverview(p))
			}
		}
	}
	return s
}

func newServer(o Offer, fail func(error) *Error) Server {
	s := Server{
		Name:            o.Name,
		Status:          "ok",
		Transport:       o.Transport,
		ProtocolVersion: o.Server.ProtocolVersion,
		Era:             Era(o.Server.ProtocolVersion),
		ServerInfo:      o.Server.Info,
		Instructions:    o.Server.Instructions,
		DurationMS:      o.Duration.Round(time.Millisecond).Milliseconds(),
	}
	if o.Err != nil {
		s.Status, s.Error = "failed", fail(o.Err)
	}
	return s
}

func newTool(t catalog.Tool) Tool {
	return Tool{
		Name:         t.Name,
		Title:        t.Title,
		Description:  t.Description,
		Signature:    Unicode.Signature(t),
		Annotations:  rawParts(t.Raw).Annotations,
		InputSchema:  t.InputSchema,
		OutputSchema: t.OutputSchema,
	}
}

// parts are the members of an item that are shown as they were sent.
type parts struct {
	Annotations json.RawMessage `json:"annotations"`
	Size        json.RawMessage `json:"size"`
}

func rawParts(item json.RawMessage) parts {
	var p parts
	if json.Unmarshal(item, &p) != nil {
		return parts{}
	}
	for _, raw := range []*json.RawMessage{&p.Annotations, &p.Size} {
		if bytes.Equal(*raw, []byte("null")) {
			*raw = nil
		}
	}
	return p
}

// WriteJSON writes a value as indented JSON and leaves the text of servers as
// it was sent.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// WriteJSONLine writes a value as one line.
func WriteJSONLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
