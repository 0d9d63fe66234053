package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
)

// Bounds of what one server may list.
const (
	maxPages     = 1000
	maxItems     = 100_000
	maxListBytes = 128 << 20
)

// listing says how a list is asked for.
type listing struct {
	method, member, what string
	kind                 Kind
}

var (
	toolListing     = listing{"tools/list", "tools", "the list of tools", KindTools}
	resourceListing = listing{"resources/list", "resources", "the list of resources", KindResources}
	templateListing = listing{"resources/templates/list", "resourceTemplates", "the list of resource templates", KindResources}
	promptListing   = listing{"prompts/list", "prompts", "the list of prompts", KindPrompts}
)

// list returns all items of a list as the exact bytes that came, from the
// cache while the server says that they are fresh.
func (s *session) list(ctx context.Context, l listing) ([][]byte, error) {
	cache := &s.server.lists
	items, since := cache.get(l.method)
	if items != nil {
		return items, nil
	}
	received := time.Now()
	fresh := time.Duration(-1)
	private := false
	var (
		cursor *string
		seen   = make(map[string]bool)
		size   int
	)
	for range maxPages {
		raw, err := s.page(ctx, l, cursor)
		if err != nil {
			return nil, err
		}
		parts := members(raw, l.member, "nextCursor", "ttlMs", "cacheScope")
		page, ok := schemadoc.ItemsValid(parts[0])
		if !ok {
			return nil, protocolErrorf("the result of %s has no list", l.method)
		}
		var next *string
		if parts[1] != nil && json.Unmarshal(parts[1], &next) != nil {
			return nil, protocolErrorf("the cursor of %s is no string", l.what)
		}
		if size += len(raw); size > maxListBytes {
			return nil, protocolErrorf("%s is larger than %d bytes", l.what, maxListBytes)
		}
		if len(items)+len(page) > maxItems {
			return nil, protocolErrorf("%s has more than %d items", l.what, maxItems)
		}
		items = append(items, page...)
		// The first page to go stale makes the list stale.
		ttl := timeToLive(parts[2])
		if fresh < 0 || ttl < fresh {
			fresh = ttl
		}
		private = private || text(parts[3]) != "public"
		// An empty cursor is one since 2026-07-28, and was the end before.
		if next == nil || *next == "" && !s.modern() {
			if items == nil {
				items = [][]byte{}
			}
			if s.modern() && fresh > 0 && !(private && s.server.perCall()) {
				cache.put(l, items, received.Add(fresh), since)
			}
			return items, nil
		}
		if seen[*next] {
			return nil, protocolErrorf("%s repeats a cursor", l.what)
		}
		seen[*next] = true
		cursor = next
	}
	return nil, protocolErrorf("%s has more than %d pages", l.what, maxPages)
}

func (s *session) page(ctx context.Context, l listing, cursor *string) (json.RawMessage, error) {
	return s.exchange(ctx, wire.Request{Method: l.method}, requestMeta{}, "", func(p *params) {
		if cursor != nil {
			p.set("cursor", *cursor)
		}
	})
}

// maxTTL bounds how long a server may have its results kept.
const maxTTL = 24 * time.Hour

// timeToLive reads ttlMs (specification 2026-07-28, caching).
func timeToLive(raw json.RawMessage) time.Duration {
	var ms float64
	if raw == nil || json.Unmarshal(raw, &ms) != nil || ms <= 0 {
		return 0
	}
	if ms >= float64(maxTTL.Milliseconds()) {
		return maxTTL
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// perCall reports whether the caller's transport may send other credentials
// with each call, so that private results of one call are not for the next.
func (s *Server) perCall() bool { return s.spec.HTTP != nil && s.spec.HTTP.Transport != nil }

// listCache keeps lists and resources as long as their server says that they
// are fresh, and until it says that they have changed.
type listCache struct {
	mu        sync.Mutex
	epoch     uint64 // grows with every change
	lists     map[string]cached
	resources map[string]cached // by URI; one item
	tools     map[string]*catalog.Tool
}

type cached struct {
	kind  Kind
	items [][]byte
	until time.Time
}

// maxCachedResources bounds how many resources are kept, and maxCachedResource
// the size of each, in bytes.
const (
	maxCachedResources = 100
	maxCachedResource  = 1 << 20
)

// get returns a fresh list, or nil and what put wants to know.
func (c *listCache) get(method string) ([][]byte, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, ok := c.lists[method]; ok && time.Now().Before(entry.until) {
		return entry.items, c.epoch
	}
	return nil, c.epoch
}

// put keeps a list unless something has changed since it was asked for.
func (c *listCache) put(l listing, items [][]byte, until time.Time, since uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != since {
		return
	}
	if c.lists == nil {
		c.lists = make(map[string]cached)
	}
	c.lists[l.method] = cached{l.kind, items, until}
}

func (c *listCache) getResource(uri string) (json.RawMessage, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, ok := c.resources[uri]; ok && time.Now().Before(entry.until) {
		return entry.items[0], c.epoch
	}
	return nil, c.epoch
}

func (c *listCache) putResource(uri string, raw json.RawMessage, until time.Time, since uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != since || len(raw) > maxCachedResource {
		return
	}
	if c.resources == nil || len(c.resources) >= maxCachedResources {
		c.resources = make(map[string]cached)
	}
	c.resources[uri] = cached{KindResources, [][]byte{raw}, until}
}

// setTools keeps the definitions of the tools that a server lists: calls need
// them even when the list itself is stale.
func (c *listCache) setTools(tools []catalog.Tool) {
	byName := make(map[string]*catalog.Tool, len(tools))
	for i := range tools {
		if t := &tools[i]; t.Problem == "" {
			byName[t.Name] = t
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = byName
}

// tool returns the definition of a tool that has been listed, or nil.
func (c *listCache) tool(name string) *catalog.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools[name]
}

// forget drops what a change of a list makes stale.
func (c *listCache) forget(kind Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for method, entry := range c.lists {
		if entry.kind == kind {
			delete(c.lists, method)
		}
	}
	if kind == KindTools {
		c.tools = nil
	}
}

func (c *listCache) forgetResource(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	delete(c.resources, uri)
}

// clear drops everything: another connection may be another server.
func (c *listCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.lists, c.resources = nil, nil
	c.tools = nil
}

// listTools returns all tools, sorted by name.
func (s *session) listTools(ctx context.Context) ([]catalog.Tool, error) {
	if s.capabilities.Tools == nil {
		return nil, nil
	}
	items, err := s.list(ctx, toolListing)
	if err != nil {
		return nil, err
	}
	tools := make([]catalog.Tool, 0, len(items))
	var left leftOut
	for i, item := range items {
		tool, err := catalog.ParseTool(item)
		if err != nil {
			left.add(i, err.Error())
			continue
		}
		if tool.Problem != "" {
			// No warning: the caller has it with the tool, and may filter.
			s.server.log.Info("tool is not to be offered", "tool", tool.Name, "reason", tool.Problem)
		}
		tools = append(tools, tool)
	}
	left.warn(s.server.log, toolListing)
	// Sorts, and marks tools that have a name in common.
	tools = catalog.New(catalog.Server{Name: s.server.Name(), Tools: tools}).Servers[0].Tools
	s.server.lists.setTools(tools)
	return tools, nil
}

// leftOut counts the items of a list that do not have the shape of one. They
// are no reason to lose the others.
type leftOut struct {
	n     int
	first string
}

func (l *leftOut) add(i int, reason string) {
	if l.n++; l.n == 1 {
		l.first = fmt.Sprintf("item %d: %s", i+1, reason)
	}
}

func (l *leftOut) warn(log *slog.Logger, list listing) {
	if l.n > 0 {
		log.Warn("items of "+list.what+" are left out", "number", l.n, "first", l.first)
	}
}

// tool returns the definition of a tool, asking for the list if it is not
// known.
func (s *Server) tool(ctx context.Context, name string) (*catalog.Tool, error) {
	if t := s.lists.tool(name); t != nil {
		return t, nil
	}
	var found *catalog.Tool
	err := s.attempts(ctx, toolListing.method, true, func(sess *session) error {
		tools, err := sess.listTools(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(tools, func(t catalog.Tool) bool { return t.Name == name })
		if i < 0 {
			return &UnknownToolError{Server: s.Name(), Tool: name}
		}
		if tools[i].Problem != "" {
			return &UnknownToolError{s.Name(), name, tools[i].Problem}
		}
		found = &tools[i]
		return nil
	})
	return found, err
}

// refreshTool asks for the list again and returns the definition of a tool,
// nil if it is gone.
func (s *Server) refreshTool(ctx context.Context, sess *session, name string) (*catalog.Tool, error) {
	s.lists.forget(KindTools)
	if _, err := sess.listTools(ctx); err != nil {
		return nil, err
	}
	return s.lists.tool(name), nil
}

// UnknownToolError says that a server lists no tool of that name, or that the
// one it lists must not be offered. It is an [ErrUnknownTool].
type UnknownToolError struct {
	Server, Tool string
	// Problem says why a listed tool must not be offered, see
	// [catalog.Tool.Problem].
	Problem string
}

func (e *UnknownToolError) Error() string {
	if e.Problem != "" {
		return e.Tool + ": " + e.Problem
	}
	return e.Tool
}

func (e *UnknownToolError) kind() (Class, error) { return ClassNoTool, ErrUnknownTool }
