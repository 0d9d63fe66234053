package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Header is an HTTP header that repeats one parameter of a tool for those who
// route requests (specification 2026-07-28, streamable HTTP, custom headers
// from tool parameters).
type Header struct {
	// Name is the whole name, such as "Mcp-Param-Region", as the tool spells
	// it.
	Name string
	// Path leads to the parameter by the names of properties.
	Path []string
}

// Headers returns the headers that go with a call of the tool, in the order of
// its input schema. A tool that has a [Tool.Problem] has none. The schema is
// read anew each time.
func (t Tool) Headers() []Header {
	list, problem := headers(t.InputSchema)
	if problem != "" {
		return nil
	}
	return list
}

// maxInteger is the largest integer that a header may carry, and its negation
// the smallest: beyond it JavaScript's numbers are not exact.
const maxInteger = 1<<53 - 1

// HeaderValues returns the values of headers for the arguments of a call, by
// the headers' names. Strings are as they are: whoever sends them encodes what
// HTTP cannot carry. Integers are decimal however they are spelled, so 42.0
// and 4.2e1 give 42. A parameter that is absent or null has no header. An error
// names a parameter whose value no header can carry: an object, an array, a
// fraction, or an integer beyond ±(2^53−1).
func HeaderValues(headers []Header, arguments json.RawMessage) (map[string]string, error) {
	if len(headers) == 0 || len(arguments) == 0 {
		return nil, nil
	}
	root, err := schemadoc.Parse(arguments, schemadoc.Limits{})
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	values := make(map[string]string)
	for _, h := range headers {
		v := root
		for _, name := range h.Path {
			v = v.Get(name)
		}
		if v == nil {
			continue
		}
		switch v.Kind {
		case schemadoc.Null:
		case schemadoc.String:
			values[h.Name] = v.Text
		case schemadoc.Bool:
			values[h.Name] = strconv.FormatBool(v.Bool)
		case schemadoc.Number:
			n, err := strconv.ParseInt(schemadoc.CanonicalNumber(v.Text), 10, 64)
			if err != nil || n > maxInteger || n < -maxInteger {
				return nil, fmt.Errorf("argument %q: header %s cannot carry a number that is no integer within ±(2^53−1)", pointer(h.Path), h.Name)
			}
			values[h.Name] = strconv.FormatInt(n, 10)
		default:
			return nil, fmt.Errorf("argument %q: header %s cannot carry an %s", pointer(h.Path), h.Name, v.Kind)
		}
	}
	return values, nil
}

func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + schemadoc.EscapePointer(name))
	}
	return b.String()
}

const headerKeyword = "x-mcp-header"

// headers reads the x-mcp-header annotations of an input schema, and says what
// is wrong with them by the constraints of specification 2026-07-28 (streamable
// HTTP, custom headers from tool parameters); "" where nothing is.
func headers(schema json.RawMessage) ([]Header, string) {
	// Nearly no tool has one, and a full parse of every schema would cost more
	// than the rest of discovery. An escape could spell the keyword otherwise.
	if !bytes.Contains(schema, []byte(headerKeyword)) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil, ""
	}
	root, err := schemadoc.Parse(schema, schemadoc.Limits{})
	if err != nil {
		return nil, ""
	}
	c := headerCheck{seen: make(map[string]bool)}
	problem := c.schema(root, "", nil)
	return c.found, problem
}

type headerCheck struct {
	seen  map[string]bool // header names in lower case
	found []Header
}

// schema checks a schema and those below it. A parameter is one that is
// reached from the root through properties alone, which path names; it is
// empty for all others.
func (c *headerCheck) schema(v *schemadoc.Value, pointer string, path []string) string {
	if header := v.Get(headerKeyword); header != nil {
		if problem := c.header(v, header, path); problem != "" {
			return fmt.Sprintf("%s at %q %s", headerKeyword, pointer, problem)
		}
	}
	for step, sub := range v.Subschemas() {
		var below []string
		if step.Keyword == "properties" && (len(path) > 0 || pointer == "") {
			below = append(slices.Clip(path), step.Name)
		}
		if problem := c.schema(sub, pointer+step.Pointer(), below); problem != "" {
			return problem
		}
	}
	return ""
}

func (c *headerCheck) header(v, header *schemadoc.Value, path []string) string {
	name := header.Str()
	switch typ := v.Get("type").Str(); {
	case len(path) == 0:
		return "is not on a parameter that is reached through properties alone"
	case typ != "string" && typ != "integer" && typ != "boolean":
		return "is not on a string, an integer or a boolean"
	case name == "":
		return "is not a non-empty string"
	case strings.ContainsFunc(name, func(r rune) bool { return !isTokenChar(r) }):
		return "is not an HTTP field name"
	case c.seen[strings.ToLower(name)]:
		return "names a header that another parameter names too"
	}
	c.seen[strings.ToLower(name)] = true
	c.found = append(c.found, Header{"Mcp-Param-" + name, path})
	return ""
}

// isTokenChar reports whether r is a tchar of RFC 9110, section 5.6.2.
func isTokenChar(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
