package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// A schema that is too large refuses calls, be it that of what comes back; one
// that cannot be compiled does not, and says so once.
func TestSchemasThatDoNotWork(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200)
	odd := `{"type":"object","properties":{"a":{"type":"nothing"}}}`
	const object = `{"type":"object"}`
	s := newSpy(false).tools(
		`{"name":"deep","inputSchema":`+deep+`}`,
		`{"name":"wide","inputSchema":{"type":"object","allOf":[`+strings.TrimSuffix(strings.Repeat(`{},`, 10_001), ",")+`]}}`,
		`{"name":"deep result","inputSchema":`+object+`,"outputSchema":`+deep+`}`,
		`{"name":"odd","inputSchema":`+odd+`}`,
		`{"name":"odd result","inputSchema":`+object+`,"outputSchema":{"type":"object","properties":{"b":{"type":"nothing"}}}}`,
	).on("tools/call", `{"content":[],"structuredContent":{"a":1}}`)
	var log logBuffer
	srv := s.start(t, client.Options{Logger: log.logger()})
	for _, tool := range []string{"deep", "wide", "deep result"} {
		before := len(s.messages("tools/call"))
		_, err := srv.Call(t.Context(), client.Call{Tool: tool})
		failed, ok := errors.AsType[*client.SchemaError](err)
		if !errors.Is(err, client.ErrSchemaBudget) || serverError(t, err).Class != client.ClassBudget || !ok || failed.Tool != tool || len(s.messages("tools/call")) != before {
			t.Errorf("%s: %v", tool, err)
		}
		if text := err.Error(); strings.Count(text, "budget") != 1 || strings.Contains(text, "\n") {
			t.Errorf("%s: it says so twice, or in two lines: %q", tool, text)
		}
		if _, err := srv.Call(t.Context(), client.Call{Tool: tool, NoValidate: true}); err != nil {
			t.Errorf("%s, unchecked: %v", tool, err)
		}
		if _, err := srv.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}); err != nil {
			t.Errorf("%s of generated code: %v", tool, err)
		}
	}
	for range 2 {
		for _, tool := range []string{"odd", "odd result"} {
			if _, err := srv.Call(t.Context(), client.Call{Tool: tool, Arguments: map[string]any{"a": 1}}); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
	if got := strings.Count(log.String(), `"msg":"the schema cannot be compiled`); got != 2 {
		t.Errorf("%d warnings:\n%s", got, &log)
	}
}

// What a schema refers to is not fetched, neither from hosts nor from files.
func TestReferencesAreNotFetched(t *testing.T) {
	var fetched atomic.Int32
	others := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer others.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, ref := range map[string]string{
		"host": others.URL + "/schema.json", "file": "file://" + filepath.ToSlash(file), "path": filepath.ToSlash(file),
	} {
		t.Run(name, func(t *testing.T) {
			schema := fmt.Sprintf(`{"type":"object","properties":{"a":{"$ref":%q}}}`, ref)
			s := newSpy(false).tools(
				`{"name":"in","inputSchema":`+schema+`}`,
				`{"name":"out","inputSchema":{"type":"object"},"outputSchema":`+schema+`}`,
				`{"name":"ask","inputSchema":{"type":"object"}}`,
			)
			s.results["tools/call"] = func(params json.RawMessage) string {
				if strings.Contains(string(params), `"name":"ask"`) {
					return asks("", question("k", "q", schema))
				}
				return `{"content":[],"structuredContent":{"a":1}}`
			}
			srv := s.start(t, client.Options{Handlers: client.Handlers{Input: accepts(map[string]any{"a": 1})}})
			for _, tool := range []string{"in", "out"} {
				// Were it fetched, a number would not do.
				if _, err := srv.Call(t.Context(), client.Call{Tool: tool, Arguments: map[string]any{"a": 1}}); err != nil {
					t.Errorf("%s: %v", tool, err)
				}
			}
			if _, err := srv.Call(t.Context(), client.Call{Tool: "ask"}); err == nil || !strings.Contains(err.Error(), "the server's schema of the answer cannot be used") {
				t.Errorf("ask: %v", err)
			}
			if fetched.Load() != 0 {
				t.Error("it was fetched")
			}
		})
	}
}

type validator func(json.RawMessage) (client.Checker, error)

func (f validator) Compile(schema json.RawMessage) (client.Checker, error) { return f(schema) }

type checker func(json.RawMessage) error

func (f checker) Validate(value json.RawMessage) error { return f(value) }

func TestOwnValidator(t *testing.T) {
	var compiled atomic.Int32
	srv := newSpy(false).tools(cityTool).start(t, client.Options{Validator: validator(func(json.RawMessage) (client.Checker, error) {
		compiled.Add(1)
		return checker(func(value json.RawMessage) error {
			if string(value) == `{"city":"bad"}` {
				return errors.New("a bad one")
			}
			return nil
		}), nil
	})})
	for range 2 {
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"city": "bad"}}); err == nil || !strings.Contains(err.Error(), "a bad one") {
			t.Errorf("error %v", err)
		}
	}
	if compiled.Load() != 1 {
		t.Errorf("compiled %d times", compiled.Load())
	}
}

// A validator of the caller's says what is too large, what cannot be compiled
// and what a result may be.
func TestOwnValidatorDecides(t *testing.T) {
	s := newSpy(false).tools(
		`{"name":"large","inputSchema":{"title":"large"}}`,
		`{"name":"broken","inputSchema":{"title":"broken"}}`,
		`{"name":"result","inputSchema":{"title":"fine"},"outputSchema":{"title":"picky"}}`,
	).on("tools/call", `{"content":[],"structuredContent":7}`)
	srv := s.start(t, client.Options{Validator: validator(func(schema json.RawMessage) (client.Checker, error) {
		switch string(schema) {
		case `{"title":"large"}`:
			return nil, fmt.Errorf("no room: %w", client.ErrSchemaBudget)
		case `{"title":"broken"}`:
			return nil, errors.New("broken")
		case `{"title":"picky"}`:
			return checker(func(json.RawMessage) error { return errors.New("not seven") }), nil
		}
		return checker(func(json.RawMessage) error { return nil }), nil
	})})
	for tool, is := range map[string]error{"large": client.ErrSchemaBudget, "broken": nil, "result": client.ErrInvalidResult} {
		if _, err := srv.Call(t.Context(), client.Call{Tool: tool}); !errors.Is(err, is) {
			t.Errorf("%s: %v, want %v", tool, err, is)
		}
	}
}

// A parameter that its header cannot carry stays here, as does a tool whose
// annotations of headers are wrong.
func TestParameterHeaders(t *testing.T) {
	s := newSpy(false).tools(
		`{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},"c":{"type":"string","x-mcp-header":"C"}}}}`,
		`{"name":"wrong","inputSchema":{"type":"object","properties":{"n":{"type":"object","x-mcp-header":"N"}}}}`,
	)
	srv := s.start(t, client.Options{})
	for _, n := range []string{"9007199254740992", "1.5", `{"a":1}`} {
		_, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: json.RawMessage(`{"n":` + n + `}`), NoValidate: true})
		if argument, ok := errors.AsType[*client.ArgumentError](err); !ok || argument.Tool != "t" || !errors.Is(err, client.ErrInvalidArguments) || len(s.messages("tools/call")) != 0 {
			t.Errorf("%s: %v", n, err)
		}
	}
	_, err := srv.Call(t.Context(), client.Call{Tool: "wrong"})
	if unknown, ok := errors.AsType[*client.UnknownToolError](err); !ok || !strings.Contains(unknown.Problem, "x-mcp-header") || !errors.Is(err, client.ErrUnknownTool) || len(s.messages("tools/call")) != 0 {
		t.Errorf("wrong: %v", err)
	}
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: json.RawMessage(`{"n":4.2e1,"c":null}`), NoValidate: true}); err != nil {
		t.Fatal(err)
	}
	if h := s.messages("tools/call")[0].Header; h.Get("Mcp-Param-N") != "42" || len(h["Mcp-Param-C"]) != 0 {
		t.Errorf("headers %v", h)
	}
}
