// Package bind is what the generated clients of MCP tools have in common: it
// encodes arguments, calls, and turns what comes back into a typed value or a
// typed error. It is small on purpose, so that a generated method is one line.
package bind

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/typegen/rt"
)

// Caller calls a tool. Both *mcp.ClientSession of go-sdk and the handle of a
// server in this module's client are Callers. It returns a result whose
// IsError is set as a result and not as an error.
//
// A Caller that puts the exact bytes of structuredContent into the result, as
// a [json.RawMessage], loses nothing. Where it holds decoded values, as those
// of a bare session, an integer past 2^53 is an error rather than a rounded
// number.
type Caller interface {
	CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// Tool is what generated code knows of one tool.
type Tool struct {
	// Name is the tool's name on its server.
	Name string
	// Digest is the digest of the tool's contract when the code was generated:
	// its name, its execution member and both schemas without annotations.
	Digest string
	// Decoded is the digest that a client computes which has decoded the tool
	// and so no longer knows its execution member and its largest numbers.
	// Empty where that makes no difference.
	Decoded string
	// Input and Output check arguments before they are sent and structured
	// results when they arrive. Nil checks nothing.
	Input, Output Validator
}

// Validator checks a JSON text against a schema. Its errors carry the JSON
// pointer of what is wrong.
type Validator interface {
	ValidateJSON(data []byte) error
}

// Client calls the tools of one server.
type Client struct {
	caller Caller
	tools  []*Tool
	params func(*mcp.CallToolParams)
	loose  bool
	log    *slog.Logger
	told   sync.Map // Validator -> true, where the log has that it checks nothing

	checking sync.Once
	check    func(context.Context)
}

// Option changes how a [Client] calls.
type Option func(*Client)

// WithParams lets f change the parameters of each call before it is sent, for
// instance to add a progress token or other _meta.
func WithParams(f func(*mcp.CallToolParams)) Option { return func(c *Client) { c.params = f } }

// WithoutValidation turns off the checks of arguments and results against
// their schemas.
func WithoutValidation() Option { return func(c *Client) { c.loose = true } }

// WithLogger logs, once for each tool, that a schema cannot be compiled and so
// checks nothing.
func WithLogger(log *slog.Logger) Option { return func(c *Client) { c.log = log } }

// WithCheck compares the server's tools with those that the code was generated
// from, once, before the first call. What to do about differences, or about a
// list that cannot be had, is for report to say; the call goes on.
func WithCheck(l Lister, report func([]Difference, error)) Option {
	return func(c *Client) {
		c.check = func(ctx context.Context) { report(c.Check(ctx, l)) }
	}
}

// New returns a client that calls through caller. The tools are those that
// [Client.Check] looks for.
func New(caller Caller, tools []*Tool, opts ...Option) *Client {
	c := &Client{caller: caller, tools: tools}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Call calls a tool that has no output schema. A result with IsError set comes
// back as a [*ToolError] beside the result itself.
func (c *Client) Call(ctx context.Context, t *Tool, in any) (*mcp.CallToolResult, error) {
	if c.check != nil {
		c.checking.Do(func() { c.check(ctx) })
	}
	args, err := rt.Marshal(in)
	if err != nil {
		return nil, &ArgumentError{t.Name, err}
	}
	if err := c.validate(t, "input", t.Input, args); err != nil {
		return nil, &ArgumentError{t.Name, err}
	}
	params := &mcp.CallToolParams{Name: t.Name, Arguments: json.RawMessage(args)}
	if c.params != nil {
		c.params(params)
	}
	res, err := c.caller.CallTool(ctx, params)
	switch {
	case err != nil:
		return res, err
	case res == nil:
		return nil, &ResultError{t.Name, nil, errors.New("the call gave no result")}
	case res.NeedsInput():
		return res, &InputRequiredError{t.Name, res}
	case res.IsError:
		return res, &ToolError{t.Name, res}
	}
	return res, nil
}

// validate checks a JSON text where there is something to check it with.
func (c *Client) validate(t *Tool, side string, v Validator, data []byte) error {
	if v == nil || c.loose {
		return nil
	}
	if c.log != nil {
		if x, ok := v.(interface{ Compile() error }); ok && x.Compile() != nil {
			if _, told := c.told.LoadOrStore(v, true); !told {
				c.log.Warn("the schema cannot be compiled, so values are not checked", "tool", t.Name, "side", side, "err", x.Compile())
			}
		}
	}
	return v.ValidateJSON(data)
}

// Call calls a tool that has an output schema and decodes its structured
// result. The whole result is returned too, also beside most errors.
func Call[Out any](ctx context.Context, c *Client, t *Tool, in any) (Out, *mcp.CallToolResult, error) {
	var out Out
	res, err := c.Call(ctx, t, in)
	if err != nil {
		return out, res, err
	}
	raw, err := structured(res.StructuredContent)
	if err != nil {
		return out, res, &ResultError{t.Name, res, err}
	}
	if err := c.validate(t, "output", t.Output, raw); err != nil {
		return out, res, &ResultError{t.Name, res, err}
	}
	if err := rt.Unmarshal(raw, &out); err != nil {
		var zero Out
		return zero, res, &ResultError{t.Name, res, err}
	}
	return out, res, nil
}

// ErrNoStructuredContent says that a tool with an output schema answered
// without a structured result.
var ErrNoStructuredContent = errors.New("the result has no structuredContent")

// structured returns the JSON text of structured content, and refuses what
// has been rounded on the way.
func structured(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, ErrNoStructuredContent
	case json.RawMessage:
		if len(v) == 0 {
			return nil, ErrNoStructuredContent
		}
		return v, nil
	}
	if err := rounded(reflect.ValueOf(v), ""); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// exactInt is the largest integer below which float64 holds all of them.
const exactInt = 1 << 53

// rounded looks for floats that may have been another number on the wire.
func rounded(v reflect.Value, at string) error {
	switch v.Kind() {
	case reflect.Interface:
		return rounded(v.Elem(), at)
	case reflect.Float64:
		if f := v.Float(); math.Abs(f) > exactInt && f == math.Trunc(f) {
			return &rt.Error{Pointer: at, Reason: "the integer is past 2^53 and reached us as a float64, so it may have been rounded; call through a client that keeps the exact bytes"}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := rounded(it.Value(), at+"/"+fmt.Sprint(it.Key())); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Interface {
			for i := range v.Len() {
				if err := rounded(v.Index(i), at+"/"+strconv.Itoa(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ToolError is a result with IsError set: the tool ran and says that it
// failed.
type ToolError struct {
	Tool   string
	Result *mcp.CallToolResult
}

// Error names the tool and repeats what it said, in one line of bounded length.
func (e *ToolError) Error() string {
	const longest = 300
	message := "tool " + strconv.Quote(e.Tool) + " reports an error"
	text := []rune(strings.Join(strings.FieldsFunc(e.Text(), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " "))
	if len(text) == 0 {
		return message
	}
	if len(text) > longest {
		text = append(text[:longest], '…')
	}
	return message + ": " + string(text)
}

// Text returns the text content of the result, which is where tools say what
// went wrong. It is the server's text.
func (e *ToolError) Text() string {
	var b bytes.Buffer
	for _, c := range e.Result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// InputRequiredError is a result that asks for input before the tool goes on
// (specification 2026-07-28, multi round-trip requests). Result holds the
// requests and the state to send back.
type InputRequiredError struct {
	Tool   string
	Result *mcp.CallToolResult
}

func (e *InputRequiredError) Error() string {
	return "tool " + strconv.Quote(e.Tool) + " asks for input"
}

// ArgumentError says that arguments cannot be encoded or do not satisfy the
// input schema. Nothing was sent.
type ArgumentError struct {
	Tool string
	Err  error
}

func (e *ArgumentError) Error() string {
	return "tool " + strconv.Quote(e.Tool) + ": arguments: " + e.Err.Error()
}

// Unwrap returns what is wrong with the arguments.
func (e *ArgumentError) Unwrap() error { return e.Err }

// ResultError says that a tool's structured result is missing, does not
// satisfy the output schema or does not fit the generated type.
type ResultError struct {
	Tool   string
	Result *mcp.CallToolResult
	Err    error
}

func (e *ResultError) Error() string {
	return "tool " + strconv.Quote(e.Tool) + ": result: " + e.Err.Error()
}

// Unwrap returns what is wrong with the result.
func (e *ResultError) Unwrap() error { return e.Err }
