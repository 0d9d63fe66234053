package subschema

import (
	"maps"
	"math/big"
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// sortedEnum returns the values of an enumeration in a fixed order.
func (f *formula) sortedEnum() []*schemadoc.Value {
	all := make([]*schemadoc.Value, 0, len(f.enum))
	for _, k := range slices.Sorted(maps.Keys(f.enum)) {
		all = append(all, f.enum[k])
	}
	return all
}

// interval is a set of numbers with two ends; nil is no end.
type interval struct {
	low, high         *big.Rat
	lowOpen, highOpen bool
}

func (i *interval) atLeast(n *big.Rat, open bool) {
	if i.low == nil || n.Cmp(i.low) > 0 || n.Cmp(i.low) == 0 && open {
		i.low, i.lowOpen = n, open
	}
}

func (i *interval) atMost(n *big.Rat, open bool) {
	if i.high == nil || n.Cmp(i.high) < 0 || n.Cmp(i.high) == 0 && open {
		i.high, i.highOpen = n, open
	}
}

func (i *interval) contains(n *big.Rat) bool {
	if i.low != nil {
		if c := n.Cmp(i.low); c < 0 || c == 0 && i.lowOpen {
			return false
		}
	}
	if i.high != nil {
		if c := n.Cmp(i.high); c > 0 || c == 0 && i.highOpen {
			return false
		}
	}
	return true
}

func (i *interval) empty() bool {
	if i.low == nil || i.high == nil {
		return false
	}
	c := i.low.Cmp(i.high)
	return c > 0 || c == 0 && (i.lowOpen || i.highOpen)
}

// mostCandidates bounds how many numbers are tried one by one.
const mostCandidates = 20_000

// numbers decides bounds, multiples, what is no multiple, and single numbers
// that are excluded.
func (s *solver) numbers(b *branch) result {
	var in interval
	var step *big.Rat  // the value is a multiple of it
	var not []*big.Rat // the value is no multiple of them
	var out []*big.Rat // the value is none of them
	bits := 0
	for _, a := range b.atoms {
		f := a.f
		if f.num != nil {
			bits = max(bits, f.num.Num().BitLen()+f.num.Denom().BitLen())
		}
		switch {
		case f.op == opMin && !a.neg:
			in.atLeast(f.num, f.excl)
		case f.op == opMin:
			in.atMost(f.num, !f.excl)
		case f.op == opMax && !a.neg:
			in.atMost(f.num, f.excl)
		case f.op == opMax:
			in.atLeast(f.num, !f.excl)
		case f.op == opMultiple && !a.neg:
			step = lcm(step, f.num)
		case f.op == opMultiple:
			not = append(not, f.num)
		case f.op == opEnum:
			for _, v := range f.sortedEnum() {
				if v.Kind != schemadoc.Number {
					continue
				}
				// One that is too large to calculate with is never tried, so
				// it stays excluded.
				if n, ok := rational(v.Text); ok {
					out = append(out, n)
				}
			}
		}
	}
	if !s.spend(1 + bits/64 + len(out) + len(not)) {
		return noBudget
	}
	if in.empty() {
		return none
	}
	excluded := make(map[string]bool, len(out))
	for _, n := range out {
		excluded[n.RatString()] = true
	}
	for _, n := range not {
		if step != nil && new(big.Rat).Quo(step, n).IsInt() {
			return none
		}
	}
	good := func(n *big.Rat) bool {
		return in.contains(n) && !excluded[n.RatString()] && !slices.ContainsFunc(not, func(m *big.Rat) bool {
			return new(big.Rat).Quo(n, m).IsInt()
		})
	}
	if step == nil {
		return s.anyNumber(in, good, len(out), not)
	}
	return s.multiples(in, step, good, len(out), not)
}

// lcm is the least common multiple of two positive numbers.
func lcm(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	// Of fractions in lowest terms: lcm of the numerators over gcd of the
	// denominators.
	g := new(big.Int).GCD(nil, nil, a.Num(), b.Num())
	num := new(big.Int).Mul(new(big.Int).Quo(a.Num(), g), b.Num())
	den := new(big.Int).GCD(nil, nil, a.Denom(), b.Denom())
	return new(big.Rat).SetFrac(num, den)
}

// multiples tries the multiples of a step, those near zero or an end first.
func (s *solver) multiples(in interval, step *big.Rat, good func(*big.Rat) bool, excluded int, not []*big.Rat) result {
	one := big.NewInt(1)
	var first, last *big.Int // the range of factors
	if in.low != nil {
		first = ceil(new(big.Rat).Quo(in.low, step))
		if in.lowOpen && new(big.Rat).Mul(new(big.Rat).SetInt(first), step).Cmp(in.low) == 0 {
			first.Add(first, one)
		}
	}
	if in.high != nil {
		last = floor(new(big.Rat).Quo(in.high, step))
		if in.highOpen && new(big.Rat).Mul(new(big.Rat).SetInt(last), step).Cmp(in.high) == 0 {
			last.Sub(last, one)
		}
	}
	if first != nil && last != nil && first.Cmp(last) > 0 {
		return none
	}
	at, dir := new(big.Int), big.NewInt(1)
	switch {
	case first != nil && first.Sign() >= 0:
		at.Set(first)
	case last != nil && last.Sign() <= 0:
		at.Set(last)
		dir.SetInt64(-1)
	}
	// From zero it goes up, then down.
	turned := at.Sign() != 0 || first != nil && first.Sign() >= 0 || last != nil && last.Sign() <= 0
	for range mostCandidates {
		n := new(big.Rat).Mul(new(big.Rat).SetInt(at), step)
		if good(n) {
			return result{st: sat, w: numberValue(n)}
		}
		if !s.spend(2) {
			return noBudget
		}
		at = new(big.Int).Add(at, dir)
		if dir.Sign() > 0 && last != nil && at.Cmp(last) > 0 || dir.Sign() < 0 && first != nil && at.Cmp(first) < 0 {
			if turned {
				return none
			}
			turned = true
			at.SetInt64(-1)
			dir.SetInt64(-1)
			if first != nil && at.Cmp(first) < 0 {
				return none
			}
		}
	}
	return result{why: "multiples that interfere with each other"}
}

func floor(r *big.Rat) *big.Int {
	// Euclidean division rounds down for a positive divisor.
	return new(big.Int).Div(r.Num(), r.Denom())
}

func ceil(r *big.Rat) *big.Int {
	return new(big.Int).Neg(floor(new(big.Rat).Neg(r)))
}

// anyNumber finds a number in an interval that is not excluded: whole ones
// first, then ever finer fractions.
func (s *solver) anyNumber(in interval, good func(*big.Rat) bool, excluded int, not []*big.Rat) result {
	var tries []*big.Rat
	add := func(n *big.Rat) { tries = append(tries, n) }
	add(new(big.Rat))
	for _, end := range []*big.Rat{in.low, in.high} {
		if end == nil {
			continue
		}
		add(end)
		for _, d := range []int64{1, -1} {
			add(new(big.Rat).Add(end, big.NewRat(d, 1)))
		}
		add(new(big.Rat).SetInt(floor(end)))
		add(new(big.Rat).SetInt(ceil(end)))
	}
	for i := int64(1); i <= 3; i++ {
		add(big.NewRat(i, 1))
		add(big.NewRat(-i, 1))
		add(big.NewRat(i, 2))
	}
	for _, n := range tries {
		if good(n) {
			return result{st: sat, w: numberValue(n)}
		}
	}
	if in.low != nil && in.high != nil && in.low.Cmp(in.high) == 0 {
		return none // a single number, which was tried
	}
	// An interval has infinitely many decimals; of a step of each power of
	// ten only finitely many are excluded, or are multiples of a given number.
	low := in.low
	if low == nil {
		low = new(big.Rat)
		if in.high != nil {
			low = new(big.Rat).Sub(in.high, big.NewRat(int64(excluded)+10, 1))
		}
	}
	width := big.NewRat(int64(excluded)+10, 1)
	if in.high != nil {
		width = new(big.Rat).Sub(in.high, low)
	}
	unit := big.NewRat(1, 1)
	for unit.Cmp(width) >= 0 {
		unit = new(big.Rat).Quo(unit, big.NewRat(10, 1))
	}
	for _, m := range not {
		for unit.Cmp(m) >= 0 {
			unit = new(big.Rat).Quo(unit, big.NewRat(10, 1))
		}
	}
	for range 40 {
		start := floor(new(big.Rat).Quo(low, unit))
		for k := range int64(excluded) + 12 {
			n := new(big.Rat).SetInt(new(big.Int).Add(start, big.NewInt(k)))
			n.Mul(n, unit)
			if good(n) {
				return result{st: sat, w: numberValue(n)}
			}
			if !s.spend(2) {
				return noBudget
			}
		}
		unit = new(big.Rat).Quo(unit, big.NewRat(10, 1))
	}
	return result{why: "numbers that are excluded too closely"}
}
