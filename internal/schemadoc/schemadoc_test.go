package schemadoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func nines(n int) string { return strings.Repeat("9", n) }

func zeros(n int) string { return strings.Repeat("0", n) }

// TestHugeExponent holds that a number takes time with its length only: with
// the square of it this test would run for minutes.
func TestHugeExponent(t *testing.T) {
	huge := nines(8 << 20)
	start := time.Now()
	if got := CanonicalNumber("10e" + huge); got != "1e+1"+zeros(len(huge)) {
		t.Errorf("the exponent is wrong, %d bytes", len(got))
	}
	if got := CanonicalNumber("1e-" + huge); got != "1e-"+huge {
		t.Errorf("the exponent is wrong, %d bytes", len(got))
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCanonicalNumber(t *testing.T) {
	tests := map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "0e5": "0", "-0.00E-3": "0",
		"1": "1", "1.0": "1", "1.50": "1.5", "10e-1": "1", "1e3": "1000", "1E+3": "1000",
		"-12.5": "-12.5", "0.1": "0.1", "0.10": "0.1", "1e-6": "0.000001", "1e-7": "1e-7",
		"9007199254740993":       "9007199254740993",
		"9007199254740993.0":     "9007199254740993",
		"123456789012345678901":  "123456789012345678901",
		"1e21":                   "1e+21",
		"1234567890123456789012": "1.234567890123456789012e+21",
		"0.30000000000000004":    "0.30000000000000004",
		"1e400":                  "1e+400",
		"12e-400":                "1.2e-399",
		"1e99999999999999999999": "1e+99999999999999999999",
		"100e-2":                 "1",
		"1e-00000000000000000000000000000000000000000000000002": "0.01",
		"0e99999999999999999999":                                "0",
		"0.01e9223372036854775808":                              "1e+9223372036854775806",
		"100e-9223372036854775809":                              "1e-9223372036854775807",
		"10e" + nines(50):                                       "1e+1" + zeros(50),
		"0.1e1" + zeros(50):                                     "1e+" + nines(50),
		"0.1e-" + nines(50):                                     "1e-1" + zeros(50),
		"10e-1" + zeros(50):                                     "1e-" + nines(50),
		"-12e-" + nines(1001) + "8":                             "-1.2e-" + nines(1001) + "7",
	}
	for in, want := range tests {
		if got := CanonicalNumber(in); got != want {
			t.Errorf("CanonicalNumber(%s) = %s, want %s", in, got, want)
		}
		if got := CanonicalNumber(want); got != want {
			t.Errorf("CanonicalNumber(%s) = %s: the canonical form is not stable", want, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{` { "b" : 1.0 , "a" : [ true , null , "x\u0041\/" ] } `, `{"a":[true,null,"xA/"],"b":1}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`"\u2028<\u00e9\n\u0001"`, "\"\u2028<é\\n\\u0001\""},
		{`[]`, `[]`},
		{`{}`, `{}`},
		{"\"\xff\"", "\"\ufffd\""},
	}
	for _, tt := range tests {
		got, err := Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{``, `{`, `[1,]`, `01`, `"a`, `{"a" 1}`, `1 2`} {
		if _, err := Canonical([]byte(in)); !errors.Is(err, ErrNotJSON) {
			t.Errorf("Canonical(%s): error %v, want ErrNotJSON", in, err)
		}
	}
}

func TestParseKeepsWhatMapsLose(t *testing.T) {
	v, err := Parse([]byte(`{"z":1.50,"a":{"k":"\"x\\"},"m":[1e2,{}]}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range v.Members {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff([]string{"z", "a", "m"}, names); diff != "" {
		t.Errorf("member order (-want +got):\n%s", diff)
	}
	if got := v.Get("z").Text; got != "1.50" {
		t.Errorf("number spelled %s, want 1.50", got)
	}
	if got := v.Get("a").Get("k").Str(); got != `"x\` {
		t.Errorf("string %s", got)
	}
	if got := v.Get("m").Items[0].Text; got != "1e2" {
		t.Errorf("item spelled %s, want 1e2", got)
	}
	if v.Get("none") != nil || v.Get("z").Get("a") != nil || (*Value)(nil).Get("a") != nil {
		t.Error("Get of a member that is not there gave a value")
	}
}

func TestGetInLargeObject(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"k0":-1`)
	for i := range 40 {
		b.WriteString(`,"k` + string(rune('0'+i%10)) + strings.Repeat("x", i/10) + `":` + string(rune('0'+i%10)))
	}
	b.WriteString(`}`)
	v, err := Parse([]byte(b.String()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("k0").Text; got != "0" {
		t.Errorf("k0 = %s: the last of members with one name must win", got)
	}
	if got := len(v.Members); got != 40 {
		t.Errorf("%d members, want 40", got)
	}
	if got := v.Get("k7xxx").Text; got != "7" {
		t.Errorf("k7xxx = %s, want 7", got)
	}
}

func TestCountAndLimits(t *testing.T) {
	tests := []struct {
		in            string
		values, depth int
	}{
		{`1`, 1, 0},
		{`"a,b[{"`, 1, 0},
		{`[]`, 1, 1},
		{`[ ]`, 1, 1},
		{`{ }`, 1, 1},
		{`[1,2]`, 3, 1},
		{`[[],{}]`, 3, 2},
		{`{"a":{"b":[1,"x\"]",null]},"c":2}`, 7, 3},
		{`[[[[]]]]`, 4, 4},
	}
	for _, tt := range tests {
		values, depth := Count([]byte(tt.in))
		if values != tt.values || depth != tt.depth {
			t.Errorf("Count(%s) = %d, %d, want %d, %d", tt.in, values, depth, tt.values, tt.depth)
		}
		if _, err := Parse([]byte(tt.in), Limits{Values: tt.values, Depth: max(tt.depth, 1)}); err != nil {
			t.Errorf("Parse(%s) exactly at its limits: %v", tt.in, err)
		}
		var limit *LimitError
		if _, err := Parse([]byte(tt.in), Limits{Values: tt.values - 1}); tt.values > 1 && !errors.As(err, &limit) {
			t.Errorf("Parse(%s) over its limit of values: %v", tt.in, err)
		}
		if _, err := Parse([]byte(tt.in), Limits{Depth: tt.depth - 1}); tt.depth > 1 && !errors.As(err, &limit) {
			t.Errorf("Parse(%s) over its limit of depth: %v", tt.in, err)
		}
	}
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	if _, err := Parse([]byte(deep), Limits{}); err == nil {
		t.Error("Parse took a text deeper than encoding/json does")
	}
}

func TestContractAndWords(t *testing.T) {
	tests := []struct{ name, in, contract, words string }{
		{
			"annotations go from schema positions only",
			`{"type":"object","title":"T","properties":{"title":{"type":"string","description":"d"},"default":{"const":{"title":"kept"}}},"required":["title"]}`,
			`{"properties":{"default":{"const":{"title":"kept"}},"title":{"type":"string"}},"required":["title"],"type":"object"}`,
			`{"/properties/title":{"description":"d"},"title":"T"}`,
		},
		{
			"every way of holding schemas",
			`{"items":[{"title":"a"}],"not":{"title":"b"},"allOf":[{"title":"c"}],"dependencies":{"x":["title"],"y":{"title":"d"}},"$defs":{"e/f":{"title":"e"}}}`,
			`{"$defs":{"e/f":{}},"allOf":[{}],"dependencies":{"x":["title"],"y":{}},"items":[{}],"not":{}}`,
			`{"/$defs/e~1f":{"title":"e"},"/allOf/0":{"title":"c"},"/dependencies/y":{"title":"d"},"/items/0":{"title":"a"},"/not":{"title":"b"}}`,
		},
		{
			"what is no schema stays as it is",
			`{"enum":[{"title":"x"}],"properties":[{"title":"x"}],"items":true,"x-vendor":{"title":"x"}}`,
			`{"enum":[{"title":"x"}],"items":true,"properties":[{"title":"x"}],"x-vendor":{"title":"x"}}`,
			`{}`,
		},
		{"a boolean", `true`, `true`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Parse([]byte(tt.in), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(v.AppendContract(nil)); got != tt.contract {
				t.Errorf("contract\n got %s\nwant %s", got, tt.contract)
			}
			if got := string(v.AppendWords(nil)); got != tt.words {
				t.Errorf("words\n got %s\nwant %s", got, tt.words)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	got, err := Split([]byte(` { "a" : { "b" : [1, "]}" ] } , "A":-1.5e3,"a":"x\"" , "n":null} `))
	if err != nil {
		t.Fatal(err)
	}
	want := []RawMember{{"a", []byte(`{ "b" : [1, "]}" ] }`)}, {"A", []byte(`-1.5e3`)}, {"a", []byte(`"x\""`)}, {"n", []byte(`null`)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Split (-want +got):\n%s", diff)
	}
	for _, in := range []string{`[]`, `1`, `{`, ``} {
		if _, err := Split([]byte(in)); !errors.Is(err, ErrNotJSON) {
			t.Errorf("Split(%s): error %v, want ErrNotJSON", in, err)
		}
	}
}

// FuzzParse holds the parser against encoding/json: the same texts are valid,
// and the canonical form means the same and is stable.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"x"],"b":{}}`, `[[],{},"\ud800",-0]`, `{"a":1,"a":{"a":[]}}`, `1e999999999999`, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := Parse(raw, Limits{})
		if (err == nil) != json.Valid(raw) {
			t.Fatalf("Parse: %v, json.Valid: %v", err, json.Valid(raw))
		}
		if err != nil {
			return
		}
		canonical := v.AppendCanonical(nil)
		again, err := Canonical(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("canonical form %s is not stable: %s, %v", canonical, again, err)
		}
		if v.Kind != Object {
			return
		}
		members, err := Split(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			if !json.Valid(m.Raw) {
				t.Fatalf("Split gave %q", m.Raw)
			}
		}
		v.AppendContract(nil)
		v.AppendWords(nil)
	})
}
