package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// acceptor finds values valid without the validator, which allocates a lot for
// what most schemas of tools are: objects of strings, numbers and lists. It
// reads the text as it is. What it does not accept is not refused: the
// validator decides, and words what is wrong.
//
// It knows keywords that mean the same in all dialects, and is nil for a schema
// with others.
type acceptor struct {
	kinds  kinds
	enum   map[string]bool // the strings; nil for no enum
	all    []*acceptor
	some   []*acceptor
	min    *int64
	max    *int64
	minLen int // of the only kind, if there is a length: strings or arrays
	maxLen int // -1 for none

	members  map[string]*acceptor
	required []string
	extra    *acceptor // of members that are not named, nil if there may be none
	items    *acceptor
}

// kinds is a set of the kinds of values.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBool
	kindInteger
	kindNumber
	kindString
	kindArray
	kindObject
	kindAll = 1<<iota - 1
)

var kindNames = map[string]kinds{
	"null": kindNull, "boolean": kindBool, "integer": kindInteger, "number": kindInteger | kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject,
}

// anything accepts everything, also in members.
var anything = func() *acceptor {
	a := &acceptor{kinds: kindAll, maxLen: -1}
	a.extra = a
	return a
}()

// acceptorOf returns the acceptor of a schema that compiles, nil if there is
// none. Formats says that formats are asserted.
func acceptorOf(root *schemadoc.Value, formats bool) *acceptor {
	b := acceptorBuilder{root: root, formats: formats, targets: make(map[string]*acceptor)}
	return b.schema(root)
}

type acceptorBuilder struct {
	root    *schemadoc.Value
	formats bool
	targets map[string]*acceptor // of references, also while they are made
}

func (b *acceptorBuilder) schema(v *schemadoc.Value) *acceptor {
	if v.Is(schemadoc.Bool) && v.Bool {
		return anything
	}
	if !v.Is(schemadoc.Object) {
		return nil
	}
	a := &acceptor{kinds: kindAll, maxLen: -1, extra: anything}
	for _, m := range v.Members {
		if !b.keyword(a, v, m) {
			return nil
		}
	}
	return a
}

// target returns the acceptor of what a reference leads to. One that leads
// back to where it is makes a circle of acceptors.
func (b *acceptorBuilder) target(ref string) *acceptor {
	if a := b.targets[ref]; a != nil {
		return a
	}
	path := strings.Split(ref, "/")
	if len(path) != 3 || path[0] != "#" || path[1] != "$defs" && path[1] != "definitions" || strings.ContainsAny(path[2], "~%") {
		return nil
	}
	a := new(acceptor)
	b.targets[ref] = a
	made := b.schema(b.root.Get(path[1]).Get(path[2]))
	if made == nil {
		return nil
	}
	*a = *made
	return a
}

// keyword adds a keyword, and reports whether it is understood.
func (b *acceptorBuilder) keyword(a *acceptor, schema *schemadoc.Value, m schemadoc.Member) bool {
	switch v := m.Value; m.Name {
	case "title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly", "x-mcp-header":
		return true
	case "$schema", "$defs", "definitions":
		return schema == b.root
	case "$ref":
		// Older dialects ignore what is beside it, which accepts more.
		to := b.target(v.Str())
		a.all = append(a.all, to)
		return to != nil
	case "format":
		return !b.formats
	case "type":
		return a.types(v)
	case "enum":
		return a.values(v)
	case "minimum":
		return integer(v, &a.min)
	case "maximum":
		return integer(v, &a.max)
	case "minLength", "maxLength", "minItems", "maxItems":
		return a.length(schema, m)
	case "required":
		if !v.Is(schemadoc.Array) || len(v.Items) > maxRequired {
			return false
		}
		for _, name := range v.Items {
			if !name.Is(schemadoc.String) {
				return false
			}
			a.required = append(a.required, name.Text)
		}
		return true
	case "properties":
		if !v.Is(schemadoc.Object) {
			return false
		}
		a.members = make(map[string]*acceptor, len(v.Members))
		for _, p := range v.Members {
			if a.members[p.Name] = b.schema(p.Value); a.members[p.Name] == nil {
				return false
			}
		}
		return true
	case "additionalProperties":
		if v.Is(schemadoc.Bool) && !v.Bool {
			a.extra = nil
			return true
		}
		a.extra = b.schema(v)
		return a.extra != nil
	case "items":
		a.items = b.schema(v)
		return a.items != nil
	case "allOf":
		return b.list(&a.all, v)
	case "anyOf":
		return b.list(&a.some, v)
	}
	return false
}

func (b *acceptorBuilder) list(to *[]*acceptor, v *schemadoc.Value) bool {
	if !v.Is(schemadoc.Array) {
		return false
	}
	for _, item := range v.Items {
		one := b.schema(item)
		if one == nil {
			return false
		}
		*to = append(*to, one)
	}
	return true
}

func (a *acceptor) types(v *schemadoc.Value) bool {
	names := v.Items
	if v.Is(schemadoc.String) {
		names = []*schemadoc.Value{v}
	}
	a.kinds = 0
	for _, name := range names {
		k := kindNames[name.Str()]
		if k == 0 {
			return false
		}
		a.kinds |= k
	}
	return true
}

func (a *acceptor) values(v *schemadoc.Value) bool {
	if !v.Is(schemadoc.Array) {
		return false
	}
	a.enum = make(map[string]bool, len(v.Items))
	for _, item := range v.Items {
		// A value that is no string is left to the validator.
		if item.Is(schemadoc.String) {
			a.enum[item.Text] = true
		}
	}
	return true
}

func (a *acceptor) length(schema *schemadoc.Value, m schemadoc.Member) bool {
	n, err := strconv.Atoi(m.Value.Text)
	if err != nil || !m.Value.Is(schemadoc.Number) || n < 0 {
		return false
	}
	// One kind alone, or lengths of strings would count for arrays.
	want := "string"
	if m.Name == "minItems" || m.Name == "maxItems" {
		want = "array"
	}
	if schema.Get("type").Str() != want {
		return false
	}
	if m.Name == "minLength" || m.Name == "minItems" {
		a.minLen = n
	} else {
		a.maxLen = n
	}
	return true
}

func integer(v *schemadoc.Value, to **int64) bool {
	n, ok := int64(0), v.Is(schemadoc.Number)
	if ok {
		n, ok = parseInteger([]byte(v.Text))
	}
	*to = &n
	return ok
}

// parseInteger reads an integer that is written as one and is not long.
func parseInteger(text []byte) (int64, bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// maxRequired is how many required members there may be: a bit is kept for each.
const maxRequired = 64

// maxNumber is how long a number may be that is not looked at closely.
const maxNumber = 300

// accepts reports whether a text is a valid value for certain.
func (a *acceptor) accepts(text []byte) bool {
	if a == nil || !json.Valid(text) {
		return false
	}
	values, depth := schemadoc.Count(text)
	if depth > maxValueDepth {
		return false
	}
	w := walker{text: text, left: 16*values + 64}
	return w.value(a)
}

// walker walks a valid JSON text.
type walker struct {
	text []byte
	pos  int
	left int // schemas that may still be looked at
}

func (w *walker) next() byte {
	for {
		switch c := w.text[w.pos]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			w.pos++
		default:
			return c
		}
	}
}

// value reads the value at hand and reports whether it is valid. After false
// the place is not known.
func (w *walker) value(a *acceptor) bool {
	if w.left--; w.left < 0 {
		return false
	}
	first := w.next()
	start := w.pos
	for _, one := range a.all {
		if w.pos = start; !w.value(one) {
			return false
		}
	}
	if len(a.some) > 0 {
		ok := false
		for _, one := range a.some {
			w.pos = start
			if ok = w.value(one); ok {
				break
			}
		}
		if !ok {
			return false
		}
	}
	w.pos = start
	if a.enum != nil && first != '"' {
		return false
	}
	switch first {
	case '{':
		return w.object(a)
	case '[':
		return w.array(a)
	case '"':
		return w.string(a)
	case 't':
		w.pos += len("true")
		return a.has(kindBool)
	case 'f':
		w.pos += len("false")
		return a.has(kindBool)
	case 'n':
		w.pos += len("null")
		return a.has(kindNull)
	}
	return w.number(a)
}

func (a *acceptor) has(k kinds) bool { return a.kinds&k != 0 }

func (w *walker) object(a *acceptor) bool {
	if !a.has(kindObject) {
		return false
	}
	w.pos++
	found := 0
	seen := uint64(0)
	for w.next() != '}' {
		name, plain := w.literal()
		if !plain {
			return false
		}
		sub, ok := a.members[string(name)]
		if !ok {
			sub = a.extra
		}
		if sub == nil || !w.value(sub) {
			return false
		}
		for i, required := range a.required {
			if required == string(name) && seen&(1<<i) == 0 {
				seen |= 1 << i
				found++
			}
		}
	}
	w.pos++
	return found == len(a.required)
}

func (w *walker) array(a *acceptor) bool {
	if !a.has(kindArray) {
		return false
	}
	items := a.items
	if items == nil {
		items = anything
	}
	w.pos++
	n := 0
	for ; w.next() != ']'; n++ {
		if !w.value(items) {
			return false
		}
	}
	w.pos++
	return n >= a.minLen && (a.maxLen < 0 || n <= a.maxLen)
}

// literal reads a string, and reports whether its text is what stands there.
func (w *walker) literal() (text []byte, plain bool) {
	start := w.pos + 1
	plain = true
	for w.pos = start; w.text[w.pos] != '"'; w.pos++ {
		if w.text[w.pos] == '\\' {
			plain = false
			w.pos++
		}
	}
	text = w.text[start:w.pos]
	w.pos++
	return text, plain && utf8.Valid(text)
}

func (w *walker) string(a *acceptor) bool {
	text, plain := w.literal()
	switch {
	case !a.has(kindString):
		return false
	case a.enum != nil && (!plain || !a.enum[string(text)]):
		return false
	}
	if a.minLen == 0 && a.maxLen < 0 {
		return true
	}
	n := utf8.RuneCount(text)
	return plain && n >= a.minLen && (a.maxLen < 0 || n <= a.maxLen)
}

func (w *walker) number(a *acceptor) bool {
	start := w.pos
	for w.pos < len(w.text) && strings.IndexByte("+-.eE0123456789", w.text[w.pos]) >= 0 {
		w.pos++
	}
	text := w.text[start:w.pos]
	// Fractions and exponents may make integers too.
	n, ok := parseInteger(text)
	switch {
	case ok:
		return a.has(kindInteger) && (a.min == nil || n >= *a.min) && (a.max == nil || n <= *a.max)
	case len(text) > maxNumber, bytes.ContainsAny(text, "eE"):
		return false
	}
	return a.has(kindNumber) && a.min == nil && a.max == nil
}
