package subschema

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// maxExponent bounds the numbers that are calculated with: beyond it an exact
// decimal would fill the memory.
const maxExponent = 400

// maxDigits bounds the spelling of a number that is calculated with.
const maxDigits = 1000

// rational reads a JSON number exactly. It reports false for one that is too
// large to be calculated with.
func rational(text string) (*big.Rat, bool) {
	if len(text) > maxDigits {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// decimalText writes a number that is a finite decimal as JSON.
func decimalText(r *big.Rat) string {
	if r.IsInt() {
		return schemadoc.CanonicalNumber(r.Num().String())
	}
	n, exact := r.FloatPrec()
	if !exact {
		return ""
	}
	return schemadoc.CanonicalNumber(r.FloatString(n))
}

func numberValue(r *big.Rat) *schemadoc.Value {
	text := decimalText(r)
	if text == "" {
		return nil
	}
	return &schemadoc.Value{Kind: schemadoc.Number, Text: text}
}

func stringValue(s string) *schemadoc.Value {
	return &schemadoc.Value{Kind: schemadoc.String, Text: s}
}

// size counts the values of a document up to a limit; what is shared counts
// each time.
func size(v *schemadoc.Value, limit int) int {
	n := 1
	for _, item := range v.Items {
		if n > limit {
			return n
		}
		n += size(item, limit-n)
	}
	for _, m := range v.Members {
		if n > limit {
			return n
		}
		n += size(m.Value, limit-n)
	}
	return n
}

// key returns a text that two values share if and only if they are equal.
func key(v *schemadoc.Value) string { return string(v.AppendCanonical(nil)) }
