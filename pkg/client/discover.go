package client

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what one server may list.
const (
	maxPages     = 1000
	maxTools     = 100_000
	maxListBytes = 128 << 20
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

// Discover asks all servers at once what they publish, each within its own
// timeout. It calls no tool. Connections stay open for later use, until
// [Client.Close].
func (c *Client) Discover(ctx context.Context) Discovery {
	d := Discovery{Results: make([]ServerResult, len(c.servers))}
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for i, s := range c.servers {
		wg.Go(func() {
			d.Results[i] = s.Discover(ctx)
			if c.opts.OnResult != nil {
				mu.Lock()
				defer mu.Unlock()
				c.opts.OnResult(d.Results[i])
			}
		})
	}
	wg.Wait()
	return d
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
	const op = "tools/list"
	ctx, end, err := s.begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	sess, err := s.session(ctx)
	if err != nil {
		return err
	}
	r.Transport = sess.transport
	r.Server.ProtocolVersion = sess.protocol
	r.Server.Info = sess.info
	init := sess.cs.InitializeResult()
	r.Server.Instructions = init.Instructions
	if init.Capabilities == nil || init.Capabilities.Tools == nil {
		return nil
	}
	tools, err := s.listTools(ctx, sess)
	if err != nil {
		return err
	}
	r.Server.Tools = tools
	s.log.Debug("tools listed", "count", len(tools))
	return nil
}

// listTools returns all tools, sorted by name, as the exact bytes that came.
func (s *Server) listTools(ctx context.Context, sess *session) ([]catalog.Tool, error) {
	const op = "tools/list"
	var (
		tools  []catalog.Tool
		cursor *string
		seen   = make(map[string]bool)
		size   int
	)
	for range maxPages {
		raw, ex, err := s.listPage(ctx, sess, cursor)
		fail := func(err error) error { return s.failure(ctx, op, err, ex, sess.process()) }
		if err != nil {
			sess.settle(ctx, ex)
			return nil, fail(err)
		}
		page, next, err := parsePage(raw)
		if err != nil {
			return nil, fail(err)
		}
		if size += len(raw); size > maxListBytes {
			return nil, fail(protocolErrorf("the list of tools is larger than %d bytes", maxListBytes))
		}
		if len(tools)+len(page) > maxTools {
			return nil, fail(protocolErrorf("more than %d tools", maxTools))
		}
		for _, item := range page {
			tool, err := catalog.ParseTool(item)
			if err != nil {
				return nil, fail(protocolErrorf("tool %d: %v", len(tools)+1, err))
			}
			if tool.Problem != "" {
				// No warning: the caller has it with the tool, and may filter.
				s.log.Info("tool is not to be offered", "tool", tool.Name, "reason", tool.Problem)
			}
			tools = append(tools, tool)
		}
		// An empty cursor is one since 2026-07-28, and was the end before.
		if next == nil || *next == "" && !sess.modern() {
			slices.SortStableFunc(tools, func(a, b catalog.Tool) int { return cmp.Compare(a.Name, b.Name) })
			return tools, nil
		}
		if seen[*next] {
			return nil, fail(protocolErrorf("the list of tools repeats a cursor"))
		}
		seen[*next] = true
		cursor = next
	}
	return nil, s.failure(ctx, op, protocolErrorf("the list of tools has more than %d pages", maxPages), nil, sess.process())
}

// listPage returns the result of tools/list for a cursor as it came.
func (s *Server) listPage(ctx context.Context, sess *session, cursor *string) (json.RawMessage, *exchange, error) {
	ctx, ex := withExchange(ctx, true)
	defer ex.done()
	var err error
	key := "start"
	switch {
	case cursor == nil:
		_, err = sess.cs.ListTools(ctx, &mcp.ListToolsParams{})
	case *cursor == "":
		// The SDK cannot say this one.
		key = "cursor:"
		_, err = mcp.CallCustomMethod[*emptyCursor, *mcp.ListToolsResult](ctx, sess.cs, "tools/list", &emptyCursor{})
	default:
		key = "cursor:" + *cursor
		_, err = sess.cs.ListTools(ctx, &mcp.ListToolsParams{Cursor: *cursor})
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if raw := ex.raw(); raw != nil {
		// Even if the SDK did not like it.
		if sess.pages == nil {
			sess.pages = make(map[string]json.RawMessage)
		}
		sess.pages[key] = raw
		return raw, ex, nil
	}
	if err == nil {
		// From the SDK's cache, which the page went into.
		if raw := sess.pages[key]; raw != nil {
			return raw, ex, nil
		}
		err = protocolErrorf("the list of tools could not be read")
	}
	return nil, ex, err
}

// emptyCursor are the parameters of tools/list with a cursor that is empty.
type emptyCursor struct {
	mcp.ParamsBase
	Cursor string `json:"cursor"`
}

// parsePage splits a tools/list result, which is valid JSON.
func parsePage(raw json.RawMessage) (tools [][]byte, next *string, err error) {
	parts := members(raw, "tools", "nextCursor")
	tools, ok := schemadoc.ItemsValid(parts[0])
	if !ok {
		return nil, nil, protocolErrorf("the result of tools/list has no list of tools")
	}
	if parts[1] != nil && json.Unmarshal(parts[1], &next) != nil {
		return nil, nil, protocolErrorf("the cursor of the list of tools is no string")
	}
	return tools, next, nil
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
			return nil, s.failure(ctx, "tools/list", protocolErrorf("tool %q does not have the shape of one", t.Name), nil, nil)
		}
		result.Tools = append(result.Tools, tool)
	}
	return result, nil
}
