package wire

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
)

// oldSSE is a connection over HTTP with SSE (specification 2024-11-05,
// transports): what the server sends comes on one stream, and what the client
// sends goes to an address that the server names there.
type oldSSE struct {
	*duplex
	cfg      HTTPConfig
	endpoint *url.URL
	revision atomic.Pointer[string]
}

// DialSSE opens a connection over HTTP with SSE. It waits for the server to
// name its endpoint for as long as ctx allows; afterwards the connection does
// not depend on ctx. The error is [ErrNoStream], in an [*HTTPError], if there
// is no such server, and [ErrForeignEndpoint] if messages were to go to
// another origin.
func DialSSE(ctx context.Context, cfg HTTPConfig) (Conn, error) {
	c := &oldSSE{cfg: cfg}
	c.duplex = newDuplex(cfg.Handler, c.send)
	if err := c.open(ctx); err != nil {
		err = c.blame(ctx, err)
		c.Close(ctx)
		return nil, err
	}
	return c, nil
}

func (c *oldSSE) open(ctx context.Context) error {
	x, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer c.leave(x)
	resp, err := c.cfg.openStream(x, http.Header{"Accept": acceptStream})
	if err != nil {
		return err
	}
	events := newEventReader(resp.Body, c.cfg.MaxMessageSize)
	err = c.readEndpoint(resp, events)
	if err == nil && !x.detach() {
		err = &TransportError{ctx.Err()}
	}
	if err != nil {
		resp.Body.Close()
		return err
	}
	x.released = true
	c.background(func(context.Context) {
		defer x.cancel()
		defer resp.Body.Close()
		c.end(c.read(resp, events))
	})
	return nil
}

// readEndpoint waits for the event that names the endpoint, which is the
// first.
func (c *oldSSE) readEndpoint(resp *http.Response, events *eventReader) error {
	for {
		ev, err := events.next()
		switch {
		case err != nil:
			return readError(resp, err)
		case len(ev.data) == 0:
			continue
		case ev.name != "endpoint":
			return httpError(resp, &ProtocolError{"the stream does not begin with an endpoint"})
		}
		endpoint, err := c.cfg.Endpoint.Parse(string(bytes.TrimSpace(ev.data)))
		switch {
		case err != nil:
			return httpError(resp, &ProtocolError{"the endpoint is no URL"})
		case !netpolicy.SameOrigin(endpoint, c.cfg.Endpoint):
			return ErrForeignEndpoint
		}
		endpoint.User = nil // a server must not choose credentials for us
		c.endpoint = endpoint
		return nil
	}
}

// read delivers what comes on the stream, and returns why it ended.
func (c *oldSSE) read(resp *http.Response, events *eventReader) error {
	for {
		ev, err := events.next()
		if err != nil {
			return readError(resp, err)
		}
		if ev.name != "" && ev.name != "message" {
			continue
		}
		msgs, broken := parseMessages(ev.data)
		for _, m := range msgs {
			c.deliver(m)
		}
		if broken != nil {
			return httpError(resp, broken)
		}
		if len(msgs) == 0 && len(ev.data) > 0 {
			c.cfg.Log.Debug("an event is no message")
		}
	}
}

// send posts a message.
func (c *oldSSE) send(ctx context.Context, msg []byte) error {
	x, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer c.leave(x)
	revision := ""
	if agreed := c.revision.Load(); agreed != nil {
		revision = *agreed
	}
	resp, err := c.cfg.send(x, http.MethodPost, c.endpoint, postHeader(revision, ""), msg)
	if err != nil {
		return c.blame(ctx, err)
	}
	discard(resp)
	return nil
}

// SetRevision implements [Conn].
func (c *oldSSE) SetRevision(revision string) { c.revision.Store(&revision) }

// Close implements [Conn].
func (c *oldSSE) Close(ctx context.Context) {
	c.takeLeave(ctx)
	c.end(ErrClosed)
	c.shut(ctx)
}
