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
	"github.com/mcpctl/mcpctl/pkg/client"
)

// List is the output of mcpctl list.
type List struct {
	Servers []Server `json:"servers"`
}

// Server is one server of a list. Status is "ok" or "failed"; a failed one has
// an error and no tools.
type Server struct {
	Name            string          `json:"name"`
	Status          string          `json:"status"`
	Transport       string          `json:"transport,omitempty"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"`
	ServerInfo      json.RawMessage `json:"serverInfo,omitempty"`
	Instructions    string          `json:"instructions,omitempty"`
	DurationMS      int64           `json:"durationMs"`
	Tools           []Tool          `json:"tools"`
	Unusable        []Unusable      `json:"unusable,omitempty"`
	Error           *Error          `json:"error,omitempty"`
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
	HTTPStatus int    `json:"httpStatus,omitempty"`
}

// NewServer shows the result of discovering one server. Fail turns its error
// into what is shown.
func NewServer(r client.ServerResult, fail func(error) *Error) Server {
	s := Server{
		Name:            r.Name,
		Status:          "ok",
		Transport:       string(r.Transport),
		ProtocolVersion: r.Server.ProtocolVersion,
		ServerInfo:      r.Server.Info,
		Instructions:    r.Server.Instructions,
		DurationMS:      r.Duration.Round(time.Millisecond).Milliseconds(),
		Tools:           []Tool{},
	}
	if r.Err != nil {
		s.Status, s.Error = "failed", fail(r.Err)
		return s
	}
	for _, t := range r.Server.Tools {
		if t.Problem != "" {
			s.Unusable = append(s.Unusable, Unusable{t.Name, t.Problem})
			continue
		}
		s.Tools = append(s.Tools, newTool(t))
	}
	return s
}

func newTool(t catalog.Tool) Tool {
	var raw struct {
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(t.Raw, &raw) != nil || bytes.Equal(raw.Annotations, []byte("null")) {
		raw.Annotations = nil
	}
	return Tool{
		Name:         t.Name,
		Title:        t.Title,
		Description:  t.Description,
		Signature:    Signature(t),
		Annotations:  raw.Annotations,
		InputSchema:  t.InputSchema,
		OutputSchema: t.OutputSchema,
	}
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
