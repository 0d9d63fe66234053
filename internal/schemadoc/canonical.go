package schemadoc

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Canonical returns the canonical form of a JSON text: no white space, members
// sorted by name, strings with the fewest escapes, and numbers by
// [CanonicalNumber]. Two texts that mean the same value have the same
// canonical form, however large their numbers are. It differs from RFC 8785
// in that numbers are never rounded to float64.
func Canonical(raw []byte) ([]byte, error) {
	v, err := Parse(raw, Limits{})
	if err != nil {
		return nil, err
	}
	return v.AppendCanonical(make([]byte, 0, len(raw))), nil
}

// AppendCanonical appends the canonical form of v to dst. See [Canonical].
func (v *Value) AppendCanonical(dst []byte) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool)
	case Number:
		return append(dst, CanonicalNumber(v.Text)...)
	case String:
		return appendString(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i, item := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendCanonical(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range sorted(v.Members) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, m.Name), ':')
			dst = m.Value.AppendCanonical(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// sorted returns members by name and leaves the argument as it is.
func sorted(members []Member) []Member {
	byName := func(a, b Member) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(members, byName) {
		return members
	}
	return slices.SortedFunc(slices.Values(members), byName)
}

func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\b':
			dst = append(dst, '\\', 'b')
		case c == '\f':
			dst = append(dst, '\\', 'f')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}

// CanonicalNumber rewrites a JSON number as the shortest decimal that is
// exactly the same number: 1.0 and 10e-1 become 1, 1e3 becomes 1000. Like
// ECMAScript it writes an exponent from 1e21 on and below 1e-6.
func CanonicalNumber(text string) string {
	digits, exp, neg := decimal(text)
	if digits == "" {
		return "0"
	}
	sign := ""
	if neg {
		sign = "-"
	}
	// The number is 0.digits times ten to the power of point.
	point := new(big.Int).Add(exp, big.NewInt(int64(len(digits))))
	if point.IsInt64() {
		n := len(digits)
		switch k := point.Int64(); {
		case int64(n) <= k && k <= 21:
			return sign + digits + strings.Repeat("0", int(k)-n)
		case 0 < k && k <= 21:
			return sign + digits[:k] + "." + digits[k:]
		case -6 < k && k <= 0:
			return sign + "0." + strings.Repeat("0", int(-k)) + digits
		}
	}
	e := point.Sub(point, big.NewInt(1))
	text = sign + digits[:1]
	if len(digits) > 1 {
		text += "." + digits[1:]
	}
	if e.Sign() >= 0 {
		return text + "e+" + e.String()
	}
	return text + "e" + e.String()
}

// decimal splits a JSON number into significant digits without zeros at
// either end and an exponent: the number is digits times ten to exp. Zero has
// no digits.
func decimal(text string) (digits string, exp *big.Int, neg bool) {
	text, neg = strings.CutPrefix(text, "-")
	exp = new(big.Int)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exp.SetString(strings.TrimPrefix(text[i+1:], "+"), 10)
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exp.Sub(exp, big.NewInt(int64(len(fraction))))
	short := strings.TrimRight(digits, "0")
	exp.Add(exp, big.NewInt(int64(len(digits)-len(short))))
	return short, exp, neg
}
