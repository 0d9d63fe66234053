// Package subschema decides whether every value that is valid under one JSON
// Schema is valid under another. It compares what schemas accept, not how they
// are written.
//
// Schemas of draft-07 and 2020-12 become formulas over small constraints, each
// about one kind of value. That A is within B means that no value satisfies A
// and not B, so one question is left: does a set of formulas, some of them
// negated, have a value? It is answered by cases. For one kind of value at a
// time, combinations are taken apart until only plain constraints remain, and
// those are decided exactly: bounds in exact decimals, patterns as automata,
// arrays and objects by the same question about their parts. Recursive schemas
// are handled by the observation that a smallest value never needs itself as a
// part.
//
// An answer is Yes, No with a value as witness, or Undecided with the reason:
// what the package does not model (dynamic references, look-around in
// patterns) or a budget that ran out. It never guesses. Formats are
// annotations here, as JSON Schema has them by default.
package subschema

import (
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Verdict is the answer to a question about two schemas.
type Verdict uint8

// The three verdicts.
const (
	Undecided Verdict = iota
	Yes
	No
)

func (v Verdict) String() string {
	switch v {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "undecided"
}

// Answer is a verdict with what supports it.
type Answer struct {
	Verdict Verdict
	// Witness is, for No, a value that the first schema accepts and the second
	// refuses. It is nil where one exists but is too large to be shown, or
	// where a part of it has to satisfy something that is not modelled.
	Witness *schemadoc.Value
	// Reason says why a question is not decided.
	Reason string
}

// Space is a set of schemas that are compared with each other, what is known
// about them, and a budget of work. It is not safe for concurrent use.
type Space struct {
	formulas []*formula
	interned map[string]*formula
	patterns map[string]*machine
	memo     map[string]result
	answers  map[[2]int]Answer
	truth    *formula
	falsity  *formula
	// steps is the work that may still be done.
	steps int
}

// DefaultBudget is the work that comparing the schemas of one tool may cost.
// A step takes a fraction of a microsecond.
const DefaultBudget = 3_000_000

// NewSpace returns a space with a budget of steps.
func NewSpace(budget int) *Space {
	s := &Space{
		interned: make(map[string]*formula),
		patterns: make(map[string]*machine),
		memo:     make(map[string]result),
		answers:  make(map[[2]int]Answer),
		steps:    budget,
	}
	s.truth = s.intern(&formula{op: opTrue})
	s.falsity = s.intern(&formula{op: opFalse})
	return s
}

// Schema is a schema of a space.
type Schema struct{ f *formula }

// Same reports whether two schemas of a space are known to accept the same
// values without any comparison.
func (s Schema) Same(other Schema) bool { return s.f == other.f }

// And returns a schema for the values that both accept.
func (s *Space) And(a, b Schema) Schema { return Schema{s.and(a.f, b.f)} }

// Any returns the schema that accepts everything.
func (s *Space) Any() Schema { return Schema{s.truth} }

// Within answers whether every value that a accepts is accepted by b.
func (s *Space) Within(a, b Schema) Answer {
	if a.f == b.f || a.f.op == opFalse || b.f.op == opTrue {
		return Answer{Verdict: Yes}
	}
	key := [2]int{a.f.id, b.f.id}
	if known, ok := s.answers[key]; ok {
		return known
	}
	answer := s.within(a.f, b.f)
	s.answers[key] = answer
	return answer
}

func (s *Space) within(a, b *formula) Answer {
	r := s.find([]lit{{a, false}, {b, true}})
	switch r.st {
	case unsat:
		return Answer{Verdict: Yes}
	case unknown:
		return Answer{Reason: r.why}
	}
	if r.w == nil || size(r.w, maxWitness) > maxWitness {
		return Answer{Verdict: No}
	}
	// A witness that is none would be a mistake here. It must not become one
	// of the reader's.
	if s.eval(a, r.w) == no || s.eval(b, r.w) == yes {
		return Answer{Reason: "the counterexample that was found did not hold"}
	}
	if s.eval(a, r.w) == maybe || s.eval(b, r.w) == maybe {
		return Answer{Verdict: No}
	}
	return Answer{Verdict: No, Witness: r.w}
}

// Example answers whether a schema accepts any value: No with the value as
// witness (it is not empty), Yes if it accepts nothing.
func (s *Space) Example(a Schema) Answer { return s.Within(a, Schema{s.falsity}) }

// Valid tells whether a schema accepts a value.
func (s *Space) Valid(a Schema, v *schemadoc.Value) Verdict {
	switch s.eval(a.f, v) {
	case yes:
		return Yes
	case no:
		return No
	}
	return Undecided
}

// spend takes work off the budget and reports whether there was enough.
func (s *Space) spend(n int) bool {
	s.steps -= n
	return s.steps > 0
}

// maxWitness is the largest witness, in JSON values.
const maxWitness = 2000
