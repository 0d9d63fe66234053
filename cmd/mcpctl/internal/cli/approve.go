package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// approver decides about calls as the configuration wants it.
type approver struct {
	app    *App
	config *config.Config // nil: nothing is configured
	yes    bool           // --yes
	policy config.Approval
	server string
	tool   catalog.Tool // what is about to be called
}

// handler returns the client's hook for a server, nil if nothing is asked.
func (a *approver) handler(server string) (func(context.Context, client.Approval) (bool, error), error) {
	if a.config == nil {
		return nil, nil
	}
	policy, err := a.config.Approval(server)
	if err != nil || policy == config.ApproveNever {
		return nil, err
	}
	a.policy, a.server = policy, server
	return a.approve, nil
}

func (a *approver) approve(ctx context.Context, call client.Approval) (bool, error) {
	if a.yes || a.policy == config.ApproveDestructive && harmless(call.Annotations) {
		return true, nil
	}
	var approved config.Approved
	if a.policy == config.ApproveOnce {
		digest, err := a.tool.Digest()
		if err != nil {
			return false, err
		}
		approved = a.config.Approved(a.server, call.Tool, digest.Contract)
		if a.store().Has(approved) {
			return true, nil
		}
	}
	if !a.app.Interactive {
		return false, usageError{
			fmt.Errorf("nobody can be asked, and the configuration has approval %q", a.policy),
			"--yes approves the call",
		}
	}
	question := "Call it?"
	if a.policy == config.ApproveOnce {
		question = "Call it, now and from now on?"
	}
	a.describe(call)
	yes, err := a.app.confirm(ctx, question)
	if err != nil || !yes || a.policy != config.ApproveOnce {
		return yes, err
	}
	return true, a.store().Add(ctx, approved)
}

// store remembers what was approved, beside what is trusted.
func (a *approver) store() config.ApprovalStore {
	if a.app.UserDir == "" {
		return config.ApprovalStore{}
	}
	return config.ApprovalStore{Path: filepath.Join(a.app.UserDir, "approved.json")}
}

// harmless reports what a server says about a tool: that it changes nothing, or
// destroys nothing.
func harmless(a *mcp.ToolAnnotations) bool {
	return a != nil && (a.ReadOnlyHint || a.DestructiveHint != nil && !*a.DestructiveHint)
}

// describe shows what would be called.
func (a *approver) describe(call client.Approval) {
	defer a.app.Err.Pause()()
	fmt.Fprintf(a.app.Err, "%s is to call the tool %s:\n", a.app.Err.Bold(ui.Clean(a.server)), a.app.Err.Bold(ui.Clean(clip(call.Tool))))
	var arguments strings.Builder
	if view.WriteJSON(&arguments, call.Arguments) == nil {
		a.app.show(arguments.String())
	}
	if claims := claims(a.tool.Annotations); len(claims) > 0 {
		fmt.Fprintln(a.app.Err, a.app.Err.Wrap("The server claims: "+strings.Join(claims, "; ")+".", 0))
	} else {
		fmt.Fprintf(a.app.Err, "The server does not say what it does to data.\n")
	}
}
