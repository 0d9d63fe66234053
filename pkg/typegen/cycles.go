package typegen

import (
	"slices"
	"strings"
)

// finishDecls sorts declarations and breaks values that would contain
// themselves.
func finishDecls(p *pkg) {
	breakValueCycles(p.decls)
	slices.SortFunc(p.decls, func(a, b *decl) int { return strings.Compare(a.name, b.name) })
}

// breakValueCycles puts a pointer wherever a struct would contain itself.
// Every field of such a circle gets one, so that it does not matter where one
// starts.
func breakValueCycles(decls []*decl) {
	index := map[*decl]int{}
	low := map[*decl]int{}
	comp := map[*decl]int{}
	var stack []*decl
	n, comps := 0, 0
	var visit func(d *decl)
	visit = func(d *decl) {
		n++
		index[d], low[d] = n, n
		stack = append(stack, d)
		for e := range held(d) {
			if index[e] == 0 {
				visit(e)
				low[d] = min(low[d], low[e])
			} else if comp[e] == 0 {
				low[d] = min(low[d], index[e])
			}
		}
		if low[d] == index[d] {
			comps++
			for {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				comp[top] = comps
				if top == d {
					break
				}
			}
		}
	}
	for _, d := range decls {
		if index[d] == 0 {
			visit(d)
		}
	}
	for _, d := range decls {
		for i := range d.fields {
			d.fields[i].typ = pointTo(d.fields[i].typ, d, comp)
		}
	}
}

// held yields the declarations whose values are part of d's values.
func held(d *decl) map[*decl]bool {
	out := map[*decl]bool{}
	add := func(t *goType) {
		for t != nil {
			switch t.kind {
			case namedType:
				out[t.decl] = true
				return
			case nullOf, optOf, orOf:
				t = t.elem
			default:
				return
			}
		}
	}
	for _, f := range d.fields {
		add(f.typ)
	}
	if d.kind == definedDecl {
		add(d.base)
	}
	return out
}

func pointTo(t *goType, in *decl, comp map[*decl]int) *goType {
	switch t.kind {
	case namedType:
		if comp[t.decl] == comp[in] && heldBy(t.decl, in) {
			return &goType{kind: ptrTo, elem: t}
		}
	case nullOf, optOf, orOf:
		if e := pointTo(t.elem, in, comp); e != t.elem {
			return &goType{kind: t.kind, elem: e}
		}
	}
	return t
}

// heldBy reports whether two declarations of one component really form a
// circle: a component of one needs to hold itself.
func heldBy(d, in *decl) bool {
	if d != in {
		return true
	}
	return held(in)[in]
}
