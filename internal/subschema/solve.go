package subschema

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// status is what is known about the values of a set of formulas.
type status uint8

const (
	unknown status = iota
	sat
	unsat
)

// result is a status with a value, or with the reason why it is not known.
// A satisfiable set may come without a value: see [Space.assume].
type result struct {
	st  status
	w   *schemadoc.Value
	why string
}

var (
	none     = result{st: unsat}
	noBudget = result{why: "the schemas are too large or too entangled to be compared within the budget"}
)

// maxDepth bounds the nesting of a value that is looked for.
const maxDepth = 200

// solver answers one question. Open goals are those that are being answered:
// one that comes up again as a part of itself has no value there that a
// smallest value would need.
type solver struct {
	*Space
	open map[string]int
	// lowest is the outermost open goal that was taken for unsatisfiable
	// since the present one began.
	lowest int
	depth  int
}

const noGoal = int(^uint(0) >> 1)

func (s *Space) find(lits []lit) result {
	sv := &solver{Space: s, open: make(map[string]int), lowest: noGoal}
	return sv.solve(lits)
}

// normal sorts literals and removes repetitions. It reports false if they
// contradict each other outright.
func normal(lits []lit) ([]lit, bool) {
	lits = slices.Clone(lits)
	lits = slices.DeleteFunc(lits, func(l lit) bool { return l.f.op == opTrue && !l.neg || l.f.op == opFalse && l.neg })
	slices.SortFunc(lits, func(a, b lit) int { return a.code() - b.code() })
	lits = slices.Compact(lits)
	for i, l := range lits {
		if l.f.op == opFalse || l.f.op == opTrue {
			return nil, false
		}
		if i > 0 && lits[i-1].f == l.f {
			return nil, false
		}
	}
	return lits, true
}

func goalKey(lits []lit) string {
	b := make([]byte, 0, 3*len(lits))
	for _, l := range lits {
		b = binary.AppendUvarint(b, uint64(l.code()))
	}
	return string(b)
}

// order is the order in which kinds are tried: it decides which value is
// shown where several would do.
var order = []schemadoc.Kind{schemadoc.String, schemadoc.Number, schemadoc.Bool, schemadoc.Object, schemadoc.Array, schemadoc.Null}

// solve looks for a value that satisfies all literals.
func (s *solver) solve(given []lit) result {
	lits, ok := normal(given)
	if !ok {
		return none
	}
	if !s.spend(2 + len(lits)) {
		return noBudget
	}
	k := goalKey(lits)
	if r, ok := s.memo[k]; ok {
		return s.assume(lits, r)
	}
	if at, ok := s.open[k]; ok {
		s.lowest = min(s.lowest, at)
		return none
	}
	if s.depth == maxDepth {
		return result{why: "the schemas are nested too deep to be compared"}
	}
	before, here := s.lowest, s.depth
	s.lowest = noGoal
	s.open[k] = here
	s.depth++
	r := none
	for _, kind := range order {
		answer := s.kind(kind, lits)
		if answer.st == sat {
			r = answer
			break
		}
		if answer.st == unknown {
			r = answer
		}
	}
	s.depth--
	delete(s.open, k)
	// What hangs on an outer goal holds only while that is open.
	if s.steps > 0 && (r.st == sat || s.lowest >= here) {
		s.memo[k] = r
	}
	if s.lowest >= here {
		s.lowest = noGoal
	}
	s.lowest = min(s.lowest, before)
	return s.assume(lits, r)
}

// assume takes a part that stands by itself in one schema, and is not
// modelled, as satisfiable: nobody writes a member that must be there and can
// have no value. Without it a single pattern with look-ahead would hide every
// change beside it. There is no value to show then.
func (s *solver) assume(lits []lit, r result) result {
	if r.st == unknown && s.depth > 0 && len(lits) == 1 && !lits[0].neg && s.steps > 0 {
		return result{st: sat}
	}
	return r
}

// branch is a conjunction that is being taken apart, for values of one kind.
type branch struct {
	kind  schemadoc.Kind
	outer *branch      // what it goes on from, if that is shared
	has   map[int]bool // codes of the literals that are in it, and not in outer
	depth int
	atoms []lit
	ors   [][]lit
}

// clone returns a branch that goes on from b, which must not change any more.
func (b *branch) clone() *branch {
	const most = 12 // links to follow in a look-up
	c := &branch{kind: b.kind, outer: b, depth: b.depth + 1, has: make(map[int]bool), atoms: slices.Clip(b.atoms), ors: slices.Clone(b.ors)}
	if c.depth > most {
		for o := b; o != nil; o = o.outer {
			maps.Copy(c.has, o.has)
		}
		c.outer, c.depth = nil, 0
	}
	return c
}

func (b *branch) contains(l lit) bool {
	code := l.code()
	for ; b != nil; b = b.outer {
		if b.has[code] {
			return true
		}
	}
	return false
}

// add takes a literal into the conjunction. It reports false if that became
// contradictory.
func (b *branch) add(l lit) bool {
	switch l.underKind(b.kind) {
	case yes:
		return true
	case no:
		return false
	}
	if b.contains(l.not()) {
		return false
	}
	if b.contains(l) {
		return true
	}
	b.has[l.code()] = true
	switch f := l.f; f.op {
	case opFormat:
		if l.neg {
			return false
		}
	case opNot, opRec:
		return b.add(lit{f.kids[0], l.neg != (f.op == opNot)})
	case opAnd, opOr:
		if (f.op == opAnd) != l.neg {
			for _, k := range f.kids {
				if !b.add(lit{k, l.neg}) {
					return false
				}
			}
			return true
		}
		var or []lit
		for _, k := range f.kids {
			d := lit{k, l.neg}
			switch d.underKind(b.kind) {
			case yes:
				return true
			case maybe:
				or = append(or, d)
			}
		}
		return b.addOr(or)
	}
	b.atoms = append(b.atoms, l)
	return true
}

func (b *branch) addOr(or []lit) bool {
	switch len(or) {
	case 0:
		return false
	case 1:
		return b.add(or[0])
	}
	b.ors = append(b.ors, or)
	return true
}

// kind looks for a value of one kind.
func (s *solver) kind(k schemadoc.Kind, lits []lit) result {
	b := &branch{kind: k, has: make(map[int]bool)}
	for _, l := range lits {
		if !b.add(l) {
			return none
		}
	}
	return s.search(b)
}

// holds tells whether a value satisfies all that a branch says.
func (s *solver) holds(b *branch, v *schemadoc.Value) tri {
	t := yes
	for _, a := range b.atoms {
		switch s.evalLit(a, v) {
		case no:
			return no
		case maybe:
			t = maybe
		}
	}
	for _, or := range b.ors {
		any := no
		for _, d := range or {
			if r := s.evalLit(d, v); r == yes {
				any = yes
				break
			} else if r == maybe {
				any = maybe
			}
		}
		if any == no {
			return no
		}
		if any == maybe {
			t = maybe
		}
	}
	return t
}

// among tries the values of a finite set.
func (s *solver) among(b *branch, f *formula) result {
	r := none
	for _, v := range f.sortedEnum() {
		if v.Kind != b.kind {
			continue
		}
		switch s.holds(b, v) {
		case yes:
			return result{st: sat, w: v}
		case maybe:
			r = s.undecided(b)
		}
	}
	return r
}

// undecided says what a branch has that is not modelled.
func (s *solver) undecided(b *branch) result {
	if s.steps <= 0 {
		return noBudget
	}
	for _, a := range b.atoms {
		if a.f.op == opOpaque {
			return result{why: a.f.reason}
		}
	}
	for _, or := range b.ors {
		for _, d := range or {
			if d.f.op == opOpaque {
				return result{why: d.f.reason}
			}
		}
	}
	return result{why: patternReason}
}

// search looks for a value of a branch.
func (s *solver) search(b *branch) result {
	if !s.spend(1 + len(b.atoms) + 2*len(b.ors)) {
		return noBudget
	}
	var finite *formula
	for _, a := range b.atoms {
		if a.f.op == opEnum && !a.neg && (finite == nil || len(a.f.enum) < len(finite.enum)) {
			finite = a.f
		}
	}
	if finite != nil {
		return s.among(b, finite)
	}
	r := s.theory(b)
	if r.st == unsat || len(b.ors) == 0 {
		return r
	}
	if r.w != nil && size(r.w, maxWitness) <= maxWitness && s.holds(b, r.w) == yes {
		return r
	}
	if len(b.ors) > 1 {
		if reduced, r := s.reduce(b); reduced == nil {
			return r
		} else if len(reduced.ors) < len(b.ors) {
			return s.search(reduced)
		} else {
			b = reduced
		}
	}
	return s.split(b)
}

// split tries the alternatives of the shortest disjunction.
func (s *solver) split(b *branch) result {
	at := 0
	for i, or := range b.ors {
		if len(or) < len(b.ors[at]) {
			at = i
		}
	}
	answer := none
	for _, d := range b.ors[at] {
		if b.contains(d.not()) {
			continue
		}
		if !s.spend(2 + len(b.ors)/4) {
			return noBudget
		}
		c := b.clone()
		c.ors = slices.Delete(c.ors, at, at+1)
		if !c.add(d) {
			continue
		}
		r := s.search(c)
		if r.st == sat || s.steps <= 0 {
			return r
		}
		if r.st == unknown {
			answer = r
		}
	}
	return answer
}

// reduce removes alternatives that contradict the plain constraints, and
// disjunctions that follow from them. Without it, unions of many objects that
// a member tells apart would have to be combined with each other. It returns
// nil and the result where that is decided on the way.
func (s *solver) reduce(b *branch) (*branch, result) {
	plain := b.clone()
	plain.ors = nil
	out := plain.clone()
	for _, or := range b.ors {
		var left []lit
		for _, d := range or {
			if plain.contains(d.not()) {
				continue
			}
			c := plain.clone()
			if !c.add(d) {
				continue
			}
			c.ors = nil // a weaker question, so that no is still no
			r := s.search(c)
			if s.steps <= 0 {
				return nil, noBudget
			}
			if r.st == unsat {
				continue
			}
			if r.w != nil && size(r.w, maxWitness) <= maxWitness && s.holds(b, r.w) == yes {
				return nil, r
			}
			left = append(left, d)
		}
		if len(left) > 1 {
			// Does it follow anyway?
			c := plain.clone()
			possible := true
			for _, d := range or {
				if !c.add(d.not()) {
					possible = false
					break
				}
			}
			if possible {
				c.ors = nil
				possible = s.search(c).st != unsat
			}
			if s.steps <= 0 {
				return nil, noBudget
			}
			if !possible {
				continue
			}
		}
		if !out.addOr(left) {
			return nil, none
		}
	}
	return out, result{}
}

// theory decides plain constraints on values of one kind.
func (s *solver) theory(b *branch) result {
	var r result
	switch b.kind {
	case schemadoc.Null:
		r = result{st: sat, w: &schemadoc.Value{Kind: schemadoc.Null}}
	case schemadoc.Bool:
		r = s.booleans(b)
	case schemadoc.Number:
		r = s.numbers(b)
	case schemadoc.String:
		r = s.strings(b)
	case schemadoc.Array:
		r = s.arrays(b)
	default:
		r = s.objects(b)
	}
	if r.st == sat && slices.ContainsFunc(b.atoms, func(l lit) bool { return l.f.op == opOpaque }) {
		return s.undecided(b)
	}
	return r
}

func (s *solver) booleans(b *branch) result {
	for _, value := range []bool{true, false} {
		v := &schemadoc.Value{Kind: schemadoc.Bool, Bool: value}
		allowed := true
		for _, a := range b.atoms {
			if a.f.op == opEnum && a.neg && a.f.enum[key(v)] != nil {
				allowed = false
			}
		}
		if allowed {
			return result{st: sat, w: v}
		}
	}
	return none
}
