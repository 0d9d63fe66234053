package subschema

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func parse(t testing.TB, text string) *schemadoc.Value {
	t.Helper()
	v, err := schemadoc.Parse([]byte(text), schemadoc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func compile(t testing.TB, s *Space, text string, m Mode) Schema {
	t.Helper()
	root := parse(t, text)
	d, err := NewDocument(root)
	if err != nil {
		t.Fatal(err)
	}
	return s.Compile(d, root, m)
}

func validate(t testing.TB, schema, value string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("mem:///s.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(value)))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(v) == nil
}

// TestWithin holds verdicts on pairs that need every part of the engine. Each
// witness is checked by another validator.
func TestWithin(t *testing.T) {
	tests := []struct {
		a, b      string
		ab, ba    Verdict
		different bool // the two validators disagree by design
	}{
		{`true`, `{}`, Yes, Yes, false},
		{`false`, `{"type":"null"}`, Yes, No, false},
		{`{"type":"null"}`, `{"enum":[null]}`, Yes, Yes, false},
		// Numbers.
		{`{"type":"number","minimum":0,"maximum":1,"multipleOf":0.3}`, `{"enum":[0,0.3,0.6,0.9]}`, Yes, Yes, false},
		{`{"type":"integer","minimum":0.5,"maximum":0.7}`, `false`, Yes, Yes, false},
		{`{"type":"integer","minimum":-2,"maximum":2,"not":{"enum":[-2,-1,0,1]}}`, `{"const":2}`, Yes, Yes, false},
		{`{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":1.0000001}`, `{"type":"integer"}`, No, No, false},
		{`{"type":"number","not":{"multipleOf":0.5}}`, `{"not":{"type":"integer"}}`, Yes, No, false},
		{`{"type":"integer","multipleOf":6,"minimum":1,"maximum":11}`, `{"const":6}`, Yes, Yes, false},
		{`{"type":"integer","maximum":-1,"multipleOf":7}`, `{"maximum":-7}`, Yes, No, false},
		{`{"type":"integer","multipleOf":2,"not":{"multipleOf":4},"minimum":1,"maximum":7}`, `{"enum":[2,6]}`, Yes, Yes, false},
		{`{"type":"number","maximum":1e399}`, `{"type":"number","maximum":1e400}`, Yes, No, false},
		{`{"type":"number","maximum":1e4000}`, `{"type":"number","maximum":1e4001}`, Undecided, Undecided, true},
		// Strings.
		{`{"type":"string","pattern":"^(a|b)*$","maxLength":1}`, `{"enum":["","a","b"]}`, Yes, Yes, false},
		{`{"type":"string","pattern":"^a+$"}`, `{"pattern":"^(aa)*$"}`, No, No, false},
		{`{"type":"string","pattern":"^(aa)+$"}`, `{"pattern":"^a+$","minLength":2}`, Yes, No, false},
		{`{"type":"string","pattern":"^\\w+$"}`, `{"pattern":"^[A-Za-z0-9_]+$"}`, Yes, No, false},
		{`{"type":"string","pattern":"\\bfoo\\b"}`, `{"pattern":"foo"}`, Yes, No, false},
		{`{"type":"string","pattern":"^\\s$"}`, `{"enum":["\t","\n","\u000b","\f","\r"," "]}`, No, Yes, true},
		{`{"type":"string","pattern":"^.$"}`, `{"not":{"const":"\n"}}`, Yes, No, false},
		{`{"type":"string","pattern":"^[^a]$"}`, `{"maxLength":1}`, Yes, No, false},
		{`{"type":"string","pattern":"^[a\\-z\\]]$"}`, `{"enum":["a","-","z","]"]}`, Yes, Yes, false},
		{`{"type":"string","pattern":"^\\u0041\\x42\\/$"}`, `{"const":"AB/"}`, Yes, Yes, false},
		{`{"type":"string","pattern":"^(?<year>\\d{4})$"}`, `{"minLength":4,"maxLength":4}`, Yes, No, true},
		{`{"type":"string","pattern":"^\\p{L}$"}`, `{"type":"string","pattern":"^\\p{Lu}$"}`, No, Yes, false},
		{`{"type":"string","minLength":3000}`, `{"minLength":2999}`, Yes, No, false},
		{`{"type":"string","pattern":"^a{0,50}$","minLength":51}`, `false`, Yes, Yes, false},
		{`{"type":"string","pattern":"(?=a)"}`, `{"type":"string","pattern":"(?=b)"}`, Undecided, Undecided, true},
		{`{"type":"string","minLength":9,"maxLength":3}`, `false`, Yes, Yes, false},
		{`{"type":"string","maxLength":0}`, `{"const":""}`, Yes, Yes, false},
		{`{"type":"string","maxLength":0,"not":{"const":""}}`, `false`, Yes, Yes, false},
		// Arrays.
		{`{"type":"array","items":{"enum":[1,2]},"uniqueItems":true}`, `{"maxItems":2}`, Yes, No, false},
		{`{"type":"array","items":{"enum":[1,2]},"minItems":3}`, `{"uniqueItems":false}`, Yes, No, false},
		{`{"type":"array","prefixItems":[{"const":1},{"const":1}],"uniqueItems":true}`, `{"maxItems":1}`, Yes, No, false},
		{`{"type":"array","contains":{"type":"string"},"items":{"type":["string","number"]}}`, `{"minItems":1}`, Yes, No, false},
		{`{"type":"array","contains":{"const":1},"minContains":2,"maxItems":1}`, `false`, Yes, Yes, false},
		{`{"type":"array","contains":{"const":1},"maxContains":1,"items":{"const":1}}`, `{"minItems":1}`, Yes, No, false},
		{`{"type":"array","allOf":[{"contains":{"const":1}},{"contains":{"const":2}}]}`, `{"minItems":2}`, Yes, No, false},
		{`{"type":"array","not":{"uniqueItems":true}}`, `{"minItems":2}`, Yes, No, false},
		{`{"type":"array","not":{"contains":{"type":"string"}}}`, `{"items":{"not":{"type":"string"}}}`, Yes, No, false},
		{`{"type":"array","prefixItems":[{},false]}`, `{"maxItems":1}`, Yes, No, false},
		{`{"type":"array","prefixItems":[{"type":"string"}],"unevaluatedItems":false}`, `{"prefixItems":[{"type":"string"}],"items":false}`, Yes, No, false},
		// Objects.
		{`{"type":"object","propertyNames":{"enum":["a","b"]}}`, `{"maxProperties":2}`, Yes, No, false},
		{`{"type":"object","propertyNames":{"maxLength":0},"minProperties":2}`, `false`, Yes, Yes, false},
		{`{"type":"object","propertyNames":false}`, `{"maxProperties":0}`, Yes, No, false},
		{`{"type":"object","patternProperties":{"^a":{"type":"number"},"z$":{"type":"integer"}}}`, `{"properties":{"az":{"type":"integer"}}}`, Yes, No, false},
		{`{"type":"object","properties":{"a":{"type":"number"}},"patternProperties":{"^a$":{"type":"string"}},"required":["a"]}`, `false`, Yes, Yes, false},
		{`{"type":"object","additionalProperties":{"type":"string"},"properties":{"n":{"type":"number"}}}`, `{"patternProperties":{"^[^n]":{"type":"string"}}}`, Yes, No, false},
		{`{"type":"object","minProperties":3,"additionalProperties":false,"properties":{"a":{},"b":{}}}`, `false`, Yes, Yes, false},
		{`{"type":"object","dependentSchemas":{"a":{"required":["b"]}},"required":["a"]}`, `{"required":["b"]}`, Yes, No, false},
		{`{"type":"object","dependencies":{"a":["b"],"b":{"required":["c"]}},"required":["a"]}`, `{"required":["c"]}`, Yes, No, false},
		{`{"type":"object","not":{"required":["a"]}}`, `{"properties":{"a":false}}`, Yes, No, false},
		{`{"type":"object","not":{"properties":{"a":{"type":"string"}}}}`, `{"required":["a"]}`, Yes, No, false},
		{`{"type":"object","not":{"propertyNames":{"pattern":"^x"}}}`, `{"minProperties":1}`, Yes, No, false},
		{`{"const":{"a":1}}`, `{"type":"object","properties":{"a":{"const":1}},"required":["a"],"additionalProperties":false}`, Yes, Yes, false},
		{`{"type":"object","not":{"const":{}}}`, `{"minProperties":1}`, Yes, No, false},
		{`{"type":"array","not":{"const":[]}}`, `{"minItems":1}`, Yes, No, false},
		// Combinations.
		{`{"oneOf":[{"type":"integer"},{"type":"number","minimum":0}]}`, `{"anyOf":[{"type":"integer","maximum":-1},{"type":"number","not":{"type":"integer"},"minimum":0}]}`, Yes, Yes, false},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}],"type":"object"}`, `{"not":{"required":["a","b"]}}`, Yes, No, false},
		{`{"anyOf":[{"type":"string"},{"not":{"type":"string"}}]}`, `true`, Yes, Yes, false},
		{`{"if":{"type":"string"},"then":{"maxLength":3},"else":{"type":"number"}}`, `{"anyOf":[{"type":"string","maxLength":3},{"type":"number"}]}`, Yes, Yes, false},
		{`{"then":false,"else":false}`, `true`, Yes, Yes, false},
		{`{"type":"object","allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":{"type":"string"}}`, `{"properties":{"b":{"type":"string"}}}`, Yes, No, false},
		{`{"type":"object","anyOf":[{"properties":{"a":{}}},true],"unevaluatedProperties":false}`, `{"properties":{"b":false}}`, Undecided, No, false},
		// References.
		{`{"$ref":"#/$defs/l","$defs":{"l":{"type":["array","null"],"items":{"$ref":"#/$defs/l"}}}}`, `{"$ref":"#/$defs/m","$defs":{"m":{"type":["array","null","string"],"items":{"$ref":"#/$defs/m"}}}}`, Yes, No, false},
		{`{"type":"object","properties":{"n":{"$ref":"#"}},"required":["n"]}`, `false`, Yes, Yes, false},
		{`{"$id":"https://e.com/a","$ref":"b","$defs":{"x":{"$id":"b","type":"string"}}}`, `{"type":"string"}`, Yes, Yes, false},
		{`{"$ref":"#/x-mine/y","x-mine":{"y":{"type":"string"}}}`, `{"type":"string"}`, Yes, Yes, false},
		{`{"allOf":[{"$ref":"#/$defs/a~1b%25"}],"$defs":{"a/b%":{"type":"string"}}}`, `{"type":"string"}`, Yes, Yes, false},
	}
	for _, tt := range tests {
		for _, q := range []struct {
			a, b string
			want Verdict
		}{{tt.a, tt.b, tt.ab}, {tt.b, tt.a, tt.ba}} {
			s := NewSpace(DefaultBudget)
			got := s.Within(compile(t, s, q.a, Mode{}), compile(t, s, q.b, Mode{}))
			if got.Verdict != q.want {
				t.Errorf("%s within %s: %v (%s), want %v", q.a, q.b, got.Verdict, got.Reason, q.want)
			}
			if got.Verdict == Undecided && got.Reason == "" {
				t.Errorf("%s within %s: undecided without a reason", q.a, q.b)
			}
			if w := got.Witness; w != nil && !tt.different && (!validate(t, q.a, key(w)) || validate(t, q.b, key(w))) {
				t.Errorf("%s within %s: %s is no witness", q.a, q.b, key(w))
			}
		}
	}
}

// TestModes holds the readings of silence about members.
func TestModes(t *testing.T) {
	tests := []struct {
		schema string
		mode   Mode
		value  string
		want   Verdict
	}{
		{`{"properties":{"a":{}}}`, Mode{}, `{"b":1}`, Yes},
		{`{"properties":{"a":{}}}`, Mode{Extras: Closed}, `{"b":1}`, No},
		{`{"properties":{"a":{}}}`, Mode{Extras: Closed}, `{"a":{"c":1}}`, Yes},
		{`{"properties":{"a":{"type":"object"}}}`, Mode{Extras: Closed}, `{"a":{"c":1}}`, No},
		{`{"properties":{"a":{"type":"object"}}}`, Mode{Extras: Strange}, `{"a":{"c":1}}`, Yes},
		{`{"properties":{"a":{}}}`, Mode{Extras: Strange}, `{"mcpctl/undescribed":1}`, Yes},
		{`{"properties":{"a":{}},"additionalProperties":true}`, Mode{Extras: Closed}, `{"b":1}`, Yes},
		{`{"properties":{"a":{}},"additionalProperties":true}`, Mode{Extras: Closed, Loose: true}, `{"b":1}`, No},
		{`{"properties":{"a":{}},"additionalProperties":{"type":"number"}}`, Mode{Extras: Closed, Loose: true}, `{"b":1}`, Yes},
		{`{"properties":{"a":{}},"additionalProperties":{"type":"number"}}`, Mode{Extras: AllOut}, `{"b":1}`, No},
		{`{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, Mode{Extras: Closed}, `{"a":1,"b":1}`, Yes},
		{`{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, Mode{Extras: Closed}, `{"c":1}`, No},
		{`{"properties":{"a":{}},"patternProperties":{"^x":{}}}`, Mode{Extras: Closed}, `{"xx":1}`, Yes},
		{`{"not":{"properties":{"a":{"type":"string"}}}}`, Mode{Extras: Closed}, `{"a":1,"b":2}`, Yes},
		{`{"additionalProperties":false}`, Mode{Open: true}, `{"b":1}`, Yes},
		{`{"properties":{"a":{"default":1}},"required":["a"]}`, Mode{Defaults: true}, `{}`, Yes},
		{`{"properties":{"a":{}},"required":["a"]}`, Mode{Defaults: true}, `{}`, No},
		{`{"type":"integer","maximum":9007199254740991}`, Mode{Noise: true}, `9007199254740992`, Yes},
		{`{"type":"integer","maximum":9007199254740991}`, Mode{}, `9007199254740992`, No},
		{`{"type":"number","maximum":9007199254740991}`, Mode{Noise: true}, `9007199254740992`, No},
	}
	for _, tt := range tests {
		s := NewSpace(DefaultBudget)
		if got := s.Valid(compile(t, s, tt.schema, tt.mode), parse(t, tt.value)); got != tt.want {
			t.Errorf("%s, %+v: %s is %v, want %v", tt.schema, tt.mode, tt.value, got, tt.want)
		}
	}
}

func TestNewDocumentLimits(t *testing.T) {
	for name, text := range map[string]string{
		"dialect": `{"$schema":"http://json-schema.org/draft-04/schema#"}`,
		"values":  `{"enum":[` + strings.Repeat("1,", MaxValues) + `1]}`,
		"nodes":   `{"allOf":[` + strings.Repeat("{},", MaxNodes) + `{}]}`,
		"nesting": strings.Repeat(`{"not":`, MaxNest+2) + `{}` + strings.Repeat(`}`, MaxNest+2),
		"depth":   `{"const":` + strings.Repeat(`[`, 5*MaxNest) + strings.Repeat(`]`, 5*MaxNest) + `}`,
	} {
		if _, err := NewDocument(parse(t, text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestBudget holds that a budget that runs out gives "undecided", for whatever
// amount.
func TestBudget(t *testing.T) {
	const a = `{"type":"object","properties":{"a":{"type":"string","pattern":"^(a|b)*a(a|b){8}$"},"b":{"oneOf":[{"type":"integer"},{"type":"number","minimum":3}]}},"required":["a","b"]}`
	b := strings.Replace(a, `{8}`, `{8,9}`, 1)
	decided := false
	for budget := 1; budget < 200_000; budget = budget*5/4 + 1 {
		s := NewSpace(budget)
		got := s.Within(compile(t, s, a, Mode{}), compile(t, s, b, Mode{}))
		if got.Verdict == No {
			t.Fatalf("budget %d: %+v", budget, got)
		}
		if decided && got.Verdict != Yes {
			t.Errorf("budget %d is not enough where a smaller one was", budget)
		}
		decided = decided || got.Verdict == Yes
	}
	if !decided {
		t.Error("never decided")
	}
}

// FuzzWithin holds what must be true of any two schemas: each is within
// itself, and a witness is one by the account of eval.
func FuzzWithin(f *testing.F) {
	f.Add(`{"type":"string","pattern":"^a+$"}`, `{"minLength":2}`)
	f.Add(`{"properties":{"a":{"$ref":"#"}},"minProperties":1}`, `{"not":{"required":["a"]}}`)
	f.Add(`{"items":{"enum":[1,[2]]},"uniqueItems":true,"minItems":2}`, `{"contains":{"const":1}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 5000 {
			return
		}
		va, err := schemadoc.Parse([]byte(a), schemadoc.Limits{})
		vb, err2 := schemadoc.Parse([]byte(b), schemadoc.Limits{})
		if err != nil || err2 != nil {
			return
		}
		da, err := NewDocument(va)
		db, err2 := NewDocument(vb)
		if err != nil || err2 != nil {
			return
		}
		s := NewSpace(50_000)
		x, y := s.Compile(da, va, Mode{}), s.Compile(db, vb, Mode{})
		if got := s.Within(x, x); got.Verdict != Yes {
			t.Errorf("%s within itself: %+v", a, got)
		}
		if got := s.Within(x, y); got.Witness != nil {
			s.steps = DefaultBudget
			if s.Valid(x, got.Witness) != Yes || s.Valid(y, got.Witness) != No {
				t.Errorf("%s within %s: %s", a, b, key(got.Witness))
			}
		}
	})
}
