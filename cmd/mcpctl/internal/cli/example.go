package cli

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// exampleCall returns a command line that calls a tool with arguments that its
// schema accepts, or fills in a prompt. It is empty where none are known.
func (t *target) exampleCall(ctx context.Context, app *App, command, server string, tool catalog.Tool) string {
	value := view.Example(tool)
	if value == nil || strings.HasPrefix(tool.Name, "-") {
		return ""
	}
	words := []string{"mcpctl", command}
	if app.flags.config != "" && t.command == nil {
		words = append(words, "--config", app.flags.config)
	}
	switch {
	case t.command != nil:
		words = append(words, tool.Name)
	case len(t.servers) > 0:
		words = append(words, "-s", t.servers[0], tool.Name)
	default:
		words = append(words, server+"."+tool.Name)
	}
	return t.example(app, append(words, exampleWords(ctx, app, tool, value)...))
}

// exampleRead returns a command line that reads a resource.
func (t *target) exampleRead(app *App, server, uri string) string {
	words := []string{"mcpctl", "read"}
	if app.flags.config != "" && t.command == nil {
		words = append(words, "--config", app.flags.config)
	}
	switch {
	case t.command != nil:
	case len(t.servers) > 0:
		words = append(words, "-s", t.servers[0])
	default:
		words = append(words, "-s", server)
	}
	return t.example(app, append(words, uri))
}

// example writes words, and the command behind --, as a line for a shell. It
// is empty where they cannot be shown as they are.
func (t *target) example(app *App, words []string) string {
	if t.command != nil {
		words = append(append(words, "--"), t.command...)
	}
	for i, word := range words {
		words[i] = shellQuote(word)
	}
	line := app.secrets.String(strings.Join(words, " "))
	if ui.Clean(line) != line {
		return "" // what is shown of it would be something else
	}
	return line
}

// exampleWords writes arguments as words that call reads as those very
// arguments.
func exampleWords(ctx context.Context, app *App, tool catalog.Tool, value *schemadoc.Value) []string {
	same := func(words []string, want *schemadoc.Value) bool {
		got, err := readArguments(ctx, app, tool.InputSchema, "", words)
		if err != nil {
			return false
		}
		canonical, err := schemadoc.Canonical(got)
		return err == nil && bytes.Equal(canonical, want.AppendCanonical(nil))
	}
	var all []string
	for _, m := range value.Members {
		words := memberWords(m.Name, m.Value)
		alone := &schemadoc.Value{Kind: schemadoc.Object, Members: []schemadoc.Member{m}}
		if !same(words, alone) {
			words = []string{m.Name + ":=" + string(m.Value.AppendCanonical(nil))}
		}
		all = append(all, words...)
	}
	// A server must not get flags into what people copy.
	flag := slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, "-") })
	if flag || !same(all, value) {
		return []string{"--args", string(value.AppendCanonical(nil))}
	}
	return all
}

// memberWords writes a value in the plainest notation, which is not the right
// one for all schemas.
func memberWords(name string, v *schemadoc.Value) []string {
	var words []string
	switch {
	case v.Is(schemadoc.Object):
		for _, m := range v.Members {
			words = append(words, memberWords(name+"."+m.Name, m.Value)...)
		}
	case v.Is(schemadoc.Array):
		for _, item := range v.Items {
			if item.Is(schemadoc.Object) || item.Is(schemadoc.Array) {
				return []string{name + ":=" + string(v.AppendCanonical(nil))}
			}
			words = append(words, memberWords(name, item)...)
		}
	case v.Is(schemadoc.String):
		text := v.Text
		if strings.HasPrefix(text, "@") {
			text = "@" + text
		}
		words = append(words, name+"="+text)
	default:
		words = append(words, name+"="+string(v.AppendCanonical(nil)))
	}
	return words
}

var plainWord = regexp.MustCompile(`^[\w./:@%+,=-]+$`)

// shellQuote writes a word so that shells take it as it is.
func shellQuote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
