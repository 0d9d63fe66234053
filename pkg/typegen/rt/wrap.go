package rt

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"
)

func (n *Null[T]) inner() reflect.Type       { return reflect.TypeFor[T]() }
func (n *Null[T]) wrapped(inner kinds) kinds { return inner | kNull }

func (n *Null[T]) decode(d *decoder, inner *codec) error {
	*n = Null[T]{}
	if d.peek() == 'n' {
		return d.literal("null")
	}
	n.valid = true
	return inner.dec(d, reflect.ValueOf(&n.value).Elem())
}

func (n *Null[T]) encode(b []byte, inner *codec) ([]byte, error) {
	if !n.valid {
		return append(b, "null"...), nil
	}
	return inner.enc(b, reflect.ValueOf(&n.value).Elem())
}

func (o *Opt[T]) inner() reflect.Type       { return reflect.TypeFor[T]() }
func (o *Opt[T]) wrapped(inner kinds) kinds { return inner | kNull }

func (o *Opt[T]) decode(d *decoder, inner *codec) error {
	*o = Opt[T]{}
	if d.peek() == 'n' {
		o.state = null
		return d.literal("null")
	}
	o.state = present
	return inner.dec(d, reflect.ValueOf(&o.value).Elem())
}

func (o *Opt[T]) encode(b []byte, inner *codec) ([]byte, error) {
	if o.state != present {
		return append(b, "null"...), nil
	}
	return inner.enc(b, reflect.ValueOf(&o.value).Elem())
}

// Or is a value of type T, or any other JSON value. It stands where a schema
// describes one kind of value without excluding the others.
type Or[T any] struct {
	value T
	raw   json.RawMessage
	typed bool
}

// NewOr returns an Or that holds v.
func NewOr[T any](v T) Or[T] { return Or[T]{value: v, typed: true} }

// Get returns the value, and whether it is one of type T.
func (o Or[T]) Get() (T, bool) { return o.value, o.typed }

// Raw returns the JSON text of a value that is not of type T, else nil.
func (o Or[T]) Raw() json.RawMessage { return o.raw }

// Set makes o hold v.
func (o *Or[T]) Set(v T) { *o = NewOr(v) }

// SetRaw makes o hold any JSON text.
func (o *Or[T]) SetRaw(raw json.RawMessage) { *o = Or[T]{raw: raw} }

// MarshalJSON implements [json.Marshaler].
func (o Or[T]) MarshalJSON() ([]byte, error) { return Marshal(o) }

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Or[T]) UnmarshalJSON(data []byte) error { return Unmarshal(data, o) }

func (o *Or[T]) inner() reflect.Type   { return reflect.TypeFor[T]() }
func (o *Or[T]) wrapped(_ kinds) kinds { return kAny }

func (o *Or[T]) decode(d *decoder, inner *codec) error {
	*o = Or[T]{}
	pos, depth := d.pos, d.depth
	if inner.kinds&kindsOfByte(d.peek()) != 0 {
		err := inner.dec(d, reflect.ValueOf(&o.value).Elem())
		if err == nil {
			o.typed = true
			return nil
		}
		if err := d.back(pos, depth); err != nil {
			return err
		}
		*o = Or[T]{}
	}
	raw, err := d.skip()
	if err != nil {
		return err
	}
	o.raw = slices.Clone(raw)
	return nil
}

func (o *Or[T]) encode(b []byte, inner *codec) ([]byte, error) {
	if o.typed {
		return inner.enc(b, reflect.ValueOf(&o.value).Elem())
	}
	return appendRaw(b, o.raw)
}

// Literal is a JSON value of any kind, held as its text. Literals of generated
// types are compared with ==, since equal values have equal texts.
type Literal struct {
	// JSON is the text in canonical form: no white space, sorted names,
	// shortest numbers.
	JSON string
}

// MarshalJSON implements [json.Marshaler].
func (l Literal) MarshalJSON() ([]byte, error) {
	if l.JSON == "" {
		return nil, errors.New("the value is not set")
	}
	return []byte(l.JSON), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *Literal) UnmarshalJSON(data []byte) error {
	c, err := canonical(data)
	if err != nil {
		return err
	}
	l.JSON = c
	return nil
}

// Time is a time in the form of RFC 3339 that keeps its original text, so that
// neither digits of the fraction nor the spelling of the offset change.
type Time struct {
	t    time.Time
	text string
}

// NewTime returns t as a Time.
func NewTime(t time.Time) Time { return Time{t, t.Format(time.RFC3339Nano)} }

// Time returns the time. It is zero where the text is no time.
func (t Time) Time() time.Time { return t.t }

// String returns the original text.
func (t Time) String() string { return t.text }

// IsZero reports whether t was never set.
func (t Time) IsZero() bool { return t.text == "" }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) { return appendString(nil, t.text), nil }

// UnmarshalJSON implements [json.Unmarshaler]. A string that is no time is
// kept as it is: the format is an annotation.
func (t *Time) UnmarshalJSON(data []byte) error {
	var s string
	if err := unmarshalBasic(data, &s); err != nil {
		return err
	}
	*t = Time{text: s}
	if p, err := time.Parse(time.RFC3339Nano, s); err == nil {
		t.t = p
	}
	return nil
}
