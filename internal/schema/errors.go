package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// BudgetError says that a schema is larger than [Options] allow. Nothing was
// made of it.
type BudgetError struct {
	What  string // what there is too much of, in the plural
	Limit int
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the schema has more than %d %s", e.Limit, e.What)
}

// CompileError says why a schema cannot be used: it needs another document,
// declares a dialect that is not known, or is none.
type CompileError struct {
	// Pointer is the JSON pointer of the place in the schema; "" is the root,
	// or that the place is not known.
	Pointer string
	// Reason says what is wrong, without the schema's text.
	Reason string
}

func (e *CompileError) Error() string {
	return "the schema cannot be compiled: " + Problem{Pointer: e.Pointer, Reason: e.Reason}.String()
}

// compileError words the compiler's error, whose text quotes the schema.
func compileError(err error) error {
	switch err := err.(type) {
	case *jsonschema.SchemaValidationError:
		if invalid, ok := err.Err.(*jsonschema.ValidationError); ok {
			if p := newError(invalid).Problems; len(p) > 0 {
				return &CompileError{p[0].Pointer, p[0].Reason}
			}
		}
	case *jsonschema.LoadURLError:
		return &CompileError{Reason: "it refers to another document, and those are not loaded"}
	case *jsonschema.JSONPointerNotFoundError, *jsonschema.AnchorNotFoundError, *jsonschema.InvalidJsonPointerError:
		return &CompileError{Reason: "a reference leads nowhere"}
	case *jsonschema.DuplicateIDError, *jsonschema.DuplicateAnchorError:
		return &CompileError{Reason: "two schemas have the same name"}
	case *jsonschema.InvalidRegexError:
		return &CompileError{Reason: "a pattern is no regular expression"}
	}
	return &CompileError{Reason: "it is not valid in its dialect"}
}

// maxProblems bounds how many problems one error lists, and maxFound how many
// are looked for.
const (
	maxProblems = 10
	maxFound    = 10_000
)

// Error says how a value fails its schema.
type Error struct {
	// Problems are the first ten, sorted by place.
	Problems []Problem
	// More is how many problems are not listed, 9,990 standing for any number
	// from there on.
	More int
}

// Problem is one place where a value fails its schema.
type Problem struct {
	// Pointer is the JSON pointer of the place in the value; "" is the root.
	Pointer string
	// Keyword is the keyword of the schema that it fails; "" where that is a
	// schema that is false.
	Keyword string
	// Reason says what is wrong, without the value.
	Reason string
}

func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Reason
	}
	return p.Pointer + ": " + p.Reason
}

func (e *Error) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = p.String()
	}
	s := strings.Join(parts, "; ")
	if e.More > 0 {
		s += "; and " + strconv.Itoa(e.More) + " more"
	}
	return s
}

// newError lists the problems in a tree of errors, whose order is that of
// Go's maps.
func newError(v *jsonschema.ValidationError) *Error {
	found := collect(nil, v)
	slices.SortFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Reason, b.Reason))
	})
	found = slices.Compact(found)
	n := min(len(found), maxProblems)
	return &Error{slices.Clip(found[:n]), len(found) - n}
}

// collect appends the problems in a tree of errors. What one alternative of
// several lacks is no help, so alternatives are one problem.
func collect(found []Problem, v *jsonschema.ValidationError) []Problem {
	if len(found) == maxFound {
		return found
	}
	keyword, reason, leaf := word(v.ErrorKind)
	if !leaf && len(v.Causes) > 0 {
		for _, c := range v.Causes {
			found = collect(found, c)
		}
		return found
	}
	var at strings.Builder
	for _, tok := range v.InstanceLocation {
		at.WriteString("/" + schemadoc.EscapePointer(clip(tok)))
	}
	return append(found, Problem{at.String(), keyword, reason})
}

// word words an error kind, and reports whether what is below it is left out.
func word(k jsonschema.ErrorKind) (keyword, reason string, leaf bool) {
	if path := k.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	switch k := k.(type) {
	case *kind.Type:
		reason = "want " + strings.Join(slices.Sorted(slices.Values(k.Want)), " or ") + ", have " + k.Got
	case *kind.Required:
		reason = "missing " + names(k.Missing)
	case *kind.AdditionalProperties:
		reason = "not allowed: " + names(k.Properties)
	case *kind.Dependency:
		keyword, reason = "dependencies", "missing "+names(k.Missing)+", which "+names([]string{k.Prop})+" needs"
	case *kind.DependentRequired:
		reason = "missing " + names(k.Missing) + ", which " + names([]string{k.Prop}) + " needs"
	case *kind.PropertyNames:
		reason = "the name " + names([]string{k.Property}) + " is not allowed"
	case *kind.Format:
		reason = "no " + k.Want
		if v, ok := k.Err.(verdict); ok {
			keyword, reason = v.keyword, v.reason
		}
	case *kind.Pattern:
		reason = "does not match the pattern " + strconv.Quote(clip(k.Want))
	case *kind.MinLength:
		reason = fmt.Sprintf("shorter than %d characters", k.Want)
	case *kind.MaxLength:
		reason = fmt.Sprintf("longer than %d characters", k.Want)
	case *kind.MinItems:
		reason = fmt.Sprintf("fewer than %d items", k.Want)
	case *kind.MaxItems:
		reason = fmt.Sprintf("more than %d items", k.Want)
	case *kind.AdditionalItems:
		reason = fmt.Sprintf("%d items too many", k.Count)
	case *kind.MinProperties:
		reason = fmt.Sprintf("fewer than %d members", k.Want)
	case *kind.MaxProperties:
		reason = fmt.Sprintf("more than %d members", k.Want)
	case *kind.Minimum:
		reason = "less than " + clip(k.Want.RatString())
	case *kind.Maximum:
		reason = "more than " + clip(k.Want.RatString())
	case *kind.ExclusiveMinimum:
		reason = "not more than " + clip(k.Want.RatString())
	case *kind.ExclusiveMaximum:
		reason = "not less than " + clip(k.Want.RatString())
	case *kind.MultipleOf:
		reason = "no multiple of " + clip(k.Want.RatString())
	case *kind.AnyOf:
		reason = "none of the alternatives"
	case *kind.OneOf:
		reason = "none of the alternatives"
		if len(k.Subschemas) > 0 {
			reason = "more than one of the alternatives where exactly one must match"
		}
	case *kind.Not:
		keyword, reason = "not", "matches what is excluded"
	case *kind.FalseSchema:
		reason = "not allowed"
	case *kind.Contains, *kind.MinContains:
		reason = "too few items of the kind that must be contained"
	case *kind.MaxContains:
		reason = "too many items of the kind that may be contained"
	default:
		reason = "does not satisfy the schema"
		if keyword != "" {
			reason = "does not satisfy " + keyword
		}
		return keyword, reason, false
	}
	return keyword, reason, true
}

func names(list []string) string {
	const most = 8
	quoted := make([]string, 0, len(list))
	for _, n := range slices.Sorted(slices.Values(list)) {
		if len(quoted) == most {
			quoted = append(quoted, "…")
			break
		}
		quoted = append(quoted, strconv.Quote(clip(n)))
	}
	return strings.Join(quoted, ", ")
}

// clip bounds a text that is somebody else's.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
