package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
)

// sseReader rewrites an event stream so that the SDK's reader understands it:
// every line ends in LF, a byte order mark at the start is gone, and fields
// without a colon have one. The HTML standard (server-sent events, parsing an
// event stream) allows all of these. It bounds the size of an event, and hands
// the data of each event to a listener.
type sseReader struct {
	body  io.ReadCloser
	lines *bufio.Reader
	limit int
	event func(data []byte) // may be nil

	started bool
	skipLF  bool   // the last line ended in CR
	size    int    // of the event so far
	data    []byte // of the event so far, if there is a listener
	hasData bool
	out     []byte // what is to be read next
	rest    []byte // all of out
	err     error
}

func newSSEReader(body io.ReadCloser, limit int, event func([]byte)) *sseReader {
	return &sseReader{body: body, lines: bufio.NewReaderSize(body, 16<<10), limit: limit, event: event}
}

// Read implements [io.Reader]. It returns as soon as it has something, since
// the next event may be far away.
func (r *sseReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.rest = r.rest[:0]
		r.fill()
		r.out = r.rest
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// Close closes the stream.
func (r *sseReader) Close() error { return r.body.Close() }

// fill reads one line, and more as long as they are there already.
func (r *sseReader) fill() {
	for {
		r.err = r.line()
		if r.err != nil || len(r.rest) > 0 && r.lines.Buffered() == 0 || len(r.rest) > 64<<10 {
			return
		}
	}
}

var bom = []byte("\xef\xbb\xbf")

// line appends one line to rest, in the form that the SDK reads.
func (r *sseReader) line() error {
	start := len(r.rest)
	for {
		// Lines end in CR, LF or both. A CR must not wait for what follows it.
		if _, err := r.lines.Peek(1); err != nil {
			// The SDK takes an event that the end of the stream cuts off.
			if len(r.rest) > start {
				r.endLine(start)
			}
			r.endEvent()
			return err
		}
		chunk, _ := r.lines.Peek(r.lines.Buffered())
		if r.skipLF {
			r.skipLF = false
			if chunk[0] == '\n' {
				_, _ = r.lines.Discard(1)
				continue
			}
		}
		end := bytes.IndexByte(chunk, '\n')
		if cr := bytes.IndexByte(chunk[:max(end, 0)], '\r'); end >= 0 && cr >= 0 {
			end = cr
		} else if end < 0 {
			end = bytes.IndexByte(chunk, '\r')
		}
		n := end
		if end < 0 {
			n = len(chunk)
		}
		if r.size += n + 1; r.size > r.limit {
			return &netpolicy.TooLargeError{What: "an event of the stream", Limit: int64(r.limit)}
		}
		r.rest = append(r.rest, chunk[:n]...)
		if end < 0 {
			_, _ = r.lines.Discard(n)
			continue
		}
		// The LF of a CR LF is taken along if it is there. If it is not, it
		// may never be.
		crlf := chunk[end] == '\r' && end+1 < len(chunk) && chunk[end+1] == '\n'
		r.skipLF = chunk[end] == '\r' && end+1 == len(chunk)
		if crlf {
			n++
		}
		_, _ = r.lines.Discard(n + 1)
		r.endLine(start)
		return nil
	}
}

// endLine completes the line in rest[start:].
func (r *sseReader) endLine(start int) {
	line := r.rest[start:]
	if !r.started {
		r.started = true
		if bytes.HasPrefix(line, bom) {
			line = line[len(bom):]
			r.rest = append(r.rest[:start], line...)
			line = r.rest[start:]
		}
	}
	if len(line) > 0 {
		if bytes.IndexByte(line, ':') < 0 {
			r.rest = append(r.rest, ':')
		} else if value, ok := bytes.CutPrefix(line, []byte("data:")); ok && r.event != nil {
			if r.hasData {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, bytes.TrimPrefix(value, []byte(" "))...)
			r.hasData = true
		}
		r.rest = append(r.rest, '\n')
		return
	}
	r.rest = append(r.rest, '\n')
	r.endEvent()
}

func (r *sseReader) endEvent() {
	if r.hasData {
		// The listener keeps what it needs of the data.
		data := r.data
		r.data, r.hasData = nil, false
		r.event(data)
	}
	r.size = 0
}

// recordErrors returns body so that errors of reading it, other than its end,
// are told to fail.
func recordErrors(body io.ReadCloser, fail func(error)) io.ReadCloser {
	return &errorRecorder{body, fail}
}

type errorRecorder struct {
	io.ReadCloser
	fail func(error)
}

func (r *errorRecorder) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.fail(err)
	}
	return n, err
}
