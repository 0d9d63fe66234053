package typegen

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// walker decides which Go types hold the values of one schema document.
type walker struct {
	g      *generator
	server string
	tool   string
	side   Side
	doc    *document
	names  *scope
	root   string // name of the root type

	entries map[*schemadoc.Value]*entry
	merged  map[string]*entry
	decls   []*decl
	level   int // structural steps from the root to here
	work    int // schemas read and fields made, which may be many times those that there are
	err     *Error
}

// entry remembers the type of a schema, so that references share it and
// recursion ends.
type entry struct {
	res   typed
	done  bool
	level int
	null  bool // null is among the values; known before the type is
	decl  *decl
	place place
}

// typed is a type and whether null is a value beside its own.
type typed struct {
	t    *goType
	null bool
}

// place is where a type is needed: what a declaration made there is called.
type place struct {
	name string // proposed name
	key  uint64 // hash of where it is, for names that are taken
	of   string // what it belongs to, for the comment
	doc  doc
}

// part is the place of something inside of what is at p.
func (p place) part(name, raw, what string) place {
	c := place{name: p.name + name, key: mix(p.key, raw)}
	if p.of != "" {
		c.of = what + " " + p.of
	}
	return c
}

// tooled is the model of one side of a tool.
type tooled struct {
	root  *decl
	decls []*decl
}

// side builds the model of one schema.
func (g *generator) side(names *scope, server string, t catalog.Tool, side Side, rootName string) (tooled, error) {
	raw := t.InputSchema
	if side == Output {
		raw = t.OutputSchema
	}
	w := &walker{
		g: g, server: server, tool: t.Name, side: side, names: names, root: rootName,
		entries: map[*schemadoc.Value]*entry{}, merged: map[string]*entry{},
	}
	names.used[rootName] = false // reserved for exactly this
	lead := "the arguments of the tool " + quoteText(t.Name)
	if side == Output {
		lead = "the structured result of the tool " + quoteText(t.Name)
	}
	rootDoc := doc{lead: "is " + lead + "."}
	if side == Input {
		rootDoc.lead = "holds " + lead + "."
	}
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	v, refused := g.budget.admit(raw)
	if refused == nil {
		w.doc, refused = newDocument(v, g.budget.Budgets)
	}
	if refused != nil {
		if refused.fatal && (!g.opts.Widen || refused.code == CodeNotJSON) {
			return tooled{}, w.errorAt("", refused.code, refused.reason)
		}
		g.note(w.diag(Warning, "", refused.code, "", refused.reason))
		d := w.rawRoot(rootDoc)
		return tooled{root: d, decls: w.decls}, nil
	}
	if n := w.doc.deep; n != nil {
		reason := "subschemas nest deeper than " + itoa(g.budget.Depth) + " levels"
		if !g.opts.Widen {
			return tooled{}, w.errorAt(n.pointer(), CodeDepth, reason)
		}
		g.note(w.diag(Warning, n.pointer(), CodeDepth, "", reason+", so any value is taken from here on"))
	}
	if w.doc.unknown != "" {
		g.note(w.diag(Warning, "", CodeDialect, "$schema", "the dialect is not known, so the schema is read as 2020-12"))
	}
	d := w.rootDecl(rootDoc)
	if w.err != nil {
		return tooled{}, w.err
	}
	if !g.opts.NoValidate {
		d.schema = string(v.AppendContract(nil))
		d.output = side == Output
	}
	return tooled{root: d, decls: w.decls}, nil
}

func (w *walker) diag(s Severity, ptr, code, keyword, reason string) Diagnostic {
	return Diagnostic{s, code, w.server, w.tool, w.side, ptr, clipText(keyword, 60), reason}
}

func (w *walker) warn(n *node, code, keyword, reason string) {
	w.g.note(w.diag(Warning, n.pointer(), code, keyword, reason))
}

func (w *walker) runtimeNote(n *node, keyword string) {
	w.g.note(w.diag(Note, n.pointer(), CodeRuntime, keyword, keyword+" is no part of the type and is checked at run time"))
}

func (w *walker) errorAt(ptr, code, reason string) *Error {
	return &Error{Code: code, Server: clipText(w.server, 120), Tool: clipText(w.tool, 120), Side: w.side, Pointer: ptr, Reason: reason}
}

// fail ends the run, or widens where the options say so.
func (w *walker) fail(n *node, code, keyword, reason string) {
	if w.g.opts.Widen {
		w.warn(n, code, keyword, reason+", so any value is taken")
		return
	}
	if w.err == nil {
		w.err = w.errorAt(n.pointer(), code, reason)
	}
}

func (w *walker) cycle(n *node) {
	w.fail(n, CodeRefCycle, "", "references and combinators lead back here without a member or item in between")
}

// target resolves a reference that stands in n. It returns nil where there is
// nothing to read; what that means has been reported.
func (w *walker) target(n *node, keyword string, ref *schemadoc.Value) *node {
	if !ref.Is(schemadoc.String) {
		w.warn(n, CodeMalformed, keyword, keyword+" is no string, so it is ignored")
		return nil
	}
	var t *node
	var outcome refOutcome
	switch keyword {
	case "$dynamicRef":
		var single bool
		if t, outcome, single = w.doc.dynamicTarget(n, ref.Text); !single {
			w.warn(n, CodeDynamicRef, keyword, "the dynamic reference has several targets, so any value is taken")
			return nil
		}
	default:
		t, outcome = w.doc.resolve(n, ref.Text)
	}
	switch outcome {
	case refExternal:
		w.warn(n, CodeExternalRef, keyword, "the reference leads to another document, which is never fetched, so any value is taken")
		return nil
	case refMissing:
		w.fail(n, CodeUnresolvedRef, keyword, "the reference "+quoteText(ref.Text)+" leads to no schema")
		return nil
	}
	return t
}

// sub is the node of a subschema of n.
func (w *walker) sub(n *node, v *schemadoc.Value, keyword, name string) *node {
	if s := w.doc.nodes[v]; s != nil {
		return s
	}
	// The index ends at what is too deep; this is only ever a place below.
	step := "/" + schemadoc.EscapePointer(keyword)
	if name != "" {
		step += "/" + schemadoc.EscapePointer(name)
	}
	s := n.child(v, step)
	s.names, s.tooDeep = n.names, v.Is(schemadoc.Object)
	w.doc.nodes[v] = s
	return s
}

// rawRoot declares a root type for any value.
func (w *walker) rawRoot(d doc) *decl {
	r := w.declare(rawDecl, place{name: w.root, doc: d})
	r.root = true
	return r
}

// rootDecl declares the root type. Whatever the schema says, it is a type of
// that name with room for methods.
func (w *walker) rootDecl(d doc) *decl {
	p := place{name: w.root, doc: d}
	own := docOf(w.doc.root)
	p.doc.text, p.doc.deprecated = own.text, own.deprecated
	f := w.collect([]*node{w.doc.root})
	var r *decl
	res := w.fromFacts(f, p, &entry{level: w.level, place: p}, true)
	switch {
	case w.err != nil:
		return nil
	case res.t.kind == namedType && res.t.decl.name == w.root && !res.null:
		r = res.t.decl
	case res.t.kind == anyType:
		r = w.rawRoot(p.doc)
	default:
		if res.t.kind == namedType && res.t.decl.name == w.root {
			// Null beside it makes the root a wrapper, which needs the name.
			res.t.decl.name = w.names.fresh(w.root + "Value")
			res.t.decl.doc = doc{lead: "is the value of [" + w.root + "]."}
			w.names.used[w.root] = false
		}
		r = w.declare(definedDecl, p)
		r.base = presence(res, true)
	}
	r.root = true
	return r
}

// declare makes a declaration. A taken name gets a hash of the place: what is
// declared elsewhere keeps its name.
func (w *walker) declare(kind declKind, p place) *decl {
	name := clipIdent(p.name)
	if !w.names.take(name) {
		was := name
		name += "X" + shortHash(w.root+" "+p.name+" "+strconv.FormatUint(p.key, 36))
		for !w.names.take(name) {
			name += "X"
		}
		w.g.note(w.diag(Warning, "", CodeCollision, "", "the Go name "+was+" is taken, so a type is named "+name))
	}
	d := &decl{kind: kind, name: name, doc: p.doc}
	if p.of != "" && d.doc.lead == "" {
		d.doc.lead = "is the type of " + p.of + "."
	}
	w.decls = append(w.decls, d)
	return d
}

// tired reports whether the budget of work is used up. Schemas that combine
// others in ever new ways can ask for exponentially many types.
func (w *walker) tired() bool {
	if w.work <= w.g.budget.Work {
		return false
	}
	w.g.note(w.diag(Warning, "", CodeBudgetOutput, "", "the schema combines into more than "+thousands(w.g.budget.Work)+" schemas and members, so any value is taken in the rest"))
	return true
}

// typeOf decides on the type of what nodes say together.
func (w *walker) typeOf(nodes []*node, p place) typed {
	if w.err != nil || w.tired() {
		return typed{t: &goType{kind: anyType}}
	}
	nodes = w.follow(nodes, &p)
	if len(nodes) == 0 {
		return typed{t: &goType{kind: anyType}}
	}
	e, fresh := w.entry(nodes)
	if !fresh {
		switch {
		case e.done:
			return e.res
		case e.level == w.level:
			w.cycle(nodes[0])
			return typed{t: &goType{kind: anyType}}
		case e.decl == nil:
			e.decl = w.declare(definedDecl, e.place)
		}
		return typed{&goType{kind: namedType, decl: e.decl}, e.null}
	}
	e.level, e.place = w.level, p
	e.res = w.fromFacts(w.collect(nodes), p, e, false)
	if e.decl != nil && e.decl.kind == definedDecl && e.decl.base == nil {
		e.decl.base = e.res.t
		e.res.t = &goType{kind: namedType, decl: e.decl}
	}
	e.done = true
	return e.res
}

// follow replaces a schema that is nothing but a reference by its target,
// whose own place then names the type.
func (w *walker) follow(nodes []*node, p *place) []*node {
	if len(nodes) > 1 {
		nodes = slices.Clone(nodes)
		slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(a.key, b.key) })
		nodes = slices.CompactFunc(nodes, func(a, b *node) bool { return a.v == b.v })
		nodes = slices.DeleteFunc(nodes, func(n *node) bool { return trivial(n.v) })
	}
	var seen map[*node]bool
	for len(nodes) == 1 {
		n := nodes[0]
		ref := n.v.Get("$ref")
		keyword := "$ref"
		if ref == nil && n.res.dialect != draft07 {
			if ref = n.v.Get("$dynamicRef"); ref != nil {
				keyword = "$dynamicRef"
			}
		}
		if ref == nil || n.tooDeep || !onlyReference(n, keyword) {
			break
		}
		if seen[n] {
			w.cycle(n)
			return nil
		}
		if seen == nil {
			seen = map[*node]bool{}
		}
		seen[n] = true
		t := w.target(n, keyword, ref)
		if t == nil {
			return nil
		}
		own := docOf(t)
		if def := t.definition(); def != "" {
			own.lead = "is the definition " + quoteText(def) + "."
		}
		*p = place{name: w.placeName(t), key: t.key, doc: own}
		nodes = []*node{t}
	}
	return nodes
}

// placeName is the name of a type at a node's own place in the document.
func (w *walker) placeName(n *node) string {
	name := w.root
	for _, s := range n.names {
		part := goName(s)
		if part == "" {
			part = cmp.Or(spelledName(s), "X"+shortHash(s))
		}
		name = clipIdent(name + part)
	}
	return name
}

// trivial reports whether a schema allows everything and says nothing.
func trivial(v *schemadoc.Value) bool {
	switch v.Kind {
	case schemadoc.Bool:
		return v.Bool
	case schemadoc.Object:
		for _, m := range v.Members {
			if !schemadoc.IsAnnotation(m.Name) {
				return false
			}
		}
		return true
	}
	return false
}

// onlyReference reports whether nothing that matters stands beside a
// reference.
func onlyReference(n *node, keyword string) bool {
	if n.res.dialect == draft07 && keyword == "$ref" {
		return true
	}
	for _, m := range n.v.Members {
		switch {
		case m.Name == keyword, schemadoc.IsAnnotation(m.Name):
		case m.Name == "$defs", m.Name == "definitions", m.Name == "$schema", m.Name == "$id", m.Name == "$anchor":
		default:
			return false
		}
	}
	return true
}

// entry finds or makes the memory of a set of schemas.
func (w *walker) entry(nodes []*node) (e *entry, fresh bool) {
	if len(nodes) == 1 {
		if e = w.entries[nodes[0].v]; e != nil {
			return e, false
		}
		e = &entry{}
		w.entries[nodes[0].v] = e
		return e, true
	}
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(strconv.FormatUint(n.key, 36))
		b.WriteByte(' ')
	}
	if e = w.merged[b.String()]; e != nil {
		return e, false
	}
	e = &entry{}
	w.merged[b.String()] = e
	return e, true
}

// inside runs f one structural step further down.
func (w *walker) inside(f func() typed) typed {
	w.level++
	defer func() { w.level-- }()
	return f()
}

// fromFacts decides on the type of facts. root is set for the root schema,
// which is always a type of its own.
func (w *walker) fromFacts(f *facts, p place, e *entry, root bool) typed {
	if w.err != nil || (f.wide && !f.says()) {
		return typed{t: &goType{kind: anyType}}
	}
	if f.never {
		if len(f.nodes) > 0 && !isFalse(f.nodes[len(f.nodes)-1].v) && !isFalse(f.nodes[0].v) {
			w.warn(f.nodes[0], CodeContradiction, "", "no value can satisfy this schema, so any is taken and refused at run time")
		}
		return typed{t: &goType{kind: anyType}}
	}
	if f.hasEnum {
		return w.enum(f, p, e)
	}
	null := f.kinds&kNull != 0 && f.typed
	if len(f.unions) > 0 && !f.describesObject() {
		if res, ok := w.union(f, p, e); ok {
			return res
		}
	}
	kinds := f.kinds &^ kNull
	if !f.typed {
		shape := f.shape()
		switch shape {
		case kObject, kArray:
			e.null = false
			res := w.ofKind(shape, f, p, e, root)
			if w.g.opts.Extras == ExtrasKeep && !root {
				// The keywords speak of one kind of value and let every other
				// pass.
				res.t = &goType{kind: orOf, elem: res.t}
			}
			return res
		}
		return typed{t: &goType{kind: anyType}}
	}
	e.null = null
	if kinds == 0 {
		return typed{t: &goType{kind: nullType}}
	}
	if k, one := oneKind(kinds); one {
		res := w.ofKind(k, f, p, e, root)
		res.null = null
		return res
	}
	if kinds == kAll&^kNull {
		return typed{t: &goType{kind: anyType}}
	}
	res := w.severalKinds(kinds, f, p, e)
	res.null = res.null || null
	return res
}

func isFalse(v *schemadoc.Value) bool { return v.Is(schemadoc.Bool) && !v.Bool }

// oneKind reports whether one Go type holds all kinds of the set.
func oneKind(k kindSet) (kindSet, bool) {
	switch k {
	case kBool, kInt, kFrac, kNumber, kString, kArray, kObject:
		return k, true
	}
	return 0, false
}

// presence is the type of a place that holds t: whether it may be absent and
// whether null is a value decide.
func presence(r typed, required bool) *goType {
	if r.t.kind == anyType {
		return r.t // null is one of its values, absent is nil
	}
	switch {
	case required && r.null:
		return &goType{kind: nullOf, elem: r.t}
	case required:
		return r.t
	case r.null || r.t.kind == nullType:
		return &goType{kind: optOf, elem: r.t}
	}
	switch base := underlying(r.t); base {
	case sliceType, mapType:
		return r.t
	}
	return &goType{kind: ptrTo, elem: r.t}
}

// underlying looks through defined types.
func underlying(t *goType) goKind {
	for range 64 {
		if t.kind != namedType || t.decl.kind != definedDecl {
			return t.kind
		}
		if t.decl.base == nil {
			return sliceType // still being decided; only slices and maps recurse so
		}
		t = t.decl.base
	}
	return anyType
}

// reservedFields are the fields and methods that generated structs have
// anyway.
var reservedFields = []string{"Extras", "Rest", "Raw", "Validate", "MarshalJSON", "UnmarshalJSON", "IsZero", "Valid"}
