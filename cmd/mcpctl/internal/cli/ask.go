package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/form"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// ask asks a person, one thing at a time and with nothing else on the line.
func ask[T any](app *App, question func(form.Terminal) (T, error)) (T, error) {
	app.asking.Lock()
	defer app.asking.Unlock()
	defer app.Err.Pause()()
	answer, err := question(form.Terminal{
		In: app.In, Out: app.Err.TTY(), Plain: app.plain(), Color: app.Err.Color, Kind: app.Err.Kind,
		Clean: func(s string) string { return ui.Clean(app.secrets.String(s)) },
	})
	if errors.Is(err, form.ErrInterrupted) {
		// In a form Ctrl-C is a key and no signal.
		err = signalError{syscall.SIGINT}
		app.interrupt(err)
	}
	return answer, err
}

// plain reports whether questions are asked line by line: for terminals that
// cannot move the cursor, and for screen readers.
func (app *App) plain() bool {
	accessible, _ := app.LookupEnv("ACCESSIBLE")
	return accessible != "" || app.Err.Kind == "dumb" || app.Err.Kind == "" || app.Err.Width == 0
}

// askMissing asks for required arguments that are missing. It changes nothing
// where nobody is there, or the form is left: then they are refused.
func (app *App) askMissing(ctx context.Context, what string, schema, arguments json.RawMessage) (json.RawMessage, error) {
	missing := missing(schema, arguments)
	if !app.Interactive || len(missing) == 0 {
		return arguments, nil
	}
	full, err := ask(app, func(t form.Terminal) (json.RawMessage, error) {
		fmt.Fprintf(app.Err, "%s takes more:\n", ui.Clean(what))
		app.Err.Flush()
		object, _, err := t.Ask(ctx, form.Question{Schema: schema, Only: missing, Given: arguments, Above: 1})
		return object, err
	})
	if err != nil || full == nil {
		return arguments, err
	}
	return full, nil
}

// missing returns the required members that an object does not have and that
// its schema describes.
func missing(schema, object json.RawMessage) []string {
	root, err := schemadoc.Parse(schema, schemadoc.Limits{})
	if err != nil {
		return nil
	}
	given := schemadoc.SplitValid(object)
	names := []string{}
	if list := root.Get("required"); list != nil {
		for _, item := range list.Items {
			name := item.Str()
			has := slices.ContainsFunc(given, func(m schemadoc.RawMember) bool { return m.Name == name })
			if !has && root.Get("properties").Get(name) != nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// Bounds of what is shown of a text before a question.
const (
	maxShownLines = 40
	maxShownLine  = 1000
)

// show prints text of a server, harmless, indented and bounded. It returns how
// many lines of the terminal that takes.
func (app *App) show(text string) (rows int) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	more := max(0, len(lines)-maxShownLines)
	for _, line := range lines[:len(lines)-more] {
		line, n := clipTo(line, maxShownLine)
		fmt.Fprintf(app.Err, "  %s\n", cleanLines(line))
		rows += 1 + n/max(20, app.Err.Width-2)
	}
	if more > 0 {
		fmt.Fprintf(app.Err, "  %s\n", app.Err.Faint(fmt.Sprintf("(%d more lines)", more)))
		rows++
	}
	return rows
}

func clipTo(s string, limit int) (clipped string, runes int) {
	r := []rune(s)
	if len(r) > limit {
		return string(r[:limit-1]) + "…", limit
	}
	return s, len(r)
}
