package cli

import (
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

// answering is what a server gets when it asks in the middle of a request.
type answering struct {
	base  string
	words []string
}

func (a *answering) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&a.words, "answer", nil, "`name=value` for a question that the server asks in the middle, typed by its form (repeatable)")
	f.StringVar(&a.base, "answers", "", "answers to begin with: a JSON `object`, @FILE, or - for stdin")
}

// clientOptions are those of a client that answers with what the command line
// has. Without that it does not say that it can be asked.
func (a *answering) clientOptions(app *App) client.Options {
	if a.base == "" && len(a.words) == 0 {
		return client.Options{}
	}
	return client.Options{Handlers: client.Handlers{
		Input: func(ctx context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
			content, err := readArguments(ctx, app, r.Schema, a.base, a.words)
			if err != nil {
				return nil, usageError{fmt.Errorf("the server asks %q: %w", r.Message, err), "it is answered with --answer name=value"}
			}
			return &client.InputAnswer{Action: client.Accept, Content: content}, nil
		},
	}}
}

// printed writes to standard output. A reader that does not read must not keep
// the program from ending.
func printed(ctx context.Context, f func() error) error {
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, f() })
	return err
}
