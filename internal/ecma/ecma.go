// Package ecma translates regular expressions of ECMA-262, which JSON Schema
// uses, into what Go's engines read.
package ecma

import (
	"regexp"
	"strings"
)

// categories are the long names of Unicode's general categories.
var categories = map[string]string{
	"Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll",
	"Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo",
	"Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
	"Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
	"Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
	"Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
	"Final_Punctuation": "Pf", "Other_Punctuation": "Po",
	"Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
	"Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
	"Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
	"Alphabetic": "L", "Uppercase": "Lu", "Lowercase": "Ll",
}

// Properties rewrites long names of Unicode properties, such as \p{Letter} and
// \p{Script=Greek}, as the short ones that Go's engines know.
func Properties(re string) string {
	if !strings.Contains(re, `\p{`) && !strings.Contains(re, `\P{`) {
		return re
	}
	var b strings.Builder
	for i := 0; i < len(re); i++ {
		if re[i] != '\\' || i+1 == len(re) {
			b.WriteByte(re[i])
			continue
		}
		b.WriteString(re[i : i+2])
		i++
		if (re[i] == 'p' || re[i] == 'P') && i+1 < len(re) && re[i+1] == '{' {
			end := strings.IndexByte(re[i:], '}')
			if end < 0 {
				continue
			}
			name := re[i+2 : i+end]
			for _, prefix := range []string{"General_Category=", "gc=", "Script=", "sc=", "Script_Extensions=", "scx="} {
				name = strings.TrimPrefix(name, prefix)
			}
			if short, ok := categories[name]; ok {
				name = short
			}
			b.WriteString("{" + name + "}")
			i += end
		}
	}
	return b.String()
}

// Compile compiles a pattern with Go's linear engine. It reports false where
// that engine cannot express it.
func Compile(re string) (*regexp.Regexp, bool) {
	var b strings.Builder
	re = Properties(re)
	for i := 0; i < len(re); i++ {
		c := re[i]
		if c != '\\' || i+1 == len(re) {
			b.WriteByte(c)
			continue
		}
		i++
		switch re[i] {
		case 'u':
			if i+4 >= len(re) || !isHex(re[i+1:i+5]) {
				return nil, false
			}
			b.WriteString(`\x{` + re[i+1:i+5] + `}`)
			i += 4
		case 'c', 'k', 'A', 'z', 'Z', 'Q', 'E', 'C', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			return nil, false
		case '/':
			b.WriteByte('/')
		default:
			b.WriteString(re[i-1 : i+1])
		}
	}
	c, err := regexp.Compile(b.String())
	return c, err == nil
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}
