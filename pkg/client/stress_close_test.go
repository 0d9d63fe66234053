package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// A handler that does not come back keeps Close no longer than its context
// allows, and no process alive.
func TestStressCloseDuringHandlers(t *testing.T) {
	t.Parallel() // it waits most of the time
	for _, handler := range []string{"progress", "input", "approve"} {
		t.Run(handler, func(t *testing.T) {
			name := "burst"
			if handler == "input" {
				name = "requests"
			}
			raw(t, name, func(t *testing.T, spec client.Spec, s *rawServer) {
				if handler == "input" && !legacyEra(spec, s) {
					t.Skip("asks in the call itself")
				}
				entered, release := make(chan struct{}), make(chan struct{})
				block := func() {
					entered <- struct{}{}
					<-release
				}
				call := client.Call{Tool: "t", Arguments: map[string]any{"n": 1, "method": "elicitation/create", "want": 1}}
				switch handler {
				case "progress":
					call.OnProgress = func(client.Progress) { block() }
				case "input":
					spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
						block()
						return &client.InputAnswer{Action: client.Cancel}, nil
					}
				case "approve":
					spec.Approve = func(context.Context, client.Approval) (bool, error) {
						block()
						return true, nil
					}
				}
				c, err := client.Open(t.Context(), []client.Spec{spec}, client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				returned := make(chan error, 1)
				go func() {
					_, err := c.Server("srv").Call(t.Context(), call)
					returned <- err
				}()
				<-entered
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				closed := make(chan error, 1)
				go func() { closed <- c.Close(ctx) }()
				select {
				case err := <-closed:
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("close: %v", err)
					}
					if spec.Stdio != nil && slices.ContainsFunc(stressProcesses(t, spec), running) {
						t.Error("the process is still there")
					}
				case <-time.After(5 * time.Second):
					t.Error("close waits for the handler")
				}
				close(release)
				if err := <-returned; err == nil && handler != "progress" {
					t.Error("the call succeeds")
				}
				_ = c.Close(context.Background())
			})
		})
	}
}
