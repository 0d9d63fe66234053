package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/mcpctl/mcpctl/internal/redact"
)

// errStreamEnd says that a server closed its standard input or output.
var errStreamEnd = fmt.Errorf("standard streams: %w", io.EOF)

// StdioConfig says how to speak with a child process.
type StdioConfig struct {
	Handler Handler
	// MaxMessageSize bounds a line of stdout, in bytes.
	MaxMessageSize int
	// Log gets, at level debug, what the server prints besides messages,
	// without Secrets.
	Log     *slog.Logger
	Secrets *redact.Redactor
}

// Stdio is a connection to a child process (specification, stdio transport).
// Lines of stdout that are no messages, which many servers print, are
// forgiven.
type Stdio struct {
	*duplex
	cfg      StdioConfig
	proc     *process
	outgoing chan outgoing
	stray    atomic.Int64 // lines of stdout that were no messages

	closing sync.Once
	closed  chan struct{}
}

type outgoing struct {
	line    []byte
	written chan<- error
}

// StartStdio starts a program. The error is a [*CommandError].
func StartStdio(cmd Command, cfg StdioConfig) (*Stdio, error) {
	proc, err := startProcess(cmd, cfg.Log, cfg.Secrets)
	if err != nil {
		return nil, err
	}
	c := &Stdio{cfg: cfg, proc: proc, outgoing: make(chan outgoing), closed: make(chan struct{})}
	c.duplex = newDuplex(cfg.Handler, c.send)
	go c.read()
	go c.writeLines()
	return c, nil
}

// Close implements [Conn]. When it returns, the process and its descendants in
// its group are gone.
func (c *Stdio) Close(ctx context.Context) {
	c.takeLeave(ctx)
	c.shutStreams(ctx)
	c.proc.stop(ctx)
}

// Abort is Close for a process that has already shown that it does not behave.
func (c *Stdio) Abort() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.shutStreams(ctx)
	c.proc.abort()
}

func (c *Stdio) shutStreams(ctx context.Context) {
	c.end(ErrClosed)
	c.closing.Do(func() { close(c.closed) })
	c.proc.stdin.Close()
	c.shut(ctx)
}

// Settle waits, for a moment and no longer than ctx, until it is known how a
// process ended whose streams have broken, and what it said.
func (c *Stdio) Settle(ctx context.Context) {
	if c.proc.ended(ctx, outputGrace) {
		c.proc.leave()
	}
}

// Exit returns a [*ExitError] that says how the process ended by itself, or
// nil.
func (c *Stdio) Exit() error { return c.proc.exit() }

// Stderr returns the last lines that the process wrote to standard error.
func (c *Stdio) Stderr() string { return c.proc.stderr.String() }

// StrayLines returns the number of lines on stdout that were no messages.
func (c *Stdio) StrayLines() int { return int(c.stray.Load()) }

// StreamEnded reports whether the connection broke because the server closed
// its streams, and for no better reason.
func (c *Stdio) StreamEnded() bool { return c.Err() == errStreamEnd }

// send hands a line to the writer. A server that does not read its input holds
// up the message, not the caller.
func (c *Stdio) send(ctx context.Context, msg []byte) error {
	oneLine(msg)
	written := make(chan error, 1)
	select {
	case c.outgoing <- outgoing{append(msg, '\n'), written}:
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-written:
		return err
	case <-c.closed:
		return c.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// oneLine puts valid JSON on one line: each line is a message, and what a model
// writes as arguments, or somebody else as parameters, must not become others.
// Outside of strings, where JSON has no line breaks, they are white space.
func oneLine(valid []byte) {
	for i, b := range valid {
		if b == '\n' || b == '\r' {
			valid[i] = ' '
		}
	}
}

func (c *Stdio) writeLines() {
	for {
		select {
		case out := <-c.outgoing:
			_, err := c.proc.stdin.Write(out.line)
			if err != nil {
				err = errStreamEnd
				c.end(err)
			}
			out.written <- err
		case <-c.closed:
			return
		}
	}
}

func (c *Stdio) read() {
	defer c.proc.readerDone()
	c.end(c.readLines())
	// What is still written must not block a server that wants to end.
	_, _ = io.Copy(io.Discard, c.proc.stdout)
}

func (c *Stdio) readLines() error {
	lines := bufio.NewReaderSize(c.proc.stdout, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		// Messages alias their line, and outlive it.
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > c.cfg.MaxMessageSize {
				break
			}
			var more []byte
			more, err = lines.ReadSlice('\n')
			line = append(line, more...)
		}
		if len(line) > c.cfg.MaxMessageSize {
			return &netpolicy.TooLargeError{What: "a line on stdout", Limit: int64(c.cfg.MaxMessageSize)}
		}
		select {
		case <-c.closed:
			return ErrClosed
		default:
		}
		// A last line without an end is one all the same.
		if broken := c.takeLine(bytes.TrimSpace(line)); broken != nil {
			return broken
		}
		if err != nil {
			// Also a closed file: the process has ended.
			return errStreamEnd
		}
	}
}

// takeLine delivers the messages of a line. The error says that there was one
// that cannot be decoded: somebody may be waiting for it.
func (c *Stdio) takeLine(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	if line[0] == '{' || line[0] == '[' {
		msgs, err := parseMessages(line)
		for _, m := range msgs {
			c.deliver(m)
		}
		if len(msgs) > 0 || err != nil {
			return err
		}
	}
	if n := c.stray.Add(1); n <= maxStrayLogs {
		c.cfg.Log.Debug("line on stdout is no message", "line", c.shown(line), "count", n)
	}
	return nil
}

// maxStrayLogs bounds how many stray lines are logged.
const maxStrayLogs = 100

func (c *Stdio) shown(line []byte) string {
	return OneLine(c.cfg.Secrets.String(string(line[:min(len(line), tailBuffer)])), strayLength)
}

// OneLine makes foreign text fit for one line of a terminal: at most limit
// bytes, and nothing that cannot be printed.
func OneLine(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s))
}
