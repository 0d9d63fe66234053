package subschema

import (
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// maxItems is the longest array that is built as an example.
const maxItems = 500

// arrays decides constraints on arrays. All items must satisfy something;
// beyond that some item must satisfy something else, and for each such demand
// a place is chosen.
type arrays struct {
	*solver
	all       []*formula // Items
	each      []lit      // what every item must satisfy
	some      []demand
	low, high int
	unique    bool
	repeat    bool // two items must be equal
	unsure    string
	prefix    int // from here on all places are alike
	extra     map[int][]lit
	taken     map[[2]int]bool // places of demands that must be apart
	merged    [2]int          // the places of equal items
}

// demand is something that one item at least must satisfy: one of some
// literals, by place.
type demand struct {
	breaks *formula // an Items formula that the item breaks
	lit    lit      // else what it satisfies
	apart  int      // demands of one number must be at different places
}

func (s *solver) arrays(b *branch) result {
	a := &arrays{solver: s, high: -1, extra: make(map[int][]lit), taken: make(map[[2]int]bool), merged: [2]int{-1, -1}}
	for _, l := range b.atoms {
		switch f := l.f; {
		case f.op == opMinItems && !l.neg:
			a.low = max(a.low, f.n)
		case f.op == opMaxItems && l.neg:
			a.low = max(a.low, f.n+1)
		case f.op == opMaxItems:
			a.high = lower(a.high, f.n)
		case f.op == opMinItems:
			a.high = lower(a.high, f.n-1)
		case f.op == opItems:
			a.prefix = max(a.prefix, len(f.kids)-1)
			if l.neg {
				a.some = append(a.some, demand{breaks: f})
			} else {
				a.all = append(a.all, f)
			}
		case f.op == opContains && !l.neg:
			if f.n > 16 {
				a.unsure = "contains with a large count"
				continue
			}
			for range f.n {
				a.some = append(a.some, demand{lit: lit{f.kids[0], false}, apart: f.id + 1})
			}
		case f.op == opContains && f.n == 1:
			a.each = append(a.each, lit{f.kids[0], true})
		case f.op == opContains:
			// Fewer than a number: checked when an example is there.
			a.unsure = "an upper count of contains"
		case f.op == opUnique && !l.neg:
			a.unique = true
		case f.op == opUnique:
			a.repeat = true
		}
	}
	if a.unique && a.repeat || a.high >= 0 && a.low > a.high {
		return none
	}
	r := a.place(0)
	if r.st == sat && a.unsure != "" {
		if r.w != nil && size(r.w, maxWitness) <= maxWitness {
			ok := yes
			for _, l := range b.atoms {
				if t := s.evalLit(l, r.w); t != yes {
					ok = t
				}
			}
			if ok == yes {
				return r
			}
		}
		return result{why: a.unsure + " that cannot be told from others"}
	}
	return r
}

// at returns what the item at a place must satisfy.
func (a *arrays) at(i int) []lit {
	lits := slices.Clone(a.each)
	for _, f := range a.all {
		lits = append(lits, lit{f.itemAt(i), false})
	}
	return append(lits, a.extra[i]...)
}

// places bounds the places worth trying.
func (a *arrays) places() int {
	n := a.prefix + len(a.some) + 1
	if a.repeat {
		n++
	}
	if a.high >= 0 && a.high < n {
		return a.high
	}
	return n
}

// place chooses a place for each demand in turn.
func (a *arrays) place(i int) result {
	if i == len(a.some) {
		if a.repeat {
			return a.twice()
		}
		return a.finish()
	}
	d := a.some[i]
	answer := none
	places := a.places()
	for at := range places {
		if !a.spend(2) {
			return noBudget
		}
		l := d.lit
		if d.breaks != nil {
			l = lit{d.breaks.itemAt(at), true}
		}
		if d.apart != 0 && a.taken[[2]int{d.apart, at}] {
			continue
		}
		a.taken[[2]int{d.apart, at}] = true
		before := a.extra[at]
		a.extra[at] = append(slices.Clone(before), l)
		r := a.solve(a.at(at))
		if r.st != unsat {
			r = a.place(i + 1)
		}
		a.extra[at] = before
		delete(a.taken, [2]int{d.apart, at})
		if r.st == sat || a.steps <= 0 {
			return r
		}
		if r.st == unknown {
			answer = r
		}
		if at > a.prefix+i {
			break // the places beyond are all alike, and free
		}
	}
	return answer
}

// twice chooses two places for equal items.
func (a *arrays) twice() result {
	answer := none
	places := a.places()
	for j := 1; j < places; j++ {
		for i := range j {
			if !a.spend(2) {
				return noBudget
			}
			a.merged = [2]int{i, j}
			r := a.finish()
			a.merged = [2]int{-1, -1}
			if r.st == sat || a.steps <= 0 {
				return r
			}
			if r.st == unknown {
				answer = r
			}
		}
	}
	return answer
}

// finish fills the array.
func (a *arrays) finish() result {
	length := a.low
	for at, lits := range a.extra {
		if len(lits) > 0 {
			length = max(length, at+1)
		}
	}
	length = max(length, a.merged[1]+1)
	if a.high >= 0 && length > a.high {
		return none
	}
	build := min(length, max(maxItems, a.prefix+len(a.some)+2))
	v := &schemadoc.Value{Kind: schemadoc.Array}
	seen := make(map[string]bool)
	complete := build == length
	var why result
	pending := false
	same := true // all places so far ask for the same
	var firstKey string
	for i := range build {
		if !a.spend(1) {
			return noBudget
		}
		lits := a.at(i)
		if i == a.merged[0] || i == a.merged[1] {
			lits = append(a.at(a.merged[0]), a.at(a.merged[1])...)
		}
		if norm, ok := normal(lits); ok {
			k := goalKey(norm)
			if i == 0 {
				firstKey = k
			}
			same = same && k == firstKey
		}
		r := a.solve(lits)
		if r.st == sat && a.unique && r.w != nil && seen[key(r.w)] {
			r = a.fresh(lits, v.Items, same)
		}
		switch r.st {
		case unsat:
			return none
		case unknown:
			why, pending = r, true
		}
		if r.w == nil {
			complete = false
			continue
		}
		if a.unique {
			seen[key(r.w)] = true
		}
		v.Items = append(v.Items, r.w)
	}
	if pending {
		return why
	}
	if !complete {
		if a.unique {
			return result{why: "many items that must differ from each other"}
		}
		return result{st: sat}
	}
	return result{st: sat, w: v}
}

// fresh finds an item that differs from those before. That there is none is
// certain only where all places ask for the same, so that none was wasted.
func (a *arrays) fresh(lits []lit, taken []*schemadoc.Value, same bool) result {
	lits = slices.Clone(lits)
	for _, t := range taken {
		if size(t, 200) > 200 {
			return result{why: "large items that must differ from each other"}
		}
		lits = append(lits, lit{a.equals(t), true})
	}
	r := a.solve(lits)
	if r.st == unsat && !same {
		return result{why: "different items that must differ from each other"}
	}
	return r
}
