package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const argumentSchema = `{
	"type": "object",
	"properties": {
		"text": {"type": "string"}, "maybe": {"type": ["string", "null"]}, "n": {"type": "integer"}, "x": {"type": "number"},
		"yes": {"type": "boolean"}, "none": {"type": "null"}, "either": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
		"tags": {"type": "array", "items": {"type": "string"}}, "ids": {"type": "array", "items": {"$ref": "#/$defs/id"}},
		"pick": {"enum": ["a", "b"]}, "two": {"enum": [1, 2]}, "any": {}, "dot.ted": {"type": "integer"},
		"in": {"$ref": "#/$defs/in"}, "free": {"type": "object"}, "counts": {"additionalProperties": {"type": "integer"}}
	},
	"$defs": {
		"id": {"type": "integer"},
		"in": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"properties": {"c": {"type": "boolean"}}}}}
	}
}`

func TestReadArguments(t *testing.T) {
	tests := []struct {
		words, base string
		want        string // or what the error says, behind "error:"
	}{
		{`text=`, ``, `{"text":""}`},
		{`text=null`, ``, `{"text":"null"}`},
		{`text=12`, ``, `{"text":"12"}`},
		{`text={"a":1}`, ``, `{"text":"{\"a\":1}"}`},
		{`text=a=b=c`, ``, `{"text":"a=b=c"}`},
		{`maybe=null`, ``, `{"maybe":"null"}`},
		{`maybe:=null`, ``, `{"maybe":null}`},
		{`n=-12`, ``, `{"n":-12}`},
		{`n=12345678901234567890`, ``, `{"n":12345678901234567890}`},
		{`n=`, ``, `error:it takes integer`},
		{`n=1e`, ``, `error:it takes integer`},
		{`n="1"`, ``, `error:it takes integer`},
		{`x=1.50`, ``, `{"x":1.50}`},
		{`yes=true`, ``, `{"yes":true}`},
		{`yes=1`, ``, `error:it takes boolean`},
		{`none=null`, ``, `{"none":null}`},
		{`either=true`, ``, `{"either":true}`},
		{`either=7`, ``, `{"either":7}`},
		{`either=x`, ``, `error:it takes integer or boolean`},
		{`tags=a|tags=b`, ``, `{"tags":["a","b"]}`},
		{`tags=a`, `{"tags":["z"]}`, `{"tags":["a"]}`},
		{`tags=["a"]|tags=b`, ``, `{"tags":["a","b"]}`},
		{`ids=1|ids=2`, ``, `{"ids":[1,2]}`},
		{`ids=x`, ``, `error:it takes integer`},
		{`text=a|text=b`, ``, `error:given twice`},
		{`text=a|text:="b"`, ``, `error:given twice`},
		{`pick=a`, ``, `{"pick":"a"}`},
		{`two=2`, ``, `{"two":2}`},
		{`any=7`, ``, `{"any":"7"}`},
		{`any:=7`, ``, `{"any":7}`},
		{`dot.ted=7`, ``, `{"dot.ted":7}`},
		{`in.a=1|in.b.c=true`, ``, `{"in":{"a":1,"b":{"c":true}}}`},
		{`in.a=1`, `{"in":{"b":{"c":false},"a":0}}`, `{"in":{"b":{"c":false},"a":1}}`},
		{`in.a=1`, `{"in":[]}`, `error:not an object in --args`},
		{`in.z=1`, ``, `error:there is no argument in.z`},
		{`free.x.y=1`, ``, `{"free":{"x":{"y":"1"}}}`},
		{`counts.a=1`, ``, `{"counts":{"a":1}}`},
		{`counts.a=b`, ``, `error:it takes integer`},
		{`txt=a`, ``, `error:there is no argument txt`},
		{`txt:=1`, ``, `error:there is no argument txt`},
		{`=a`, ``, `error:is no argument`},
		{`:=a`, ``, `error:is no argument`},
		{`text:=`, ``, `error:not valid JSON`},
		{``, `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{``, `7`, `error:--args is not a JSON object`},
		{`text=@`, ``, `error:no file name behind @`},
		{`text=@-`, ``, `{"text":"from stdin"}`},
		{`text=@-|maybe=@-`, ``, `error:standard input was read already`},
	}
	for _, test := range tests {
		app := &App{In: strings.NewReader("from stdin"), Dir: t.TempDir()}
		var words []string
		if test.words != "" {
			words = strings.Split(test.words, "|")
		}
		got, err := readArguments(t.Context(), app, json.RawMessage(argumentSchema), test.base, words)
		if want, ok := strings.CutPrefix(test.want, "error:"); ok {
			if err == nil || !is[usageError](err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %s, %v; want an error with %q", test.words, test.base, got, err, want)
			}
			continue
		}
		if err != nil || string(got) != test.want {
			t.Errorf("%s %s: %s, %v; want %s", test.words, test.base, got, err, test.want)
		}
	}
}

// However many words there are, the last one is typed like the first.
func TestVeryManyWords(t *testing.T) {
	words := slices.Repeat([]string{"ids=1"}, maxSteps+10)
	got, err := readArguments(t.Context(), new(App), json.RawMessage(argumentSchema), "", words)
	if err != nil || strings.Count(string(got), "1") != len(words) {
		t.Errorf("%.300s, %.300v", got, err)
	}
}

// A server can name very many arguments, and an error must stay readable.
func TestHintForManyArguments(t *testing.T) {
	properties := newObject()
	for i := range 5000 {
		properties.set(fmt.Sprintf("parameter%d", i), true)
	}
	schema, err := json.Marshal(map[string]any{"properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	_, err = readArguments(t.Context(), new(App), schema, "", []string{"zzz=1"})
	if u, ok := errors.AsType[usageError](err); !ok || len(u.hint) > 200 || !strings.Contains(u.hint, "parameter0, parameter1") {
		t.Errorf("%.300v", err)
	}
}

// Whatever the words and the schema, the result is one JSON object or an error.
func FuzzReadArguments(f *testing.F) {
	f.Add(argumentSchema, "in.a=1", `{"in":{}}`)
	f.Add(`{"$ref":"#"}`, "a.b.c=1", ``)
	f.Add(`{"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"}]}}}`, "a=1", `{}`)
	f.Fuzz(func(t *testing.T, schema, word, base string) {
		if strings.Contains(word, "@") || strings.HasPrefix(base, "@") || base == "-" {
			return // reads files
		}
		got, err := readArguments(t.Context(), &App{In: strings.NewReader("")}, json.RawMessage(schema), base, []string{word})
		if err == nil && (!json.Valid(got) || got[0] != '{') {
			t.Errorf("%q", got)
		}
	})
}
