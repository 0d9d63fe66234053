package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/mcpctl/mcpctl/internal/schema"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
)

// Validator compiles JSON Schemas that servers wrote. It must load nothing:
// what a schema refers to outside itself is unknown.
type Validator interface {
	// Compile compiles a schema. An error means that values are not checked
	// against it, which is logged once, unless it is an [ErrSchemaBudget]:
	// then tools with that schema are not called.
	Compile(schema json.RawMessage) (Checker, error)
}

// Checker checks values against one schema. It is called from several
// goroutines.
type Checker interface {
	// Validate returns what is wrong with a JSON text, without repeating it.
	Validate(value json.RawMessage) error
}

// ErrSchemaBudget says that a schema is larger than what values are checked
// against: 128 levels and 10,000 subschemas.
var ErrSchemaBudget = errors.New("the schema is beyond the validator's budget")

// SchemaError says that a tool cannot be called with validation because a
// schema of it is too large. It is an [ErrSchemaBudget].
type SchemaError struct {
	Server, Tool string
	// Err says which budget it breaks.
	Err error
}

func (e *SchemaError) Error() string { return "tool " + e.Tool + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *SchemaError) Unwrap() error { return e.Err }

func (e *SchemaError) kind() (Class, error) { return ClassBudget, ErrSchemaBudget }

// defaultValidator is the one of this module.
type defaultValidator struct{ opts schema.Options }

// Compile implements [Validator].
func (v defaultValidator) Compile(raw json.RawMessage) (Checker, error) {
	s, err := schema.Compile(raw, v.opts)
	if budget, ok := errors.AsType[*schema.BudgetError](err); ok {
		return nil, budgetError{budget}
	}
	if err != nil {
		return nil, err
	}
	return compiledSchema{s}, nil
}

// budgetError says which budget it is, and not once more that it is one.
type budgetError struct{ *schema.BudgetError }

// Is makes it an [ErrSchemaBudget].
func (budgetError) Is(target error) bool { return target == ErrSchemaBudget }

type compiledSchema struct{ schema *schema.Schema }

// Validate implements [Checker].
func (c compiledSchema) Validate(value json.RawMessage) error { return c.schema.Validate(value) }

// forms checks answers to forms, formats included (specification, elicitation,
// requested schema).
var forms = defaultValidator{schema.Options{Formats: true}}

// maxSchemas bounds how many compiled schemas of a server are kept.
const maxSchemas = 1000

// schemaCache keeps compiled schemas by their text.
type schemaCache struct {
	mu      sync.Mutex
	schemas map[string]func() (Checker, error)
}

// checker returns the compiled schema of one side of a tool, nil if values are
// not to be checked.
func (s *Server) checker(tool *catalog.Tool, side string, raw json.RawMessage) (Checker, error) {
	c := &s.schemas
	c.mu.Lock()
	compile, ok := c.schemas[string(raw)]
	if !ok {
		// Outside the lock: a hostile schema can take seconds.
		compile = sync.OnceValues(func() (Checker, error) {
			checker, err := s.opts.Validator.Compile(raw)
			if err != nil && !errors.Is(err, ErrSchemaBudget) {
				s.log.Warn("the schema cannot be compiled, so values are not checked", "tool", tool.Name, "side", side, "err", err)
				return nil, nil
			}
			return checker, err
		})
		if c.schemas == nil || len(c.schemas) >= maxSchemas {
			c.schemas = make(map[string]func() (Checker, error))
		}
		c.schemas[string(raw)] = compile
	}
	c.mu.Unlock()
	checker, err := compile()
	if err != nil {
		return nil, &SchemaError{s.Name(), tool.Name, err}
	}
	return checker, nil
}

// checkArguments checks arguments against the input schema of a tool.
func (s *Server) checkArguments(tool *catalog.Tool, arguments json.RawMessage) error {
	if tool.InputSchema == nil {
		return nil
	}
	checker, err := s.checker(tool, "input", tool.InputSchema)
	if err != nil || checker == nil {
		return err
	}
	if err := checker.Validate(arguments); err != nil {
		return &ArgumentError{s.Name(), tool.Name, err}
	}
	return nil
}

// checkable fails if structured results of a tool could not be checked because
// its output schema is too large.
func (s *Server) checkable(tool *catalog.Tool) error {
	if tool.OutputSchema == nil {
		return nil
	}
	_, err := s.checker(tool, "output", tool.OutputSchema)
	return err
}

// checkResult checks a structured result against the output schema of a tool.
func (s *Server) checkResult(tool *catalog.Tool, result *Result) error {
	if tool == nil || tool.OutputSchema == nil {
		return nil
	}
	checker, err := s.checker(tool, "output", tool.OutputSchema)
	if err != nil || checker == nil {
		return err
	}
	structured, ok := result.StructuredContent.(json.RawMessage)
	if !ok {
		return &ResultError{s.Name(), tool.Name, result, errors.New("the result has no structured content, and the tool promises it")}
	}
	if err := checker.Validate(structured); err != nil {
		return &ResultError{s.Name(), tool.Name, result, err}
	}
	return nil
}

// checkForm checks the answer to a form.
func checkForm(requested, answer json.RawMessage) error {
	checker, err := forms.Compile(requested)
	if err != nil {
		return errors.New("the server's schema of the answer cannot be used: " + err.Error())
	}
	return checker.Validate(answer)
}

// parameterHeaders returns the headers that carry parameters of a call
// (specification 2026-07-28, streamable HTTP, custom headers from tool
// parameters).
func parameterHeaders(tool *catalog.Tool, arguments json.RawMessage) (http.Header, error) {
	headers := tool.Headers()
	if len(headers) == 0 {
		return nil, nil
	}
	values, err := catalog.HeaderValues(headers, arguments)
	if err != nil {
		return nil, err
	}
	h := make(http.Header, len(values))
	for name, value := range values {
		h.Set(name, wire.EncodeHeader(value))
	}
	return h, nil
}
