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
	"sync"

	"github.com/mcpctl/mcpctl/internal/schema"
	"github.com/mcpctl/mcpctl/pkg/typegen/rt"
)

// Schema is one embedded schema. It is safe for concurrent use. The zero value
// with JSON set is ready.
type Schema struct {
	// JSON is the text of the schema.
	JSON string

	once     sync.Once
	compiled *schema.Schema
	err      error
}

// Compile compiles the schema if that has not happened yet. An error means
// that values cannot be checked against it: [Schema.ValidateJSON] then accepts
// everything.
func (s *Schema) Compile() error {
	s.once.Do(func() {
		// The generator had budgets; how large they were is not known here.
		s.compiled, s.err = schema.Compile([]byte(s.JSON), schema.Options{Depth: 256, Nodes: 1_000_000})
	})
	return s.err
}

// ValidateJSON checks a JSON text. The error is of type [*Error], or says that
// the text is not JSON, nests deeper than 512 levels or takes too much work
// to check.
func (s *Schema) ValidateJSON(data []byte) error {
	if s.Compile() != nil {
		return nil
	}
	return s.compiled.Validate(data)
}

// Value checks a Go value of a generated type by its JSON text.
func Value(s *Schema, v any) error {
	data, err := rt.Marshal(v)
	if err != nil {
		return err
	}
	return s.ValidateJSON(data)
}

// Error says how a value fails its schema: in Problems, and in More how many
// others there are.
type Error = schema.Error

// Problem is one place where a value fails its schema: the Pointer of the
// place in the value, the Keyword that it fails, and the Reason in words,
// without the value.
type Problem = schema.Problem
