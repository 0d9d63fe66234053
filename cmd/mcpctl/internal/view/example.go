package view

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schema"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/internal/subschema"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// exampleBudget bounds the search for a value that a schema accepts, to some
// tens of milliseconds.
const exampleBudget = 200_000

// Example returns arguments that a tool takes: the required ones, with values
// that are defaults or examples where the schema has such. It is nil where none
// are found that the schema accepts.
func Example(t catalog.Tool) *schemadoc.Value {
	if t.InputSchema == nil {
		return &schemadoc.Value{Kind: schemadoc.Object}
	}
	d, ok := Unicode.parse(t.InputSchema)
	if !ok {
		return nil
	}
	m := maker{describer: d, space: subschema.NewSpace(exampleBudget)}
	var err error
	if m.doc, err = subschema.NewDocument(d.root); err != nil {
		m.doc = nil // only the validator can tell
	}
	value := m.sample(d.root, 0)
	if d.steps < 0 || !value.Is(schemadoc.Object) {
		value = &schemadoc.Value{Kind: schemadoc.Object}
	}
	switch accepted := m.compile(d.root); m.space.Valid(accepted, value) {
	case subschema.Yes:
		if m.doc != nil {
			return value
		}
	case subschema.No:
		// Stranger, but right.
		return m.space.Example(m.space.And(accepted, anyObject(m.space))).Witness
	}
	if checker, err := schema.Compile(t.InputSchema, schema.Options{}); err != nil || checker.Validate(value.AppendCanonical(nil)) != nil {
		return nil
	}
	return value
}

// maker makes up values for schemas of a document.
type maker struct {
	*describer
	space *subschema.Space
	doc   *subschema.Document // nil if it cannot be compared
	name  string              // of the member that a value is made for
}

// compile returns a schema for questions; any, if they cannot be answered.
func (m *maker) compile(v *schemadoc.Value) subschema.Schema {
	if m.doc == nil {
		return m.space.Any()
	}
	return m.space.Compile(m.doc, v, subschema.Mode{})
}

// anyObject accepts what arguments can be at all.
func anyObject(space *subschema.Space) subschema.Schema {
	root, err := schemadoc.Parse([]byte(`{"type":"object"}`), schemadoc.Limits{})
	if err != nil {
		return space.Any()
	}
	doc, err := subschema.NewDocument(root)
	if err != nil {
		return space.Any()
	}
	return space.Compile(doc, root, subschema.Mode{})
}

// sample makes up a value that looks like what a schema asks for. What it does
// not heed, as what schemas say together, is found out later.
func (m *maker) sample(v *schemadoc.Value, depth int) *schemadoc.Value {
	if m.steps--; m.steps < 0 || depth > mostLevels {
		return &schemadoc.Value{Kind: schemadoc.Null}
	}
	said := words{v, m.resolve(v)}
	v = said[1]
	for _, keyword := range []string{"const", "default"} {
		if value := said.get(keyword); value != nil && !value.Is(schemadoc.Null) {
			return value
		}
	}
	for _, keyword := range []string{"examples", "enum"} {
		if list := said.get(keyword); list.Is(schemadoc.Array) && len(list.Items) > 0 {
			return list.Items[0]
		}
	}
	typ := v.Get("type").Str()
	if list := v.Get("type"); list.Is(schemadoc.Array) {
		for _, item := range list.Items {
			if typ = item.Str(); typ != "null" {
				break
			}
		}
	}
	if typ == "" || typ == "object" && v.Get("properties") == nil {
		if composed := m.composed(v, depth); composed != nil {
			return composed
		}
	}
	switch typ {
	case "object":
		return m.object(v, depth)
	case "array":
		return m.array(v, depth)
	case "integer", "number":
		return number(v, typ == "integer")
	case "boolean":
		return &schemadoc.Value{Kind: schemadoc.Bool, Bool: true}
	case "null":
		return &schemadoc.Value{Kind: schemadoc.Null}
	case "":
		switch {
		case v.Get("properties") != nil || v.Get("required") != nil || v == m.resolve(m.root):
			return m.object(v, depth)
		case v.Get("items") != nil:
			return m.array(v, depth)
		}
	}
	value := &schemadoc.Value{Kind: schemadoc.String, Text: m.text(said)}
	if v.Get("pattern") == nil {
		return value
	}
	accepted := m.compile(v)
	if m.space.Valid(accepted, value) == subschema.No {
		if answer := m.space.Example(accepted); answer.Witness.Is(schemadoc.String) {
			return answer.Witness
		}
	}
	return value
}

// composed makes a value of a schema that is put together of others.
func (m *maker) composed(v *schemadoc.Value, depth int) *schemadoc.Value {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list := v.Get(keyword)
		if !list.Is(schemadoc.Array) || len(list.Items) == 0 {
			continue
		}
		i := max(0, slices.IndexFunc(list.Items, func(item *schemadoc.Value) bool { return item.Get("type").Str() != "null" }))
		return m.sample(list.Items[i], depth+1)
	}
	list := v.Get("allOf")
	if !list.Is(schemadoc.Array) || len(list.Items) == 0 {
		return nil
	}
	all := m.sample(list.Items[0], depth+1)
	for _, item := range list.Items[1:] {
		next := m.sample(item, depth+1)
		if !all.Is(schemadoc.Object) || !next.Is(schemadoc.Object) {
			continue
		}
		both := &schemadoc.Value{Kind: schemadoc.Object, Members: slices.Clone(all.Members)}
		for _, member := range next.Members {
			if both.Get(member.Name) == nil {
				both.Members = append(both.Members, member)
			}
		}
		all = both
	}
	return all
}

func (m *maker) object(v *schemadoc.Value, depth int) *schemadoc.Value {
	object := &schemadoc.Value{Kind: schemadoc.Object}
	list := v.Get("required")
	if list == nil {
		return object
	}
	for _, item := range list.Items {
		if m.steps < 0 {
			break
		}
		name := item.Str()
		if object.Get(name) != nil {
			continue
		}
		member := v.Get("properties").Get(name)
		if member == nil {
			member = v.Get("additionalProperties")
		}
		m.name = name
		object.Members = append(object.Members, schemadoc.Member{Name: name, Value: m.sample(member, depth+1)})
	}
	return object
}

func (m *maker) array(v *schemadoc.Value, depth int) *schemadoc.Value {
	array := &schemadoc.Value{Kind: schemadoc.Array}
	const most = 10
	n := int(min(most, max(1, bound(v, "minItems", 0))))
	if bound(v, "maxItems", 1) < 1 {
		n = 0
	}
	for range n {
		array.Items = append(array.Items, m.sample(v.Get("items"), depth+1))
	}
	return array
}

// bound is the number of a keyword, or otherwise.
func bound(v *schemadoc.Value, keyword string, otherwise float64) float64 {
	if n := v.Get(keyword); n.Is(schemadoc.Number) {
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return f
		}
	}
	return otherwise
}

// number is the one nearest to 1 that bounds allow.
func number(v *schemadoc.Value, integer bool) *schemadoc.Value {
	step := bound(v, "multipleOf", 1)
	if step <= 0 {
		step = 1
	}
	low := max(bound(v, "minimum", math.Inf(-1)), bound(v, "exclusiveMinimum", math.Inf(-1))+step)
	high := min(bound(v, "maximum", math.Inf(1)), bound(v, "exclusiveMaximum", math.Inf(1))-step)
	n := min(max(1, low), high)
	if integer || v.Get("multipleOf") != nil {
		if n = math.Ceil(n/step) * step; n > high {
			n = math.Floor(high/step) * step
		}
	}
	if math.IsInf(n, 0) || math.IsNaN(n) {
		n = 1
	}
	return &schemadoc.Value{Kind: schemadoc.Number, Text: strconv.FormatFloat(n, 'f', -1, 64)}
}

var placeholder = regexp.MustCompile(`^[A-Z][A-Z0-9_-]{0,30}$`)

// formats are texts of the formats of JSON Schema.
var formats = map[string]string{
	"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "P1D",
	"email": "ada@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "url": "https://example.com/", "uuid": "123e4567-e89b-12d3-a456-426614174000",
}

// text is a text of the format that is wanted, or one that shows that it is to
// be replaced: the name of the member in capitals.
func (m *maker) text(said words) string {
	s, ok := formats[said.get("format").Str()]
	if !ok {
		s = strings.ToUpper(m.name)
		if !placeholder.MatchString(s) {
			s = "TEXT"
		}
	}
	schema := said[len(said)-1]
	const most = 200
	if low := bound(schema, "minLength", 0); low > float64(len(s)) && low <= most {
		s = strings.Repeat(s, int(low)/len(s)+1)[:int(low)]
	}
	if high := bound(schema, "maxLength", most); high < float64(len(s)) {
		s = s[:int(max(0, high))]
	}
	return s
}
