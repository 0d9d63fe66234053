package rt

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// maxDepth is the nesting at which encoding/json gives up too.
const maxDepth = 10_000

// Error is a JSON text that does not fit its Go type.
type Error struct {
	// Pointer is the JSON pointer of the value in question.
	Pointer string
	// Reason says what is wrong with it, without repeating it.
	Reason string
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Unmarshal decodes data into the value that v points to. It differs from
// [json.Unmarshal] in that names of members match exactly, a member given
// twice is an error, null is refused where the type has no room for it, and
// numbers are never rounded to fit. Generated UnmarshalJSON methods call it.
func Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return errors.New("rt: Unmarshal needs a pointer that is not nil")
	}
	d := decoders.Get().(*decoder)
	*d = decoder{data: data}
	err := d.whole(codecOf(rv.Type().Elem()), rv.Elem())
	d.data = nil
	decoders.Put(d)
	return err
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// whole decodes a text that is one value.
func (d *decoder) whole(c *codec, v reflect.Value) error {
	d.space()
	if err := c.dec(d, v); err != nil {
		return err
	}
	d.space()
	if d.pos < len(d.data) {
		return d.syntax()
	}
	return nil
}

// decoder is a position in a JSON text.
type decoder struct {
	data  []byte
	pos   int
	depth int
	again int // bytes read more than once while choosing among types
}

func (d *decoder) syntax() error {
	if d.pos >= len(d.data) {
		return &Error{Reason: "unexpected end of JSON"}
	}
	return &Error{Reason: "invalid JSON at byte " + strconv.Itoa(d.pos)}
}

func mismatch(want string, c byte) error {
	return &Error{Reason: "want " + want + ", have " + kindOfByte(c)}
}

func kindOfByte(c byte) string {
	switch c {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return "a number"
	}
	return "no JSON"
}

// within puts one more step in front of an error's pointer.
func within(err error, token string) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // our own, never wrapped
		return &Error{"/" + schemadoc.EscapePointer(clip(token)) + e.Pointer, e.Reason}
	}
	return &Error{"/" + schemadoc.EscapePointer(clip(token)), err.Error()}
}

func (d *decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// peek returns the first byte of the next value, or 0 at the end.
func (d *decoder) peek() byte {
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

// enter steps into an array or object.
func (d *decoder) enter() error {
	if d.depth++; d.depth > maxDepth {
		return &Error{Reason: "nested too deep"}
	}
	d.pos++
	return nil
}

// more steps to the next item of an array or object that ends with end. first
// is set before the first item.
func (d *decoder) more(end byte, first bool) (bool, error) {
	d.space()
	c := d.peek()
	switch {
	case c == end:
		d.pos++
		d.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, d.syntax()
	}
	d.pos++
	d.space()
	return true, nil
}

// name reads the name of a member and the colon behind it.
func (d *decoder) name() ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.syntax()
	}
	b, err := d.str()
	if err != nil {
		return nil, err
	}
	d.space()
	if d.peek() != ':' {
		return nil, d.syntax()
	}
	d.pos++
	d.space()
	return b, nil
}

// plainByte marks the bytes that stand for themselves in a string.
var plainByte = func() (t [256]bool) {
	for i := 0x20; i < 0x80; i++ {
		t[i] = i != '"' && i != '\\'
	}
	return t
}()

// str reads a string. The result may be part of the input.
func (d *decoder) str() ([]byte, error) {
	d.pos++
	start := d.pos
	data := d.data
	i := start
	for i < len(data) && plainByte[data[i]] {
		i++
	}
	if i < len(data) && data[i] == '"' {
		d.pos = i + 1
		return data[start:i], nil
	}
	d.pos = i
	return d.longStr(start)
}

// longStr goes on with a string that holds escapes or non-ASCII text.
func (d *decoder) longStr(start int) ([]byte, error) {
	clean, escaped := true, false
	i := d.pos
scan:
	for i < len(d.data) {
		switch c := d.data[i]; {
		case c == '"':
			break scan
		case c == '\\':
			escaped = true
			i += 2
		case c < 0x20:
			d.pos = i
			return nil, d.syntax()
		case c < 0x80:
			i++
		default:
			clean = false
			i++
		}
	}
	if i >= len(d.data) {
		d.pos = len(d.data)
		return nil, d.syntax()
	}
	raw := d.data[start:i]
	d.pos = i + 1
	if !clean {
		clean = utf8.Valid(raw)
	}
	if clean && !escaped {
		return raw, nil
	}
	out := make([]byte, 0, len(raw))
	for j := 0; j < len(raw); {
		c := raw[j]
		switch {
		case c == '\\':
			r, n := unescape(raw[j:])
			if n == 0 {
				d.pos = start + j
				return nil, d.syntax()
			}
			out = utf8.AppendRune(out, r)
			j += n
		case c < 0x80:
			out = append(out, c)
			j++
		default:
			r, n := utf8.DecodeRune(raw[j:])
			out = utf8.AppendRune(out, r)
			j += n
		}
	}
	return out, nil
}

// unescape reads one escape, or a pair that makes one character.
func unescape(s []byte) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r := hex4(s)
		if r < 0 {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if p := utf16.DecodeRune(r, hex4(s[6:])); p != utf8.RuneError {
				return p, 12
			}
		}
		return utf8.RuneError, 6
	}
	return 0, 0
}

func hex4(s []byte) rune {
	if len(s) < 6 {
		return -1
	}
	var r rune
	for _, c := range s[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// number reads a number and says whether it is spelled as an integer.
func (d *decoder) number() (text []byte, integer bool, err error) {
	start, data := d.pos, d.data
	i := start
	digits := func() bool {
		from := i
		for i < len(data) && data[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(data) && data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if !digits() {
		d.pos = i
		return nil, false, d.syntax()
	}
	integer = true
	if i < len(data) && data[i] == '.' {
		integer = false
		i++
		if !digits() {
			d.pos = i
			return nil, false, d.syntax()
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		integer = false
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			d.pos = i
			return nil, false, d.syntax()
		}
	}
	d.pos = i
	return data[start:i], integer, nil
}

// literal reads true, false or null.
func (d *decoder) literal(text string) error {
	end := d.pos + len(text)
	if end > len(d.data) || string(d.data[d.pos:end]) != text {
		return d.syntax()
	}
	d.pos = end
	return nil
}

// skip reads one value of any kind and returns its text.
func (d *decoder) skip() ([]byte, error) {
	start := d.pos
	switch c := d.peek(); c {
	case '"':
		if _, err := d.str(); err != nil {
			return nil, err
		}
	case 't':
		if err := d.literal("true"); err != nil {
			return nil, err
		}
	case 'f':
		if err := d.literal("false"); err != nil {
			return nil, err
		}
	case 'n':
		if err := d.literal("null"); err != nil {
			return nil, err
		}
	case '{', '[':
		if err := d.enter(); err != nil {
			return nil, err
		}
		end := c + 2 // both pairs are two apart
		for first := true; ; first = false {
			ok, err := d.more(end, first)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			if c == '{' {
				if _, err := d.name(); err != nil {
					return nil, err
				}
			}
			if _, err := d.skip(); err != nil {
				return nil, err
			}
		}
	default:
		if _, _, err := d.number(); err != nil {
			return nil, err
		}
	}
	return d.data[start:d.pos], nil
}

// back returns to a position in order to read a value as something else. How
// often that may happen is bounded, since a text may be made to be ambiguous
// at every level.
func (d *decoder) back(pos, depth int) error {
	if d.again += d.pos - pos; d.again > 1<<20+64*len(d.data) {
		return &Error{Reason: "too ambiguous"}
	}
	d.pos, d.depth = pos, depth
	return nil
}

// integer converts a number to int64, also where it is spelled 1.0 or 1e3.
func integer(text []byte, plain bool) (int64, error) {
	if plain {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return n, nil
		}
		return 0, &Error{Reason: "the number is outside of int64"}
	}
	c := schemadoc.CanonicalNumber(string(text))
	if strings.Contains(c, ".") && !strings.Contains(c, "e+") || strings.Contains(c, "e-") {
		return 0, &Error{Reason: "want an integer, have a number with a fraction"}
	}
	n, err := strconv.ParseInt(c, 10, 64)
	if err != nil {
		return 0, &Error{Reason: "the number is outside of int64"}
	}
	return n, nil
}

// float converts a number to float64 where that gives the number back. A
// fraction of up to 17 digits always passes: it names its float64.
func float(text []byte) (float64, error) {
	s := string(text)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, &Error{Reason: "the number is outside of float64"}
	}
	if len(s) <= 15 && f != 0 {
		return f, nil
	}
	back := strconv.FormatFloat(f, 'g', -1, 64)
	if back == s {
		return f, nil
	}
	c := schemadoc.CanonicalNumber(s)
	if schemadoc.CanonicalNumber(back) == c {
		return f, nil
	}
	if f != 0 && strings.Contains(s, ".") && schemadoc.CanonicalNumber(strconv.FormatFloat(f, 'g', 17, 64)) == c {
		return f, nil
	}
	return 0, &Error{Reason: "the number has no exact float64"}
}

// appendString appends a JSON string.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plainByte[c] {
			i++
			continue
		}
		if c < 0x80 {
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				if c == 0x7f {
					b = append(b, c)
				} else {
					b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
				}
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendFloat appends a float64 as encoding/json does.
func appendFloat(b []byte, f float64) ([]byte, error) {
	abs := f
	if abs < 0 {
		abs = -abs
	}
	if f != f || abs > 1.7976931348623157e308 {
		return b, &Error{Reason: "JSON has no infinities and no NaN"}
	}
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(b, f, 'e', -1, 64), nil
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64), nil
}

// marshalBasic encodes a string, boolean or number by its kind alone.
func marshalBasic(v any) ([]byte, error) {
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String:
		return appendString(nil, rv.String()), nil
	case reflect.Int64:
		return strconv.AppendInt(nil, rv.Int(), 10), nil
	case reflect.Float64:
		return appendFloat(nil, rv.Float())
	case reflect.Bool:
		return strconv.AppendBool(nil, rv.Bool()), nil
	}
	return json.Marshal(v)
}

// unmarshalBasic decodes into a string, boolean or number by its kind alone.
func unmarshalBasic(data []byte, v any) error {
	rv := reflect.ValueOf(v).Elem()
	c := basicCodec(rv.Kind())
	if c == nil {
		return fmt.Errorf("rt: no basic type: %s", rv.Type())
	}
	d := decoder{data: data}
	return d.whole(c, rv)
}
