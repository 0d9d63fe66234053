package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schema"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Bounds of what is shown of a field.
const (
	maxLabel   = 100
	maxAbout   = 400
	maxOptions = 1000
)

// kind is how a field is asked.
type kind int

const (
	text  kind = iota // a string, as it is
	exact             // a JSON text: numbers, and what is nested
	yesNo             // a boolean that is one in any case
	one               // of several
	many              // of several
)

// field is one property of the object.
type field struct {
	name, label, about string
	required           bool
	kind               kind
	options            []option
	limit              int    // of many; zero: none
	wants              string // the types of exact
	fallback           json.RawMessage
	check              func(json.RawMessage) error

	// The answer so far, by kind.
	typed  string
	yes    bool
	picked int // none: leave it out
	chosen []int
}

// option is one of several values.
type option struct {
	label string
	value json.RawMessage
}

// none is the choice to leave a field out.
const none = -1

// errNeeded says that a required field was left empty.
var errNeeded = errors.New("an answer is needed")

// value returns the answer, nil if the field is left out.
func (f *field) value() (json.RawMessage, error) {
	var value json.RawMessage
	var err error
	switch f.kind {
	case text, exact:
		value, err = f.parse(f.typed)
	case yesNo:
		value = strconv.AppendBool(nil, f.yes)
	case one:
		if f.picked != none {
			value = f.options[f.picked].value
		}
	case many:
		value, err = f.several(f.chosen)
	}
	return value, err
}

// parse reads and checks what was typed.
func (f *field) parse(typed string) (json.RawMessage, error) {
	switch {
	case typed == "" && f.required:
		return nil, f.fail(errNeeded)
	case typed == "":
		return nil, nil
	case f.kind == text:
		value, err := json.Marshal(typed)
		if err != nil {
			return nil, f.fail(err)
		}
		return value, f.fail(f.check(value))
	}
	value := json.RawMessage(strings.TrimSpace(typed))
	if !json.Valid(value) {
		return nil, f.fail(errors.New("it takes " + f.wants))
	}
	return value, f.fail(f.check(value))
}

// several reads and checks a choice of several values. No choice at all means
// that the field is left out, where it may be.
func (f *field) several(picked []int) (json.RawMessage, error) {
	if len(picked) == 0 && !f.required {
		return nil, nil
	}
	picked = slices.Sorted(slices.Values(picked))
	values := make([]json.RawMessage, len(picked))
	for i, p := range picked {
		values[i] = f.options[p].value
	}
	value, err := json.Marshal(values)
	if err != nil {
		return nil, f.fail(err)
	}
	return value, f.fail(f.check(value))
}

// fail names the field, as a message may stand below others.
func (f *field) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.label, err)
}

// set fills in a value. One that the field cannot hold is left out.
func (f *field) set(value json.RawMessage) {
	switch f.kind {
	case text:
		_ = json.Unmarshal(value, &f.typed) // not a string: stays empty
	case exact:
		var compact bytes.Buffer
		if json.Compact(&compact, value) == nil {
			f.typed = compact.String()
		}
	case yesNo:
		f.yes = string(value) == "true"
	case one:
		f.picked = f.index(value)
	case many:
		items, _ := schemadoc.ItemsValid(value)
		f.chosen = nil
		for _, item := range items {
			if i := f.index(item); i != none && !slices.Contains(f.chosen, i) {
				f.chosen = append(f.chosen, i)
			}
		}
	}
}

func (f *field) index(value json.RawMessage) int {
	canonical, err := schemadoc.Canonical(value)
	if err != nil {
		return none
	}
	return slices.IndexFunc(f.options, func(o option) bool {
		other, err := schemadoc.Canonical(o.value)
		return err == nil && bytes.Equal(canonical, other)
	})
}

// settle says whether an answer has to be given, and what stands there.
func (f *field) settle(required bool, given json.RawMessage) {
	if given == nil {
		given = f.fallback
	}
	f.required = required
	if f.kind == yesNo && !required && f.fallback == nil {
		f.kind = one // of yes, no, and nothing
	}
	if given != nil {
		f.set(given)
	}
	if f.kind == one && required && f.picked == none {
		f.picked = 0
	}
}

// schemas turns the properties of an object schema into fields.
type schemas struct {
	root    *schemadoc.Value
	raw     json.RawMessage
	formats bool
}

// field reads one property.
func (s schemas) field(p schemadoc.RawMember, clean func(string) string) *field {
	f := &field{name: p.Name, picked: none, check: s.checker(p.Raw, clean)}
	v, err := schemadoc.Parse(p.Raw, schemadoc.Limits{})
	if err != nil {
		v = nil // anything may be typed, and the check says no
	}
	title, about := v.Get("title").Str(), v.Get("description").Str()
	if d := v.Get("default"); d != nil && !d.Is(schemadoc.Null) {
		f.fallback = d.AppendCanonical(nil)
	}
	v = s.essence(v)
	f.label = title
	if title == "" {
		f.label = p.Name
	}
	f.label = clean(clip(f.label, maxLabel))
	if about == "" {
		about = v.Get("description").Str()
	}
	f.about = strings.Join(slices.DeleteFunc([]string{clip(clean(about), maxAbout), clean(clip(limits(v), maxAbout))},
		func(s string) bool { return s == "" }), " · ")

	kinds := typesOf(v)
	switch {
	case f.choose(v, clean):
		f.kind = one
	case slices.Equal(kinds, []string{"array"}) && f.choose(s.essence(v.Get("items")), clean):
		f.kind = many
		if n, err := strconv.Atoi(number(v.Get("maxItems"))); err == nil && n > 0 {
			f.limit = n
		}
	case slices.Equal(kinds, []string{"boolean"}):
		f.kind, f.options = yesNo, []option{{"Yes", []byte("true")}, {"No", []byte("false")}}
	case len(kinds) == 0 || slices.Contains(kinds, "string"):
		f.kind = text
	default:
		f.kind, f.wants = exact, strings.Join(kinds, " or ")
		if slices.Contains(kinds, "object") || slices.Contains(kinds, "array") {
			f.wants += " as JSON"
			f.about = strings.TrimPrefix(f.about+" · "+f.wants, " · ")
		}
		f.check = f.typeOf(kinds)
	}
	return f
}

// choose reads the values that a schema lists, and reports whether it does.
func (f *field) choose(v *schemadoc.Value, clean func(string) string) bool {
	f.options = nil
	add := func(label string, value *schemadoc.Value) {
		raw := value.AppendCanonical(nil)
		if label == "" && value.Is(schemadoc.String) {
			label = value.Text
		} else if label == "" {
			label = string(raw)
		}
		f.options = append(f.options, option{clean(clip(label, maxLabel)), raw})
	}
	if list := v.Get("enum"); list.Is(schemadoc.Array) && len(list.Items) <= maxOptions {
		names := v.Get("enumNames")
		for i, value := range list.Items {
			label := ""
			if names.Is(schemadoc.Array) && i < len(names.Items) {
				label = names.Items[i].Str()
			}
			add(label, value)
		}
		return len(f.options) > 0
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		list := v.Get(name)
		if !list.Is(schemadoc.Array) || len(list.Items) > maxOptions {
			continue
		}
		for _, item := range list.Items {
			value := item.Get("const")
			if value == nil {
				f.options = nil
				return false
			}
			add(item.Get("title").Str(), value)
		}
		return len(f.options) > 0
	}
	return false
}

// maxReferences bounds how many references are followed in a row.
const maxReferences = 16

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// essence follows references and looks past an alternative of null.
func (s schemas) essence(v *schemadoc.Value) *schemadoc.Value {
	for range maxReferences {
		if ref, ok := strings.CutPrefix(v.Get("$ref").Str(), "#/"); ok {
			at := s.root
			for step := range strings.SplitSeq(ref, "/") {
				at = at.Get(unescapePointer.Replace(step))
			}
			v = at
			continue
		}
		var other *schemadoc.Value
		for _, name := range []string{"anyOf", "oneOf"} {
			list := v.Get(name)
			if !list.Is(schemadoc.Array) || len(list.Items) != 2 {
				continue
			}
			for i, item := range list.Items {
				if item.Get("type").Str() == "null" {
					other = list.Items[1-i]
				}
			}
		}
		if other == nil {
			break
		}
		v = other
	}
	return v
}

// typesOf returns the types that a schema names, null aside.
func typesOf(v *schemadoc.Value) []string {
	var all []string
	switch t := v.Get("type"); {
	case t.Is(schemadoc.String):
		all = []string{t.Text}
	case t.Is(schemadoc.Array):
		for _, item := range t.Items {
			all = append(all, item.Str())
		}
	case v.Get("properties") != nil:
		all = []string{"object"}
	}
	return slices.DeleteFunc(all, func(t string) bool { return t == "null" })
}

// limits says in words what a schema demands.
func limits(v *schemadoc.Value) string {
	var parts []string
	switch format := v.Get("format").Str(); format {
	case "":
	case "date":
		parts = append(parts, "a date such as 2026-01-31")
	case "date-time":
		parts = append(parts, "a time such as 2026-01-31T12:00:00Z")
	default:
		parts = append(parts, format)
	}
	for _, l := range []struct{ low, high, unit string }{
		{"minLength", "maxLength", " characters"}, {"minimum", "maximum", ""}, {"minItems", "maxItems", " of them"},
	} {
		low, high := number(v.Get(l.low)), number(v.Get(l.high))
		switch {
		case low != "" && high != "":
			parts = append(parts, low+" to "+high+l.unit)
		case low != "":
			parts = append(parts, "at least "+low+l.unit)
		case high != "":
			parts = append(parts, "at most "+high+l.unit)
		}
	}
	if re := v.Get("pattern").Str(); re != "" {
		parts = append(parts, "matches "+re)
	}
	return strings.Join(parts, ", ")
}

func number(v *schemadoc.Value) string {
	if v.Is(schemadoc.Number) {
		return v.Text
	}
	return ""
}

// typeOf checks the type of a value first, which is what is wrong mostly.
func (f *field) typeOf(kinds []string) func(json.RawMessage) error {
	check := f.check
	return func(value json.RawMessage) error {
		v, err := schemadoc.Parse(value, schemadoc.Limits{})
		if err != nil {
			return err
		}
		kind := v.Kind.String()
		if !slices.Contains(kinds, kind) && (kind != "number" || !slices.Contains(kinds, "integer")) && kind != "null" {
			return errors.New("it takes " + f.wants)
		}
		return check(value)
	}
}

// checker checks values of one property. One whose schema does not compile
// checks nothing: whoever gets the object refuses it.
func (s schemas) checker(property json.RawMessage, clean func(string) string) func(json.RawMessage) error {
	b := []byte("{")
	for _, name := range []string{"$schema", "$defs", "definitions"} {
		if raw := memberOf(s.raw, name); raw != nil {
			b = fmt.Appendf(b, "%q:%s,", name, raw)
		}
	}
	compiled, err := schema.Compile(fmt.Appendf(b, `"allOf":[%s]}`, property), schema.Options{Formats: s.formats})
	return func(value json.RawMessage) error {
		if err != nil {
			return nil
		}
		if err := compiled.Validate(value); err != nil {
			return errors.New(clean(clip(err.Error(), maxAbout)))
		}
		return nil
	}
}
