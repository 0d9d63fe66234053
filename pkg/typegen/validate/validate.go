// Package validate checks JSON values against the schemas that generated code
// embeds. It is apart from package rt so that a program that wants types alone
// does not link a validator.
//
// A schema is compiled once, when it is first used. References to other
// documents are refused and never loaded, patterns are matched by the rules of
// ECMA-262 and within a time limit, and formats are annotations, as JSON
// Schema has them by default. Errors carry JSON pointers and never repeat the
// value that they are about.
package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/internal/ecma"
	"github.com/mcpctl/mcpctl/pkg/typegen/rt"
)

// patternTimeout bounds the time that one match of one pattern may take.
const patternTimeout = 100 * time.Millisecond

// maxProblems bounds how many problems one error lists.
const maxProblems = 10

// Schema is one embedded schema. It is safe for concurrent use. The zero value
// with JSON set is ready.
type Schema struct {
	// JSON is the text of the schema.
	JSON string

	once     sync.Once
	compiled *jsonschema.Schema
	err      error
}

// Compile compiles the schema if that has not happened yet. An error means
// that values cannot be checked against it: [Schema.ValidateJSON] then accepts
// everything.
func (s *Schema) Compile() error {
	s.once.Do(func() { s.compiled, s.err = compile(s.JSON) })
	return s.err
}

// ValidateJSON checks a JSON text. The error is of type [*Error], or says that
// the text is not JSON.
func (s *Schema) ValidateJSON(data []byte) error {
	if s.Compile() != nil {
		return nil
	}
	doc, err := schemadoc.Parse(data, schemadoc.Limits{})
	if err != nil {
		return err
	}
	v, err := plain(doc, "", false)
	if err != nil {
		return err
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	e := &Error{}
	e.collect(invalid)
	return e
}

// Value checks a Go value of a generated type by its JSON text.
func Value(s *Schema, v any) error {
	data, err := rt.Marshal(v)
	if err != nil {
		return err
	}
	return s.ValidateJSON(data)
}

// Error says how a value fails its schema.
type Error struct {
	Problems []Problem
	// More is how many problems are not listed.
	More int
}

// Problem is one place where a value fails its schema.
type Problem struct {
	// Pointer is the JSON pointer of the place in the value; "" is the root.
	Pointer string
	// Keyword is the keyword of the schema that it fails.
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

// collect lists the problems in a tree of errors. What one alternative of
// several lacks is no help, so alternatives are one problem.
func (e *Error) collect(v *jsonschema.ValidationError) {
	reason, leaf := reasonOf(v.ErrorKind)
	if !leaf && len(v.Causes) > 0 {
		causes := slices.Clone(v.Causes)
		slices.SortStableFunc(causes, func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		for _, c := range causes {
			e.collect(c)
		}
		return
	}
	if len(e.Problems) == maxProblems {
		e.More++
		return
	}
	var at strings.Builder
	for _, tok := range v.InstanceLocation {
		at.WriteString("/" + schemadoc.EscapePointer(clip(tok)))
	}
	keyword := ""
	switch v.ErrorKind.(type) {
	case *kind.Not:
		keyword = "not"
	case *kind.Dependency:
		keyword = "dependencies"
	default:
		if path := v.ErrorKind.KeywordPath(); len(path) > 0 {
			keyword = path[0]
		}
	}
	p := Problem{at.String(), keyword, reason}
	if !slices.Contains(e.Problems, p) {
		e.Problems = append(e.Problems, p)
	}
}

// reasonOf words an error kind, and reports whether what is below it is left
// out.
func reasonOf(k jsonschema.ErrorKind) (string, bool) {
	switch k := k.(type) {
	case *kind.Type:
		return "want " + strings.Join(slices.Sorted(slices.Values(k.Want)), " or ") + ", have " + k.Got, true
	case *kind.Required:
		return "missing " + names(k.Missing), true
	case *kind.AdditionalProperties:
		return "not allowed: " + names(k.Properties), true
	case *kind.Dependency:
		return "missing " + names(k.Missing) + ", which " + names([]string{k.Prop}) + " needs", true
	case *kind.DependentRequired:
		return "missing " + names(k.Missing) + ", which " + names([]string{k.Prop}) + " needs", true
	case *kind.PropertyNames:
		return "the name " + names([]string{k.Property}) + " is not allowed", true
	case *kind.Enum:
		return "not one of the allowed values", true
	case *kind.Const:
		return "not the only allowed value", true
	case *kind.Pattern:
		return "does not match the pattern " + strconv.Quote(clip(k.Want)), true
	case *kind.MinLength:
		return fmt.Sprintf("shorter than %d characters", k.Want), true
	case *kind.MaxLength:
		return fmt.Sprintf("longer than %d characters", k.Want), true
	case *kind.MinItems:
		return fmt.Sprintf("fewer than %d items", k.Want), true
	case *kind.MaxItems:
		return fmt.Sprintf("more than %d items", k.Want), true
	case *kind.AdditionalItems:
		return fmt.Sprintf("%d items too many", k.Count), true
	case *kind.MinProperties:
		return fmt.Sprintf("fewer than %d members", k.Want), true
	case *kind.MaxProperties:
		return fmt.Sprintf("more than %d members", k.Want), true
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1]), true
	case *kind.Minimum:
		return "less than " + clip(k.Want.RatString()), true
	case *kind.Maximum:
		return "more than " + clip(k.Want.RatString()), true
	case *kind.ExclusiveMinimum:
		return "not more than " + clip(k.Want.RatString()), true
	case *kind.ExclusiveMaximum:
		return "not less than " + clip(k.Want.RatString()), true
	case *kind.MultipleOf:
		return "no multiple of " + clip(k.Want.RatString()), true
	case *kind.AnyOf:
		return "none of the alternatives", true
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "more than one of the alternatives where exactly one must match", true
		}
		return "none of the alternatives", true
	case *kind.Not:
		return "matches what is excluded", true
	case *kind.FalseSchema:
		return "not allowed", true
	case *kind.Contains, *kind.MinContains:
		return "too few items of the kind that must be contained", true
	case *kind.MaxContains:
		return "too many items of the kind that may be contained", true
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return "does not satisfy " + path[0], false
	}
	return "does not satisfy the schema", false
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

// ---- compiling ----

const rootURL = "https://schema.invalid/root.json"

// errRemote says that a schema needs another document.
var errRemote = errors.New("references to other documents are not loaded")

// refuse loads nothing.
type refuse struct{}

func (refuse) Load(string) (any, error) { return nil, errRemote }

func compile(text string) (_ *jsonschema.Schema, err error) {
	// The schema is somebody else's, and so is the compiler.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the schema cannot be compiled")
		}
	}()
	v, err := schemadoc.Parse([]byte(text), schemadoc.Limits{})
	if err != nil {
		return nil, err
	}
	doc, err := plain(v, "", true)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuse{})
	c.UseRegexpEngine(engine)
	if err := c.AddResource(rootURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(rootURL)
}

// errNumber says that a number's exponent is out of all proportion: exact
// arithmetic with it could take any time.
var errNumber = errors.New("a number is too large or too small to be checked")

// plain turns a document into what the validator reads. In a schema, format is
// left out where it is a keyword: older dialects would assert it.
func plain(v *schemadoc.Value, at string, schema bool) (any, error) {
	switch v.Kind {
	case schemadoc.Bool:
		return v.Bool, nil
	case schemadoc.String:
		return v.Text, nil
	case schemadoc.Number:
		if i := strings.IndexAny(v.Text, "eE"); i >= 0 {
			if n, err := strconv.Atoi(strings.TrimPrefix(v.Text[i+1:], "+")); err != nil || n > 2000 || n < -2000 {
				return nil, fmt.Errorf("%s: %w", at, errNumber)
			}
		}
		if len(v.Text) > 4000 {
			return nil, fmt.Errorf("%s: %w", at, errNumber)
		}
		return json.Number(v.Text), nil
	case schemadoc.Array:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			x, err := plain(item, at+"/"+strconv.Itoa(i), schema)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case schemadoc.Object:
		out := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			if schema && m.Name == "format" && m.Value.Is(schemadoc.String) {
				continue
			}
			sub := schema && m.Name != "enum" && m.Name != "const"
			x, err := plain(m.Value, at+"/"+clip(m.Name), sub)
			if err != nil {
				return nil, err
			}
			out[m.Name] = x
		}
		return out, nil
	}
	return nil, nil
}

// pattern is an ECMA-262 regular expression.
type pattern struct{ re *regexp2.Regexp }

func (p pattern) String() string { return p.re.String() }

// MatchString reports a match. A match that takes too long counts as one: what
// cannot be checked is not refused.
func (p pattern) MatchString(s string) bool {
	ok, err := p.re.MatchString(s)
	return ok || err != nil
}

// engine compiles a pattern. Go's own engine, whose time is linear, takes what
// both understand alike.
func engine(re string) (jsonschema.Regexp, error) {
	re = ecma.Properties(re)
	if simple(re) {
		if c, err := regexp.Compile(re); err == nil {
			return c, nil
		}
	}
	c, err := regexp2.Compile(re, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		if c, err = regexp2.Compile(re, regexp2.ECMAScript); err != nil {
			return nil, err
		}
	}
	c.MatchTimeout = patternTimeout
	return pattern{c}, nil
}

// simple reports whether a pattern holds nothing that ECMA-262 and Go read
// differently.
func simple(re string) bool {
	for i := 0; i < len(re); i++ {
		c := re[i]
		switch {
		case c >= 0x80, c == '(' && i+1 < len(re) && re[i+1] == '?', c == '[' && i+1 < len(re) && (re[i+1] == ':' || re[i+1] == ']' || re[i+1] == '^' && i+2 < len(re) && re[i+2] == ']'):
			return false
		case c == '\\':
			i++
			if i == len(re) || !bytes.ContainsRune([]byte(`dwDW.\/-+*?()[]{}|^$nrt`), rune(re[i])) {
				return false
			}
		}
	}
	return true
}
