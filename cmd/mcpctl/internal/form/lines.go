package form

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// lines asks line by line. What is read may wait for ever, so that it is left
// behind when the context ends.
func (f *form) lines(ctx context.Context) (Action, error) {
	type result struct {
		action Action
		err    error
	}
	done := make(chan result, 1)
	go func() {
		action, err := f.converse(ctx)
		done <- result{action, err}
	}()
	select {
	case r := <-done:
		return r.action, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// errEnd says that there is no more input, as after Ctrl-D.
var errEnd = errors.New("end of input")

func (f *form) converse(ctx context.Context) (Action, error) {
	f.say("Enter takes what stands in brackets, Ctrl-D cancels.\n")
	for _, field := range f.fields {
		if err := f.line(ctx, field); errors.Is(err, errEnd) {
			return Cancel, nil
		} else if err != nil {
			return "", err
		}
	}
	if !f.question.Refusable {
		return Accept, nil
	}
	end := &field{label: "What now?", kind: one, required: true, options: f.endings()}
	for {
		if err := f.line(ctx, end); errors.Is(err, errEnd) {
			return Cancel, nil
		} else if err != nil {
			return "", err
		}
		action := Action(end.options[end.picked].value)
		if action != Accept {
			return action, nil
		}
		err := f.check()
		if err == nil {
			return Accept, nil
		}
		f.say("%s\n", err)
		end.picked = 1
	}
}

func (f *form) say(format string, args ...any) {
	_, _ = fmt.Fprintf(f.terminal.Out, format, args...) // nobody could be told
}

// line asks for one field until the answer fits.
func (f *form) line(ctx context.Context, field *field) error {
	f.say("%s\n", field.heading())
	if field.about != "" {
		f.say("  %s\n", field.about)
	}
	if field.kind == one || field.kind == many {
		for i, o := range field.options {
			f.say("  %d. %s\n", i+1, o.label)
		}
	}
	for {
		before := field.answer()
		f.say("%s> ", before)
		typed, err := readLine(ctx, f.terminal.In)
		if err != nil {
			f.say("\n")
			return err
		}
		if err = field.enter(typed); err == nil {
			return nil
		}
		f.say("%s\n", err)
	}
}

// heading is the label and whether an answer has to be given.
func (f *field) heading() string {
	if f.name == "" {
		return f.label
	}
	if f.required {
		return f.label + " (required)"
	}
	return f.label + " (optional)"
}

// answer is what stands there already, in brackets.
func (f *field) answer() string {
	text := f.typed
	switch {
	case f.kind == yesNo:
		text = map[bool]string{true: "Yes", false: "No"}[f.yes]
	case f.kind == one && f.picked != none:
		text = f.options[f.picked].label
	case f.kind == many:
		var labels []string
		for _, i := range slices.Sorted(slices.Values(f.chosen)) {
			labels = append(labels, f.options[i].label)
		}
		text = strings.Join(labels, ", ")
	}
	if text == "" {
		return ""
	}
	return "[" + text + "] "
}

// enter takes a line as the answer. A choice is made by number or label,
// several with commas in between; a minus empties the field.
func (f *field) enter(line string) error {
	line = strings.TrimSpace(line)
	switch {
	case line == "-" && f.kind == many:
		f.chosen = nil
	case line == "-" && f.kind == one && !f.required:
		f.picked = none
	case line == "-" && f.typed != "":
		f.typed = ""
	case line == "":
	case f.kind == yesNo:
		yes := strings.HasPrefix("yes", strings.ToLower(line))
		if !yes && !strings.HasPrefix("no", strings.ToLower(line)) {
			return f.fail(errors.New("it takes yes or no"))
		}
		f.yes = yes
	case f.kind == one:
		i, err := f.option(line)
		if err != nil {
			return f.fail(err)
		}
		f.picked = i
	case f.kind == many:
		var chosen []int
		for word := range strings.SplitSeq(line, ",") {
			i, err := f.option(strings.TrimSpace(word))
			if err != nil {
				return f.fail(err)
			}
			if !slices.Contains(chosen, i) {
				chosen = append(chosen, i)
			}
		}
		f.chosen = chosen
	default:
		if _, err := f.parse(line); err != nil {
			return err
		}
		f.typed = line
	}
	_, err := f.value()
	return err
}

// option finds an option by its number, label or value.
func (f *field) option(word string) (int, error) {
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(f.options) {
		return n - 1, nil
	}
	i := slices.IndexFunc(f.options, func(o option) bool {
		return strings.EqualFold(o.label, word) || string(o.value) == word || string(o.value) == strconv.Quote(word)
	})
	if i < 0 {
		return 0, fmt.Errorf("it takes a number from 1 to %d", len(f.options))
	}
	return i, nil
}

// maxLine bounds a line.
const maxLine = 1 << 20

// readLine reads a line byte by byte, so that nothing behind it is lost.
func readLine(ctx context.Context, r io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for len(line) < maxLine {
		n, err := r.Read(b)
		switch {
		case ctx.Err() != nil: // somebody else may be reading
			return "", context.Cause(ctx)
		case n == 0 || err != nil:
			return "", errEnd
		case b[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		line = append(line, b[0])
	}
	return string(line), nil
}
