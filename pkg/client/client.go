// Package client is one MCP client over many servers.
//
// [Open] takes specifications and connects to nothing: a server is reached
// when it is first needed. [Client.Discover] asks all servers at once what
// they publish and returns what each answered, successes and failures side by
// side. [Client.Server] is a handle on one of them for calls. [Client.Close]
// ends what was opened: you own what you opened, and there is no global state,
// no hook on process exit and no shared cache.
//
// The client speaks revision 2026-07-28 of the protocol and, with servers that
// do not, the older ones back to 2024-11-05, over stdio, streamable HTTP and
// HTTP with SSE.
//
// What servers send is not trusted: it is bounded in size and time, and no
// error, log line or captured output that leaves the package contains a secret
// of the server's [Spec].
//
// The package prints nothing, and reads the environment only for the short
// list of variables that child processes inherit, see [Options.LookupEnv].
package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// Defaults of [Options].
const (
	DefaultTimeout        = 60 * time.Second
	DefaultMaxMessageSize = 16 << 20
)

// modulePath is what the library calls itself.
const modulePath = "github.com/mcpctl/mcpctl"

// Options configure a client. The zero value is usable.
type Options struct {
	// Logger gets what happens, at level debug for the most part; nil
	// discards it.
	Logger *slog.Logger
	// ClientInfo is what servers learn about the client. Empty fields are the
	// path and the version of this module.
	ClientInfo Implementation
	// Timeout bounds every operation on a server whose spec has no timeout;
	// zero means [DefaultTimeout].
	Timeout time.Duration
	// MaxMessageSize bounds one message of a server, in bytes: a line of
	// stdout, a response body, an event of a stream. Zero means
	// [DefaultMaxMessageSize].
	MaxMessageSize int
	// Transport sends the HTTP requests of servers that have no transport of
	// their own. Nil means one that belongs to the client and uses no proxy:
	// a program that wants the proxies of its environment passes an
	// [http.Transport] with [http.ProxyFromEnvironment].
	Transport http.RoundTripper
	// LookupEnv finds the variables that child processes inherit; nil means
	// [os.LookupEnv].
	LookupEnv func(string) (string, bool)
	// Handlers are for all servers whose specs have none of their own.
	Handlers
	// Validator checks arguments and results against the schemas of tools;
	// nil means the one of this module, which knows JSON Schema 2020-12 and
	// its predecessors back to draft 4.
	Validator Validator
	// OnResult is called with each server's result as soon as
	// [Client.Discover] has it, from one goroutine at a time.
	OnResult func(ServerResult)
}

// Client is a set of servers. It is safe for concurrent use.
type Client struct {
	opts    Options
	servers []*Server
	byName  map[string]*Server
	own     *http.Transport // nil if the caller brought one

	mu     sync.Mutex
	closed bool
	ops    map[*context.CancelCauseFunc]struct{} // operations under way
	wg     sync.WaitGroup                        // the same, to wait for
}

// Open returns a client over the given servers. It checks the specifications
// and connects to none; names must be unique. The context bounds opening
// alone.
func Open(ctx context.Context, specs []Spec, opts Options) (*Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("opening a client: %w", context.Cause(ctx))
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.MaxMessageSize <= 0 {
		opts.MaxMessageSize = DefaultMaxMessageSize
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	if opts.Validator == nil {
		opts.Validator = defaultValidator{}
	}
	opts.ClientInfo = opts.ClientInfo.or(moduleInfo())
	c := &Client{ops: make(map[*context.CancelCauseFunc]struct{}), byName: make(map[string]*Server)}
	if opts.Transport == nil {
		c.own = newTransport()
		opts.Transport = c.own
	}
	c.opts = opts
	var errs []error
	for _, spec := range specs {
		if err := spec.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		if c.byName[spec.Name] != nil {
			errs = append(errs, fmt.Errorf("two servers have the name %q", spec.Name))
			continue
		}
		s := newServer(c, spec)
		c.byName[spec.Name] = s
		c.servers = append(c.servers, s)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// moduleInfo names this module and the version at which it was built.
func moduleInfo() Implementation {
	info := Implementation{Name: modulePath, Version: "(devel)"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, m := range append([]*debug.Module{&build.Main}, build.Deps...) {
		if m.Path == modulePath && m.Version != "" {
			info.Version = m.Version
		}
	}
	return info
}

// Server returns the handle of the server of that name. If there is none, the
// handle's methods return an error that says so.
func (c *Client) Server(name string) *Server {
	if s := c.byName[name]; s != nil {
		return s
	}
	s := newServer(c, Spec{Name: name})
	s.unknown = true
	return s
}

// Names returns the names of the servers, in the order they were given.
func (c *Client) Names() []string {
	names := make([]string, len(c.servers))
	for i, s := range c.servers {
		names[i] = s.spec.Name
	}
	return names
}

// begin starts an operation, which ends with the client at the latest. The
// last function must be called at its end.
func (c *Client) begin(ctx context.Context) (context.Context, context.CancelCauseFunc, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ctx, nil, nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	key := &cancel
	c.ops[key] = struct{}{}
	c.wg.Add(1)
	return ctx, cancel, func() {
		cancel(context.Canceled)
		c.mu.Lock()
		delete(c.ops, key)
		c.mu.Unlock()
		c.wg.Done()
	}, nil
}

// Close ends the client: operations under way fail with [ErrClosed], sessions
// are closed, and child processes are asked to end and made to if they do not
// within a few seconds, or when ctx ends. When Close returns, no child process
// of the client and no descendant in its group is left. Close waits for
// handlers that run, but not beyond ctx. Closing twice is fine. The error is
// the one of ctx.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	for cancel := range c.ops {
		(*cancel)(ErrClosed)
	}
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done(): // a handler does not come back
	}
	var wg sync.WaitGroup
	for _, s := range c.servers {
		wg.Go(func() {
			s.subs.close()
			s.disconnect(ctx)
			s.mailbox.close(ctx)
		})
	}
	wg.Wait()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("closing the client: %w", context.Cause(ctx))
	}
	return nil
}
