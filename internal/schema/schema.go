// Package schema compiles JSON Schemas that somebody else wrote and checks
// JSON values against them.
//
// A schema without $schema is read as 2020-12; draft-04, draft-06, draft-07
// and 2019-09 are understood where they are declared. References lead to
// places in the same document or to a published metaschema: nothing is ever
// loaded. Patterns are matched by the rules of ECMA-262. Formats are
// annotations, as JSON Schema has them by default, unless [Options] says
// otherwise. Schemas have budgets, and so has every check of a value. Errors
// carry JSON pointers and never repeat the value that they are about.
package schema

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Options say how a schema is compiled. The zero value has the default budgets
// and asserts no formats.
type Options struct {
	// Depth is how many levels of subschemas there may be below the root, and
	// how many schemas may apply to one value by way of each other; zero
	// means [DefaultDepth].
	Depth int
	// Nodes is how many subschemas there may be, the root included and
	// booleans not; zero means [DefaultNodes].
	Nodes int
	// Formats asserts the formats email, uri, date and date-time, which are
	// those that an elicitation may ask for (specification 2026-07-28,
	// elicitation, requested schema).
	Formats bool
}

// The budgets of [Options]. A schema that just keeps to them passes.
const (
	DefaultDepth = 128
	DefaultNodes = 10_000
)

// maxValueDepth bounds how deep arrays and objects of a value may nest. With
// the depth of a schema it bounds the validator's stack.
const maxValueDepth = 512

// Schema is a compiled schema. It is safe for concurrent use; what its acceptor
// does not know is checked one value at a time.
type Schema struct {
	root   *jsonschema.Schema
	accept *acceptor
	meter  meter
}

// Compile compiles a schema. The error is a [*BudgetError] or a
// [*CompileError].
func Compile(raw []byte, opts Options) (_ *Schema, err error) {
	// The schema is somebody else's, and so is the compiler.
	defer func() {
		if recover() != nil {
			err = &CompileError{Reason: "the validator fails on it"}
		}
	}()
	if opts.Depth == 0 {
		opts.Depth = DefaultDepth
	}
	if opts.Nodes == 0 {
		opts.Nodes = DefaultNodes
	}
	doc, err := schemadoc.Parse(raw, schemadoc.Limits{})
	if err != nil {
		return nil, &CompileError{Reason: err.Error()}
	}
	if s := doc.Get("$schema"); s.Is(schemadoc.String) && !known(s.Text) {
		return nil, &CompileError{Pointer: "/$schema", Reason: "the dialect is not supported"}
	}
	n := census{Options: opts}
	if err := n.count(doc, "", 0); err != nil {
		return nil, err
	}
	r := reader{}
	v := r.value(doc)
	if r.bad != nil {
		return nil, &CompileError{Pointer: r.pointer(), Reason: r.bad.Error()}
	}
	// The validator finds dynamic anchors in schema positions alone, and the
	// work of what they lead to must be measured too.
	if r.anchors != len(n.anchors) {
		return nil, &CompileError{Reason: "a $dynamicAnchor is where no schema can be"}
	}

	s := &Schema{accept: acceptorOf(doc, opts.Formats)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuse{})
	c.UseRegexpEngine(s.meter.pattern)
	if opts.Formats {
		c.AssertFormat()
	}
	if err := c.AddResource(rootURL, v); err != nil {
		return nil, compileError(err)
	}
	if s.root, err = c.Compile(rootURL); err != nil {
		return nil, compileError(err)
	}
	f := fitter{opts: opts, meter: &s.meter, chains: make(map[*jsonschema.Schema]int)}
	roots := []*jsonschema.Schema{s.root}
	for _, pointer := range n.anchors {
		// One that fails is out of reach: the schema compiles without it.
		if a, err := c.Compile(rootURL + "#" + pointer); err == nil {
			roots = append(roots, a)
		}
	}
	if err := f.fit(roots); err != nil {
		return nil, err
	}
	return s, nil
}

// Validate checks a JSON text. An error of type [*Error] says how the value
// fails; any other means that it could not be checked: it is no JSON, nests
// too deep, or takes too much work ([ErrWork]).
func (s *Schema) Validate(value []byte) (err error) {
	if s.accept.accepts(value) {
		return nil
	}
	doc, err := schemadoc.Parse(value, schemadoc.Limits{Depth: maxValueDepth})
	if err != nil {
		return err
	}
	r := reader{}
	v := r.value(doc)
	if r.bad != nil {
		return &Error{Problems: []Problem{{Pointer: r.pointer(), Reason: r.bad.Error()}}}
	}
	values, _ := schemadoc.Count(value)
	s.meter.start(values)
	defer s.meter.stop(&err)
	err = s.root.Validate(v)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return newError(invalid)
	}
	return err
}

// rootURL names the document. Its host cannot exist (RFC 2606).
const rootURL = "https://schema.invalid/root.json"

// refuse loads nothing.
type refuse struct{}

var errRemote = errors.New("other documents are not loaded")

func (refuse) Load(string) (any, error) { return nil, errRemote }

// known reports whether the validator has a dialect.
func known(dialect string) bool {
	dialect = strings.TrimSuffix(dialect, "#")
	_, dialect, _ = strings.Cut(dialect, "://")
	switch dialect {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
		"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema":
		return true
	}
	return false
}

// census counts the subschemas of a document before anything is made of it.
type census struct {
	Options
	nodes   int
	anchors []string // pointers of schemas with a dynamic anchor
}

func (n *census) count(v *schemadoc.Value, pointer string, depth int) error {
	if !v.Is(schemadoc.Object) {
		return nil
	}
	if depth > n.Depth {
		return &BudgetError{"levels of subschemas", n.Depth}
	}
	if n.nodes++; n.nodes > n.Nodes {
		return &BudgetError{"subschemas", n.Nodes}
	}
	if v.Get(dynamicAnchor).Is(schemadoc.String) {
		n.anchors = append(n.anchors, pointer)
	}
	for step, sub := range v.Subschemas() {
		if err := n.count(sub, pointer+step.Pointer(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

const dynamicAnchor = "$dynamicAnchor"

// errNumber says that exact arithmetic with a number would take too long.
var errNumber = errors.New("a number is too long, or too large or small")

// maxDigits bounds how many digits the numbers of a text may have, written
// out, beyond a few for each.
const maxDigits = 1_000_000

// reader turns a document into what the validator reads.
type reader struct {
	anchors int // objects with a dynamic anchor
	digits  int
	bad     error
	at      []string // where bad is, innermost first
}

func (r *reader) pointer() string {
	var b strings.Builder
	for i := len(r.at) - 1; i >= 0; i-- {
		b.WriteString("/" + schemadoc.EscapePointer(clip(r.at[i])))
	}
	return b.String()
}

func (r *reader) value(v *schemadoc.Value) any {
	switch v.Kind {
	case schemadoc.Bool:
		return v.Bool
	case schemadoc.String:
		return v.Text
	case schemadoc.Number:
		return r.number(v.Text)
	case schemadoc.Array:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			if out[i] = r.value(item); r.bad != nil {
				r.at = append(r.at, strconv.Itoa(i))
				return nil
			}
		}
		return out
	case schemadoc.Object:
		out := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			if out[m.Name] = r.value(m.Value); r.bad != nil {
				r.at = append(r.at, m.Name)
				return nil
			}
		}
		if v.Get(dynamicAnchor).Is(schemadoc.String) {
			r.anchors++
		}
		return out
	}
	return nil
}

func (r *reader) number(text string) any {
	size := len(text)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil {
			exponent = maxDigits
		}
		size += max(exponent, -exponent)
	}
	// Only what is longer than any float64 needs counts, so that arrays of
	// plain numbers may have any length.
	if r.digits += max(0, size-400); size > 4000 || r.digits > maxDigits {
		r.bad = errNumber
	}
	return json.Number(text)
}
