package typegen

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// part is one alternative of a union, of one kind of value.
type part struct {
	kind  kindSet
	f     *facts
	nodes []*node // set where these alone are the alternative, so that its type is shared
}

// union decides on the type of facts with alternatives. It reports false where
// they change nothing about the type.
func (w *walker) union(f *facts, p place, e *entry) (typed, bool) {
	for i := range f.unions {
		x := expander{w: w, seen: map[*schemadoc.Value]bool{}, done: map[*schemadoc.Value]bool{}}
		x.group(f, f.unions[i])
		if w.err != nil {
			return typed{t: &goType{kind: anyType}}, true
		}
		if x.any {
			continue // says nothing about the type; another group may
		}
		if len(x.parts) == 0 && !x.null {
			if x.wide {
				continue
			}
			w.warn(f.nodes[0], CodeContradiction, f.unions[i].keyword, "no alternative can be satisfied, so any value is taken and refused at run time")
			return typed{t: &goType{kind: anyType}}, true
		}
		return w.unify(x.parts, x.null, p, e), true
	}
	return typed{}, false
}

// expander takes alternatives apart into parts of one kind each.
type expander struct {
	w     *walker
	seen  map[*schemadoc.Value]bool // being expanded
	done  map[*schemadoc.Value]bool // expanded already; alternatives often meet again
	parts []part
	null  bool
	any   bool // some alternative takes values of any kind
	wide  bool
}

// group expands the alternatives of one keyword, given what else holds.
func (x *expander) group(base *facts, g unionGroup) {
	own := g.owner.v
	if x.seen[own] {
		x.w.cycle(g.owner)
		x.any, x.wide = true, true
		return
	}
	x.seen[own] = true
	defer delete(x.seen, own)
	for _, b := range g.branches {
		if x.w.tired() {
			x.any = true
			return
		}
		if !base.saysMore() {
			if target := x.w.follow([]*node{b}, new(place)); len(target) == 1 {
				if x.done[target[0].v] {
					continue
				}
				x.done[target[0].v] = true
			}
		}
		own := x.w.collect([]*node{b})
		// A type that the alternative names anyway adds nothing to it.
		if !base.saysMore() || base.onlyTyped() && own.typed && own.kinds&^base.kinds == 0 {
			x.add(own, []*node{b})
		} else {
			x.add(x.w.collectBranch(base, b), nil)
		}
		if x.any || x.w.err != nil {
			return
		}
	}
}

// add expands one alternative.
func (x *expander) add(f *facts, nodes []*node) {
	switch {
	case f.never:
		return
	case f.wide && !f.says():
		x.any, x.wide = true, true
		return
	case f.hasEnum:
		x.enum(f, nodes)
		return
	}
	if len(f.unions) > 0 && !f.describesObject() {
		for _, g := range f.unions {
			sub := expander{w: x.w, seen: x.seen, done: maps.Clone(x.done)}
			sub.group(f, g)
			if sub.any {
				continue
			}
			x.done = sub.done
			x.parts = append(x.parts, sub.parts...)
			x.null = x.null || sub.null
			return
		}
		if x.w.err != nil {
			return
		}
	}
	kinds := f.kinds
	if !f.typed {
		if kinds = f.shape(); kinds != kObject && kinds != kArray {
			x.any = true
			return
		}
	}
	if kinds&kNull != 0 {
		x.null = true
		kinds &^= kNull
		nodes = nil
	}
	if kinds == 0 {
		return
	}
	if k, one := oneKind(kinds); one {
		x.parts = append(x.parts, part{k, f, nodes})
		return
	}
	x.parts = append(x.parts, split(kinds, f)...)
}

// enum splits enumerated values by their kinds.
func (x *expander) enum(f *facts, nodes []*node) {
	by := map[kindSet][]*schemadoc.Value{}
	for _, v := range f.enum {
		k := kindOf(v)
		switch {
		case k == kNull:
			x.null = true
			nodes = nil
		case k&kNumber != 0:
			by[kNumber] = append(by[kNumber], v)
		default:
			by[k] = append(by[k], v)
		}
	}
	if len(by) > 1 {
		nodes = nil
	}
	for _, k := range []kindSet{kBool, kNumber, kString, kArray, kObject} {
		if len(by[k]) > 0 {
			c := *f
			c.enum = by[k]
			x.parts = append(x.parts, part{k, &c, nodes})
		}
	}
}

// split makes a part of each kind of a set.
func split(kinds kindSet, f *facts) []part {
	var out []part
	for _, k := range []kindSet{kBool, kNumber, kString, kArray, kObject} {
		if sub := kinds & k; sub != 0 {
			out = append(out, part{sub, f, nil})
		}
	}
	return out
}

// saysMore reports whether anything beside alternatives decides on the type.
func (f *facts) saysMore() bool {
	return f.typed || f.hasEnum || f.never || len(f.objects) > 0 || len(f.arrays) > 0
}

// onlyTyped reports whether a type is all that f says.
func (f *facts) onlyTyped() bool {
	return f.typed && !f.hasEnum && len(f.objects) == 0 && len(f.arrays) == 0 && len(f.required) == 0 && f.format == "" && f.minimum == nil && f.maximum == nil
}

// describesObject reports whether f itself says something about the members
// of an object.
func (f *facts) describesObject() bool {
	if f.typed && f.kinds&^kNull != kObject || !f.typed && f.shape() != kObject {
		return false
	}
	return len(f.props) > 0 || len(f.patterns) > 0 || len(f.addl) > 0 || f.closed
}

// collectBranch reads an alternative together with what holds beside it.
func (w *walker) collectBranch(base *facts, branch *node) *facts {
	f := &facts{kinds: kAll, skip: maps.Clone(base.skip)}
	if f.skip == nil {
		f.skip = map[*schemadoc.Value]bool{}
	}
	for _, g := range base.unions {
		f.skip[g.owner.v] = true
	}
	c := collector{w: w, f: f}
	for _, n := range base.nodes {
		c.read(n)
	}
	c.read(branch)
	f.settle(w)
	return f
}

// severalKinds is the type of values of several named kinds.
func (w *walker) severalKinds(kinds kindSet, f *facts, p place, e *entry) typed {
	return w.unify(split(kinds, f), false, p, e)
}

// alternatives is the type of a member that only branches declare.
func (w *walker) alternatives(alts [][]*node, p place) typed {
	x := expander{w: w, seen: map[*schemadoc.Value]bool{}, done: map[*schemadoc.Value]bool{}}
	for _, a := range alts {
		x.add(w.collect(a), a)
		if x.any || w.err != nil {
			return typed{t: &goType{kind: anyType}}
		}
	}
	if len(x.parts) == 0 {
		return typed{t: &goType{kind: anyType}}
	}
	r := w.unify(x.parts, x.null, p, &entry{level: w.level, place: p})
	if w.g.opts.Extras == ExtrasKeep && !takesAll(r.t) {
		// Where the branch does not apply, the member may be anything.
		return typed{t: &goType{kind: orOf, elem: presence(r, true)}}
	}
	return r
}

// takesAll reports whether a type holds every JSON value.
func takesAll(t *goType) bool {
	return t.kind == anyType || t.kind == orOf || t.kind == namedType && t.decl.kind == unionDecl
}

// moreMembers finds the members that only branches of an object declare.
func (w *walker) moreMembers(f *facts) map[string][][]*node {
	if f.closed || len(f.unions) == 0 && len(f.cond) == 0 {
		return nil
	}
	more := map[string][][]*node{}
	seen := map[*node]bool{}
	var visit func(g *facts)
	visit = func(g *facts) {
		var branches []*node
		for _, u := range g.unions {
			branches = append(branches, u.branches...)
		}
		for _, b := range append(branches, g.cond...) {
			if seen[b] || w.err != nil {
				continue
			}
			seen[b] = true
			bf := w.collect([]*node{b})
			for name, pr := range bf.props {
				if f.props[name] == nil && !pr.never && !w.neverProp(pr) {
					more[name] = append(more[name], pr.nodes)
				}
			}
			visit(bf)
		}
	}
	visit(f)
	return more
}

// unify decides on the type of alternatives.
func (w *walker) unify(parts []part, null bool, p place, e *entry) typed {
	e.null = null
	var strs, nums, bools, arrays, objects []part
	for _, x := range parts {
		switch {
		case x.kind == kBool:
			bools = append(bools, x)
		case x.kind == kString:
			strs = append(strs, x)
		case x.kind&^kNumber == 0:
			nums = append(nums, x)
		case x.kind == kArray:
			arrays = append(arrays, x)
		default:
			objects = append(objects, x)
		}
	}
	arrays, objects = w.distinct(arrays), w.distinct(objects)
	scalars := [][]part{bools, nums, strs}
	count := len(arrays) + len(objects)
	for _, s := range scalars {
		count += min(len(s), 1)
	}
	switch count {
	case 0:
		return typed{t: &goType{kind: nullType}}
	case 1:
		for _, s := range scalars {
			if len(s) > 0 {
				return typed{w.scalar(s, p, e), null}
			}
		}
		r := w.partType(append(arrays, objects...)[0], p, e)
		r.null = r.null || null
		return r
	}
	d := w.declare(unionDecl, p)
	e.decl = d
	fields := newScope("Raw", "MarshalJSON", "UnmarshalJSON", "Validate")
	add := func(label string, x part, t *goType) {
		if label == "" || !fields.take(label) {
			label += "X" + shortHash(contract(x))
			for !fields.take(label) {
				label += "X"
			}
		}
		d.fields = append(d.fields, field{name: label, role: variantField, typ: presence(typed{t: t}, false), doc: docOf(x.nodes...)})
	}
	at := func(label string) place {
		return place{name: d.name + label, key: mix(p.key, "/"+label), of: "[" + d.name + "." + label + "]"}
	}
	for i, label := range objectLabels(objects) {
		x := objects[i]
		r := w.partType(x, at(label), &entry{level: w.level, place: at(label)})
		add(label, x, r.t)
	}
	for i, label := range arrayLabels(w, arrays) {
		x := arrays[i]
		r := w.partType(x, at(label), &entry{level: w.level, place: at(label)})
		add(label, x, r.t)
	}
	for _, s := range scalars {
		if len(s) == 0 {
			continue
		}
		label := "String"
		switch {
		case s[0].kind == kBool:
			label = "Bool"
		case s[0].kind&kNumber != 0:
			label = "Number"
		}
		t := w.scalar(s, at(label), &entry{level: w.level, place: at(label)})
		x := s[0]
		if t.kind == intType {
			label = "Integer"
		}
		add(label, x, t)
	}
	slices.SortFunc(d.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	d.fields = append(d.fields, field{name: "Raw", role: rawField, typ: &goType{kind: anyType}})
	return typed{&goType{kind: namedType, decl: d}, null}
}

// partType is the type of one alternative that is an array or an object.
func (w *walker) partType(x part, p place, e *entry) typed {
	if x.nodes != nil && len(x.f.unions) == 0 {
		r := w.typeOf(x.nodes, p)
		if r.t.kind == orOf {
			r.t = r.t.elem // the union around it takes every other value
		}
		return r
	}
	if x.f.hasEnum {
		return w.enum(x.f, p, e)
	}
	return w.ofKind(x.kind, x.f, p, e, p.name == w.root)
}

// scalar is the type of alternatives that are all strings, all numbers or all
// booleans.
func (w *walker) scalar(parts []part, p place, e *entry) *goType {
	merged := *parts[0].f
	if len(parts) == 1 && parts[0].nodes != nil {
		if r := w.typeOf(parts[0].nodes, p); !r.null && r.t.kind != orOf {
			return r.t
		}
	}
	kind := kindSet(0)
	open := false
	merged.enum = nil
	for _, x := range parts {
		kind |= x.kind
		if x.f.hasEnum {
			merged.enum = append(merged.enum, x.f.enum...)
		} else {
			open = true
		}
		if merged.format != x.f.format {
			merged.format = ""
		}
		if merged.minimum != nil && (x.f.minimum == nil || x.f.minimum.Cmp(merged.minimum) < 0) {
			merged.minimum = x.f.minimum
		}
		if merged.maximum != nil && (x.f.maximum == nil || x.f.maximum.Cmp(merged.maximum) > 0) {
			merged.maximum = x.f.maximum
		}
	}
	if len(merged.enum) > 0 && (!open || kind == kString) {
		merged.hasEnum = true
		r := w.enum(&merged, p, e)
		if open && r.t.kind == namedType {
			r.t.decl.open = true
		}
		return r.t
	}
	k := kind
	if len(parts) > 0 && kind&kNumber != 0 && !open {
		k = kNumber
	}
	return w.ofKind(k, &merged, p, e, false).t
}

// distinct leaves out alternatives whose type is there already: the target of
// the same reference, or one more object or array of which nothing is said.
func (w *walker) distinct(parts []part) []part {
	targets := map[*node]bool{}
	free := false
	return slices.DeleteFunc(parts, func(x part) bool {
		if bare(x.f, x.kind) {
			had := free
			free = true
			return had
		}
		if x.nodes == nil {
			return false
		}
		n := w.follow(x.nodes, new(place))
		if len(n) != 1 {
			return false
		}
		had := targets[n[0]]
		targets[n[0]] = true
		return had
	})
}

func bare(f *facts, k kindSet) bool {
	if f.hasEnum {
		return false
	}
	if k == kArray {
		return len(f.arrays) == 0
	}
	return len(f.props) == 0 && len(f.patterns) == 0 && len(f.addl) == 0 && !f.closed && len(f.unions) == 0 && len(f.required) == 0
}

// contract is the text that tells one alternative from another.
func contract(x part) string {
	var b []byte
	for _, n := range x.f.nodes {
		b = n.v.AppendContract(b)
	}
	return string(b)
}

// objectLabels names alternatives that are objects: by the constant that tells
// them apart, else by the definition that they refer to, else by a member that
// only they require.
func objectLabels(parts []part) []string {
	out := make([]string, len(parts))
	if len(parts) == 0 {
		return nil
	}
	if len(parts) == 1 {
		out[0] = "Object"
		if n := defName(parts[0]); n != "" {
			out[0] = n
		}
		return out
	}
	key := discriminator(parts)
	for i, x := range parts {
		if key != "" {
			out[i] = exported(goName(constOf(x.f, key)), "N")
		}
		if out[i] == "" {
			out[i] = defName(x)
		}
	}
	required, declared := map[string]int{}, map[string]int{}
	for _, x := range parts {
		for n := range x.f.required {
			required[n]++
		}
		for n := range x.f.props {
			declared[n]++
		}
	}
	for i, x := range parts {
		if out[i] != "" {
			continue
		}
		if out[i] = exported(goName(lone(x.f.required, required)), "N"); out[i] == "" {
			out[i] = exported(goName(lone(x.f.props, declared)), "N")
		}
		if out[i] == "" {
			out[i] = "Object" + "X" + shortHash(contract(x))
		}
	}
	return unique(out, parts)
}

// lone is the first of an alternative's members that no other one has.
func lone[T any](members map[string]T, count map[string]int) string {
	best := ""
	for n := range members {
		// A member without a name cannot give one.
		if n != "" && count[n] == 1 && (best == "" || n < best) {
			best = n
		}
	}
	return best
}

// unique adds a hash to labels that are not.
func unique(labels []string, parts []part) []string {
	count := map[string]int{}
	for _, l := range labels {
		count[l]++
	}
	for i, l := range labels {
		if count[l] > 1 {
			labels[i] += "X" + shortHash(contract(parts[i]))
		}
	}
	return labels
}

// defName is the name of the definition that an alternative refers to.
func defName(x part) string {
	if len(x.nodes) != 1 {
		return ""
	}
	ref := x.nodes[0].v.Get("$ref").Str()
	i := max(strings.LastIndex(ref, "/$defs/"), strings.LastIndex(ref, "/definitions/"))
	if i < 0 {
		return ""
	}
	name := ref[i+1:]
	name = name[strings.IndexByte(name, '/')+1:]
	if strings.Contains(name, "/") {
		return ""
	}
	s, _ := unescapePointer(name)
	return exported(goName(s), "N")
}

// discriminator is the member whose constant tells all alternatives apart.
func discriminator(parts []part) string {
	var keys []string
	for n := range parts[0].f.props {
		keys = append(keys, n)
	}
	slices.Sort(keys)
	for _, k := range keys {
		seen := map[string]bool{}
		for _, x := range parts {
			c := constOf(x.f, k)
			if c == "" || seen[c] {
				break
			}
			seen[c] = true
		}
		if len(seen) == len(parts) {
			return k
		}
	}
	return ""
}

// constOf is the only value of a member, where it is a string.
func constOf(f *facts, name string) string {
	p := f.props[name]
	if p == nil {
		return ""
	}
	for _, n := range p.nodes {
		if c := n.v.Get("const"); c.Is(schemadoc.String) {
			return c.Text
		}
		if e := n.v.Get("enum"); e.Is(schemadoc.Array) && len(e.Items) == 1 && e.Items[0].Is(schemadoc.String) {
			return e.Items[0].Text
		}
	}
	return ""
}

// arrayLabels names alternatives that are arrays, by their items where there
// are several.
func arrayLabels(w *walker, parts []part) []string {
	out := make([]string, len(parts))
	for i, x := range parts {
		out[i] = "Array"
		if len(parts) == 1 {
			break
		}
		for _, a := range x.f.arrays {
			if a.items == nil || w.err != nil {
				continue
			}
			switch f := w.collect([]*node{a.items}); f.kinds {
			case kString:
				out[i] = "StringArray"
			case kInt, kNumber:
				out[i] = "NumberArray"
			case kBool:
				out[i] = "BoolArray"
			case kObject:
				out[i] = "ObjectArray"
			case kArray:
				out[i] = "ArrayArray"
			}
		}
	}
	return unique(out, parts)
}
