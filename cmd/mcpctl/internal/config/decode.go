package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// key is one key that an object of the file may have. Tables of keys (keys.go)
// drive everything: decoding, suggestions for misspelt keys, and the test that
// holds the published JSON Schema to them.
type key[T any] struct {
	name string
	shape
	read func(d decoder, v hujson.Value, into *T) error
}

// shape is what JSON Schema says about the value of a key.
type shape struct {
	types    []string         // JSON types
	elements []string         // the types of list elements or object members
	words    []string         // the only strings allowed
	keys     map[string]shape // the keys of an object
	open     bool             // an object that other programs add keys to
}

// decoder reads values and knows where it is. It is copied, never shared.
type decoder struct {
	doc    *document
	server string
	field  string
	// vars is nil while a file is only being checked: strings then stay as
	// they are written, and what depends on their text waits.
	vars *variables
	// warnings takes what is odd but no error. Nil drops it.
	warnings *[]*Error
}

// maxWarnings bounds what one file can say, and so what finding all those
// places costs.
const maxWarnings = 100

func (d decoder) warn(v hujson.Value, problem, hint string) {
	if d.warnings != nil && len(*d.warnings) < maxWarnings {
		*d.warnings = append(*d.warnings, d.fail(v, problem, hint))
	}
}

// member returns the decoder for a member of what d reads.
func (d decoder) member(name string) decoder {
	if d.field != "" {
		d.field += "."
	}
	d.field += quoteName(name)
	return d
}

func (d decoder) fail(v hujson.Value, problem, hint string) *Error {
	e := d.doc.errorAt(v.StartOffset, problem)
	e.Server, e.Field, e.Hint = d.server, d.field, hint
	return e
}

// failMember points at a member that is known to be there.
func (d decoder) failMember(v hujson.Value, name, problem string) *Error {
	if m := v.Find("/" + name); m != nil {
		v = *m
	}
	return d.member(name).fail(v, problem, "")
}

func (d decoder) wrongType(v hujson.Value, want, hint string) *Error {
	return d.fail(v, fmt.Sprintf("must be %s, not %s", want, typeName(v)), hint)
}

func typeName(v hujson.Value) string {
	switch v.Value.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "a list"
	}
	return "an object"
}

// plainName is a name that needs no quotes to be read in an error.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_$@/-]+$`)

// quoteName makes a name from the file fit for one line on a terminal.
func quoteName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// decodeObject reads an object by its table. Unknown keys are only ever
// warned about: of an open object those that look misspelt, since other
// programs have keys of their own there, of a closed one all.
func decodeObject[T any](d decoder, v hujson.Value, table []key[T], open bool, into *T) error {
	members, err := d.members(v)
	if err != nil {
		return err
	}
	for _, m := range members {
		name := m.Name.Value.(hujson.Literal).String()
		i := slices.IndexFunc(table, func(k key[T]) bool { return k.name == name })
		if i < 0 {
			d.unknownKey(m.Name, name, keyNames(table), open)
			continue
		}
		if err := table[i].read(d.member(name), m.Value, into); err != nil {
			return err
		}
	}
	return nil
}

func keyNames[T any](table []key[T]) []string {
	var names []string
	for _, k := range table {
		names = append(names, k.name)
	}
	return names
}

func (d decoder) unknownKey(at hujson.Value, name string, known []string, open bool) {
	if d.warnings == nil || open && slices.Contains(foreignKeys, name) {
		return
	}
	hint := otherNames[name]
	if near := Nearest(name, known); hint == "" && near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	if hint != "" || !open {
		d.warn(at, "unknown key "+strconv.Quote(name), hint)
	}
}

// members returns the members of an object, whose names must differ.
func (d decoder) members(v hujson.Value) ([]hujson.ObjectMember, error) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, d.wrongType(v, "an object", "")
	}
	first := make(map[string]int, len(obj.Members))
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		if offset, ok := first[name]; ok {
			line, _ := d.doc.position(offset)
			return nil, d.fail(m.Name, fmt.Sprintf("key %q is there twice, first on line %d", name, line), "")
		}
		first[name] = m.Name.StartOffset
	}
	return obj.Members, nil
}

// text reads a string and expands it.
func (d decoder) text(v hujson.Value) (string, error) {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		return "", d.wrongType(v, "a string", "")
	}
	return d.expand(v, lit.String())
}

func (d decoder) expand(v hujson.Value, s string) (string, error) {
	if d.vars == nil {
		return s, nil
	}
	expanded, err := d.vars.expand(s)
	if err != nil {
		return "", d.fail(v, err.problem, err.hint)
	}
	return expanded, nil
}

// pending reports whether the final text of s is not known yet.
func (d decoder) pending(s string) bool {
	return d.vars == nil && strings.Contains(s, "${")
}

// text is a key with a string.
func text[T any](name string, at func(*T) *string) key[T] {
	return key[T]{name, shape{types: []string{"string"}}, func(d decoder, v hujson.Value, into *T) (err error) {
		*at(into), err = d.text(v)
		return err
	}}
}

// nonEmpty is a key with a string that says something.
func nonEmpty[T any](name string, at func(*T) *string) key[T] {
	k := text(name, at)
	read := k.read
	k.read = func(d decoder, v hujson.Value, into *T) error {
		if err := read(d, v, into); err != nil {
			return err
		}
		if *at(into) == "" {
			return d.fail(v, "must not be empty", "")
		}
		return nil
	}
	return k
}

// oneOf is a key with one of a few words.
func oneOf[T any](name string, at func(*T) *string, words ...string) key[T] {
	k := text(name, at)
	k.words = words
	read := k.read
	k.read = func(d decoder, v hujson.Value, into *T) error {
		if err := read(d, v, into); err != nil {
			return err
		}
		if s := *at(into); !slices.Contains(words, s) && !d.pending(s) {
			return d.fail(v, "must be "+alternatives(words), "")
		}
		return nil
	}
	return k
}

// alternatives lists words that one has to choose from.
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return quoted(words)
	}
	return quoted(words[:last]) + " or " + strconv.Quote(words[last])
}

func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(w))
	}
	return b.String()
}

// boolean is a key with true or false; at is nil until the key is there.
func boolean[T any](name string, at func(*T) **bool) key[T] {
	return key[T]{name, shape{types: []string{"boolean"}}, func(d decoder, v hujson.Value, into *T) error {
		kind := v.Value.Kind()
		if kind != 't' && kind != 'f' {
			return d.wrongType(v, "true or false", "")
		}
		*at(into) = new(kind == 't')
		return nil
	}}
}

// list is a key with a list of strings. An empty list is not nil.
func list[T any](name string, at func(*T) *[]string) key[T] {
	return listOf(name, at, func(decoder, hujson.Value, string) error { return nil })
}

// listOf is a list that checks each of its strings.
func listOf[T any](name string, at func(*T) *[]string, check func(decoder, hujson.Value, string) error) key[T] {
	s := shape{types: []string{"array"}, elements: []string{"string"}}
	return key[T]{name, s, func(d decoder, v hujson.Value, into *T) error {
		array, ok := v.Value.(*hujson.Array)
		if !ok {
			return d.wrongType(v, "a list of strings", "")
		}
		texts := make([]string, len(array.Elements))
		for i, el := range array.Elements {
			item := d
			item.field += fmt.Sprintf("[%d]", i)
			var err error
			if texts[i], err = item.text(el); err != nil {
				return err
			}
			if err := check(item, el, texts[i]); err != nil {
				return err
			}
		}
		*at(into) = texts
		return nil
	}}
}

// table is a key with an object of strings.
func table[T any](name string, at func(*T) *map[string]string) key[T] {
	s := shape{types: []string{"object"}, elements: []string{"string"}}
	return key[T]{name, s, func(d decoder, v hujson.Value, into *T) error {
		members, err := d.members(v)
		if err != nil {
			return err
		}
		texts := make(map[string]string, len(members))
		for _, m := range members {
			name := m.Name.Value.(hujson.Literal).String()
			if texts[name], err = d.member(name).text(m.Value); err != nil {
				return err
			}
		}
		*at(into) = texts
		return nil
	}}
}

// scalars is like table, and takes numbers and booleans as they are written,
// as editors do for environment variables.
func scalars[T any](name string, at func(*T) *map[string]string) key[T] {
	k := table(name, at)
	k.elements = []string{"string", "number", "boolean"}
	k.read = func(d decoder, v hujson.Value, into *T) error {
		members, err := d.members(v)
		if err != nil {
			return err
		}
		texts := make(map[string]string, len(members))
		for _, m := range members {
			name := m.Name.Value.(hujson.Literal).String()
			switch m.Value.Value.Kind() {
			case '0', 't', 'f':
				texts[name] = m.Value.Value.(hujson.Literal).String()
			default:
				if texts[name], err = d.member(name).text(m.Value); err != nil {
					return err
				}
			}
		}
		*at(into) = texts
		return nil
	}
	return k
}

// duration is a key with a number of milliseconds or a Go duration.
func duration[T any](name string, at func(*T) *time.Duration) key[T] {
	const want = `a number of milliseconds or a duration such as "30s"`
	s := shape{types: []string{"number", "string"}}
	return key[T]{name, s, func(d decoder, v hujson.Value, into *T) error {
		lit, _ := v.Value.(hujson.Literal)
		var parsed time.Duration
		switch v.Value.Kind() {
		case '0':
			ns := lit.Float() * float64(time.Millisecond)
			if ns > 0 && ns < 1 || ns >= math.MaxInt64 {
				return d.fail(v, "is out of range", "")
			}
			parsed = time.Duration(ns)
			if parsed > 0 && parsed < time.Second {
				d.warn(v, "is in milliseconds and below one second", `seconds are written as "30s"`)
			}
		case '"':
			s, err := d.text(v)
			if err != nil {
				return err
			}
			if d.pending(s) {
				return nil
			}
			if parsed, err = time.ParseDuration(s); err != nil {
				return d.fail(v, "must be "+want, "")
			}
		default:
			return d.wrongType(v, want, "")
		}
		if parsed <= 0 {
			return d.fail(v, "must be more than zero", "")
		}
		*at(into) = parsed
		return nil
	}}
}

// object is a key with an object that has keys of its own.
func object[T, U any](name string, table []key[U], at func(*T) *U) key[T] {
	return key[T]{name, shapeOf(table, false), func(d decoder, v hujson.Value, into *T) error {
		return decodeObject(d, v, table, false, at(into))
	}}
}

// later is a key with an object that is decoded at another time.
func later[T any](name string, s shape, at func(*T) *hujson.Value) key[T] {
	return key[T]{name, s, func(d decoder, v hujson.Value, into *T) error {
		*at(into) = v
		return nil
	}}
}

// shapeOf is the shape of an object with the keys of a table.
func shapeOf[U any](table []key[U], open bool) shape {
	keys := make(map[string]shape, len(table))
	for _, k := range table {
		keys[k.name] = k.shape
	}
	return shape{types: []string{"object"}, keys: keys, open: open}
}
