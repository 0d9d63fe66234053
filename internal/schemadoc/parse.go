package schemadoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits bound what [Parse] builds. They are checked before anything is
// copied.
type Limits struct {
	// Values is the largest number of JSON values, counting every object,
	// array and scalar, and no names. Zero means no limit.
	Values int
	// Depth is the deepest nesting of arrays and objects; a scalar has depth
	// zero. Zero means [MaxDepth].
	Depth int
}

// MaxDepth is the nesting at which encoding/json itself gives up, and with it
// every reader here.
const MaxDepth = 10_000

// ErrNotJSON says that a text is not one JSON value.
var ErrNotJSON = errors.New("not valid JSON")

// LimitError says which limit a text broke.
type LimitError struct {
	What  string // "values" or "depth"
	Limit int
}

func (e *LimitError) Error() string {
	if e.What == "depth" {
		return fmt.Sprintf("nested deeper than %d levels", e.Limit)
	}
	return fmt.Sprintf("more than %d JSON values", e.Limit)
}

// Count counts the values of a JSON text and its deepest nesting without
// building anything. For a text that is not valid JSON the numbers mean
// nothing.
func Count(raw []byte) (values, depth int) {
	// Every container that is not empty holds one value more than it has
	// commas, so commas and filled containers are all there is to count.
	values = 1
	level := 0
	opened := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[':
			if opened {
				values++
			}
			level++
			depth = max(depth, level)
			opened = true
			continue
		case '}', ']':
			level--
			opened = false
			continue
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case ',':
			values++
		}
		if opened {
			values++
			opened = false
		}
	}
	return values, depth
}

// Parse reads one JSON text. Of members with the same name the last wins, as
// in encoding/json. Errors are [ErrNotJSON] and [*LimitError].
func Parse(raw []byte, limits Limits) (*Value, error) {
	// The standard library judges validity, so the builder below may trust
	// what it reads.
	if !json.Valid(raw) {
		return nil, ErrNotJSON
	}
	values, depth := Count(raw)
	if limits.Values > 0 && values > limits.Values {
		return nil, &LimitError{"values", limits.Values}
	}
	most := limits.Depth
	if most <= 0 || most > MaxDepth {
		most = MaxDepth
	}
	if depth > most {
		return nil, &LimitError{"depth", most}
	}
	b := builder{raw: raw, values: make([]Value, 0, values)}
	return b.value(), nil
}

// builder walks a valid JSON text once. All values come from one slab.
type builder struct {
	raw    []byte
	pos    int
	values []Value
}

// indexFrom is the number of members from which an object carries an index.
const indexFrom = 12

func (b *builder) space() {
	for b.pos < len(b.raw) {
		switch b.raw[b.pos] {
		case ' ', '\t', '\r', '\n':
			b.pos++
		default:
			return
		}
	}
}

func (b *builder) value() *Value {
	b.space()
	b.values = append(b.values, Value{})
	v := &b.values[len(b.values)-1]
	switch b.raw[b.pos] {
	case '{':
		b.object(v)
	case '[':
		v.Kind = Array
		b.pos++
		for !b.closes(']') {
			v.Items = append(v.Items, b.value())
		}
	case '"':
		v.Kind, v.Text = String, b.str()
	case 't':
		v.Kind, v.Bool = Bool, true
		b.pos += len("true")
	case 'f':
		v.Kind = Bool
		b.pos += len("false")
	case 'n':
		v.Kind = Null
		b.pos += len("null")
	default:
		start := b.pos
		for b.pos < len(b.raw) && strings.IndexByte("+-.eE0123456789", b.raw[b.pos]) >= 0 {
			b.pos++
		}
		v.Kind, v.Text = Number, string(b.raw[start:b.pos])
	}
	return v
}

// closes steps over a comma, or over the closing byte and says so.
func (b *builder) closes(end byte) bool {
	b.space()
	switch b.raw[b.pos] {
	case end:
		b.pos++
		return true
	case ',':
		b.pos++
	}
	return false
}

func (b *builder) object(v *Value) {
	v.Kind = Object
	b.pos++
	for !b.closes('}') {
		b.space()
		name := b.str()
		b.space()
		b.pos++ // the colon
		value := b.value()
		if i := v.find(name); i >= 0 {
			v.Members[i].Value = value
			continue
		}
		v.Members = append(v.Members, Member{name, value})
		switch n := len(v.Members); {
		case v.index != nil:
			v.index[name] = n - 1
		case n == indexFrom:
			v.index = make(map[string]int, 2*n)
			for i, m := range v.Members {
				v.index[m.Name] = i
			}
		}
	}
}

// str reads a string literal.
func (b *builder) str() string {
	start := b.pos
	plain := true
	for b.pos++; b.raw[b.pos] != '"'; b.pos++ {
		if b.raw[b.pos] == '\\' {
			plain = false
			b.pos++
		}
	}
	b.pos++
	literal := b.raw[start:b.pos]
	if inner := literal[1 : len(literal)-1]; plain && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	// It cannot fail: the whole text was found valid.
	_ = json.Unmarshal(literal, &s)
	return s
}

// RawMember is one member of an object, its value as the exact bytes.
type RawMember struct {
	Name string
	Raw  []byte
}

// Split returns the members of a JSON object in document order without
// building their values; the bytes alias raw. Names are compared exactly,
// unlike in encoding/json, and may repeat. The error is [ErrNotJSON], also
// for a text that is no object.
func Split(raw []byte) ([]RawMember, error) {
	if !json.Valid(raw) {
		return nil, ErrNotJSON
	}
	b := builder{raw: raw}
	b.space()
	if b.raw[b.pos] != '{' {
		return nil, ErrNotJSON
	}
	b.pos++
	var members []RawMember
	for !b.closes('}') {
		b.space()
		name := b.str()
		b.space()
		b.pos++ // the colon
		b.space()
		start := b.pos
		b.skip()
		members = append(members, RawMember{name, raw[start:b.pos:b.pos]})
	}
	return members, nil
}

// skip steps over one value.
func (b *builder) skip() {
	level := 0
	for {
		switch b.raw[b.pos] {
		case '{', '[':
			level++
		case '}', ']':
			level--
		case '"':
			for b.pos++; b.raw[b.pos] != '"'; b.pos++ {
				if b.raw[b.pos] == '\\' {
					b.pos++
				}
			}
		default:
			// A scalar, or what stands between values inside a container.
			for b.pos+1 < len(b.raw) && strings.IndexByte("{}[]\",: \t\r\n", b.raw[b.pos+1]) < 0 {
				b.pos++
			}
		}
		b.pos++
		if level == 0 {
			return
		}
	}
}
