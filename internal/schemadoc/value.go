// Package schemadoc reads JSON texts as documents that keep what Go's maps
// lose: the order of members, the exact spelling of numbers, and duplicate
// names being a fact rather than an accident. On top of that it knows where
// JSON Schema has subschemas, so that callers can walk, strip, digest and
// bound a schema without mistaking a member named "description" for an
// annotation. It uses the standard library alone.
package schemadoc

// Kind is the JSON kind of a [Value].
type Kind uint8

// The seven kinds of values. True and false are one kind.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "invalid"
}

// Value is one JSON value. Which fields mean something depends on Kind. A nil
// *Value is a value that is not there; its methods answer like an empty one.
// Values are not changed after [Parse], so they may be shared.
type Value struct {
	Kind    Kind
	Bool    bool     // Kind Bool
	Text    string   // Kind String: decoded; Kind Number: exactly as written
	Items   []*Value // Kind Array
	Members []Member // Kind Object, in document order, names unique (last wins)

	index map[string]int // members by name, for objects with many
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value *Value
}

// Get returns the member with that name, or nil where v is no object or has
// no such member.
func (v *Value) Get(name string) *Value {
	if v == nil || v.Kind != Object {
		return nil
	}
	if i := v.find(name); i >= 0 {
		return v.Members[i].Value
	}
	return nil
}

// find returns the place of a member of an object, or -1.
func (v *Value) find(name string) int {
	if v.index != nil {
		if i, ok := v.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return i
		}
	}
	return -1
}

// Is reports whether v is there and of that kind.
func (v *Value) Is(k Kind) bool { return v != nil && v.Kind == k }

// Str returns the text of a string value, else "".
func (v *Value) Str() string {
	if v.Is(String) {
		return v.Text
	}
	return ""
}
