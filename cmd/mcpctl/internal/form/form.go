// Package form asks a person for the values of a JSON object: the answer to a
// question of a server, or arguments that are missing. A schema comes in, an
// object goes out. On a terminal that can move its cursor the form is drawn,
// elsewhere it is asked line by line.
package form

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schema"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Terminal is where a person is asked.
type Terminal struct {
	In  io.Reader
	Out *os.File
	// Plain asks line by line, for terminals that can do no more and for
	// screen readers.
	Plain bool
	// Color allows colours.
	Color bool
	// Kind is the value of TERM.
	Kind string
	// Clean makes text of a server harmless.
	Clean func(string) string
}

// Question is what is asked.
type Question struct {
	// Schema is the JSON Schema of an object.
	Schema json.RawMessage
	// Only names the properties to ask for; nil asks for all. Those of
	// arguments are shown by the name that they have on the command line.
	Only []string
	// Given are members that are there already. Those of properties that are
	// asked for stand in the form, all are part of the result.
	Given json.RawMessage
	// Refusable offers to decline and to cancel, as the questions of servers
	// can be (specification, elicitation, response actions).
	Refusable bool
	// Above is how many lines above the form say what it is about.
	Above int
}

// Action is how a form ended.
type Action string

// The actions. They are those of the specification.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// ErrInterrupted says that Ctrl-C was pressed.
var ErrInterrupted = errors.New("interrupted")

// Ask asks until the question is answered, refused, or dismissed, or until ctx
// ends. The object is nil unless the action is [Accept].
func (t Terminal) Ask(ctx context.Context, q Question) (json.RawMessage, Action, error) {
	f, err := newForm(t, q)
	if err != nil {
		return nil, "", err
	}
	action, err := f.ask(ctx)
	if err != nil || action != Accept {
		return nil, action, err
	}
	object, err := f.object()
	return object, Accept, err
}

// Choose asks for one of several ways on. It returns the number of the option,
// -1 if the question was dismissed.
func (t Terminal) Choose(ctx context.Context, title string, options ...string) (int, error) {
	f := &form{terminal: t, fields: []*field{{label: title, kind: one, required: true}}}
	for _, o := range options {
		f.fields[0].options = append(f.fields[0].options, option{label: o})
	}
	action, err := f.ask(ctx)
	if err != nil || action != Accept {
		return -1, err
	}
	return f.fields[0].picked, nil
}

// form is a question under way.
type form struct {
	terminal Terminal
	question Question
	fields   []*field
	given    []schemadoc.RawMember
	whole    *schema.Schema // nil: not checked as a whole
}

// ask asks in the way that suits the terminal.
func (f *form) ask(ctx context.Context) (Action, error) {
	ask := f.draw
	if f.terminal.Plain {
		ask = f.lines
	}
	action, err := ask(ctx)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return action, err
}

// maxFields bounds what a person can be asked at once.
const maxFields = 100

func newForm(t Terminal, q Question) (*form, error) {
	root, err := schemadoc.Parse(q.Schema, schemadoc.Limits{})
	if err != nil {
		return nil, fmt.Errorf("the form cannot be read: %w", err)
	}
	f := &form{terminal: t, question: q, given: schemadoc.SplitValid(q.Given)}
	var required []string
	if list := root.Get("required"); list != nil {
		for _, item := range list.Items {
			required = append(required, item.Str())
		}
	}
	s := schemas{root: root, raw: q.Schema, formats: q.Refusable}
	properties := schemadoc.SplitValid(memberOf(q.Schema, "properties"))
	for _, p := range properties {
		if q.Only != nil && !slices.Contains(q.Only, p.Name) {
			continue
		}
		if len(f.fields) == maxFields {
			return nil, fmt.Errorf("the form has more than %d fields", maxFields)
		}
		field := s.field(p, t.Clean)
		if q.Only != nil {
			field.label = t.Clean(clip(p.Name, maxLabel))
		}
		var given json.RawMessage
		if at := slices.IndexFunc(f.given, func(m schemadoc.RawMember) bool { return m.Name == p.Name }); at >= 0 {
			given = f.given[at].Raw
		}
		field.settle(slices.Contains(required, p.Name), given)
		if field.typed != t.Clean(field.typed) {
			// It cannot be shown and edited as it is.
			if field.typed = ""; given != nil {
				continue
			}
		}
		f.fields = append(f.fields, field)
	}
	if q.Refusable {
		// One that does not compile is the client's to refuse.
		f.whole, _ = schema.Compile(q.Schema, schema.Options{Formats: true})
	}
	return f, nil
}

// object puts together what was given and what was answered.
func (f *form) object() (json.RawMessage, error) {
	members := slices.Clone(f.given)
	for _, field := range f.fields {
		value, err := field.value()
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(members, func(m schemadoc.RawMember) bool { return m.Name == field.name })
		switch {
		case i < 0 && value != nil:
			members = append(members, schemadoc.RawMember{Name: field.name, Raw: value})
		case i >= 0 && value != nil:
			members[i].Raw = value
		case i >= 0:
			members = slices.Delete(members, i, i+1)
		}
	}
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), m.Raw...)
	}
	return append(b, '}'), nil
}

// check checks all answers together, for what no field can tell alone.
func (f *form) check() error {
	object, err := f.object()
	if err != nil || f.whole == nil {
		return err
	}
	return f.clean(f.whole.Validate(object))
}

// clean words an error for the terminal.
func (f *form) clean(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(f.terminal.Clean(clip(err.Error(), maxAbout)))
}

// The ways not to answer, in words.
const (
	decline = "Decline: tell the server no"
	cancel  = "Cancel: give no answer"
)

// endings are the ways to end a form, in words.
func (f *form) endings() []option {
	return []option{
		{label: "Send the answer", value: []byte(Accept)},
		{label: decline, value: []byte(Decline)},
		{label: cancel, value: []byte(Cancel)},
	}
}

func memberOf(raw []byte, name string) []byte {
	for _, m := range schemadoc.SplitValid(raw) {
		if m.Name == name {
			return m.Raw
		}
	}
	return nil
}

// clip bounds what is shown of a text.
func clip(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return strings.TrimSpace(string(runes[:limit-1])) + "…"
	}
	return s
}
