package rt

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

type color string

func (c color) Valid() bool { return c == "red" || c == "blue" }

type circleKind string

func (k circleKind) Valid() bool { return k == "circle" }

func (k circleKind) MarshalJSON() ([]byte, error) { return MarshalConst(k, "circle") }

func (k *circleKind) UnmarshalJSON(b []byte) error { return UnmarshalConst(b, k, "circle") }

type open struct {
	_      Open
	Name   string                     `json:"name"`
	Nick   *string                    `json:"nick,omitzero"`
	Born   Null[int64]                `json:"born"`
	Died   Opt[int64]                 `json:"died,omitzero"`
	Tags   []string                   `json:"tags,omitzero"`
	Must   []int64                    `json:"must"`
	Dict   map[string]float64         `json:"dict"`
	Any    json.RawMessage            `json:"any,omitzero"`
	Number json.Number                `json:"number,omitzero"`
	Comma  *bool                      `json:"-" rt:"omitzero,name=a,b"`
	Dash   *bool                      `json:"-" rt:"omitzero,name=-"`
	Color  *color                     `json:"color,omitzero"`
	Extras map[string]json.RawMessage `json:"-" rt:"extras"`
}

func (v open) MarshalJSON() ([]byte, error)     { return Marshal(&v) }
func (v *open) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

type closed struct {
	_  Closed
	ID int64              `json:"id"`
	X  map[string]float64 `json:"-" rt:"pattern=^x-"`
}

func (v closed) MarshalJSON() ([]byte, error)     { return Marshal(&v) }
func (v *closed) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

type exact struct {
	_  Exact
	ID *int64 `json:"id,omitzero"`
}

type plain struct {
	ID   int64    `json:"id"`
	List []string `json:"list"`
	Skip string   `json:"-"`
}

type tuple struct {
	_    Tuple
	F0   string   `json:"0"`
	F1   *int64   `json:"1,omitzero"`
	F2   *bool    `json:"2,omitzero"`
	Rest []string `json:"-" rt:"rest"`
}

type pair struct {
	_  Tuple
	F0 int64 `json:"0"`
	F1 int64 `json:"1"`
}

type circle struct {
	_      Closed
	Kind   circleKind `json:"kind"`
	Radius float64    `json:"radius"`
}

type square struct {
	_    Closed
	Side float64  `json:"side"`
	Note *string  `json:"note,omitzero"`
	Tint *color   `json:"tint,omitzero"`
	Big  *float64 `json:"big,omitzero"`
}

type loose struct {
	Name *string `json:"name,omitzero"`
}

type shape struct {
	_      OneOf
	Array  []int64
	Bool   *bool
	Circle *circle
	Loose  *loose
	Square *square
	String *string
	Raw    json.RawMessage
}

type strictShape struct {
	_      OneOf
	Circle *circle
	Square *square
}

func TestRoundTrip(t *testing.T) {
	tests := []struct {
		name string
		v    any
		in   string
		out  string // "" where it is in
		err  string // part of the error of decoding
	}{
		{name: "open, least", v: new(open), in: `{"name":"","born":null,"must":[],"dict":{}}`},
		{
			name: "open, most", v: new(open), in: `{"name":"a\u0000\"\\\n","nick":"","born":0,"died":null,"tags":[],"must":[1],"dict":{"a":0.5},"any":null,"number":1e400,"a,b":true,"-":false,"color":"green","zz":[1, {"a": 12345678901234567890}]}`,
			out: `{"name":"a\u0000\"\\\n","nick":"","born":0,"died":null,"tags":[],"must":[1],"dict":{"a":0.5},"any":null,"number":1e400,"a,b":true,"-":false,"color":"green","zz":[1, {"a": 12345678901234567890}]}`,
		},
		{name: "names match exactly", v: new(open), in: `{"name":"","born":null,"must":[],"dict":{},"NAME":1,"Born":"x"}`, out: `{"name":"","born":null,"must":[],"dict":{},"Born":"x","NAME":1}`},
		{name: "escaped names", v: new(open), in: `{"n\u0061me":"x","born":1,"must":[],"dict":{}}`, out: `{"name":"x","born":1,"must":[],"dict":{}}`},
		{name: "missing", v: new(open), in: `{"name":"","must":[],"dict":{}}`, err: `the member "born" is missing`},
		{name: "twice", v: new(open), in: `{"name":"","name":"","born":1,"must":[],"dict":{}}`, err: "/name: the member is given twice"},
		{name: "extra twice", v: new(open), in: `{"z":1,"z":1}`, err: "/z: the member is given twice"},
		{name: "null", v: new(open), in: `{"name":null}`, err: "/name: want a string, have null"},
		{name: "null for a pointer", v: new(open), in: `{"nick":null}`, err: "/nick: want a string, have null"},
		{name: "null for a slice", v: new(open), in: `{"tags":null}`, err: "/tags: want an array, have null"},
		{name: "null for a map", v: new(open), in: `{"dict":null}`, err: "/dict: want an object, have null"},
		{name: "null item", v: new(open), in: `{"tags":["",null]}`, err: "/tags/1: want a string, have null"},
		{name: "kind", v: new(open), in: `{"born":"1"}`, err: "/born: want an integer, have a string"},
		{name: "map value", v: new(open), in: `{"dict":{"a/b":true}}`, err: "/dict/a~1b: want a number, have a boolean"},
		{name: "not an object", v: new(open), in: `[]`, err: "want an object, have an array"},
		{name: "closed", v: new(closed), in: `{"id":1,"x-a":2}`},
		{name: "closed, unknown", v: new(closed), in: `{"id":1,"y":2}`, err: "/y: the member is not allowed here"},
		{name: "closed, case", v: new(closed), in: `{"ID":1}`, err: "/ID: the member is not allowed here"},
		{name: "integer with a point", v: new(closed), in: `{"id":1.0}`, out: `{"id":1}`},
		{name: "integer with an exponent", v: new(closed), in: `{"id":12e2}`, out: `{"id":1200}`},
		{name: "integer from a shifted fraction", v: new(closed), in: `{"id":1.5e1}`, out: `{"id":15}`},
		{name: "fraction", v: new(closed), in: `{"id":1.5}`, err: "/id: want an integer, have a number with a fraction"},
		{name: "small fraction", v: new(closed), in: `{"id":1e-9}`, err: "with a fraction"},
		{name: "past int64", v: new(closed), in: `{"id":9223372036854775808}`, err: "/id: the number is outside of int64"},
		{name: "far past int64", v: new(closed), in: `{"id":1e30}`, err: "outside of int64"},
		{name: "least int64", v: new(closed), in: `{"id":-9223372036854775808}`},
		{name: "float past float64", v: new(closed), in: `{"id":1,"x-a":1e999}`, err: "outside of float64"},
		{name: "integer that float64 rounds", v: new(closed), in: `{"id":1,"x-a":9007199254740993}`, err: "/x-a: the number has no exact float64"},
		{name: "fraction that float64 loses", v: new(closed), in: `{"id":1,"x-a":1e-999}`, err: "no exact float64"},
		{name: "fraction of 17 digits", v: new(closed), in: `{"id":1,"x-a":0.10000000000000001}`, out: `{"id":1,"x-a":0.1}`},
		{name: "large float", v: new(closed), in: `{"id":1,"x-a":1e21}`, out: `{"id":1,"x-a":1e+21}`},
		{name: "exact ignores", v: new(exact), in: `{"id":1,"ID":"x","y":[{}]}`, out: `{"id":1}`},
		{name: "plain ignores, and the last wins", v: new(plain), in: `{"id":1,"list":[],"Skip":"x","id":2}`, out: `{"id":2,"list":[]}`},
		{name: "plain writes null", v: new(plain), in: `{}`, out: `{"id":0,"list":null}`},
		{name: "tuple, least", v: new(tuple), in: `["a"]`},
		{name: "tuple, most", v: new(tuple), in: `["a",1,true,"b","c"]`},
		{name: "tuple, short", v: new(tuple), in: `[]`, err: "the array has only 0 items"},
		{name: "tuple, kind", v: new(tuple), in: `["a","b"]`, err: "/1: want an integer, have a string"},
		{name: "tuple, rest", v: new(tuple), in: `["a",1,true,2]`, err: "/3: want a string, have a number"},
		{name: "tuple, not an array", v: new(tuple), in: `{}`, err: "want an array"},
		{name: "pair, long", v: new(pair), in: `[1,2,3]`, err: "/2: the array has too many items"},
		{name: "union, string", v: new(shape), in: `"s"`},
		{name: "union, bool", v: new(shape), in: `false`},
		{name: "union, array", v: new(shape), in: `[]`},
		{name: "union, circle", v: new(shape), in: `{"kind":"circle","radius":1}`},
		{name: "union, square", v: new(shape), in: `{"side":1,"note":""}`},
		{name: "union, loose", v: new(shape), in: `{"name":"n"}`},
		{name: "union, none", v: new(shape), in: `{"kind":"x","name":"n","radius":1}`},
		{name: "union, null", v: new(shape), in: `null`},
		{name: "union, number", v: new(shape), in: `1.50`},
		{name: "union, array of others", v: new(shape), in: `["a"]`},
		{name: "union, value of an enumeration", v: new(shape), in: `{"side":1,"tint":"green"}`},
		{name: "union without raw", v: new(strictShape), in: `{"side":"1"}`, err: "the value is none of the possible types"},
		{name: "or, typed", v: new(Or[exact]), in: `{"id":1}`},
		{name: "or, other kind", v: new(Or[exact]), in: `[1]`},
		{name: "or, wrong inside", v: new(Or[exact]), in: `{"id":"x"}`},
		{name: "or, null", v: new(Or[string]), in: `null`},
		{name: "null of slice", v: new(Null[[]string]), in: `null`},
		{name: "opt of null", v: new(Opt[JSONNull]), in: `null`},
		{name: "true", v: new(True), in: `true`},
		{name: "true, false", v: new(True), in: `false`, err: "not the constant true"},
		{name: "false", v: new(False), in: `false`},
		{name: "JSON null", v: new(JSONNull), in: `null`},
		{name: "JSON null, other", v: new(JSONNull), in: `0`, err: "not the constant null"},
		{name: "constant", v: new(circleKind), in: `"circle"`},
		{name: "constant, other", v: new(circleKind), in: `"square"`, err: "not the constant circle"},
		{name: "literal", v: new(Literal), in: `{"b":1.0,"a":[ ]}`, out: `{"a":[],"b":1}`},
		{name: "time", v: new(Time), in: `"2026-07-01T00:00:00.500+02:00"`},
		{name: "time that is none", v: new(Time), in: `"soon"`},
		{name: "time, kind", v: new(Time), in: `1`, err: "want a string"},
		{name: "surrogate pair", v: new(string), in: `"\ud83d\ude00"`, out: "\"\U0001F600\""},
		{name: "lone surrogate", v: new(string), in: `"\ud83d"`, out: "\"\ufffd\""},
		{name: "bad UTF-8", v: new(string), in: "\"a\xff\"", out: "\"a\ufffd\""},
		{name: "white space", v: new([]string), in: " [ \"a\" ,\n\"b\" ]\t", out: `["a","b"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Unmarshal([]byte(tt.in), tt.v)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := tt.out
			if want == "" {
				want = tt.in
			}
			got, err := Marshal(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("have %s\nwant %s", got, want)
			}
		})
	}
}

// TestThroughEncodingJSON holds that the methods work where encoding/json
// calls them, null included.
func TestThroughEncodingJSON(t *testing.T) {
	type outer struct {
		A open                `json:"a"`
		B Opt[string]         `json:"b,omitzero"`
		C Null[int64]         `json:"c"`
		D *Or[bool]           `json:"d,omitzero"`
		E map[string]Null[*T] `json:"e,omitzero"`
	}
	for _, in := range []string{
		`{"a":{"name":"n","born":1,"must":[],"dict":{},"x":"\u003c"},"c":null}`,
		`{"a":{"name":"n","born":null,"must":[],"dict":{}},"b":null,"c":1,"d":"x","e":{"k":null,"l":{"id":1}}}`,
	} {
		var v outer
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil || string(out) != in {
			t.Errorf("%s, %v", out, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"a":null}`), new(outer)); err == nil {
		t.Error("null passes for an object")
	}
}

// T is a type that another package would declare.
type T struct {
	ID int64 `json:"id"`
}

func TestEncodeErrors(t *testing.T) {
	yes := true
	s := "s"
	tests := []struct {
		v   any
		err string
	}{
		{shape{}, "no field of shape is set"},
		{shape{Bool: &yes, String: &s}, "both Bool and String are set in shape"},
		{shape{Bool: &yes, Raw: json.RawMessage("1")}, "both Bool and Raw are set in shape"},
		{shape{Raw: json.RawMessage("{")}, "no JSON"},
		{open{Extras: map[string]json.RawMessage{"name": json.RawMessage("1")}}, "/name: the member has a field of its own"},
		{open{Any: json.RawMessage("1 2")}, "/any: the json.RawMessage is no JSON"},
		{open{Number: "x"}, "/number: the json.Number is no number"},
		{open{Dict: map[string]float64{"a": math.NaN()}}, "/dict/a: JSON has no infinities and no NaN"},
		{closed{X: map[string]float64{"y": 1}}, "/y: the name does not match the field's pattern"},
		{tuple{F2: &yes}, "/1: an item behind it is set"},
		{tuple{Rest: []string{"a"}}, "all of its places must be set"},
		{Literal{}, "the value is not set"},
		{Or[string]{raw: json.RawMessage("x")}, "no JSON"},
	}
	for _, tt := range tests {
		if _, err := Marshal(tt.v); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%#v: error %v, want %q", tt.v, err, tt.err)
		}
	}
}

func TestNilIsEmptyWhereRequired(t *testing.T) {
	b, err := Marshal(open{})
	if err != nil || string(b) != `{"name":"","born":null,"must":[],"dict":{}}` {
		t.Errorf("%s, %v", b, err)
	}
	if b, err = Marshal(nil); err != nil || string(b) != "null" {
		t.Errorf("%s, %v", b, err)
	}
	// A constant that was never set is written as it must be.
	if b, err = Marshal(circle{Radius: 1}); err != nil || string(b) != `{"kind":"circle","radius":1}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestAccessors(t *testing.T) {
	n := NewNull(int64(3))
	if v, ok := n.Get(); v != 3 || !ok || n.IsNull() || n.Or(4) != 3 {
		t.Error("Null of a value")
	}
	n.SetNull()
	if _, ok := n.Get(); ok || !n.IsNull() || n.Or(4) != 4 {
		t.Error("Null of null")
	}
	n.Set(5)
	if n.Or(4) != 5 {
		t.Error("Null set")
	}
	o := NewOpt("x")
	if v, ok := o.Get(); v != "x" || !ok || o.IsNull() || o.IsZero() || o.Or("y") != "x" {
		t.Error("Opt of a value")
	}
	o.SetNull()
	if _, ok := o.Get(); ok || !o.IsNull() || o.IsZero() || o.Or("y") != "y" || o != NullOpt[string]() {
		t.Error("Opt of null")
	}
	o.Unset()
	if !o.IsZero() || o.IsNull() {
		t.Error("absent Opt")
	}
	o.Set("z")
	if o.Or("") != "z" {
		t.Error("Opt set")
	}
	r := NewOr(1.5)
	if v, ok := r.Get(); v != 1.5 || !ok || r.Raw() != nil {
		t.Error("Or of a value")
	}
	r.SetRaw(json.RawMessage(`"x"`))
	if _, ok := r.Get(); ok || string(r.Raw()) != `"x"` {
		t.Error("Or of something else")
	}
	r.Set(2)
	if v, ok := r.Get(); v != 2 || !ok {
		t.Error("Or set")
	}
	at := time.Date(2026, 7, 1, 0, 0, 0, 5, time.UTC)
	if x := NewTime(at); !x.Time().Equal(at) || x.String() != "2026-07-01T00:00:00.000000005Z" || x.IsZero() || !(Time{}).IsZero() {
		t.Error("Time")
	}
	if string(JSON(map[string]int64{"a": 1})) != `{"a":1}` {
		t.Error("JSON")
	}
	defer func() {
		if recover() == nil {
			t.Error("JSON of what cannot be encoded does not panic")
		}
	}()
	JSON(math.Inf(1))
}

func TestErrorsAreTyped(t *testing.T) {
	err := Unmarshal([]byte(`{"id":[]}`), new(closed))
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Pointer != "/id" || e.Reason != "want an integer, have an array" {
		t.Errorf("%#v", err)
	}
	if err := Unmarshal([]byte(`1`), closed{}); err == nil {
		t.Error("a value that is no pointer passes")
	}
	if err := Unmarshal([]byte(`1`), (*closed)(nil)); err == nil {
		t.Error("a nil pointer passes")
	}
	long := strings.Repeat("n", 500)
	if err := Unmarshal([]byte(`{"`+long+`":1}`), new(closed)); err == nil || len(err.Error()) > 200 {
		t.Errorf("an unknown name is not clipped: %v", err)
	}
}

// TestSyntax holds that exactly what is JSON is read.
func TestSyntax(t *testing.T) {
	for _, s := range []string{
		"", " ", "{", "[", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a" 1}`, `{a:1}`,
		"tru", "nul", "fals", "truex", "+1", "-", "01", "1.", ".5", "1e", "1e+", "0x1", `"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"",
		"1 1", "[] x", "{} {}", `"a" "b"`, "NaN", "Infinity", "'a'", "/**/1", "\ufeff1", `{"a":1 "b":2}`,
	} {
		var v json.RawMessage
		if err := Unmarshal([]byte(s), &v); err == nil {
			t.Errorf("%q passes", s)
		}
		if json.Valid([]byte(s)) {
			t.Errorf("%q is JSON after all", s)
		}
	}
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	if err := Unmarshal([]byte(deep), new(json.RawMessage)); err == nil {
		t.Error("no limit on depth")
	}
	if err := Unmarshal([]byte(deep[1:len(deep)-1]), new(json.RawMessage)); err != nil {
		t.Error(err)
	}
}

type expr struct {
	_   OneOf
	Add *add
	Sub *sub
	Raw json.RawMessage
}

type add struct {
	_ Closed
	L *expr   `json:"l,omitzero"`
	A *string `json:"a,omitzero"`
}

type sub struct {
	_ Closed
	L *expr   `json:"l,omitzero"`
	A *string `json:"a,omitzero"`
}

// TestAmbiguityIsBounded reads a text that both alternatives suit at every
// level and that fails only at the innermost one.
func TestAmbiguityIsBounded(t *testing.T) {
	const n = 2000
	s := strings.Repeat(`{"l":`, n) + `{"a":1}` + strings.Repeat(`}`, n)
	var v expr
	start := time.Now()
	err := Unmarshal([]byte(s), &v)
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
	if err == nil {
		out, err := Marshal(v)
		if err != nil || !equalJSON([]byte(s), out) {
			t.Errorf("%v", err)
		}
	}
}

func equalJSON(a, b []byte) bool {
	x, errA := schemadoc.Canonical(a)
	y, errB := schemadoc.Canonical(b)
	return errA == nil && errB == nil && cmp.Equal(x, y)
}

// lossless holds every JSON object whose declared members are of their types.
type lossless struct {
	_      Open
	S      *string                    `json:"s,omitzero"`
	I      Opt[int64]                 `json:"i,omitzero"`
	N      Opt[json.Number]           `json:"n,omitzero"`
	B      *bool                      `json:"b,omitzero"`
	A      json.RawMessage            `json:"a,omitzero"`
	L      []Null[string]             `json:"l,omitzero"`
	M      map[string]Null[bool]      `json:"m,omitzero"`
	O      *Or[closed]                `json:"o,omitzero"`
	T      *tuple                     `json:"t,omitzero"`
	U      *shape                     `json:"u,omitzero"`
	Self   *lossless                  `json:"self,omitzero"`
	X      map[string]json.RawMessage `json:"-" rt:"pattern=^x-"`
	Extras map[string]json.RawMessage `json:"-" rt:"extras"`
}

func FuzzCodec(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"s":"a\u00e9\ud83d\ude00","i":1e3,"n":1e400,"b":true,"a":null,"l":[null,"x"],"m":{"k":null}}`,
		`{"o":{"id":1.0,"x-":2},"t":["a",1,true,"r"],"u":{"kind":"circle","radius":1},"self":{"u":[1],"x-y":0},"zz":{"a":[1,2]}}`,
		`{"u":"s","S":1,"o":[{}],"i":null}`, `{"a":1,"a":2}`, "{\"\xff\":\"\xfe\"}", `[1,2`, `"\u0000"`, `{"i":92233720368547758070}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		defer func() {
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v for %d bytes", d, len(data))
			}
		}()
		var raw json.RawMessage
		if err := Unmarshal(data, &raw); (err == nil) != json.Valid(data) {
			t.Fatalf("RawMessage: %v, valid %v", err, json.Valid(data))
		}
		var v lossless
		if err := Unmarshal(data, &v); err != nil {
			return
		}
		out, err := Marshal(v)
		if err != nil {
			t.Fatalf("decoded, but does not encode: %v", err)
		}
		// Union members of plain structs drop what they do not declare, and
		// floats of up to 17 digits may be spelled otherwise; all else stays.
		if v.dropsNothing() && !equalJSON(data, out) {
			t.Fatalf("%s became %s", data, out)
		}
		var again lossless
		if err := Unmarshal(out, &again); err != nil {
			t.Fatalf("does not decode again: %v", err)
		}
	})
}

func (v *lossless) dropsNothing() bool {
	if v == nil {
		return true
	}
	if v.U != nil && (v.U.Loose != nil || v.U.Circle != nil || v.U.Square != nil) {
		return false
	}
	if v.O != nil {
		if _, ok := v.O.Get(); ok {
			return false
		}
	}
	return v.Self.dropsNothing()
}

// TestConcurrentUse decodes and encodes types that no test before has used,
// from many goroutines at once.
func TestConcurrentUse(t *testing.T) {
	type leaf struct {
		_ Closed
		X Opt[int64] `json:"x,omitzero"`
	}
	type node struct {
		_    Open
		Self *leaf                      `json:"self,omitzero"`
		List []Null[leaf]               `json:"list,omitzero"`
		More map[string]json.RawMessage `json:"-" rt:"extras"`
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			const in = `{"self":{"x":1},"list":[null,{"x":null}],"z":[]}`
			var v node
			if err := Unmarshal([]byte(in), &v); err != nil {
				t.Error(err)
			}
			if out, err := Marshal(v); err != nil || string(out) != in {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	wg.Wait()
}
