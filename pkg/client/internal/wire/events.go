package wire

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"strconv"
	"time"
	"unicode"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
)

// event is one event of an event stream.
type event struct {
	name string // empty: message
	data []byte // not used again by the reader
	id   string // the event's own; empty if it has none
	// cut says that the stream ended before the event did.
	cut bool
}

// eventReader reads an event stream as the HTML standard describes it (section
// 9.2.6, interpreting an event stream), except that it takes an event that the
// end of the stream cuts off if it has data: many servers leave out the last
// line.
type eventReader struct {
	lines *bufio.Reader
	limit int

	// lastID is the id that a later connection would say has been seen last,
	// retry how long it should wait, negative if the server does not say.
	lastID string
	retry  time.Duration

	started bool
	skipLF  bool   // the last line ended in CR
	size    int    // of the event so far
	long    []byte // a line that does not fit into the buffer of lines
	err     error
}

// newEventReader returns a reader of a stream whose events have at most limit
// bytes each. A larger one is a [*netpolicy.TooLargeError].
func newEventReader(body io.Reader, limit int) *eventReader {
	return &eventReader{lines: bufio.NewReader(body), limit: limit, retry: -1}
}

// next returns the next event that has data or an id. It returns as soon as it
// has one, since what follows may be far away.
func (r *eventReader) next() (event, error) {
	var ev event
	var hasData, hasID bool
	r.size = 0
	for {
		line, err := r.line()
		if err != nil && len(line) == 0 {
			if ev.cut = true; hasData && r.size <= r.limit {
				return ev, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			r.size = 0
			if hasID {
				r.lastID = ev.id
			}
			if hasData || hasID {
				return ev, nil
			}
			ev.name = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			switch {
			case hasData:
				ev.data = append(append(ev.data, '\n'), value...)
			case r.long != nil:
				ev.data, r.long = value, nil
			default:
				ev.data = bytes.Clone(value)
			}
			hasData = true
		case "id":
			// The standard forbids NUL only, but no header can hold the others.
			if !bytes.ContainsFunc(value, unicode.IsControl) {
				ev.id, hasID = string(value), true
			}
		case "event":
			ev.name = string(value)
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 64); err == nil {
				r.retry = time.Duration(min(ms, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond
			}
		}
	}
}

var bom = []byte("\xef\xbb\xbf")

// line returns the next line, without its end. It is valid until the next
// call; if it is in r.long, as long as that is left to the caller. The last
// line may come with an error.
func (r *eventReader) line() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.long = nil
	for {
		// Lines end in CR, LF or both. A CR must not wait for what follows it.
		if _, err := r.lines.Peek(1); err != nil {
			r.err = err
			return r.first(r.long), err
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
		if r.size += n; end >= 0 {
			r.size++
		}
		if r.size > r.limit {
			r.err = &netpolicy.TooLargeError{What: "an event of the stream", Limit: int64(r.limit)}
			return nil, r.err
		}
		line := chunk[:n]
		if r.long != nil || end < 0 {
			r.long = append(r.long, line...)
			line = r.long
		}
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
		_, _ = r.lines.Discard(n + 1) // leaves the bytes of line where they are
		return r.first(line), nil
	}
}

// first takes the byte order mark off the first line of the stream.
func (r *eventReader) first(line []byte) []byte {
	if !r.started {
		r.started = true
		line = bytes.TrimPrefix(line, bom)
	}
	return line
}
