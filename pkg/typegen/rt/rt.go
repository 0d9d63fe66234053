// Package rt is the runtime of generated types: what struct tags and
// encoding/json cannot say about JSON. It holds the types that tell absent,
// null and a value apart, and a codec that reads the struct tags of generated
// types as its tables.
//
// The package needs the standard library alone. Nothing in it is specific to
// one schema, so that generated code stays declarations.
package rt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Null is a value that may be null. It is for members that must be there. The
// zero value is null.
type Null[T any] struct {
	value T
	valid bool
}

// NewNull returns a Null that holds v.
func NewNull[T any](v T) Null[T] { return Null[T]{v, true} }

// Get returns the value, and whether there is one rather than null.
func (n Null[T]) Get() (T, bool) { return n.value, n.valid }

// Or returns the value, or def where it is null.
func (n Null[T]) Or(def T) T {
	if n.valid {
		return n.value
	}
	return def
}

// IsNull reports whether n is null.
func (n Null[T]) IsNull() bool { return !n.valid }

// Set makes n hold v.
func (n *Null[T]) Set(v T) { n.value, n.valid = v, true }

// SetNull makes n null.
func (n *Null[T]) SetNull() { *n = Null[T]{} }

// MarshalJSON implements [json.Marshaler].
func (n Null[T]) MarshalJSON() ([]byte, error) {
	if !n.valid {
		return []byte("null"), nil
	}
	return Marshal(n.value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Null[T]) UnmarshalJSON(data []byte) error {
	*n = Null[T]{}
	if isNull(data) {
		return nil
	}
	n.valid = true
	return Unmarshal(data, &n.value)
}

// Opt is a member that may be absent, null or a value. The zero value is
// absent; fields of this type have the tag option omitzero.
type Opt[T any] struct {
	value T
	state uint8
}

const (
	absent uint8 = iota
	null
	present
)

// NewOpt returns an Opt that holds v.
func NewOpt[T any](v T) Opt[T] { return Opt[T]{v, present} }

// NullOpt returns an Opt that is there and null.
func NullOpt[T any]() Opt[T] { return Opt[T]{state: null} }

// Get returns the value, and whether there is one.
func (o Opt[T]) Get() (T, bool) { return o.value, o.state == present }

// Or returns the value, or def where there is none.
func (o Opt[T]) Or(def T) T {
	if o.state == present {
		return o.value
	}
	return def
}

// IsNull reports whether the member is there and null.
func (o Opt[T]) IsNull() bool { return o.state == null }

// IsZero reports whether the member is absent. It is what omitzero asks.
func (o Opt[T]) IsZero() bool { return o.state == absent }

// Set makes o hold v.
func (o *Opt[T]) Set(v T) { o.value, o.state = v, present }

// SetNull makes o null.
func (o *Opt[T]) SetNull() { *o = Opt[T]{state: null} }

// Unset makes o absent.
func (o *Opt[T]) Unset() { *o = Opt[T]{} }

// MarshalJSON implements [json.Marshaler].
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.state != present {
		return []byte("null"), nil
	}
	return Marshal(o.value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	*o = Opt[T]{}
	if isNull(data) {
		o.state = null
		return nil
	}
	o.state = present
	return Unmarshal(data, &o.value)
}

func isNull(data []byte) bool { return string(bytes.TrimSpace(data)) == "null" }

// MarshalConst writes the only value of a constant, also where v was never
// set. A v that holds something else is written as it is.
func MarshalConst[T comparable](v, only T) ([]byte, error) {
	var zero T
	if v == zero {
		v = only
	}
	return marshalBasic(v)
}

// UnmarshalConst reads a constant and refuses every other value.
func UnmarshalConst[T comparable](data []byte, v *T, only T) error {
	if err := unmarshalBasic(data, v); err != nil {
		return err
	}
	if *v != only {
		return errors.New("not the constant " + clip(fmt.Sprint(only)))
	}
	return nil
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// True is the constant true.
type True struct{}

// MarshalJSON implements [json.Marshaler].
func (True) MarshalJSON() ([]byte, error) { return []byte("true"), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (*True) UnmarshalJSON(data []byte) error { return only(data, "true") }

// False is the constant false.
type False struct{}

// MarshalJSON implements [json.Marshaler].
func (False) MarshalJSON() ([]byte, error) { return []byte("false"), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (*False) UnmarshalJSON(data []byte) error { return only(data, "false") }

// JSONNull is the constant null.
type JSONNull struct{}

// MarshalJSON implements [json.Marshaler].
func (JSONNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (*JSONNull) UnmarshalJSON(data []byte) error { return only(data, "null") }

func only(data []byte, text string) error {
	if string(bytes.TrimSpace(data)) != text {
		return errors.New("not the constant " + text)
	}
	return nil
}

// JSON encodes v for a field that takes any JSON value. It panics where v
// cannot be encoded, which for strings, numbers, slices, maps and generated
// types does not happen.
func JSON(v any) json.RawMessage {
	b, err := Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// canonical returns the canonical form of a JSON text.
func canonical(data []byte) (string, error) {
	c, err := schemadoc.Canonical(data)
	if err != nil {
		return "", err
	}
	return string(c), nil
}
