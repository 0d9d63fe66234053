package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errStreamEnd says that a server closed its standard input or output.
var errStreamEnd = fmt.Errorf("standard streams: %w", io.EOF)

// transportFunc makes a function an [mcp.Transport].
type transportFunc func(context.Context) (mcp.Connection, error)

func (f transportFunc) Connect(ctx context.Context) (mcp.Connection, error) { return f(ctx) }

// stdioConn speaks newline-delimited JSON-RPC with a process. Unlike the
// SDK's own it forgives lines on stdout that are no messages, which many
// servers print, never blocks beyond a caller's context, and does not read
// further once closed.
type stdioConn struct {
	proc    *process
	log     *slog.Logger
	secrets *redact.Redactor
	limit   int

	incoming chan jsonrpc.Message
	outgoing chan outgoing
	done     chan struct{}
	close    sync.Once

	mu    sync.Mutex
	err   error // why reading, or else writing, has ended
	stray int   // lines of stdout that were no messages
}

type outgoing struct {
	data    []byte
	written chan<- error
}

func newStdioConn(proc *process, limit int, log *slog.Logger, secrets *redact.Redactor) *stdioConn {
	c := &stdioConn{
		proc: proc, log: log, secrets: secrets, limit: limit,
		incoming: make(chan jsonrpc.Message),
		outgoing: make(chan outgoing),
		done:     make(chan struct{}),
	}
	go c.read()
	go c.write()
	return c
}

// Read implements [mcp.Connection].
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-c.incoming:
		if !ok {
			return nil, c.broken()
		}
		return msg, nil
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection]. A server that does not read its input
// holds up the message, not the caller: it is sent when there is room.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	select {
	case c.outgoing <- outgoing{append(data, '\n'), written}:
	case <-c.done:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-written:
		return err
	case <-c.done:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements [mcp.Connection]. It closes the server's standard input;
// ending the process is for its owner.
func (c *stdioConn) Close() error {
	c.close.Do(func() {
		close(c.done)
		c.proc.stdin.Close()
	})
	return nil
}

// SessionID implements [mcp.Connection].
func (c *stdioConn) SessionID() string { return "" }

func (c *stdioConn) write() {
	for {
		select {
		case out := <-c.outgoing:
			_, err := c.proc.stdin.Write(out.data)
			if err != nil {
				c.end(errStreamEnd)
			}
			out.written <- err
		case <-c.done:
			return
		}
	}
}

func (c *stdioConn) read() {
	defer c.proc.readerDone()
	c.end(c.readLines())
	close(c.incoming)
	// What is still written must not block a server that wants to end.
	_, _ = io.Copy(io.Discard, c.proc.stdout)
}

// end notes why the connection is of no more use. The end of a stream says
// less than anything else does.
func (c *stdioConn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil || c.err == errStreamEnd {
		c.err = err
	}
}

// broken returns why the connection is of no more use, or nil.
func (c *stdioConn) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// strayLines returns the number of lines that were no messages.
func (c *stdioConn) strayLines() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stray
}

func (c *stdioConn) readLines() error {
	lines := bufio.NewReaderSize(c.proc.stdout, 64<<10)
	var long []byte
	for {
		line, err := lines.ReadSlice('\n')
		if len(long)+len(line) > c.limit {
			return &netpolicy.TooLargeError{What: "a line on stdout", Limit: int64(c.limit)}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, line...)
			continue
		}
		if long != nil {
			line, long = append(long, line...), nil
		}
		// A last line without an end is one all the same.
		msgs, broken := c.decode(bytes.TrimSpace(line))
		for _, msg := range msgs {
			select {
			case c.incoming <- msg:
			case <-c.done:
				return io.EOF
			}
		}
		if broken != nil {
			return broken
		}
		if err != nil {
			// Also a closed file: the process has ended.
			return errStreamEnd
		}
	}
}

// decode returns the messages of a line: one, or several in a batch, which
// servers of revision 2025-03-26 may send. The error says that there was one
// that cannot be decoded: somebody may be waiting for it.
func (c *stdioConn) decode(line []byte) ([]jsonrpc.Message, error) {
	if len(line) == 0 {
		return nil, nil
	}
	texts := []json.RawMessage{line}
	if line[0] == '[' && json.Unmarshal(line, &texts) != nil {
		texts = nil
	}
	var msgs []jsonrpc.Message
	var broken error
	for _, text := range texts {
		if len(text) == 0 || text[0] != '{' {
			continue
		}
		if msg, err := jsonrpc.DecodeMessage(text); err == nil {
			msgs = append(msgs, msg)
		} else if isMessage(text) {
			broken = errUndecodable
		}
	}
	if msgs != nil || broken != nil {
		return msgs, broken
	}
	c.mu.Lock()
	c.stray++
	n := c.stray
	c.mu.Unlock()
	if n <= maxStrayLogs {
		c.log.Debug("line on stdout is no message", "line", c.shown(line), "count", n)
	}
	return nil, nil
}

// errUndecodable says that the SDK cannot read a message, for instance because
// it is nested too deeply.
var errUndecodable = protocolErrorf("a message that cannot be decoded")

// isMessage reports whether a text is meant as a JSON-RPC message: a request,
// a notification, or a response that says to what.
func isMessage(text []byte) bool {
	if !json.Valid(text) {
		return false
	}
	found := members(text, "jsonrpc", "method", "id")
	return found[0] != nil && (found[1] != nil || found[2] != nil && string(found[2]) != "null")
}

// maxStrayLogs bounds how many stray lines are logged.
const maxStrayLogs = 100

func (c *stdioConn) shown(line []byte) string {
	return clean(c.secrets.String(string(line[:min(len(line), tailBuffer)])), strayLength)
}

// recordedConn hands the raw results that pass a connection to the exchanges
// of their requests.
type recordedConn struct {
	mcp.Connection

	mu      sync.Mutex
	pending map[jsonrpc.ID]*exchange
}

func recorded(conn mcp.Connection) *recordedConn {
	return &recordedConn{Connection: conn, pending: make(map[jsonrpc.ID]*exchange)}
}

// Write implements [mcp.Connection].
func (c *recordedConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		if ex := exchangeOf(ctx); ex != nil && ex.keep {
			c.mu.Lock()
			c.pending[req.ID] = ex
			c.mu.Unlock()
			ex.onDone(func() {
				c.mu.Lock()
				delete(c.pending, req.ID)
				c.mu.Unlock()
			})
		}
	}
	return c.Connection.Write(ctx, msg)
}

// Read implements [mcp.Connection].
func (c *recordedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if resp, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		ex := c.pending[resp.ID]
		delete(c.pending, resp.ID)
		c.mu.Unlock()
		// A response that has an error as well has failed. The SDK's decoder is
		// not as strict as the standard library's.
		if ex != nil && resp.Error == nil && json.Valid(resp.Result) {
			ex.setResult(resp.Result)
		}
	}
	return msg, err
}
