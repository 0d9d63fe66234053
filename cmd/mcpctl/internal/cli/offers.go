package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// offers asks all servers at once for what they have of some kinds, and
// disconnects. Failures of servers are in the offers; the error is another one.
func (app *App) offers(ctx context.Context, specs []client.Spec, kinds ...view.Kind) ([]view.Offer, error) {
	waiting := newWaiting(specs)
	c, err := app.open(ctx, specs, client.Options{})
	if err != nil {
		return nil, err
	}
	stop := app.Err.Progress(waiting.String)
	answers := client.Collect(ctx, c, 0, func(ctx context.Context, s *client.Server) (view.Offer, error) {
		o := askOffer(ctx, s, kinds)
		waiting.remove(o.ServerResult)
		return o, nil
	})
	stop()
	all := make([]view.Offer, len(answers))
	for i, a := range answers {
		all[i] = a.Value
		if a.Value.Err == nil {
			app.remember(a.Server, learnt(a.Value, kinds))
		}
	}
	return all, c.Close(context.WithoutCancel(ctx))
}

func askOffer(ctx context.Context, s *client.Server, kinds []view.Kind) view.Offer {
	start := time.Now()
	o := view.Offer{ServerResult: client.ServerResult{Name: s.Name(), Server: catalog.Server{Name: s.Name()}}}
	for _, kind := range kinds {
		var err error
		switch kind {
		case view.Tools:
			o.ServerResult = s.Discover(ctx)
			err = o.Err
		case view.Resources:
			o.Resources, err = s.Resources(ctx)
		case view.Templates:
			// Servers with resources need not have templates, and some say so
			// by not knowing the method.
			if o.Templates, err = s.ResourceTemplates(ctx); code(err) == jsonrpc.CodeMethodNotFound {
				err = nil
			}
		case view.Prompts:
			o.Prompts, err = s.Prompts(ctx)
		}
		if o.Err == nil {
			o.Err = err
		}
		// A server that refuses one list may have others; one that is gone
		// would only be waited for again.
		if err != nil && code(err) == 0 {
			break
		}
	}
	peer := s.Peer()
	o.Transport, o.Capabilities = peer.Transport, peer.Capabilities
	o.Server.ProtocolVersion, o.Server.Info, o.Server.Instructions = peer.Revision, peer.Info, peer.Instructions
	o.Duration = time.Since(start)
	return o
}

// code is the code of a JSON-RPC error, else zero.
func code(err error) int64 {
	e, _ := errors.AsType[*client.ServerError](err)
	if e == nil {
		return 0
	}
	return e.Code
}

func serverResults(offers []view.Offer) []client.ServerResult {
	results := make([]client.ServerResult, len(offers))
	for i, o := range offers {
		results[i] = o.ServerResult
	}
	return results
}

// notation is how signatures are written to a stream.
func notation(s *ui.Stream) view.Notation {
	if s.UTF8 {
		return view.Unicode
	}
	return view.ASCII
}

// leadingKind takes the kind off the arguments of list, if they begin with one.
func leadingKind(args []string) (view.Kind, []string) {
	if len(args) > 0 && slices.Contains(view.Kinds, view.Kind(args[0])) {
		return view.Kind(args[0]), args[1:]
	}
	return "", args
}
