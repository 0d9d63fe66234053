package view

import "github.com/mcpctl/mcpctl/pkg/client"

// Completions is the output of mcpctl complete. It has a prompt or a template.
type Completions struct {
	Server   string   `json:"server"`
	Prompt   string   `json:"prompt,omitempty"`
	Template string   `json:"template,omitempty"`
	Argument string   `json:"argument"`
	Values   []string `json:"values"`
	Total    int      `json:"total,omitempty"`
	HasMore  bool     `json:"hasMore"`
}

// NewCompletions shows what a server suggests.
func NewCompletions(server string, c client.Completion, found *client.Completions) Completions {
	return Completions{server, c.Prompt, c.Template, c.Argument, append([]string{}, found.Values...), found.Total, found.More}
}
