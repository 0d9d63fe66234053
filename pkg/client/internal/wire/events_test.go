package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/internal/netpolicy"
)

// readEvents describes the events of a stream, one a string: name, id and
// data, and a mark if it was cut off.
func readEvents(body io.Reader, limit int) (events []string, r *eventReader, err error) {
	r = newEventReader(body, limit)
	for {
		ev, err := r.next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return events, r, err
		}
		text := fmt.Sprintf("%s|%s|%s", ev.name, ev.id, ev.data)
		if ev.cut {
			text += "|cut"
		}
		events = append(events, text)
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	tests := []struct {
		in     string
		events []string
	}{
		{"", nil},
		{"data: x\n\n", []string{"||x"}},
		{"data: x\r\n\r\n", []string{"||x"}},
		{"data: x\r\rdata:y\r\r", []string{"||x", "||y"}},
		{"data: x\n\r\ndata: y\r\n\n", []string{"||x", "||y"}},
		{"data: x\r\n\rdata: y\n\n", []string{"||x", "||y"}},
		{"\xef\xbb\xbfdata: x\n\n", []string{"||x"}},
		{"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", nil},
		{"data: \xef\xbb\xbfx\n\n", []string{"||\xef\xbb\xbfx"}},
		{"data: x\n\n\xef\xbb\xbfdata: y\n\n", []string{"||x"}},
		{"data\n\n", []string{"||"}},
		{"data\ndata\n\n", []string{"||\n"}},
		{"retry\nevent\nfoo bar\n\n", nil},
		{": comment\n:\n\n", nil},
		{"data: a\n: comment\ndata:b\ndata:  c\n\n", []string{"||a\nb\n c"}},
		{"id: 1\ndata: a: b\nevent: m\n\n", []string{"m|1|a: b"}},
		{"event: m\n\ndata: x\n\n", []string{"||x"}},
		{"Data: x\ndata : y\n data: z\n\n", nil},
		{"id: 1\n\n", []string{"|1|"}},
		{"id: 1\ndata\n\ndata: x\n\n", []string{"|1|", "||x"}},
		{"id: a\x00b\nid: c\x1bd\ndata: x\n\n", []string{"||x"}},
		{"data: cut", []string{"||cut|cut"}},
		{"data: cut\n", []string{"||cut|cut"}},
		{"data: cut\r", []string{"||cut|cut"}},
		{"data: a\ndata: cut", []string{"||a\ncut|cut"}},
		{"id: 1\n", nil},
		{"\r\r\n\n", nil},
		{"data: " + long + "\n\ndata: " + long + "\r\ndata: x\r\n\r\n", []string{"||" + long, "||" + long + "\nx"}},
		{"data: x\ndata: " + long + "\n\n:" + long + "\n\ndata: y\n\n", []string{"||x\n" + long, "||y"}},
	}
	for _, test := range tests {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once":      func(r io.Reader) io.Reader { return r },
			"byte by byte": iotest.OneByteReader,
			"with the end": iotest.DataErrReader,
			"half by half": iotest.HalfReader,
		} {
			events, _, err := readEvents(wrap(strings.NewReader(test.in)), 1<<20)
			if diff := cmp.Diff(test.events, events); diff != "" || err != nil {
				t.Errorf("%.40q, %s: error %v, events (-want +got):\n%s", test.in, name, err, diff)
			}
		}
	}
}

// What the next connection has to know.
func TestEventsForResuming(t *testing.T) {
	const unset = -1
	for _, test := range []struct {
		in    string
		id    string
		retry time.Duration
	}{
		{"", "", unset},
		{"id: 1\n\ndata: x\n\n", "1", unset},
		{"id: 1\nid: 2\n\n", "2", unset},
		{"id: 1\n\nid\n\n", "", unset},
		{"id: 1\n\nid: 2\ndata: cut", "1", unset},
		{"id: 1\n\nid: \x00\n\n", "1", unset},
		{"retry: 1500\n", "", 1500 * time.Millisecond},
		{"retry:0\n", "", 0},
		{"retry: 10\nretry: 1s\nretry: -1\nretry: +1\nretry: \n", "", 10 * time.Millisecond},
		{"retry: 18446744073709551615\n", "", math.MaxInt64 / time.Millisecond * time.Millisecond},
	} {
		_, r, err := readEvents(strings.NewReader(test.in), 1<<20)
		if r.lastID != test.id || r.retry != test.retry || err != nil {
			t.Errorf("%q: id %q, retry %v, error %v", test.in, r.lastID, r.retry, err)
		}
	}
}

func TestEventsLimit(t *testing.T) {
	const limit = 100
	fits := "data: " + strings.Repeat("x", limit-8) + "\n\n" // with both line ends exactly the limit
	for _, test := range []struct {
		in       string
		events   int
		tooLarge bool
	}{
		{strings.Repeat(fits, 50), 50, false},
		{fits + strings.Replace(fits, "\n", "x\n", 1), 1, true},
		{strings.Repeat("data: y\n", limit), 0, true},
		{strings.Repeat(":\n", limit), 0, true},
		{strings.Repeat("z", 10*limit), 0, true},
	} {
		for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader} {
			events, _, err := readEvents(wrap(strings.NewReader(test.in)), limit)
			large, tooLarge := errors.AsType[*netpolicy.TooLargeError](err)
			if tooLarge != test.tooLarge || len(events) != test.events {
				t.Errorf("%.20q…: %d events, error %v", test.in, len(events), err)
			}
			if tooLarge && (large.What != "an event of the stream" || large.Limit != limit) {
				t.Errorf("error is %v", large)
			}
		}
	}
}

// An event is there as soon as it has been sent, also when the next byte is
// long in coming.
func TestEventsDoNotWait(t *testing.T) {
	for _, in := range []string{"data: x\n\n", "data: x\r\r", "data: x\r\n\r\n", "id: 1\rdata: x\n\r"} {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, in) }()
		if ev, err := newEventReader(r, 1<<20).next(); err != nil || string(ev.data) != "x" {
			t.Errorf("%q: data %q, error %v", in, ev.data, err)
		}
		w.Close()
	}
}

// A stream that breaks says so, after what had come.
func TestEventsThatBreak(t *testing.T) {
	broken := errors.New("reset")
	events, _, err := readEvents(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n"), iotest.ErrReader(broken)), 1<<20)
	if diff := cmp.Diff([]string{"||x", "||y|cut"}, events); diff != "" || err != broken {
		t.Errorf("error %v, events (-want +got):\n%s", err, diff)
	}
}

// The events of a stream do not depend on how it comes, and are no larger than
// what came.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfdata: x\r\rdata\r\n\nid: 1\n: c\nretry: 3\nevent:e\n\n"), 3)
	f.Add([]byte("data: "+strings.Repeat("x", 5000)+"\n\n"), 3)
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		chunked, r, err := readEvents(&chunkReader{in, chunk%7 + 8}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		whole, w, _ := readEvents(bytes.NewReader(in), 1<<20)
		if diff := cmp.Diff(whole, chunked); diff != "" || r.lastID != w.lastID || r.retry != w.retry {
			t.Errorf("%q: events (-at once +in pieces):\n%s", in, diff)
		}
		if got := len(strings.Join(whole, "")) - len("|||cut")*len(whole); got > len(in) {
			t.Errorf("%q: events have %d bytes", in, got)
		}
	})
}

type chunkReader struct {
	rest []byte
	size int
}

func (c *chunkReader) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.size, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

// BenchmarkEvents reads small events.
func BenchmarkEvents(b *testing.B) {
	in := []byte(strings.Repeat("id: 17\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n", 1000))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := newEventReader(bytes.NewReader(in), 1<<20)
		for {
			if _, err := r.next(); err != nil {
				break
			}
		}
	}
}
