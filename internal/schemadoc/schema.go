package schemadoc

import (
	"iter"
	"strconv"
	"strings"
)

// Holds says how a keyword holds schemas.
type Holds uint8

// The ways in which keywords hold schemas.
const (
	HoldsNone          Holds = iota
	HoldsSchema              // not: S
	HoldsList                // allOf: [S, ...]
	HoldsMap                 // properties: {name: S, ...}
	HoldsSchemaOrList        // items, in drafts before 2020-12
	HoldsSchemaOrNames       // dependencies, of draft-07: {name: S or [name, ...]}
)

// Keyword tells how a keyword holds schemas, over the keywords of draft-07 and
// 2020-12 together (JSON Schema Core, section 10, Validation, and draft-07).
func Keyword(name string) Holds {
	switch name {
	case "not", "if", "then", "else", "additionalProperties", "unevaluatedProperties",
		"additionalItems", "unevaluatedItems", "contains", "propertyNames", "contentSchema":
		return HoldsSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return HoldsList
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return HoldsMap
	case "items":
		return HoldsSchemaOrList
	case "dependencies":
		return HoldsSchemaOrNames
	}
	return HoldsNone
}

// IsAnnotation reports whether a keyword only describes: it never makes a
// value valid or invalid and changes no type (JSON Schema Validation, section
// 9, and $comment). "format" is not among them, since it narrows what a reader
// expects.
func IsAnnotation(keyword string) bool {
	switch keyword {
	case "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly":
		return true
	}
	return false
}

// Step leads from a schema to one of its subschemas.
type Step struct {
	Keyword string
	Name    string // under a keyword that maps names
	Index   int    // under a keyword that lists; else -1
	named   bool
}

// Pointer returns the step as the end of a JSON pointer, such as
// "/properties/a~1b" (RFC 6901).
func (s Step) Pointer() string {
	p := "/" + EscapePointer(s.Keyword)
	if s.named {
		return p + "/" + EscapePointer(s.Name)
	}
	if s.Index >= 0 {
		return p + "/" + strconv.Itoa(s.Index)
	}
	return p
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// EscapePointer escapes one reference token of a JSON pointer (RFC 6901).
func EscapePointer(token string) string { return pointerEscapes.Replace(token) }

// Subschemas yields what stands directly in schema positions of a schema, in
// document order. It yields whatever stands there, also what is no schema.
func (v *Value) Subschemas() iter.Seq2[Step, *Value] {
	return func(yield func(Step, *Value) bool) {
		if !v.Is(Object) {
			return
		}
		for _, m := range v.Members {
			if !m.subschemas(yield) {
				return
			}
		}
	}
}

func (m Member) subschemas(yield func(Step, *Value) bool) bool {
	switch holds := Keyword(m.Name); {
	case holds == HoldsSchema, holds == HoldsSchemaOrList && !m.Value.Is(Array):
		return yield(Step{Keyword: m.Name, Index: -1}, m.Value)
	case (holds == HoldsList || holds == HoldsSchemaOrList) && m.Value.Is(Array):
		for i, item := range m.Value.Items {
			if !yield(Step{Keyword: m.Name, Index: i}, item) {
				return false
			}
		}
	case (holds == HoldsMap || holds == HoldsSchemaOrNames) && m.Value.Is(Object):
		for _, named := range m.Value.Members {
			if holds == HoldsSchemaOrNames && named.Value.Is(Array) {
				continue
			}
			if !yield(Step{Keyword: m.Name, Name: named.Name, Index: -1, named: true}, named.Value) {
				return false
			}
		}
	}
	return true
}

// AppendContract appends the canonical form of a schema without the annotation
// keywords in its schema positions: what decides which values are valid. A
// member, a constant or an enumerated value that happens to be named like an
// annotation stays.
func (v *Value) AppendContract(dst []byte) []byte {
	if !v.Is(Object) {
		return v.AppendCanonical(dst)
	}
	dst = append(dst, '{')
	first := true
	name := func(s string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, s), ':')
	}
	for _, m := range sorted(v.Members) {
		if IsAnnotation(m.Name) {
			continue
		}
		name(m.Name)
		switch holds := Keyword(m.Name); {
		case holds == HoldsSchema, holds == HoldsSchemaOrList && !m.Value.Is(Array):
			dst = m.Value.AppendContract(dst)
		case (holds == HoldsList || holds == HoldsSchemaOrList) && m.Value.Is(Array):
			dst = append(dst, '[')
			for i, item := range m.Value.Items {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = item.AppendContract(dst)
			}
			dst = append(dst, ']')
		case (holds == HoldsMap || holds == HoldsSchemaOrNames) && m.Value.Is(Object):
			dst = append(dst, '{')
			for i, named := range sorted(m.Value.Members) {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(appendString(dst, named.Name), ':')
				dst = named.Value.AppendContract(dst)
			}
			dst = append(dst, '}')
		default:
			dst = m.Value.AppendCanonical(dst)
		}
	}
	return append(dst, '}')
}

// AppendWords appends the canonical form of what [Value.AppendContract] leaves
// out: the annotation keywords of a schema at their places. A schema without
// annotations gives {}.
func (v *Value) AppendWords(dst []byte) []byte {
	words := v.words()
	if words == nil {
		words = &Value{Kind: Object}
	}
	return words.AppendCanonical(dst)
}

// words returns the annotations of a schema as a document: its own annotation
// keywords, and under "/pointer" names those of its subschemas. Nil where
// there are none.
func (v *Value) words() *Value {
	if !v.Is(Object) {
		return nil
	}
	out := &Value{Kind: Object}
	for _, m := range v.Members {
		if IsAnnotation(m.Name) {
			out.Members = append(out.Members, m)
		}
	}
	for step, sub := range v.Subschemas() {
		if w := sub.words(); w != nil {
			// A slash cannot begin a keyword, so places and keywords never mix.
			out.Members = append(out.Members, Member{step.Pointer(), w})
		}
	}
	if len(out.Members) == 0 {
		return nil
	}
	return out
}
