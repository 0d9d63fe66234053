package client

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/internal/netpolicy"
)

func readSSE(r io.Reader, limit int) (out string, events []string, err error) {
	sse := newSSEReader(io.NopCloser(r), limit, func(data []byte) { events = append(events, string(data)) })
	raw, err := io.ReadAll(sse)
	return string(raw), events, err
}

func TestSSEReader(t *testing.T) {
	tests := []struct {
		in, out string
		events  []string
	}{
		{"", "", nil},
		{"data: x\n\n", "data: x\n\n", []string{"x"}},
		{"data: x\r\n\r\n", "data: x\n\n", []string{"x"}},
		{"data: x\r\rdata:y\r\r", "data: x\n\ndata:y\n\n", []string{"x", "y"}},
		{"data: x\n\r\ndata: y\r\n\n", "data: x\n\ndata: y\n\n", []string{"x", "y"}},
		{"data: x\r\n\rdata: y\n\n", "data: x\n\ndata: y\n\n", []string{"x", "y"}},
		{"\xef\xbb\xbfdata: x\n\n", "data: x\n\n", []string{"x"}},
		{"data: \xef\xbb\xbfx\n\n", "data: \xef\xbb\xbfx\n\n", []string{"\xef\xbb\xbfx"}},
		{"data\n\n", "data:\n\n", nil},
		{"retry\nevent\nfoo bar\n\n", "retry:\nevent:\nfoo bar:\n\n", nil},
		{": comment\n:\n\n", ": comment\n:\n\n", nil},
		{"data: a\ndata:b\ndata:  c\n\n", "data: a\ndata:b\ndata:  c\n\n", []string{"a\nb\n c"}},
		{"id: 1\ndata: a: b\nevent: m\n\n", "id: 1\ndata: a: b\nevent: m\n\n", []string{"a: b"}},
		{"data: cut", "data: cut\n", []string{"cut"}},
		{"data: cut\n", "data: cut\n", []string{"cut"}},
		{"\r\r\n\n", "\n\n\n", nil},
	}
	for _, test := range tests {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once":      func(r io.Reader) io.Reader { return r },
			"byte by byte": iotest.OneByteReader,
			"with the end": iotest.DataErrReader,
			"half by half": iotest.HalfReader,
		} {
			out, events, err := readSSE(wrap(strings.NewReader(test.in)), 1<<20)
			if out != test.out || err != nil {
				t.Errorf("%q, %s: read %q, error %v; want %q", test.in, name, out, err, test.out)
			}
			if diff := cmp.Diff(test.events, events); diff != "" {
				t.Errorf("%q, %s: events (-want +got):\n%s", test.in, name, diff)
			}
		}
	}
}

func TestSSEReaderLimit(t *testing.T) {
	const limit = 100
	fits := "data: " + strings.Repeat("x", limit-8) + "\n\n" // with both line ends exactly the limit
	for _, test := range []struct {
		in       string
		tooLarge bool
	}{
		{strings.Repeat(fits, 50), false},
		{strings.Replace(fits, "\n", "x\n", 1), true},
		{strings.Repeat("data: y\n", limit), true},
		{strings.Repeat(":\n", limit), true},
		{strings.Repeat("z", 10*limit), true},
	} {
		_, _, err := readSSE(strings.NewReader(test.in), limit)
		if _, tooLarge := errors.AsType[*netpolicy.TooLargeError](err); tooLarge != test.tooLarge {
			t.Errorf("%.20q…: error %v", test.in, err)
		}
	}
}

// An event is there as soon as it has been sent, also when the next byte is
// long in coming.
func TestSSEReaderDoesNotWait(t *testing.T) {
	for _, event := range []string{"data: x\n\n", "data: x\r\r", "data: x\r\n\r\n"} {
		r, w := io.Pipe()
		sse := newSSEReader(r, 1<<20, nil)
		go func() { _, _ = io.WriteString(w, event) }()
		got := make([]byte, len("data: x\n\n"))
		if _, err := io.ReadFull(sse, got); err != nil || string(got) != "data: x\n\n" {
			t.Errorf("read %q, error %v", got, err)
		}
		w.Close()
	}
}

// Whatever comes, lines have a colon and end in LF, and normalising twice
// changes nothing more.
func FuzzSSEReader(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfdata: x\r\rdata\r\n\n: c\n"), 3)
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		out, _, err := readSSE(&chunked{in, chunk%7 + 8}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			if !strings.HasSuffix(line, "\n") || strings.Contains(line, "\r") || line != "\n" && !strings.Contains(line, ":") {
				t.Errorf("%q became the line %q", in, line)
			}
		}
		if strings.HasPrefix(out, string(bom)) {
			return // one of several
		}
		if again, _, _ := readSSE(bytes.NewReader([]byte(out)), 1<<20); again != out {
			t.Errorf("%q became %q, then %q", in, out, again)
		}
	})
}

type chunked struct {
	rest []byte
	size int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.size, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}
