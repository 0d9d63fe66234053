package typegen

import (
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// This file decides on the types of arrays, objects and plain values.

// ofKind is the type of values of one kind.
func (w *walker) ofKind(k kindSet, f *facts, p place, e *entry, root bool) typed {
	switch k {
	case kBool:
		return typed{t: &goType{kind: boolType}}
	case kInt:
		return typed{t: w.integer(f)}
	case kFrac, kNumber:
		if w.g.opts.Numbers == NumbersExact {
			return typed{t: &goType{kind: numberType}}
		}
		return typed{t: &goType{kind: floatType}}
	case kString:
		if f.format == "date-time" && w.g.opts.Formats == FormatsTime {
			return typed{t: &goType{kind: timeType}}
		}
		return typed{t: &goType{kind: stringType}}
	case kArray:
		return w.array(f, p, e)
	}
	return w.object(f, p, e, root, w.moreMembers(f))
}

// integer is int64, or json.Number where the schema itself goes beyond.
func (w *walker) integer(f *facts) *goType {
	if w.g.opts.Numbers == NumbersExact || pastInt64(f.minimum) || pastInt64(f.maximum) {
		return &goType{kind: numberType}
	}
	return &goType{kind: intType}
}

// array is the type of arrays.
func (w *walker) array(f *facts, p place, e *entry) typed {
	long := 0
	for _, a := range f.arrays {
		long = max(long, len(a.prefix))
	}
	var rest []*node
	for _, a := range f.arrays {
		if a.items != nil {
			rest = append(rest, a.items)
		}
	}
	item := p.part("Item", "/items", "the items of")
	if long == 0 {
		elem := typed{t: &goType{kind: anyType}}
		if len(rest) > 0 {
			elem = w.inside(func() typed { return w.typeOf(rest, item) })
		}
		return typed{t: &goType{kind: sliceType, elem: presence(elem, true)}}
	}
	d := w.declare(tupleDecl, p)
	e.decl = d
	w.inside(func() typed {
		for i := range long {
			var nodes []*node
			for _, a := range f.arrays {
				if i < len(a.prefix) {
					nodes = append(nodes, a.prefix[i])
				} else if a.items != nil {
					nodes = append(nodes, a.items)
				}
			}
			name := "F" + itoa(i)
			r := w.typeOf(nodes, place{name: d.name + name, key: mix(p.key, "/"+itoa(i)), of: "[" + d.name + "." + name + "]"})
			need := i < f.minItems
			d.fields = append(d.fields, field{
				name: name, json: itoa(i), typ: presence(r, need), required: need, omitzero: !need, index: i,
				doc: docOf(nodes...),
			})
		}
		closed := false
		for _, n := range rest {
			closed = closed || isFalse(n.v)
		}
		if !closed {
			elem := typed{t: &goType{kind: anyType}}
			if len(rest) > 0 {
				elem = w.typeOf(rest, place{name: d.name + "Item", key: mix(p.key, "/items"), of: "the items of [" + d.name + ".Rest]"})
			}
			d.fields = append(d.fields, field{name: "Rest", role: restField, typ: &goType{kind: sliceType, elem: presence(elem, true)}})
		}
		return typed{}
	})
	return typed{t: &goType{kind: namedType, decl: d}}
}

// object is the type of objects: a struct where members are known, else a map.
// more are members that only some branch speaks of.
func (w *walker) object(f *facts, p place, e *entry, root bool, more map[string][][]*node) typed {
	mode := w.g.opts.Extras
	elemOf := func(nodes []*node, what string) *goType {
		if len(nodes) == 0 {
			return &goType{kind: anyType}
		}
		return presence(w.inside(func() typed {
			return w.typeOf(nodes, p.part("Value", what, "the values of"))
		}), true)
	}
	empty := len(f.props) == 0 && len(more) == 0 && len(f.patterns) == 0 && len(f.required) == 0 && !f.closed
	if empty && (!root || w.side == Output && !f.addlSaid) {
		// Members that are declared, if only as none, make it a struct: one
		// that appears later then changes no type.
		if !f.declares() || mode == ExtrasDrop {
			return typed{t: &goType{kind: mapType, elem: elemOf(f.addl, "/additionalProperties")}}
		}
		f.addlSaid = true
	}
	d := w.declare(structDecl, p)
	e.decl = d
	names := make([]string, 0, len(f.props)+len(more))
	for n, pr := range f.props {
		if !pr.never && !w.neverProp(pr) {
			names = append(names, n)
		}
	}
	for n := range more {
		if f.props[n] == nil {
			names = append(names, n)
		}
	}
	// A member may be required without being declared.
	for n := range f.required {
		if f.props[n] == nil && more[n] == nil && !f.closed && !f.patterned(w, n) {
			names = append(names, n)
		}
	}
	w.work += len(names)
	slices.Sort(names)
	fields := newScope(reservedFields...).assign(names, "", "N", "Field", "Member", func(raw, got string) {
		w.g.note(w.diag(Warning, f.nodes[0].pointer(), CodeCollision, "properties",
			"the Go name of the member "+quoteText(raw)+" is taken, so its field is "+got))
	})
	exact := false
	folded := make(map[string]bool, len(names))
	for _, n := range names {
		low := strings.ToLower(n)
		if folded[low] || !tagName(n) {
			exact = true
		}
		folded[low] = true
	}
	for _, n := range names {
		need := f.required[n]
		var r typed
		var nodes []*node
		at := place{name: d.name + fields[n], key: mix(p.key, "/"+n), of: "[" + d.name + "." + fields[n] + "]"}
		if pr := f.props[n]; pr != nil {
			nodes = pr.nodes
			r = w.inside(func() typed { return w.typeOf(nodes, at) })
		} else if more[n] == nil {
			r = w.inside(func() typed { return w.typeOf(f.addl, at) })
		} else {
			r = w.inside(func() typed { return w.alternatives(more[n], at) })
			for _, alt := range more[n] {
				nodes = append(nodes, alt...)
			}
		}
		d.fields = append(d.fields, field{
			name: fields[n], json: n, typ: presence(r, need), required: need, omitzero: !need, doc: docOf(nodes...),
		})
	}
	scope := newScope()
	for _, n := range fields {
		scope.take(n)
	}
	if mode != ExtrasDrop {
		w.patternFields(f, d, p, scope)
	}
	switch {
	case mode == ExtrasDrop:
		if exact {
			d.codec = exactCodec
		}
	case f.closed:
		d.codec = closedCodec
	case mode == ExtrasKeep, f.addlSaid && !f.closed:
		d.codec = openCodec
		d.fields = append(d.fields, field{
			doc:  doc{lead: "Extras holds members that have no field of their own; they are encoded too."},
			name: "Extras", role: extrasField, typ: &goType{kind: mapType, elem: elemOf(f.addl, "/additionalProperties")},
		})
	case exact:
		d.codec = exactCodec
	}
	return typed{t: &goType{kind: namedType, decl: d}}
}

// neverProp reports whether a member can have no value at all.
func (w *walker) neverProp(p *prop) bool {
	for _, n := range p.nodes {
		if isFalse(n.v) {
			return true
		}
		// A reference to false is false as well.
		for range 8 {
			ref := n.v.Get("$ref")
			if !ref.Is(schemadoc.String) {
				break
			}
			t, outcome := w.doc.resolve(n, ref.Text)
			if outcome != refFound {
				break
			}
			if n = t; isFalse(n.v) {
				return true
			}
		}
	}
	return false
}

// patternFields adds a map for each pattern.
func (w *walker) patternFields(f *facts, d *decl, p place, scope *scope) {
	if len(f.patterns) == 0 {
		return
	}
	if len(f.patterns) > 1 {
		w.warn(f.nodes[0], CodeOverlap, "patternProperties", "a name may match several patterns; the first in byte order takes it")
	}
	var res []string
	for _, pt := range f.patterns {
		res = append(res, pt.re)
	}
	names := scope.assign(res, "Pattern", "", "", "", func(string, string) {})
	for _, pt := range f.patterns {
		re, ok := w.g.goPattern(pt.re)
		if !ok {
			w.warn(pt.nodes[0], CodePattern, "patternProperties", "Go's regular expressions cannot match this pattern, so its members are kept as extras")
			f.addl = nil
			f.closed = false
			f.addlSaid = true
			continue
		}
		name := names[pt.re]
		if len(f.patterns) == 1 && goName(pt.re) == "" {
			name = "Patterned"
			scope.take(name)
		}
		elem := w.inside(func() typed {
			return w.typeOf(pt.nodes, place{name: d.name + name + "Value", key: mix(p.key, "/"+pt.re), of: "the values of [" + d.name + "." + name + "]"})
		})
		d.fields = append(d.fields, field{
			name: name, role: patternField, pattern: re.String(), typ: &goType{kind: mapType, elem: presence(elem, true)}, doc: docOf(pt.nodes...),
		})
	}
}

// docOf is what the first schema with something to say says.
func docOf(nodes ...*node) doc {
	var d doc
	for _, n := range nodes {
		if !n.v.Is(schemadoc.Object) {
			continue
		}
		if d.text == "" {
			d.text = n.v.Get("description").Str()
		}
		if d.title == "" {
			d.title = n.v.Get("title").Str()
		}
		if dep := n.v.Get("deprecated"); dep.Is(schemadoc.Bool) && dep.Bool {
			d.deprecated = true
		}
		if len(d.extra) == 0 {
			if def := n.v.Get("default"); def != nil {
				if s := string(def.AppendCanonical(nil)); len(s) <= 120 {
					d.extra = append(d.extra, "Default of the server: "+s)
				}
			}
			if ex := n.v.Get("examples"); ex.Is(schemadoc.Array) && len(ex.Items) > 0 {
				var parts []string
				size := 0
				for _, x := range ex.Items {
					s := string(x.AppendCanonical(nil))
					if size += len(s); size > 200 || len(parts) == 5 {
						break
					}
					parts = append(parts, s)
				}
				if len(parts) > 0 {
					d.extra = append(d.extra, "Examples: "+strings.Join(parts, ", "))
				}
			}
		}
	}
	return d
}
