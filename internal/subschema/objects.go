package subschema

import (
	"maps"
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

const (
	// maxRegions bounds how many combinations of patterns a name is looked
	// for in.
	maxRegions = 64
	// maxMembers is the largest object that is built as an example.
	maxMembers = 300
)

// objects decides constraints on objects. Every member must satisfy something
// that its name decides; beyond that some members must be there, and some
// member must break something, for which names are chosen.
type objects struct {
	*solver
	shapes    []*shape
	names     []lit // what every name must satisfy
	must      []string
	mustNot   map[string]bool
	some      []breach
	low, high int

	mentioned []string
	patterns  []string
	fresh     []string          // names that were made up
	extra     map[string][]lit  // what is asked of members beyond the shapes
	chosen    []string          // the keys of extra, in order
	plain     map[string]result // members of which nothing else is asked
}

// breach is a demand that some member breaks a shape, or that some name breaks
// a schema.
type breach struct {
	shape *shape
	name  *formula
}

func (s *solver) objects(b *branch) result {
	o := &objects{solver: s, high: -1, mustNot: make(map[string]bool), extra: make(map[string][]lit), plain: make(map[string]result)}
	for _, l := range b.atoms {
		switch f := l.f; {
		case f.op == opMinProps && !l.neg:
			o.low = max(o.low, f.n)
		case f.op == opMaxProps && l.neg:
			o.low = max(o.low, f.n+1)
		case f.op == opMaxProps:
			o.high = lower(o.high, f.n)
		case f.op == opMinProps:
			o.high = lower(o.high, f.n-1)
		case f.op == opHas && !l.neg:
			o.must = append(o.must, f.text)
		case f.op == opHas:
			o.mustNot[f.text] = true
		case f.op == opShape && !l.neg:
			o.shapes = append(o.shapes, f.shape)
		case f.op == opShape:
			o.some = append(o.some, breach{shape: f.shape})
		case f.op == opNames && !l.neg:
			o.names = append(o.names, lit{f.kids[0], false})
		case f.op == opNames:
			o.some = append(o.some, breach{name: f.kids[0]})
		}
	}
	slices.Sort(o.must)
	if o.high >= 0 && (o.low > o.high || len(o.must) > o.high) {
		return none
	}
	for _, n := range o.must {
		if o.mustNot[n] {
			return none
		}
	}
	o.mention()
	// What must be there decides most cases, and costs least.
	for _, n := range o.must {
		if o.member(n).st == unsat {
			return none
		}
		if o.steps <= 0 {
			return noBudget
		}
	}
	return o.choose(0)
}

// mention lists the names and patterns that anything says something about.
func (o *objects) mention() {
	o.mentioned = slices.Clone(o.must)
	seen := make(map[string]bool)
	for _, n := range o.must {
		seen[n] = true
	}
	patterns := make(map[string]bool)
	add := func(sh *shape) {
		for _, n := range sh.names {
			if !seen[n] {
				seen[n] = true
				o.mentioned = append(o.mentioned, n)
			}
		}
		for _, p := range sh.patterns {
			patterns[p] = true
		}
	}
	for _, e := range o.some {
		if e.shape != nil {
			add(e.shape)
		}
	}
	for _, sh := range o.shapes {
		add(sh)
	}
	for _, n := range slices.Sorted(maps.Keys(o.mustNot)) {
		if !seen[n] {
			seen[n] = true
			o.mentioned = append(o.mentioned, n)
		}
	}
	o.patterns = slices.Sorted(maps.Keys(patterns))
}

// named tells whether a member of a name is allowed, whatever its value.
func (o *objects) named(name string) tri {
	if o.mustNot[name] {
		return no
	}
	t := yes
	for _, l := range o.names {
		switch o.evalLit(l, stringValue(name)) {
		case no:
			return no
		case maybe:
			t = maybe
		}
	}
	return t
}

// member looks for a value of a member.
func (o *objects) member(name string) result {
	if len(o.extra[name]) > 0 {
		return o.decide(name)
	}
	r, ok := o.plain[name]
	if !ok {
		low := o.lowest
		o.lowest = noGoal
		r = o.decide(name)
		if o.lowest == noGoal {
			o.plain[name] = r
		}
		o.lowest = min(o.lowest, low)
	}
	return r
}

func (o *objects) decide(name string) result {
	t := o.named(name)
	if t == no {
		return none
	}
	lits := make([]lit, 0, len(o.shapes)+1)
	for _, sh := range o.shapes {
		lits = append(lits, lit{o.memberAt(sh, name), false})
	}
	r := o.solve(append(lits, o.extra[name]...))
	if t == maybe && r.st == sat {
		return result{why: patternReason}
	}
	return r
}

// choose finds a name for each breach in turn.
func (o *objects) choose(i int) result {
	if i == len(o.some) {
		return o.finish()
	}
	e := o.some[i]
	answer := none
	try := func(name string) (result, bool) {
		if !o.spend(2) {
			return noBudget, true
		}
		before, had := o.extra[name]
		if e.shape != nil {
			f := o.memberAt(e.shape, name)
			if f.op == opTrue {
				return none, false
			}
			o.extra[name] = append(slices.Clone(before), lit{f, true})
		} else {
			switch o.eval(e.name, stringValue(name)) {
			case yes:
				return none, false
			case maybe:
				answer = result{why: patternReason}
				return none, false
			}
			o.extra[name] = before
		}
		if !had {
			o.chosen = append(o.chosen, name)
		}
		r := none
		if o.high < 0 || o.count() <= o.high {
			if r = o.member(name); r.st != unsat {
				r = o.choose(i + 1)
			}
		}
		if had {
			o.extra[name] = before
		} else {
			delete(o.extra, name)
			o.chosen = o.chosen[:len(o.chosen)-1]
		}
		if r.st == unknown {
			answer = r
		}
		return r, r.st == sat || o.steps <= 0
	}
	for _, name := range slices.Concat(o.mentioned, o.fresh) {
		if r, done := try(name); done {
			return r
		}
	}
	regions, ok := o.regions(e)
	if !ok {
		answer = result{why: "many patterns for names"}
	}
	for _, region := range regions {
		r := o.solve(region)
		if o.steps <= 0 {
			return noBudget
		}
		if r.st == unsat {
			continue
		}
		if r.w == nil {
			answer = result{why: cmpOr(r.why, patternReason)}
			continue
		}
		name := r.w.Text
		o.fresh = append(o.fresh, name)
		r, done := try(name)
		o.fresh = o.fresh[:len(o.fresh)-1]
		if done {
			return r
		}
	}
	return answer
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// regions describes the names that nothing mentions, by the patterns that they
// match: each is a goal for a string.
func (o *objects) regions(e breach) ([][]lit, bool) {
	base := slices.Clone(o.names)
	base = append(base, lit{o.kindsOf(kindBit(schemadoc.String)), false})
	if e.name != nil {
		base = append(base, lit{e.name, true})
	}
	if known := slices.Concat(o.mentioned, o.fresh); len(known) > 0 {
		values := make(map[string]*schemadoc.Value, len(known))
		for _, n := range known {
			v := stringValue(n)
			values[key(v)] = v
		}
		base = append(base, lit{o.enumOf(values), true})
	}
	regions := [][]lit{base}
	for _, p := range o.patterns {
		f := o.intern(&formula{op: opPattern, text: p})
		if 2*len(regions) > maxRegions {
			return regions, false
		}
		var next [][]lit
		for _, r := range regions {
			next = append(next, append(slices.Clone(r), lit{f, true}), append(slices.Clone(r), lit{f, false}))
		}
		regions = next
	}
	return regions, true
}

// count is how many members there are at least.
func (o *objects) count() int {
	n := len(o.must)
	for _, c := range o.chosen {
		if !slices.Contains(o.must, c) {
			n++
		}
	}
	return n
}

// finish builds the object: what must be there, what was chosen, and as many
// more as it takes.
func (o *objects) finish() result {
	v := &schemadoc.Value{Kind: schemadoc.Object}
	there := make(map[string]bool)
	complete := true
	var doubt *result
	add := func(name string) status {
		r := o.member(name)
		if r.st == unsat {
			return unsat
		}
		if r.st == unknown {
			doubt = &r
		}
		there[name] = true
		if r.w == nil {
			complete = false
		}
		v.Members = append(v.Members, schemadoc.Member{Name: name, Value: r.w})
		return r.st
	}
	for _, name := range slices.Concat(o.must, o.chosen) {
		if !there[name] && add(name) == unsat {
			return none
		}
		if o.steps <= 0 {
			return noBudget
		}
	}
	if o.high >= 0 && len(there) > o.high {
		return none
	}
	if r := o.fill(there, add); r.st != sat {
		return r
	}
	if doubt != nil {
		return *doubt
	}
	if !complete {
		return result{st: sat}
	}
	return result{st: sat, w: v}
}

// fill adds members until there are enough.
func (o *objects) fill(there map[string]bool, add func(string) status) result {
	unsure := ""
	for _, name := range slices.Concat(o.mentioned, o.fresh) {
		if len(there) >= o.low {
			return result{st: sat}
		}
		if there[name] || o.mustNot[name] {
			continue
		}
		// Only a member that is certainly possible helps.
		switch r := o.member(name); r.st {
		case sat:
			add(name)
		case unknown:
			unsure = r.why
		}
		if o.steps <= 0 {
			return noBudget
		}
	}
	kept := len(o.fresh)
	defer func() { o.fresh = o.fresh[:kept] }()
	for len(there) < o.low {
		if len(there) > maxMembers {
			return result{why: "an object with very many members"}
		}
		regions, ok := o.regions(breach{})
		if !ok {
			unsure = "many patterns for names"
		}
		found := false
		for _, region := range regions {
			r := o.solve(region)
			if o.steps <= 0 {
				return noBudget
			}
			if r.st == unknown || r.st == sat && r.w == nil {
				unsure = cmpOr(r.why, patternReason)
			}
			if r.st != sat || r.w == nil {
				continue
			}
			name := r.w.Text
			o.fresh = append(o.fresh, name)
			switch m := o.member(name); m.st {
			case sat:
				add(name)
				found = true
			case unknown:
				unsure = m.why
			}
			if found {
				break
			}
		}
		if !found {
			if unsure != "" {
				return result{why: unsure}
			}
			return none
		}
	}
	return result{st: sat}
}
