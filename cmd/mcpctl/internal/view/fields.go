package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// Field is an argument of a tool, or a member of its result, for the eye.
type Field struct {
	Name string
	// Type is written as in signatures. What has members of its own is an
	// object there, and Fields are the members.
	Type     string
	Required bool
	// Facts are a default, bounds, a format and the like.
	Facts       []string
	Description string
	Fields      []Field
}

const (
	mostLevels    = 6      // of fields within fields
	mostChoices   = 40     // values of an enumeration on a page
	mostFact      = 60     // characters of a value in a fact
	mostPageSteps = 20_000 // schemas looked at for one side of a page
)

// Arguments describes the arguments of a tool. More says that there is more
// than is shown.
func (n Notation) Arguments(t catalog.Tool) (fields []Field, more bool) {
	return n.describe(t.InputSchema)
}

// Result describes the structured result of a tool. Where that is no object
// with members there is one field without a name.
func (n Notation) Result(t catalog.Tool) (fields []Field, more bool) {
	if t.OutputSchema == nil {
		return nil, false
	}
	fields, more = n.describe(t.OutputSchema)
	if len(fields) == 0 && !more {
		d, _ := n.parse(t.OutputSchema)
		d.enum = mostChoices
		fields = append(fields, d.field("", d.root, nil))
	}
	return fields, more
}

func (n Notation) describe(schema []byte) (fields []Field, more bool) {
	if schema == nil {
		return nil, false
	}
	d, ok := n.parse(schema)
	if !ok {
		return nil, true
	}
	d.enum, d.steps = mostChoices, mostPageSteps
	fields = d.fields(d.resolve(d.root), nil)
	return fields, d.steps < 0
}

// fields describes the members of an object. Outer are the objects around it.
func (d *describer) fields(v *schemadoc.Value, outer []*schemadoc.Value) []Field {
	// An object within itself is described once.
	if len(outer) == mostLevels || slices.Contains(outer, v) {
		return nil
	}
	outer = append(slices.Clip(outer), v)
	var all []Field
	members, required := properties(v)
	for _, m := range members {
		if d.steps--; d.steps < 0 {
			break
		}
		f := d.field(m.Name, m.Value, outer)
		f.Required = required[m.Name]
		all = append(all, f)
	}
	return all
}

func (d *describer) field(name string, v *schemadoc.Value, outer []*schemadoc.Value) Field {
	f := Field{Name: name}
	// What a reference is beside counts before what it refers to.
	said := words{v, d.resolve(v)}
	typ, inner := d.shape(v)
	if f.Type = typ; inner != nil {
		said = append(said, inner)
		f.Fields = d.fields(inner, outer)
	} else if one := d.alternative(said[1]); one != nil {
		said = append(said, one)
	}
	f.Description = said.get("description").Str()
	f.Facts = said.facts()
	return f
}

// shape is the type of a value, with an object's members left to Fields: inner
// is the object that has them, or nil.
func (d *describer) shape(v *schemadoc.Value) (typ string, inner *schemadoc.Value) {
	suffix, null := "", ""
	at := v
	for range mostDepth + 2 {
		at = d.resolve(at)
		if one := d.alternative(at); one != nil {
			if suffix == "" && at.Get("allOf") == nil {
				null = "|null"
			}
			at = one
			continue
		}
		if at.Get("properties").Is(schemadoc.Object) && at.Get("enum") == nil {
			return "object" + suffix + null, at
		}
		items := at.Get("items")
		if !items.Is(schemadoc.Object) || at.Get("anyOf") != nil || at.Get("oneOf") != nil {
			break
		}
		at, suffix = items, suffix+"[]"
	}
	return d.typ(v, 0), nil
}

// alternative returns the only schema that a value may have beside being null,
// where that is said by a union or a composition of one.
func (d *describer) alternative(v *schemadoc.Value) *schemadoc.Value {
	if v.Get("properties") != nil || v.Get("type") != nil {
		return nil
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		list := v.Get(keyword)
		if list == nil {
			continue
		}
		var one *schemadoc.Value
		for _, item := range list.Items {
			if item.Get("type").Str() == "null" {
				continue
			}
			if one != nil {
				return nil
			}
			one = item
		}
		if one != nil {
			return one
		}
	}
	return nil
}

// words are schemas that speak of the same value, the first one counting.
type words []*schemadoc.Value

func (w words) get(keyword string) *schemadoc.Value {
	for _, v := range w {
		if found := v.Get(keyword); found != nil {
			return found
		}
	}
	return nil
}

// facts are what there is to say beside the type.
func (w words) facts() []string {
	var all []string
	add := func(format string, keyword string) {
		if v := w.get(keyword); v != nil {
			all = append(all, fmt.Sprintf(format, short(v)))
		}
	}
	between := func(low, high, unit string) {
		from, to := w.get(low), w.get(high)
		text := ""
		switch {
		case from != nil && to != nil && short(from) == short(to):
			text = short(from)
		case from != nil && to != nil:
			text = short(from) + " to " + short(to)
		case from != nil:
			text = "at least " + short(from)
		case to != nil:
			text = "at most " + short(to)
		default:
			return
		}
		if unit != "" {
			text += " " + unit
			if !strings.HasSuffix(" "+text, " 1 "+unit) {
				text += "s"
			}
		}
		all = append(all, text)
	}
	if f := w.get("format").Str(); f != "" {
		all = append(all, "format "+f)
	}
	between("minimum", "maximum", "")
	if v := w.get("exclusiveMinimum"); v.Is(schemadoc.Number) {
		all = append(all, "more than "+short(v))
	}
	if v := w.get("exclusiveMaximum"); v.Is(schemadoc.Number) {
		all = append(all, "less than "+short(v))
	}
	add("a multiple of %s", "multipleOf")
	between("minLength", "maxLength", "character")
	if p := w.get("pattern").Str(); p != "" {
		all = append(all, "matching "+clip(p))
	}
	between("minItems", "maxItems", "item")
	if v := w.get("uniqueItems"); v.Is(schemadoc.Bool) && v.Bool {
		all = append(all, "none twice")
	}
	add("default %s", "default")
	if list := w.get("examples"); list.Is(schemadoc.Array) && len(list.Items) > 0 {
		all = append(all, "such as "+short(list.Items[0]))
	}
	if v := w.get("deprecated"); v.Is(schemadoc.Bool) && v.Bool {
		all = append(all, "deprecated")
	}
	return all
}

// short is a value on one line.
func short(v *schemadoc.Value) string {
	if v.Is(schemadoc.Number) {
		return clip(v.Text)
	}
	return clip(string(v.AppendCanonical(nil)))
}

func clip(text string) string {
	if runes := []rune(text); len(runes) > mostFact {
		return strings.TrimSpace(string(runes[:mostFact])) + "..."
	}
	return text
}
