package view

import "time"

// Change is a line of mcpctl watch. Kind is "tools", "resources" or "prompts"
// where a list has changed, and "resource" where the resource of the URI has.
type Change struct {
	Time   time.Time `json:"time"`
	Server string    `json:"server"`
	Kind   string    `json:"kind"`
	URI    string    `json:"uri,omitempty"`
}
