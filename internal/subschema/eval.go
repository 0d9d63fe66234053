package subschema

import (
	"math/big"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// eval tells whether a value satisfies a formula; maybe where that hangs on
// what is not modelled, or the budget ran out.
func (s *Space) eval(f *formula, v *schemadoc.Value) tri {
	if !s.spend(1) {
		return maybe
	}
	if g := f.op.guard(); g != schemadoc.Invalid && g != v.Kind {
		return yes
	}
	switch f.op {
	case opTrue, opFormat:
		return yes
	case opFalse:
		return no
	case opRec:
		return s.eval(f.kids[0], v)
	case opNot:
		return s.eval(f.kids[0], v).not()
	case opAnd:
		return s.evalAll(f.kids, v)
	case opOr:
		t := no
		for _, k := range f.kids {
			switch s.eval(k, v) {
			case yes:
				return yes
			case maybe:
				t = maybe
			}
		}
		return t
	case opKinds:
		return truth(f.kinds&kindBit(v.Kind) != 0)
	case opEnum:
		if v.Kind == schemadoc.Array || v.Kind == schemadoc.Object {
			return no
		}
		return truth(f.enum[key(v)] != nil)
	case opMin, opMax, opMultiple:
		return evalNumber(f, v)
	case opMinLen:
		return truth(utf8.RuneCountInString(v.Text) >= f.n)
	case opMaxLen:
		return truth(utf8.RuneCountInString(v.Text) <= f.n)
	case opPattern:
		return s.matches(f.text, v.Text)
	case opMinItems:
		return truth(len(v.Items) >= f.n)
	case opMaxItems:
		return truth(len(v.Items) <= f.n)
	case opItems:
		t := yes
		for i, item := range v.Items {
			switch s.eval(f.itemAt(i), item) {
			case no:
				return no
			case maybe:
				t = maybe
			}
		}
		return t
	case opContains:
		sure, possible := 0, 0
		for _, item := range v.Items {
			switch s.eval(f.kids[0], item) {
			case yes:
				sure++
			case maybe:
				possible++
			}
		}
		if sure >= f.n {
			return yes
		}
		if sure+possible < f.n {
			return no
		}
		return maybe
	case opUnique:
		seen := make(map[string]bool)
		for _, item := range v.Items {
			k := key(item)
			if !s.spend(1 + len(k)/16) {
				return maybe
			}
			if seen[k] {
				return no
			}
			seen[k] = true
		}
		return yes
	case opMinProps:
		return truth(len(v.Members) >= f.n)
	case opMaxProps:
		return truth(len(v.Members) <= f.n)
	case opHas:
		return truth(v.Get(f.text) != nil)
	case opShape:
		t := yes
		for _, m := range v.Members {
			switch s.eval(s.memberAt(f.shape, m.Name), m.Value) {
			case no:
				return no
			case maybe:
				t = maybe
			}
		}
		return t
	case opNames:
		t := yes
		for _, m := range v.Members {
			switch s.eval(f.kids[0], stringValue(m.Name)) {
			case no:
				return no
			case maybe:
				t = maybe
			}
		}
		return t
	}
	return maybe
}

func (s *Space) evalAll(fs []*formula, v *schemadoc.Value) tri {
	t := yes
	for _, f := range fs {
		switch s.eval(f, v) {
		case no:
			return no
		case maybe:
			t = maybe
		}
	}
	return t
}

func (s *Space) evalLit(l lit, v *schemadoc.Value) tri {
	t := s.eval(l.f, v)
	if l.neg {
		return t.not()
	}
	return t
}

func truth(b bool) tri {
	if b {
		return yes
	}
	return no
}

func evalNumber(f *formula, v *schemadoc.Value) tri {
	n, ok := rational(v.Text)
	if !ok {
		return maybe
	}
	switch f.op {
	case opMultiple:
		return truth(new(big.Rat).Quo(n, f.num).IsInt())
	case opMin:
		c := n.Cmp(f.num)
		return truth(c > 0 || c == 0 && !f.excl)
	}
	c := n.Cmp(f.num)
	return truth(c < 0 || c == 0 && !f.excl)
}
