package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// asserted are the formats of [Options].
var asserted = []string{"email", "uri", "date", "date-time"}

// fitter puts the meter into compiled schemas, and checks of our own in place
// of the validator's where those take time that the meter does not see.
type fitter struct {
	opts    Options
	meter   *meter
	edges   map[*jsonschema.Schema]edges
	anchors map[string][]*jsonschema.Schema
	chains  map[*jsonschema.Schema]int
}

// edges lead from a schema to those that it applies.
type edges struct {
	here, below []*jsonschema.Schema // to the same value, to parts of it
}

// fit fits all schemas that a check can come to: those below the first root,
// and below the others, which have dynamic anchors.
func (f *fitter) fit(roots []*jsonschema.Schema) error {
	f.edges = make(map[*jsonschema.Schema]edges)
	f.anchors = make(map[string][]*jsonschema.Schema)
	f.chains = make(map[*jsonschema.Schema]int)
	for _, s := range roots[1:] {
		f.anchors[s.DynamicAnchor] = append(f.anchors[s.DynamicAnchor], s)
	}
	for todo := roots; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, ok := f.edges[s]; ok || s.Bool != nil {
			continue
		}
		if len(f.edges) == f.opts.Nodes {
			// References made schemas of what the census did not count.
			return &BudgetError{"subschemas", f.opts.Nodes}
		}
		e := f.edgesOf(s)
		f.edges[s] = e
		todo = append(append(todo, e.here...), e.below...)
		f.refit(s, len(e.here))
	}
	for s := range f.edges {
		if _, err := f.chain(s); err != nil {
			return err
		}
	}
	return nil
}

func (f *fitter) edgesOf(s *jsonschema.Schema) edges {
	var e edges
	here := func(list ...*jsonschema.Schema) { e.here = append(e.here, list...) }
	below := func(list ...*jsonschema.Schema) { e.below = append(e.below, list...) }
	here(s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	here(s.AllOf...)
	here(s.AnyOf...)
	here(s.OneOf...)
	if s.DynamicRef != nil {
		here(s.DynamicRef.Ref)
		here(f.anchors[s.DynamicRef.Anchor]...)
	}
	for _, sub := range s.DependentSchemas {
		here(sub)
	}
	for _, dependency := range s.Dependencies {
		if sub, ok := dependency.(*jsonschema.Schema); ok {
			here(sub)
		}
	}
	below(s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems)
	below(s.PrefixItems...)
	for _, sub := range s.Properties {
		below(sub)
	}
	for _, sub := range s.PatternProperties {
		below(sub)
	}
	for _, held := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch held := held.(type) {
		case *jsonschema.Schema:
			below(held)
		case []*jsonschema.Schema:
			below(held...)
		}
	}
	absent := func(s *jsonschema.Schema) bool { return s == nil }
	return edges{slices.DeleteFunc(e.here, absent), slices.DeleteFunc(e.below, absent)}
}

// chain finds how many schemas apply to one value by way of each other, from s
// on.
func (f *fitter) chain(s *jsonschema.Schema) (int, error) {
	const walking = -1
	n, ok := f.chains[s]
	switch {
	case n == walking:
		return 0, &CompileError{Reason: "a reference leads back to itself"}
	case ok:
		return n, nil
	}
	f.chains[s] = walking
	for _, sub := range f.edges[s].here {
		below, err := f.chain(sub)
		if err != nil {
			return 0, err
		}
		if n = max(n, 1+below); n > f.opts.Depth {
			return 0, &BudgetError{"schemas in a chain of references", f.opts.Depth}
		}
	}
	f.chains[s] = n
	return n, nil
}

// refit makes the validator run our checks as the format of a schema, which it
// looks at after the type and before everything else. Here is how many schemas
// it applies to the same value.
func (f *fitter) refit(s *jsonschema.Schema, here int) {
	perValue := 1 + here + len(s.Required)
	for _, list := range s.DependentRequired {
		perValue += len(list)
	}
	for _, dependency := range s.Dependencies {
		if list, ok := dependency.([]string); ok {
			perValue += len(list)
		}
	}
	perPart := 1 + len(s.PatternProperties)

	var among, only map[string]bool
	if s.Enum != nil {
		among = keys(s.Enum.Values)
		s.Enum = nil
	}
	if s.Const != nil {
		only = keys([]any{*s.Const})
		s.Const = nil
	}
	var format *jsonschema.Format
	if f.opts.Formats && s.Format != nil && slices.Contains(asserted, s.Format.Name) {
		format = s.Format
	}
	unique, m := s.UniqueItems, f.meter
	s.UniqueItems = false

	s.Format = &jsonschema.Format{Name: "fitted", Validate: func(v any) error {
		m.spend(perValue)
		switch v := v.(type) {
		case []any:
			m.spend(perPart * len(v))
		case map[string]any:
			m.spend(perPart * len(v))
		case string:
			m.spend(len(v) / unitBytes)
		}
		if items, ok := v.([]any); ok && unique {
			if i, j := equal(items, m.spend); j > 0 {
				return verdict{"uniqueItems", fmt.Sprintf("items %d and %d are equal", i, j)}
			}
		}
		if among != nil || only != nil {
			key := appendKey(nil, v, m.spend)
			if only != nil && !only[string(key)] {
				return verdict{"const", "not the only allowed value"}
			}
			if among != nil && !among[string(key)] {
				return verdict{"enum", "not one of the allowed values"}
			}
		}
		if format != nil && format.Validate(v) != nil {
			return verdict{"format", "no " + format.Name}
		}
		return nil
	}}

	if s.PropertyNames != nil {
		// The validator's own check gives wrong places.
		s.Extensions = append(s.Extensions, propertyNames{s.PropertyNames})
		s.PropertyNames = nil
	}
}

// verdict is how a value fails one of our checks.
type verdict struct{ keyword, reason string }

func (v verdict) Error() string { return v.reason }

type propertyNames struct{ names *jsonschema.Schema }

func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	members, _ := v.(map[string]any)
	for name := range members {
		if p.names.Validate(name) != nil {
			ctx.AddError(&kind.PropertyNames{Property: name})
		}
	}
}

// equal finds the first item that equals one before it.
func equal(items []any, spend func(units int)) (i, j int) {
	seen := make(map[string]int, len(items))
	for j, item := range items {
		key := string(appendKey(nil, item, spend))
		if i, ok := seen[key]; ok {
			return i, j
		}
		seen[key] = j
	}
	return 0, 0
}

func keys(values []any) map[string]bool {
	set := make(map[string]bool, len(values))
	for _, v := range values {
		set[string(appendKey(nil, v, func(int) {}))] = true
	}
	return set
}

// appendKey appends a text that equal values have in common, and no others.
func appendKey(b []byte, v any, spend func(units int)) []byte {
	spend(1)
	switch v := v.(type) {
	case nil:
		b = append(b, "null"...)
	case bool:
		b = strconv.AppendBool(b, v)
	case json.Number:
		b = append(b, schemadoc.CanonicalNumber(v.String())...)
	case string:
		spend(len(v) / unitBytes)
		b = strconv.AppendQuote(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendKey(b, item, spend), ',')
		}
		b = append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = append(strconv.AppendQuote(b, name), ':')
			b = append(appendKey(b, v[name], spend), ',')
		}
		b = append(b, '}')
	}
	return b
}
