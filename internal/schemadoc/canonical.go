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
	if point, small := exp.plus(int64(len(digits))).int64(); small {
		n := len(digits)
		switch k := point; {
		case int64(n) <= k && k <= 21:
			return sign + digits + strings.Repeat("0", int(k)-n)
		case 0 < k && k <= 21:
			return sign + digits[:k] + "." + digits[k:]
		case -6 < k && k <= 0:
			return sign + "0." + strings.Repeat("0", int(-k)) + digits
		}
	}
	e := exp.plus(int64(len(digits)) - 1)
	text = sign + digits[:1]
	if len(digits) > 1 {
		text += "." + digits[1:]
	}
	if e.neg {
		return text + "e-" + e.digits
	}
	return text + "e+" + e.digits
}

// decimal splits a JSON number into significant digits without zeros at
// either end and an exponent: the number is digits times ten to exp. Zero has
// no digits.
func decimal(text string) (digits string, exp exponent, neg bool) {
	text, neg = strings.CutPrefix(text, "-")
	exp = exponent{digits: "0"}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exp = parseExponent(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	return short, exp.plus(int64(len(digits) - len(short) - len(fraction))), neg
}

// exponent is an integer of any size in decimal. It is never made a binary
// number as a whole: that takes time with the square of its length, and a
// server chooses the length.
type exponent struct {
	neg    bool
	digits string // without leading zeros, "0" for zero, which is not neg
}

// parseExponent reads what follows the e of a JSON number.
func parseExponent(text string) exponent {
	text, neg := strings.CutPrefix(text, "-")
	text = strings.TrimLeft(strings.TrimPrefix(text, "+"), "0")
	if text == "" {
		return exponent{digits: "0"}
	}
	return exponent{neg: neg, digits: text}
}

// int64 returns the exponent as an int64 if it is one.
func (e exponent) int64() (int64, bool) {
	if len(e.digits) > 19 {
		return 0, false
	}
	n, err := strconv.ParseInt(e.digits, 10, 64)
	if e.neg {
		n = -n
	}
	return n, err == nil
}

// tailDigits is how many digits at its end a long exponent is calculated with:
// enough for the sum of one half and any int64.
const tailDigits = 40

// plus returns e+n exactly, in time that grows with the length of e.
func (e exponent) plus(n int64) exponent {
	if n == 0 {
		return e
	}
	head, tail := "", e.digits
	if cut := len(tail) - tailDigits; cut > 0 {
		head, tail = tail[:cut], tail[cut:]
	}
	sum, _ := new(big.Int).SetString(tail, 10) // at most tailDigits digits
	delta := big.NewInt(n)
	if e.neg {
		delta.Neg(delta)
	}
	sum.Add(sum, delta)
	if head == "" {
		return exponent{neg: sum.Sign() != 0 && e.neg != (sum.Sign() < 0), digits: sum.Abs(sum).String()}
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(tailDigits), nil)
	switch {
	case sum.Sign() < 0:
		sum.Add(sum, unit)
		head = step(head, '0', '9', -1)
	case sum.Cmp(unit) >= 0:
		sum.Sub(sum, unit)
		head = step(head, '9', '0', 1)
	}
	low := sum.String()
	digits := strings.TrimLeft(head+strings.Repeat("0", tailDigits-len(low))+low, "0")
	return exponent{neg: e.neg, digits: digits}
}

// step adds one to a decimal, or takes one away: by is 1 or -1, the digits
// last at the end become wrapped. What it takes from is not zero.
func step(decimal string, last, wrapped byte, by int) string {
	b := append([]byte("0"), decimal...)
	i := len(b) - 1
	for ; b[i] == last; i-- {
		b[i] = wrapped
	}
	b[i] = byte(int(b[i]) + by)
	return strings.TrimLeft(string(b), "0")
}
