package validate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestValidateJSON(t *testing.T) {
	tests := []struct {
		name, schema, value string
		want                []Problem
	}{
		{"valid", `{"type":"object","required":["a"]}`, `{"a":1}`, nil},
		{"type", `{"properties":{"a/b":{"type":["string","null"]}}}`, `{"a/b":1}`, []Problem{{Pointer: "/a~1b", Keyword: "type", Reason: "want null or string, have number"}}},
		{"required", `{"required":["b","a"]}`, `{}`, []Problem{{Pointer: "", Keyword: "required", Reason: `missing "a", "b"`}}},
		{"additional", `{"properties":{"a":true},"additionalProperties":false}`, `{"b":1}`, []Problem{{Pointer: "", Keyword: "additionalProperties", Reason: `not allowed: "b"`}}},
		{"enum keeps the value out", `{"enum":["a"]}`, `"secret"`, []Problem{{Pointer: "", Keyword: "enum", Reason: "not one of the allowed values"}}},
		{"const", `{"items":{"const":1}}`, `[1,2]`, []Problem{{Pointer: "/1", Keyword: "const", Reason: "not the only allowed value"}}},
		{"pattern", `{"pattern":"^a"}`, `"secret"`, []Problem{{Pointer: "", Keyword: "pattern", Reason: `does not match the pattern "^a"`}}},
		{"bounds", `{"items":{"minimum":1,"maximum":2}}`, `[0,3]`, []Problem{{Pointer: "/0", Keyword: "minimum", Reason: "less than 1"}, {Pointer: "/1", Keyword: "maximum", Reason: "more than 2"}}},
		{"exclusive bounds", `{"items":{"exclusiveMinimum":1,"exclusiveMaximum":2}}`, `[1,2]`, []Problem{{Pointer: "/0", Keyword: "exclusiveMinimum", Reason: "not more than 1"}, {Pointer: "/1", Keyword: "exclusiveMaximum", Reason: "not less than 2"}}},
		{"multiple", `{"multipleOf":0.5}`, `0.7`, []Problem{{Pointer: "", Keyword: "multipleOf", Reason: "no multiple of 1/2"}}},
		{"lengths", `{"items":{"minLength":2,"maxLength":3}}`, `["a","abcd"]`, []Problem{{Pointer: "/0", Keyword: "minLength", Reason: "shorter than 2 characters"}, {Pointer: "/1", Keyword: "maxLength", Reason: "longer than 3 characters"}}},
		{"counts", `{"items":{"minItems":1,"maxItems":1}}`, `[[],[1,2]]`, []Problem{{Pointer: "/0", Keyword: "minItems", Reason: "fewer than 1 items"}, {Pointer: "/1", Keyword: "maxItems", Reason: "more than 1 items"}}},
		{"member counts", `{"items":{"minProperties":1,"maxProperties":1}}`, `[{},{"a":1,"b":2}]`, []Problem{{Pointer: "/0", Keyword: "minProperties", Reason: "fewer than 1 members"}, {Pointer: "/1", Keyword: "maxProperties", Reason: "more than 1 members"}}},
		{"unique", `{"uniqueItems":true}`, `[1,2,1.0]`, []Problem{{Pointer: "", Keyword: "uniqueItems", Reason: "items 0 and 2 are equal"}}},
		{"anyOf is one problem", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, []Problem{{Pointer: "", Keyword: "anyOf", Reason: "none of the alternatives"}}},
		{"oneOf, none", `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `1`, []Problem{{Pointer: "", Keyword: "oneOf", Reason: "none of the alternatives"}}},
		{"oneOf, two", `{"oneOf":[true,{"type":"number"}]}`, `1`, []Problem{{Pointer: "", Keyword: "oneOf", Reason: "more than one of the alternatives where exactly one must match"}}},
		{"not", `{"not":{"type":"number"}}`, `1`, []Problem{{Pointer: "", Keyword: "not", Reason: "matches what is excluded"}}},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, []Problem{{Pointer: "/a", Keyword: "", Reason: "not allowed"}}},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, []Problem{{Pointer: "", Keyword: "contains", Reason: "too few items of the kind that must be contained"}}},
		{"contains, too many", `{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`, []Problem{{Pointer: "", Keyword: "maxContains", Reason: "too many items of the kind that may be contained"}}},
		{"dependent", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []Problem{{Pointer: "", Keyword: "dependentRequired", Reason: `missing "b", which "a" needs`}}},
		{"dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, []Problem{{Pointer: "", Keyword: "dependencies", Reason: `missing "b", which "a" needs`}}},
		{"names", `{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []Problem{{Pointer: "", Keyword: "propertyNames", Reason: `the name "ab" is not allowed`}}},
		{"tuple", `{"prefixItems":[true],"items":false}`, `[1,2]`, []Problem{{Pointer: "/1", Keyword: "", Reason: "not allowed"}}},
		{"through references", `{"$defs":{"a":{"type":"object","properties":{"b":{"type":"string"}}}},"allOf":[{"$ref":"#/$defs/a"}]}`, `{"b":1}`, []Problem{{Pointer: "/b", Keyword: "type", Reason: "want string, have number"}}},
		{"look-ahead", `{"pattern":"^(?!b)"}`, `"b"`, []Problem{{Pointer: "", Keyword: "pattern", Reason: `does not match the pattern "^(?!b)"`}}},
		{"long property name", `{"pattern":"^\\p{Letter}+$"}`, `"π1"`, []Problem{{Pointer: "", Keyword: "pattern", Reason: `does not match the pattern "^\\p{L}+$"`}}},
		{"formats are annotations", `{"format":"email"}`, `"x"`, nil},
		{"formats are annotations in draft-07 too", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `"x"`, nil},
		{"a member named format", `{"properties":{"format":{"type":"string"}}}`, `{"format":1}`, []Problem{{Pointer: "/format", Keyword: "type", Reason: "want string, have number"}}},
		{"draft-07 ignores siblings", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a","maxLength":1}}}`, `{"a":"ab"}`, nil},
		{"big numbers", `{"maximum":18446744073709551615}`, `18446744073709551616`, []Problem{{Pointer: "", Keyword: "maximum", Reason: "more than 18446744073709551615"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Schema{JSON: tt.schema}
			if err := s.Compile(); err != nil {
				t.Fatal(err)
			}
			err := s.ValidateJSON([]byte(tt.value))
			if tt.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(tt.want, e.Problems); d != "" {
				t.Error(d)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error repeats the value: %v", err)
			}
		})
	}
}

func TestWhatCannotBeCompiledChecksNothing(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"https://example.test/other.json"}`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"#/$defs/none"}`,
		`{"type":"text"}`, `{`, `{"$schema":"https://example.test/dialect"}`, `{"pattern":"("}`, `{"multipleOf":1e999999999}`,
	} {
		s := &Schema{JSON: schema}
		if s.Compile() == nil {
			t.Errorf("%s compiles", schema)
		}
		if err := s.ValidateJSON([]byte(`1`)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestManyProblems(t *testing.T) {
	s := &Schema{JSON: `{"items":{"type":"string"}}`}
	err := s.ValidateJSON([]byte(`[` + strings.Repeat("1,", 29) + `1]`))
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Problems) != 10 || e.More != 20 || !strings.HasSuffix(err.Error(), "; and 20 more") {
		t.Errorf("%v", err)
	}
	names := &Schema{JSON: `{"additionalProperties":false}`}
	err = names.ValidateJSON([]byte(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"` + strings.Repeat("z", 500) + `":1}`))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
}

func TestBadInput(t *testing.T) {
	s := &Schema{JSON: `{}`}
	for _, in := range []string{``, `{`, `1 2`, `1e999999999`, `[1e-99999]`} {
		if err := s.ValidateJSON([]byte(in)); err == nil {
			t.Errorf("%q passes", in)
		}
	}
	if err := Value(s, make(chan int)); err == nil {
		t.Error("a channel passes")
	}
	if err := Value(&Schema{JSON: `{"type":"string"}`}, int64(1)); err == nil {
		t.Error("a number passes for a string")
	}
}

// TestPatternsEnd gives a pattern whose time grows exponentially.
func TestPatternsEnd(t *testing.T) {
	s := &Schema{JSON: `{"pattern":"^(?=a)(a+)+$"}`}
	start := time.Now()
	_ = s.ValidateJSON([]byte(`"` + strings.Repeat("a", 40) + `!"`))
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}
