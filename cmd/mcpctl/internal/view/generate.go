package view

import "github.com/mcpctl/mcpctl/pkg/typegen"

// Generated is the output of mcpctl generate --diagnostics json. Contract is
// there with --check, where the catalogue of the present code is at hand.
type Generated struct {
	Files       []GeneratedFile      `json:"files"`
	Diagnostics []typegen.Diagnostic `json:"diagnostics"`
	Contract    *Diff                `json:"contract,omitempty"`
}

// GeneratedFile is what became of one file. Status is "wrote", "unchanged" or
// "removed", and with --check "unchanged" or "drifted".
type GeneratedFile struct {
	Path   string `json:"path"`
	Status string `json:"status"`
}
