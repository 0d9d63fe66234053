// Package redact removes known secrets from text that people or logs will
// see. It is the last line of defence: code should not put secrets into text
// in the first place, but servers and operating systems echo what they were
// given.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MinLength is the length in bytes below which a secret is not looked for:
// shorter ones would match ordinary words.
const MinLength = 8

// Mark stands where a secret stood.
const Mark = "[redacted]"

// Redactor replaces a set of secrets. The zero value and nil replace nothing.
// It is safe for concurrent use.
type Redactor struct {
	mu       sync.RWMutex
	secrets  []string
	replacer *strings.Replacer
}

// New returns a redactor for the given secrets.
func New(secrets ...string) *Redactor {
	r := new(Redactor)
	r.Add(secrets...)
	return r
}

// Add makes r look for more secrets, each as it is and in the spellings that
// servers and libraries echo: escaped for a URL, for JSON or by %q, and in base64.
// Secrets shorter than [MinLength] are ignored.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < MinLength {
			continue
		}
		quoted, _ := json.Marshal(s) // a string cannot fail
		goQuoted := strconv.Quote(s)
		for _, form := range []string{
			s,
			url.QueryEscape(s),
			url.PathEscape(s),
			string(quoted[1 : len(quoted)-1]),
			goQuoted[1 : len(goQuoted)-1],
			base64.StdEncoding.EncodeToString([]byte(s)),
			base64.RawStdEncoding.EncodeToString([]byte(s)),
			base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			if !slices.Contains(r.secrets, form) {
				r.secrets = append(r.secrets, form)
			}
		}
	}
	// The longest match must win, or the rest of a secret that contains
	// another would stay.
	slices.SortStableFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(r.secrets))
	for _, s := range r.secrets {
		pairs = append(pairs, s, Mark)
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// String returns s with every secret replaced by [Mark].
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// Writer returns a writer that passes whole lines on to w with secrets
// replaced, so that a secret written in pieces is found too.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{redactor: r, out: w} }

// maxLine bounds what a writer holds back while waiting for the end of a line.
const maxLine = 64 << 10

// Writer is the writer of [Redactor.Writer]. It is safe for concurrent use.
type Writer struct {
	redactor *Redactor
	out      io.Writer
	mu       sync.Mutex
	pending  []byte
}

// Write writes the lines that p completes.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, p...)
	end := bytes.LastIndexAny(w.pending, "\r\n") + 1
	if end == 0 && len(w.pending) > maxLine {
		end = len(w.pending)
	}
	if end == 0 {
		return len(p), nil
	}
	if err := w.flush(end); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *Writer) flush(end int) error {
	_, err := io.WriteString(w.out, w.redactor.String(string(w.pending[:end])))
	w.pending = append(w.pending[:0], w.pending[end:]...)
	return err
}

// Flush writes what there is of an unfinished line, such as a question.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return nil
	}
	return w.flush(len(w.pending))
}
