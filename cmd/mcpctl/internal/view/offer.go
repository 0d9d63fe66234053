package view

import (
	"encoding/json"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// Kind is a kind of things that servers offer.
type Kind string

// The kinds, as they are called on the command line and in JSON.
const (
	Tools     Kind = "tools"
	Resources Kind = "resources"
	Templates Kind = "templates"
	Prompts   Kind = "prompts"
)

// Kinds are all of them.
var Kinds = []Kind{Tools, Resources, Templates, Prompts}

// Offer is what one server has, as far as it was asked. If it failed midway it
// has what came before.
type Offer struct {
	client.ServerResult
	// Capabilities is the object that the server sent.
	Capabilities json.RawMessage
	Resources    []client.Resource
	Templates    []client.ResourceTemplate
	Prompts      []client.Prompt
}

// Count returns how many things of a kind there are, and whether the server
// says that it offers that kind at all.
func (o Offer) Count(kind Kind) (n int, offered bool) {
	capability := kind
	switch kind {
	case Tools:
		for _, t := range o.Server.Tools {
			if t.Problem == "" {
				n++
			}
		}
	case Resources:
		n = len(o.Resources)
	case Templates:
		n, capability = len(o.Templates), Resources
	case Prompts:
		n = len(o.Prompts)
	}
	for _, m := range schemadoc.SplitValid(o.Capabilities) {
		offered = offered || m.Name == string(capability) && string(m.Raw) != "null"
	}
	return n, offered
}

// Era tells revisions with a handshake, "legacy", from those without, "modern".
func Era(revision string) string {
	switch {
	case revision == "":
		return ""
	case revision < string(client.Protocol20260728):
		return "legacy"
	}
	return "modern"
}

// Resource is one resource of a list.
type Resource struct {
	URI         string          `json:"uri"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Size        json.RawMessage `json:"size,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Template is one resource template of a list.
type Template struct {
	URITemplate string          `json:"uriTemplate"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// PromptOverview is one prompt of a list.
type PromptOverview struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments"`
}

func newPromptOverview(p client.Prompt) PromptOverview {
	o := PromptOverview{p.Name, p.Title, p.Description, []PromptArgument{}}
	for _, a := range p.Arguments {
		o.Arguments = append(o.Arguments, PromptArgument{a.Name, a.Title, a.Description, a.Required})
	}
	return o
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

// DescribedPrompt is the output of mcpctl describe for a prompt.
type DescribedPrompt struct {
	Server string `json:"server"`
	PromptOverview
}

// NewDescribedPrompt shows a prompt of a server.
func NewDescribedPrompt(server string, p client.Prompt) DescribedPrompt {
	return DescribedPrompt{server, newPromptOverview(p)}
}

// Counts says how much a server has of each kind; a kind that it does not offer
// is absent.
type Counts struct {
	Tools     *int `json:"tools,omitempty"`
	Resources *int `json:"resources,omitempty"`
	Templates *int `json:"templates,omitempty"`
	Prompts   *int `json:"prompts,omitempty"`
}

// NewStatus shows how a server is, and how much it offers.
func NewStatus(o Offer, fail func(error) *Error) Server {
	s := newServer(o, fail)
	s.Instructions = ""
	s.Capabilities = o.Capabilities
	if o.Err == nil {
		s.Counts = new(Counts)
		for kind, count := range map[Kind]**int{
			Tools: &s.Counts.Tools, Resources: &s.Counts.Resources, Templates: &s.Counts.Templates, Prompts: &s.Counts.Prompts,
		} {
			if n, offered := o.Count(kind); offered {
				*count = new(n)
			}
		}
	}
	return s
}
