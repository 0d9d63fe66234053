package subschema

import (
	"encoding/binary"
	"maps"
	"math/big"
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// op is what a formula says.
type op uint8

const (
	opTrue op = iota
	opFalse
	opAnd
	opOr
	opNot
	opRec    // a recursive schema; kids[0] once it is complete
	opKinds  // the value is of one of some kinds
	opEnum   // the value is one of some scalars
	opOpaque // something that is not modelled

	// Constraints on values of one kind; those of other kinds satisfy them.
	opMin // number
	opMax
	opMultiple
	opMinLen // string
	opMaxLen
	opPattern
	opFormat   // no constraint, but what a string should look like in an example
	opMinItems // array
	opMaxItems
	opItems
	opContains
	opUnique
	opMinProps // object
	opMaxProps
	opHas
	opShape
	opNames
)

// kinds is a set of JSON kinds.
type kinds uint8

func kindBit(k schemadoc.Kind) kinds { return 1 << k }

const allKinds = kinds(1<<schemadoc.Null | 1<<schemadoc.Bool | 1<<schemadoc.Number |
	1<<schemadoc.String | 1<<schemadoc.Array | 1<<schemadoc.Object)

// guard is the kind that a constraint is about.
func (o op) guard() schemadoc.Kind {
	switch {
	case o >= opMinProps:
		return schemadoc.Object
	case o >= opMinItems:
		return schemadoc.Array
	case o >= opMinLen:
		return schemadoc.String
	case o >= opMin:
		return schemadoc.Number
	}
	return schemadoc.Invalid
}

// formula is a schema in terms of constraints. Formulas of a space are unique:
// equal ones are the same pointer, recursive ones aside.
type formula struct {
	id     int
	op     op
	kids   []*formula // And, Or, Not, Rec; Contains: the schema; Names: the schema; Items: the rest, then the prefix
	kinds  kinds      // Kinds
	num    *big.Rat   // Min, Max, Multiple
	excl   bool       // Min, Max
	n      int        // lengths and counts; Contains: how many at least
	text   string     // Pattern, Format, Has, Opaque (what it is)
	reason string     // Opaque
	enum   map[string]*schemadoc.Value
	shape  *shape
	// under caches what the formula is for values of a kind.
	under [schemadoc.Object + 1]tri
	known [schemadoc.Object + 1]bool
}

// shape says what the members of an object must satisfy.
type shape struct {
	names    []string // sorted
	props    map[string]*formula
	patterns []string // sorted
	matching map[string]*formula
	rest     *formula // for names that are not listed and match no pattern
}

// lit is a formula or its negation.
type lit struct {
	f   *formula
	neg bool
}

func (l lit) code() int {
	if l.neg {
		return l.f.id<<1 | 1
	}
	return l.f.id << 1
}

func (l lit) not() lit { return lit{l.f, !l.neg} }

// intern returns the one formula that is equal to f.
func (s *Space) intern(f *formula) *formula {
	k := f.key()
	if have, ok := s.interned[k]; ok {
		return have
	}
	f.id = len(s.formulas)
	s.formulas = append(s.formulas, f)
	s.interned[k] = f
	return f
}

// key spells a formula; the formulas in it by their numbers.
func (f *formula) key() string {
	b := []byte{byte(f.op), byte(f.kinds)}
	if f.excl {
		b[1] |= 0x80
	}
	text := func(t string) {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	b = binary.AppendVarint(b, int64(f.n))
	if f.num != nil {
		text(f.num.RatString())
	}
	text(f.text)
	b = binary.AppendUvarint(b, uint64(len(f.kids)))
	for _, k := range f.kids {
		b = binary.AppendUvarint(b, uint64(k.id))
	}
	for _, k := range slices.Sorted(maps.Keys(f.enum)) {
		text(k)
	}
	if f.shape != nil {
		b = binary.AppendUvarint(b, uint64(len(f.shape.names)))
		for _, n := range f.shape.names {
			text(n)
			b = binary.AppendUvarint(b, uint64(f.shape.props[n].id))
		}
		for _, p := range f.shape.patterns {
			text(p)
			b = binary.AppendUvarint(b, uint64(f.shape.matching[p].id))
		}
		b = binary.AppendUvarint(b, uint64(f.shape.rest.id))
	}
	return string(b)
}

func (s *Space) boolean(b bool) *formula {
	if b {
		return s.truth
	}
	return s.falsity
}

func byID(a, b *formula) int { return a.id - b.id }

// and returns the conjunction, in a normal order.
func (s *Space) and(fs ...*formula) *formula {
	mask := allKinds
	var kids []*formula
	var add func(f *formula) bool
	add = func(f *formula) bool {
		switch f.op {
		case opTrue:
		case opFalse:
			return false
		case opKinds:
			mask &= f.kinds
		case opAnd:
			for _, k := range f.kids {
				if !add(k) {
					return false
				}
			}
		default:
			kids = append(kids, f)
		}
		return true
	}
	for _, f := range fs {
		if !add(f) {
			return s.falsity
		}
	}
	if mask != allKinds {
		kids = append(kids, s.kindsOf(mask))
	}
	slices.SortFunc(kids, byID)
	kids = slices.Compact(kids)
	// A constraint on kinds that are excluded says nothing.
	kids = slices.DeleteFunc(kids, func(f *formula) bool {
		g := f.op.guard()
		return g != schemadoc.Invalid && mask&kindBit(g) == 0
	})
	switch {
	case mask == 0:
		return s.falsity
	case len(kids) == 0:
		return s.truth
	case len(kids) == 1:
		return kids[0]
	}
	return s.intern(&formula{op: opAnd, kids: kids})
}

// or returns the disjunction, in a normal order: sets of kinds and of scalars
// are joined.
func (s *Space) or(fs ...*formula) *formula {
	var mask kinds
	var kids []*formula
	enum := make(map[string]*schemadoc.Value)
	var add func(f *formula) bool
	add = func(f *formula) bool {
		switch f.op {
		case opTrue:
			return false
		case opFalse:
		case opKinds:
			mask |= f.kinds
		case opEnum:
			maps.Copy(enum, f.enum)
		case opOr:
			for _, k := range f.kids {
				if !add(k) {
					return false
				}
			}
		default:
			kids = append(kids, f)
		}
		return true
	}
	for _, f := range fs {
		if !add(f) {
			return s.truth
		}
	}
	if enum["null"] != nil {
		mask |= kindBit(schemadoc.Null)
	}
	if enum["true"] != nil && enum["false"] != nil {
		mask |= kindBit(schemadoc.Bool)
	}
	maps.DeleteFunc(enum, func(_ string, v *schemadoc.Value) bool { return mask&kindBit(v.Kind) != 0 })
	if len(enum) > 0 {
		kids = append(kids, s.intern(&formula{op: opEnum, enum: enum}))
	}
	if mask == allKinds {
		return s.truth
	}
	if mask != 0 {
		kids = append(kids, s.kindsOf(mask))
	}
	slices.SortFunc(kids, byID)
	kids = slices.Compact(kids)
	switch len(kids) {
	case 0:
		return s.falsity
	case 1:
		return kids[0]
	}
	return s.intern(&formula{op: opOr, kids: kids})
}

func (s *Space) not(f *formula) *formula {
	switch f.op {
	case opTrue:
		return s.falsity
	case opFalse:
		return s.truth
	case opNot:
		return f.kids[0]
	case opKinds:
		return s.kindsOf(allKinds &^ f.kinds)
	}
	return s.intern(&formula{op: opNot, kids: []*formula{f}})
}

func (s *Space) kindsOf(mask kinds) *formula {
	switch mask {
	case 0:
		return s.falsity
	case allKinds:
		return s.truth
	}
	return s.intern(&formula{op: opKinds, kinds: mask})
}

// enumOf is a set of scalars. Null, and both booleans, are a kind.
func (s *Space) enumOf(values map[string]*schemadoc.Value) *formula {
	return s.or(s.intern(&formula{op: opEnum, enum: values}))
}

// equals is the formula of one value. Arrays and objects are spelled out, so
// that what is not equal to them is found like anything else.
func (s *Space) equals(v *schemadoc.Value) *formula {
	switch v.Kind {
	case schemadoc.Array:
		prefix := make([]*formula, len(v.Items))
		for i, item := range v.Items {
			prefix[i] = s.equals(item)
		}
		return s.and(s.kindsOf(kindBit(schemadoc.Array)), s.items(prefix, s.falsity), s.count(opMinItems, len(v.Items)))
	case schemadoc.Object:
		sh := &shape{props: make(map[string]*formula), rest: s.falsity}
		all := []*formula{s.kindsOf(kindBit(schemadoc.Object))}
		for _, m := range v.Members {
			sh.props[m.Name] = s.equals(m.Value)
			all = append(all, s.has(m.Name))
		}
		return s.and(append(all, s.shapeOf(sh))...)
	}
	return s.enumOf(map[string]*schemadoc.Value{key(v): v})
}

func (s *Space) oneOfValues(values []*schemadoc.Value) *formula {
	scalars := make(map[string]*schemadoc.Value)
	var all []*formula
	for _, v := range values {
		if v.Is(schemadoc.Array) || v.Is(schemadoc.Object) {
			all = append(all, s.equals(v))
			continue
		}
		scalars[key(v)] = v
	}
	if len(scalars) > 0 {
		all = append(all, s.enumOf(scalars))
	}
	return s.or(all...)
}

// count is a lower or upper bound of a length.
func (s *Space) count(o op, n int) *formula {
	if n <= 0 && (o == opMinLen || o == opMinItems || o == opMinProps) {
		return s.truth
	}
	return s.intern(&formula{op: o, n: n})
}

func (s *Space) has(name string) *formula { return s.intern(&formula{op: opHas, text: name}) }

func (s *Space) opaque(what, reason string) *formula {
	f := s.intern(&formula{op: opOpaque, text: what})
	if f.reason == "" {
		f.reason = reason
	}
	return f
}

// items says what the items of an array must satisfy.
func (s *Space) items(prefix []*formula, rest *formula) *formula {
	for len(prefix) > 0 && prefix[len(prefix)-1] == rest {
		prefix = prefix[:len(prefix)-1]
	}
	if len(prefix) == 0 && rest.op == opTrue {
		return s.truth
	}
	if rest.op == opFalse {
		for i, p := range prefix {
			if p.op == opFalse {
				prefix = prefix[:i]
				break
			}
		}
		if len(prefix) == 0 || !slices.ContainsFunc(prefix, func(f *formula) bool { return f.op != opTrue }) {
			return s.count(opMaxItems, len(prefix))
		}
	}
	return s.intern(&formula{op: opItems, kids: append([]*formula{rest}, prefix...)})
}

func (f *formula) itemAt(i int) *formula {
	if i+1 < len(f.kids) {
		return f.kids[i+1]
	}
	return f.kids[0]
}

// shapeOf takes a shape without its sorted names.
func (s *Space) shapeOf(sh *shape) *formula {
	if sh.rest.op == opTrue && len(sh.matching) == 0 || sh.rest.op == opFalse && len(sh.matching) == 0 {
		// What says the same as the rest need not be said.
		maps.DeleteFunc(sh.props, func(_ string, f *formula) bool { return f == sh.rest })
	}
	if len(sh.props) == 0 && len(sh.matching) == 0 {
		switch sh.rest.op {
		case opTrue:
			return s.truth
		case opFalse:
			return s.intern(&formula{op: opMaxProps})
		}
	}
	sh.names = slices.Sorted(maps.Keys(sh.props))
	sh.patterns = slices.Sorted(maps.Keys(sh.matching))
	return s.intern(&formula{op: opShape, shape: sh})
}

// memberAt returns what a shape asks of the member of a name.
func (s *Space) memberAt(sh *shape, name string) *formula {
	var all []*formula
	listed := false
	if f, ok := sh.props[name]; ok {
		listed = true
		all = append(all, f)
	}
	for _, p := range sh.patterns {
		switch s.matches(p, name) {
		case yes:
			listed = true
			all = append(all, sh.matching[p])
		case maybe:
			return s.opaque("pattern "+p+" on "+name, patternReason)
		}
	}
	if !listed {
		return sh.rest
	}
	return s.and(all...)
}

// tri is a truth value with a third case.
type tri uint8

const (
	maybe tri = iota
	yes
	no
)

func (t tri) not() tri {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return maybe
}

// underKind tells whether a formula holds for every value of a kind, for none,
// or that it depends.
func (f *formula) underKind(k schemadoc.Kind) tri {
	if f.known[k] {
		return f.under[k]
	}
	t := maybe
	switch f.op {
	case opTrue:
		t = yes
	case opFalse:
		t = no
	case opKinds:
		t = no
		if f.kinds&kindBit(k) != 0 {
			t = yes
		}
	case opEnum:
		t = no
		for _, v := range f.enum {
			if v.Kind == k {
				t = maybe
				break
			}
		}
	case opNot:
		t = f.kids[0].underKind(k).not()
	case opAnd:
		t = yes
		for _, kid := range f.kids {
			switch kid.underKind(k) {
			case no:
				t = no
			case maybe:
				if t == yes {
					t = maybe
				}
			}
		}
	case opOr:
		t = no
		for _, kid := range f.kids {
			switch kid.underKind(k) {
			case yes:
				t = yes
			case maybe:
				if t == no {
					t = maybe
				}
			}
		}
	case opRec, opOpaque:
		return maybe
	case opFormat:
		// It holds, but must not be lost on the way to an example.
		if k != schemadoc.String {
			t = yes
		}
	default:
		if f.op.guard() != k {
			t = yes
		}
	}
	f.under[k], f.known[k] = t, true
	return t
}

func (l lit) underKind(k schemadoc.Kind) tri {
	t := l.f.underKind(k)
	if l.neg {
		return t.not()
	}
	return t
}
