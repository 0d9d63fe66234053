package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	maxSize  = 1 << 20 // bytes of a file; the largest real ones have a few KiB
	maxDepth = 64      // nested brackets; the parser recurses, so this guards the stack
)

// document is a parsed file that still knows where everything stands.
type document struct {
	file string // for errors
	data []byte
	root hujson.Value
}

func parseDocument(file string, data []byte) (*document, error) {
	doc := &document{file: file}
	// Windows editors put a byte order mark before UTF-8. It is no content.
	doc.data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > maxSize:
		return nil, &Error{File: file, Problem: fmt.Sprintf("is larger than %d MiB", maxSize>>20)}
	case !utf8.Valid(doc.data):
		return nil, &Error{File: file, Problem: "is not UTF-8 text", Hint: "save it as UTF-8"}
	case len(bytes.TrimSpace(doc.data)) == 0:
		return nil, &Error{File: file, Problem: "is empty", Hint: `the smallest configuration is {"mcpServers": {}}`}
	}
	if at := tooDeep(doc.data); at >= 0 {
		return nil, doc.errorAt(at, fmt.Sprintf("is nested deeper than %d levels", maxDepth))
	}
	// A comment in the last line needs no line feed for us, but for the parser.
	padded := append(bytes.Clone(doc.data), '\n')
	root, err := hujson.Parse(padded)
	if err != nil {
		return nil, doc.syntaxError(err, padded)
	}
	doc.root = root
	return doc, nil
}

// tooDeep returns the offset of the first bracket that nests too deep, or -1.
// It looks past strings and comments; broken ones are left to the parser.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			rest, end := data[i:], ""
			switch {
			case bytes.HasPrefix(rest, []byte("//")):
				end = "\n"
			case bytes.HasPrefix(rest, []byte("/*")):
				end = "*/"
			default:
				continue
			}
			n := bytes.Index(rest[2:], []byte(end))
			if n < 0 {
				return -1
			}
			i += 2 + n + len(end) - 1
		}
	}
	return -1
}

// syntaxError words an error of the parser anew: it counts columns in bytes,
// and it quotes literals, which can be secrets.
func (doc *document) syntaxError(err error, parsed []byte) *Error {
	var line, column int
	// The parser has no error type; the position is in the text only.
	_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column)
	offset := 0
	for range line - 1 {
		offset += bytes.IndexByte(parsed[offset:], '\n') + 1
	}
	cause := errors.Unwrap(err)
	problem := "is not valid JSON"
	switch {
	case cause == nil:
	case errors.Is(cause, io.ErrUnexpectedEOF):
		problem = "the file ends too early"
	case strings.HasPrefix(cause.Error(), "invalid literal:"):
		problem = "invalid string, number or word"
	default:
		problem = cause.Error()
	}
	return doc.errorAt(min(offset+max(column-1, 0), len(doc.data)), problem)
}

// errorAt returns an error that points at an offset.
func (doc *document) errorAt(offset int, problem string) *Error {
	e := &Error{File: doc.file, Problem: problem}
	e.Line, e.Column = doc.position(offset)
	return e
}

// position turns an offset into a line and a column of characters.
func (doc *document) position(offset int) (line, column int) {
	before := doc.data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}
