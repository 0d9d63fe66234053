package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Approval says which calls of a server's tools a person has to approve.
type Approval string

// The values of the key "approval". What a server says about its tools is a
// hint, and no more trustworthy than the server.
const (
	// ApproveNever asks nothing. It is the default.
	ApproveNever Approval = "never"
	// ApproveDestructive asks unless the server says that the tool changes
	// nothing, or destroys nothing.
	ApproveDestructive Approval = "destructive"
	// ApproveOnce asks once for each tool, and again when its contract has
	// changed.
	ApproveOnce Approval = "ask"
	// ApproveAlways asks before every call.
	ApproveAlways Approval = "always"
)

// Approval returns what the file says about calls of a server's tools. Its
// error is an [*Error].
func (c *Config) Approval(name string) (Approval, error) {
	var s server
	e, ok := c.servers[name]
	if !ok {
		return "", c.unknownServer(name)
	}
	d := decoder{doc: c.doc, vars: c.vars}
	if err := decodeServer(d.at(name), e.value, &s); err != nil {
		return "", err
	}
	if s.approval == "" {
		return ApproveNever, nil
	}
	return Approval(s.approval), nil
}

// ApprovalStore remembers which tools a person has approved.
type ApprovalStore struct {
	// Path is the file to remember in, with the properties of that of
	// [TrustStore].
	Path string
}

// Approved is a tool as it was approved: one of a server of a configuration,
// as long as its contract stays the same.
type Approved struct {
	Config   string `json:"config"`
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	Contract string `json:"contract"`
}

// Approved returns what a person approves who approves a tool of a server.
func (c *Config) Approved(server, tool, contract string) Approved {
	return Approved{Config: c.identity().Path, Server: server, Tool: tool, Contract: contract}
}

// Has reports whether a tool was approved.
func (s ApprovalStore) Has(a Approved) bool {
	return slices.Contains(recall[Approved](s.Path, "approved"), a)
}

// Add remembers a tool.
func (s ApprovalStore) Add(ctx context.Context, a Approved) error {
	if !filepath.IsAbs(s.Path) {
		return errors.New("remember the approval: there is no folder to remember it in; set HOME or XDG_CONFIG_HOME")
	}
	if err := remember(ctx, s.Path, "approved", a); err != nil {
		return fmt.Errorf("remember the approval: %w", err)
	}
	return nil
}
