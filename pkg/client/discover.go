package client

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Discovery is what a set of servers answered.
type Discovery struct {
	// Results has one result for each server, in the order of the specs.
	Results []ServerResult
}

// ServerResult is what one server answered.
type ServerResult struct {
	// Name is the name of the server.
	Name string
	// Server is what it publishes. If Err is not nil it holds what was learnt
	// before the failure, without tools.
	Server catalog.Server
	// Transport is [TransportStdio], [TransportHTTP] or [TransportSSE]; empty
	// if no connection was made.
	Transport string
	// Duration is how long it took, connecting included.
	Duration time.Duration
	// Err is a [*ServerError], or nil.
	Err error
}

// Catalog returns the catalogue of the servers that answered.
func (d Discovery) Catalog() catalog.Catalog {
	var servers []catalog.Server
	for _, r := range d.Results {
		if r.Err == nil {
			servers = append(servers, r.Server)
		}
	}
	return catalog.New(servers...)
}

// Errs returns the failures, in the order of the specs.
func (d Discovery) Errs() []error {
	var errs []error
	for _, r := range d.Results {
		if r.Err != nil {
			errs = append(errs, r.Err)
		}
	}
	return errs
}

// Discover asks all servers at once what tools they publish, each within its
// own timeout. It calls no tool. Connections stay open for later use, until
// [Client.Close].
func (c *Client) Discover(ctx context.Context) Discovery {
	var mu sync.Mutex
	answers := Collect(ctx, c, 0, func(ctx context.Context, s *Server) (ServerResult, error) {
		r := s.Discover(ctx)
		if c.opts.OnResult != nil {
			mu.Lock()
			defer mu.Unlock()
			c.opts.OnResult(r)
		}
		return r, nil
	})
	d := Discovery{Results: make([]ServerResult, len(answers))}
	for i, a := range answers {
		d.Results[i] = a.Value
	}
	return d
}

// Collected is what one of several servers answered.
type Collected[T any] struct {
	// Server is the name of the server.
	Server string
	Value  T
	// Err is what f returned, mostly a [*ServerError], or nil.
	Err error
	// Duration is how long it took.
	Duration time.Duration
}

// Collect calls f for all servers of a client at once and returns what each
// answered, in the order of the specs, for instance their resources:
//
//	client.Collect(ctx, c, 3*time.Second, func(ctx context.Context, s *client.Server) ([]client.Resource, error) {
//		return s.Resources(ctx)
//	})
//
// No server waits for another. Those that take longer than perServer are cut
// off and have an error; zero leaves each its own timeout.
func Collect[T any](
	ctx context.Context, c *Client, perServer time.Duration, f func(context.Context, *Server) (T, error),
) []Collected[T] {
	all := make([]Collected[T], len(c.servers))
	var wg sync.WaitGroup
	for i, s := range c.servers {
		wg.Go(func() {
			ctx := ctx
			if perServer > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, perServer, timeoutError{perServer})
				defer cancel()
			}
			start := time.Now()
			value, err := f(ctx, s)
			all[i] = Collected[T]{s.Name(), value, err, time.Since(start)}
		})
	}
	wg.Wait()
	return all
}

// Discover asks the server what it publishes. A server without the tools
// capability publishes none.
func (s *Server) Discover(ctx context.Context) ServerResult {
	start := time.Now()
	r := ServerResult{Name: s.spec.Name, Server: catalog.Server{Name: s.spec.Name}}
	r.Err = s.discover(ctx, &r)
	r.Duration = time.Since(start)
	return r
}

func (s *Server) discover(ctx context.Context, r *ServerResult) error {
	return s.read(ctx, toolListing.method, func(ctx context.Context, sess *session, _ *operation) error {
		r.Transport = sess.transport
		r.Server.ProtocolVersion = sess.revision
		r.Server.Info = sess.info
		r.Server.Instructions = sess.instructions
		tools, err := sess.listTools(ctx)
		if err != nil {
			return err
		}
		r.Server.Tools = tools
		s.log.Debug("tools listed", "count", len(tools))
		return nil
	})
}

// ListRawTools returns the tools of the server as the exact bytes that it sent,
// sorted by name, those that must not be offered included. Its errors are
// [*ServerError] values.
func (s *Server) ListRawTools(ctx context.Context) ([]json.RawMessage, error) {
	r := s.Discover(ctx)
	if r.Err != nil {
		return nil, r.Err
	}
	raws := make([]json.RawMessage, len(r.Server.Tools))
	for i, t := range r.Server.Tools {
		raws[i] = t.Raw
	}
	return raws, nil
}

// ListTools returns all tools that may be offered in one page, whatever page
// params ask for, decoded as go-sdk does: that loses the order of members and
// the exact value of large numbers, which [Server.ListRawTools] keeps. Its
// errors are [*ServerError] values.
func (s *Server) ListTools(ctx context.Context, _ *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	r := s.Discover(ctx)
	if r.Err != nil {
		return nil, r.Err
	}
	result := &mcp.ListToolsResult{Tools: []*mcp.Tool{}}
	for _, t := range r.Server.Tools {
		if t.Problem != "" {
			continue
		}
		tool := new(mcp.Tool)
		if err := json.Unmarshal(t.Raw, tool); err != nil {
			return nil, s.failure(ctx, "tools/list", protocolErrorf("tool %q does not have the shape of one", t.Name), nil)
		}
		result.Tools = append(result.Tools, tool)
	}
	return result, nil
}
