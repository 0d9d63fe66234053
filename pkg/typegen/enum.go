package typegen

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// maxConstants is the number of values up to which an enumeration gets a
// constant for each.
const maxConstants = 300

var (
	minInt64 = new(big.Rat).SetInt64(-1 << 63)
	maxInt64 = new(big.Rat).SetInt64(1<<63 - 1)
)

// pastInt64 reports whether a bound lies outside of int64.
func pastInt64(r *big.Rat) bool {
	return r != nil && (r.Cmp(minInt64) < 0 || r.Cmp(maxInt64) > 0)
}

// enum is the type of an enumeration.
func (w *walker) enum(f *facts, p place, e *entry) typed {
	values, null := f.enum, false
	var kinds kindSet
	var rest []*schemadoc.Value
	seen := map[string]bool{}
	for _, v := range values {
		if v.Is(schemadoc.Null) {
			null = true
			continue
		}
		key := string(v.AppendCanonical(nil))
		if seen[key] {
			continue
		}
		seen[key] = true
		rest = append(rest, v)
		kinds |= kindOf(v)
	}
	e.null = null
	switch {
	case kinds == 0:
		return typed{t: &goType{kind: nullType}}
	case kinds == kBool && len(rest) == 2:
		return typed{&goType{kind: boolType}, null}
	case kinds == kBool && rest[0].Bool:
		return typed{&goType{kind: trueType}, null}
	case kinds == kBool:
		return typed{&goType{kind: falseType}, null}
	case kinds == kString:
		return typed{w.named(&goType{kind: stringType}, rest, p, e), null}
	case kinds&^kNumber == 0:
		return typed{w.numbers(kinds, rest, p, e), null}
	}
	return typed{w.literals(rest, p, e), null}
}

// numbers is the type of enumerated numbers.
func (w *walker) numbers(kinds kindSet, values []*schemadoc.Value, p place, e *entry) *goType {
	if w.g.opts.Numbers == NumbersExact {
		return &goType{kind: numberType}
	}
	base := &goType{kind: intType}
	if kinds&kFrac != 0 {
		base = &goType{kind: floatType}
	}
	for _, v := range values {
		r := rational(v)
		if r == nil {
			return &goType{kind: numberType}
		}
		if base.kind == intType && pastInt64(r) {
			return &goType{kind: numberType}
		}
		if base.kind == floatType {
			if x, err := strconv.ParseFloat(v.Text, 64); err != nil || !sameNumber(strconv.FormatFloat(x, 'g', -1, 64), v.Text) {
				return &goType{kind: numberType}
			}
		}
	}
	return w.named(base, values, p, e)
}

func sameNumber(a, b string) bool {
	return schemadoc.CanonicalNumber(a) == schemadoc.CanonicalNumber(b)
}

// named declares a type with a constant for each value.
func (w *walker) named(base *goType, values []*schemadoc.Value, p place, e *entry) *goType {
	d := w.declare(enumDecl, p)
	d.base = base
	e.decl = d
	if len(values) > maxConstants {
		d.open = true
		return &goType{kind: namedType, decl: d}
	}
	texts := make([]string, len(values))
	lits := make(map[string]string, len(values))
	for i, v := range values {
		texts[i] = v.Text
		lits[v.Text] = goLiteral(base, v.Text)
		if base.kind != stringType {
			texts[i] = numberWords(v.Text)
			lits[texts[i]] = goLiteral(base, v.Text)
		}
	}
	names := w.names.assign(texts, d.name, "", "Value", "", func(raw, got string) {
		w.g.note(w.diag(Warning, "", CodeCollision, "enum", "the Go name of a value of "+d.name+" is taken, so its constant is "+got))
	})
	for _, t := range texts {
		d.values = append(d.values, enumValue{names[t], lits[t]})
	}
	return &goType{kind: namedType, decl: d}
}

// numberWords makes words of a number, so that sign and value show in the
// name: -1.5 is Minus 1 Point 5.
func numberWords(text string) string {
	c := schemadoc.CanonicalNumber(text)
	c = strings.ReplaceAll(c, "e-", " E Minus ")
	c = strings.ReplaceAll(c, "e", " E ")
	c = strings.ReplaceAll(c, "-", " Minus ")
	return strings.ReplaceAll(c, ".", " Point ")
}

func goLiteral(base *goType, text string) string {
	if base.kind == stringType {
		return strconv.Quote(text)
	}
	c := schemadoc.CanonicalNumber(text)
	if base.kind == intType && strings.ContainsAny(c, "e.") {
		if r := rational(&schemadoc.Value{Kind: schemadoc.Number, Text: text}); r != nil && r.IsInt() {
			return r.Num().String()
		}
	}
	return c
}

// literals declares a type for values of several kinds, or of arrays and
// objects.
func (w *walker) literals(values []*schemadoc.Value, p place, e *entry) *goType {
	d := w.declare(literalDecl, p)
	e.decl = d
	if len(values) > maxConstants {
		d.open = true
		return &goType{kind: namedType, decl: d}
	}
	texts := make([]string, len(values))
	lits := make(map[string]string, len(values))
	for i, v := range values {
		lit := string(v.AppendCanonical(nil))
		switch {
		case v.Is(schemadoc.Number):
			texts[i] = numberWords(v.Text)
		case v.Is(schemadoc.String):
			texts[i] = v.Text
		default:
			texts[i] = lit
		}
		for lits[texts[i]] != "" {
			texts[i] = v.Kind.String() + " " + texts[i]
		}
		lits[texts[i]] = lit
	}
	names := w.names.assign(texts, d.name, "", "Value", "", func(string, string) {})
	for _, t := range texts {
		d.values = append(d.values, enumValue{names[t], lits[t]})
	}
	return &goType{kind: namedType, decl: d}
}
