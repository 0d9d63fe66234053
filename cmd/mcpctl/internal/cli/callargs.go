package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// maxArgument bounds a file, or standard input, that holds an argument.
const maxArgument = 16 << 20

// object is a JSON object that is being put together: members in the order in
// which they came, the last of a name counting.
type object struct {
	names  []string
	values map[string]any // string, json.RawMessage, *object or []any
}

func newObject() *object { return &object{values: make(map[string]any)} }

func (o *object) set(name string, value any) {
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

// MarshalJSON keeps the order.
func (o *object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range o.names {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.values[name])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// argumentReader turns the words behind a tool into its arguments.
type argumentReader struct {
	app   *App
	root  *schemadoc.Value // the input schema
	stdin bool             // whether standard input was read
	given map[string]bool  // paths that a word has set
	steps int              // schemas looked at for a word, which references can multiply
}

// readArguments returns the JSON object that base and words stand for, typed by
// the input schema of a tool. Its errors are about the command line.
func readArguments(ctx context.Context, app *App, schema json.RawMessage, base string, words []string) (json.RawMessage, error) {
	root, err := schemadoc.Parse(schema, schemadoc.Limits{})
	if err != nil {
		root = nil // a tool without a schema takes anything
	}
	r := &argumentReader{app: app, root: root, given: make(map[string]bool)}
	args := newObject()
	if base != "" {
		text, err := r.value(ctx, base, true)
		if err != nil {
			return nil, usagef("--args: %w", err)
		}
		members, err := schemadoc.Split([]byte(text))
		if err != nil {
			return nil, usagef("--args is not a JSON object")
		}
		for _, m := range members {
			args.set(m.Name, json.RawMessage(m.Raw))
		}
	}
	for _, word := range words {
		if err := r.word(ctx, args, word); err != nil {
			return nil, err
		}
	}
	return json.Marshal(args)
}

// word adds what one word says: key=value, or key:=json.
func (r *argumentReader) word(ctx context.Context, args *object, word string) error {
	key, value, ok := strings.Cut(word, "=")
	if !ok || key == "" || key == ":" {
		if strings.HasPrefix(word, "{") {
			return usagef("%q is no argument: --args takes JSON", clip(word))
		}
		return usagef("%q is no argument: write name=value, or name:=JSON", clip(word))
	}
	r.steps = 0
	key, isJSON := strings.CutSuffix(key, ":")
	path, schema, err := r.find(key)
	if err != nil {
		return err
	}
	text, err := r.value(ctx, value, isJSON)
	if err != nil {
		return usagef("argument %s: %w", key, err)
	}
	var typed any
	if isJSON {
		if !json.Valid([]byte(text)) {
			return usagef("argument %s: not valid JSON; name=value takes text as it is", key)
		}
		typed = json.RawMessage(text)
	} else if typed, err = r.typed(schema, text); err != nil {
		e := usageError{err: fmt.Errorf("argument %s: %w", key, err)}
		if choice, ok := errors.AsType[*choiceError](err); ok {
			if near := config.Nearest(text, choice.choices); near != "" {
				e.hint = fmt.Sprintf("did you mean %s?", near)
			}
		}
		return e
	}
	_, list := typed.([]any)
	if r.given[key] && !list {
		return usagef("argument %s is given twice, and it takes one value", key)
	}
	again := r.given[key]
	r.given[key] = true
	for _, name := range path[:len(path)-1] {
		inner, ok := args.values[name].(*object)
		if !ok {
			inner = newObject()
			// What --args has there is the base of what is within.
			if raw, ok := args.values[name].(json.RawMessage); ok {
				members, err := schemadoc.Split(raw)
				if err != nil {
					return usagef("argument %s: %s is not an object in --args", key, name)
				}
				for _, m := range members {
					inner.set(m.Name, json.RawMessage(m.Raw))
				}
			}
			args.set(name, inner)
		}
		args = inner
	}
	name := path[len(path)-1]
	if before, ok := args.values[name].([]any); ok && again {
		typed = append(before, typed.([]any)...)
	}
	args.set(name, typed)
	return nil
}

// find returns where a key leads, by the schema: a property of that name, or a
// path of properties.
func (r *argumentReader) find(key string) ([]string, *schemadoc.Value, error) {
	var path []string
	at, rest := r.resolve(r.root), key
	for {
		if len(path) == maxPath {
			return nil, nil, usagef("argument %s leads through more than %d objects", clip(key), maxPath)
		}
		properties := at.Get("properties")
		if sub := properties.Get(rest); sub != nil {
			return append(path, rest), sub, nil
		}
		step, after, nested := strings.Cut(rest, ".")
		sub := properties.Get(step)
		if nested && sub != nil {
			path, at, rest = append(path, step), r.resolve(sub), after
			continue
		}
		if !open(at) {
			var names []string
			for _, m := range properties.Members {
				names = append(names, m.Name)
			}
			hint := "it takes none:"
			if len(names) > 0 {
				hint = "it takes " + clip(strings.Join(names, ", ")) + ":"
				if near := config.Nearest(rest, names); near != "" {
					hint = fmt.Sprintf("did you mean %s?", strings.Join(append(path, near), "."))
				}
			}
			return nil, nil, usageError{unknownArgument(clip(key)), hint}
		}
		extra := at.Get("additionalProperties")
		if !extra.Is(schemadoc.Object) {
			extra = nil
		}
		if !nested {
			return append(path, rest), extra, nil
		}
		path, at, rest = append(path, step), r.resolve(extra), after
	}
}

// unknownArgument is one that a schema has no place for.
type unknownArgument string

func (e unknownArgument) Error() string { return "there is no argument " + string(e) }

// open reports whether an object may have members that its schema does not
// name. JSON Schema allows them unless told otherwise; that is nearly always an
// oversight, and a misspelt name must not be sent.
func open(schema *schemadoc.Value) bool {
	if schema == nil || schema.Get("patternProperties") != nil {
		return true
	}
	if extra := schema.Get("additionalProperties"); extra != nil {
		return !extra.Is(schemadoc.Bool) || extra.Bool
	}
	return schema.Get("properties") == nil
}

// maxPath bounds how deep a key may lead.
const maxPath = 64

// maxSteps bounds how many schemas are looked at for one word.
const maxSteps = 10_000

// maxReferences bounds how many references are followed in a row.
const maxReferences = 16

// resolve follows references within the schema.
func (r *argumentReader) resolve(v *schemadoc.Value) *schemadoc.Value {
	for range maxReferences {
		ref, ok := strings.CutPrefix(v.Get("$ref").Str(), "#/")
		if !ok {
			break
		}
		at := r.root
		for step := range strings.SplitSeq(ref, "/") {
			at = at.Get(unescapePointer.Replace(step))
		}
		if at == nil {
			break
		}
		v = at
	}
	return v
}

// types collects the types that a schema allows. It is empty if that is not
// said.
func (r *argumentReader) types(v *schemadoc.Value, depth int) []string {
	v = r.resolve(v)
	if r.steps++; v == nil || depth > 8 || r.steps > maxSteps {
		return nil
	}
	switch t := v.Get("type"); {
	case t.Is(schemadoc.String):
		return []string{t.Text}
	case t.Is(schemadoc.Array):
		var all []string
		for _, item := range t.Items {
			all = append(all, item.Str())
		}
		return all
	}
	var all []string
	values := v.Get("enum")
	if c := v.Get("const"); c != nil {
		all = append(all, c.Kind.String())
	}
	if values != nil {
		for _, item := range values.Items {
			all = append(all, item.Kind.String())
		}
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if list := v.Get(name); list != nil {
			for _, item := range list.Items {
				all = append(all, r.types(item, depth+1)...)
			}
		}
	}
	return all
}

// choiceError says that a text is none of those that a schema allows.
type choiceError struct {
	choices []string
	text    string
}

func (e *choiceError) Error() string {
	const most = 8
	var words []string
	for _, c := range e.choices[:min(most, len(e.choices))] {
		words = append(words, strconv.Quote(clip(c)))
	}
	if len(e.choices) > most {
		words = append(words, "…")
	}
	return fmt.Sprintf("it takes %s, not %q", strings.Join(words, " or "), clip(e.text))
}

// choices returns the texts of an enumeration, nil if it has other values.
func (r *argumentReader) choices(schema *schemadoc.Value) []string {
	var all []string
	if enum := r.resolve(schema).Get("enum"); enum != nil {
		for _, item := range enum.Items {
			if !item.Is(schemadoc.String) {
				return nil
			}
			all = append(all, item.Text)
		}
	}
	return all
}

// typed reads text as a value of a schema. A string stays one, whatever it
// looks like; a value of an array is a list of one.
func (r *argumentReader) typed(schema *schemadoc.Value, text string) (any, error) {
	types := r.types(schema, 0)
	has := func(name string) bool { return slices.Contains(types, name) }
	if len(types) == 0 || has("string") {
		if choices := r.choices(schema); len(choices) > 0 && !slices.Contains(choices, text) {
			return nil, &choiceError{choices, text}
		}
		return text, nil
	}
	raw := json.RawMessage(text)
	value, err := schemadoc.Parse(raw, schemadoc.Limits{})
	is := func(k schemadoc.Kind) bool { return err == nil && value.Is(k) }
	switch {
	case has("null") && is(schemadoc.Null),
		has("boolean") && is(schemadoc.Bool),
		(has("number") || has("integer")) && is(schemadoc.Number),
		has("object") && is(schemadoc.Object):
		return raw, nil
	case has("array") && is(schemadoc.Array):
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		all := make([]any, len(list))
		for i, item := range list {
			all[i] = item
		}
		return all, nil
	case has("array"):
		one, err := r.typed(r.items(schema), text)
		if err != nil {
			return nil, err
		}
		return []any{one}, nil
	}
	return nil, fmt.Errorf("it takes %s, not %q", strings.Join(slices.Compact(types), " or "), clip(text))
}

// items returns the schema of the items of an array.
func (r *argumentReader) items(schema *schemadoc.Value) *schemadoc.Value {
	v := r.resolve(schema)
	if items := v.Get("items"); items != nil {
		return items
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if list := v.Get(name); list != nil {
			for _, item := range list.Items {
				if items := r.resolve(item).Get("items"); items != nil {
					return items
				}
			}
		}
	}
	return nil
}

// value returns what a value says: itself, or what a file or standard input
// holds. @@ begins a text that begins with @.
func (r *argumentReader) value(ctx context.Context, value string, isJSON bool) (string, error) {
	name, ok := strings.CutPrefix(value, "@")
	switch {
	case !ok && value == "-" && isJSON: // --args -
		name = "-"
	case !ok:
		return value, nil
	case strings.HasPrefix(name, "@"):
		return name, nil
	case name == "":
		return "", fmt.Errorf("there is no file name behind @; @@ begins a text with @")
	}
	source := func() (io.ReadCloser, error) { return os.Open(r.app.absolute(name)) }
	if name == "-" {
		if r.stdin {
			return "", fmt.Errorf("standard input was read already")
		}
		r.stdin = true
		source = func() (io.ReadCloser, error) { return io.NopCloser(r.app.In), nil }
	}
	// Opening can take as long as reading: a pipe waits for its other end.
	data, err := await(ctx, func() ([]byte, error) {
		in, err := source()
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return io.ReadAll(io.LimitReader(in, maxArgument+1))
	})
	switch {
	case err != nil:
		return "", fileError(clip(name), err)
	case len(data) > maxArgument:
		return "", fmt.Errorf("%s is larger than %d bytes", clip(name), maxArgument)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%s is not UTF-8 text", clip(name))
	}
	return string(data), nil
}

// clip shortens what somebody typed for a message.
func clip(s string) string {
	if runes := []rune(s); len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return s
}

// unescapePointer undoes the escapes of RFC 6901, section 3.
var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// texts returns an object whose members are all texts.
func texts(object json.RawMessage) (map[string]string, error) {
	values := make(map[string]string)
	if err := json.Unmarshal(object, &values); err != nil {
		return nil, usagef("the arguments of a prompt are texts")
	}
	return values, nil
}

// suggest makes a mistake in a name one of usage, with the name that was most
// likely meant.
func suggest(err error, name string, names []string) error {
	hint := ""
	if near := config.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(names) > 0 {
		hint = "there are " + clip(strings.Join(names, ", "))
	}
	return usageError{err, hint}
}
