package config

import (
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the candidate that name was most likely meant to be, or ""
// if none is near: about one slip in three letters, case aside. Of equally
// near ones the first wins. It only ever serves a suggestion; nothing is run
// or chosen by it.
func Nearest(name string, candidates []string) string {
	const longest = 128 // the distance costs the product of both lengths
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", max(1, min(3, len(name)/3))+1
	for _, c := range candidates {
		if len(c) > longest {
			continue
		}
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
		// Something must be left of both.
		if d < bestDistance && d < min(utf8.RuneCountInString(c), utf8.RuneCountInString(name)) {
			best, bestDistance = c, d
		}
	}
	return best
}
