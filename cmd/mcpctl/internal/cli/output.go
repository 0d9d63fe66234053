package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/spf13/cobra"
)

// outputFlags are --output and --jq, by the one rule of all commands that
// print JSON.
type outputFlags struct {
	output  string
	formats []string
	jq      string
	query   *gojq.Code // of jq; nil without one
}

// addFlags adds the flags; text is the first of the formats, and what is
// printed unless another one is asked for.
func (o *outputFlags) addFlags(cmd *cobra.Command, formats ...string) {
	o.formats = formats
	words := slices.Clone(formats)
	for i, format := range words {
		switch format {
		case "structured":
			words[i] += " (the structured content as it came)"
		case "raw":
			words[i] += " (the whole result as it came)"
		}
	}
	last := len(words) - 1
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", formats[0], fmt.Sprintf("output `format`: %s or %s", strings.Join(words[:last], ", "), words[last]))
	f.StringVar(&o.jq, "jq", "", "`expression` of jq whose results are printed, texts without quotes; the output is JSON then")
	completeFlag(cmd, "output", formats...)
}

// check finds mistakes before anything is sent.
func (o *outputFlags) check() error {
	if err := checkOutput(o.output, o.formats...); err != nil || o.jq == "" {
		return err
	}
	if !slices.Contains([]string{"text", "json", "structured", "raw"}, o.output) {
		return usagef("--jq is for JSON, which --output %s is not", o.output)
	}
	parsed, err := gojq.Parse(o.jq)
	if err != nil {
		return usagef("--jq: %w", err)
	}
	// Without options it knows no environment, no modules and no other input.
	if o.query, err = gojq.Compile(parsed); err != nil {
		return usagef("--jq: %w", err)
	}
	return nil
}

// text reports whether the output is for a person.
func (o *outputFlags) text() bool { return o.output == "text" && o.query == nil }

// write prints a value as JSON, or what the expression makes of it. With the
// formats that promise so, a [json.RawMessage] is printed as it came.
func (o *outputFlags) write(ctx context.Context, app *App, v any) error {
	if o.query != nil {
		return o.filter(ctx, app, v)
	}
	var b bytes.Buffer
	if raw, ok := v.(json.RawMessage); ok && (o.output == "raw" || o.output == "structured") {
		b.Write(raw)
		b.WriteByte('\n')
	} else if err := view.WriteJSON(&b, v); err != nil {
		return err
	}
	text := b.Bytes()
	if app.Out.Terminal {
		text = ui.CleanJSON(text)
	}
	_, err := app.Out.Write(text)
	return err
}

// filter prints what the expression makes of a value.
func (o *outputFlags) filter(ctx context.Context, app *App, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // which the expression passes on as it is written
	var input any
	if err := dec.Decode(&input); err != nil {
		return err
	}
	out := bufio.NewWriter(app.Out)
	results := o.query.RunWithContext(ctx, input)
	for {
		result, ok := results.Next()
		if !ok {
			return out.Flush()
		}
		if err, ok := result.(error); ok {
			// What came before is printed.
			return errors.Join(out.Flush(), jqError(ctx, err))
		}
		line, err := jqLine(app.Out, result)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

// jqError says how an expression ended.
func jqError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
		return nil // halt, which is no failure
	}
	return negativeError{"--jq: " + err.Error()}
}

// jqLine words a result: a text as it is, anything else as JSON, on one line
// unless a person reads it.
func jqLine(out *ui.Stream, result any) ([]byte, error) {
	text, isText := result.(string)
	switch {
	case isText && out.Terminal:
		return []byte(cleanLines(text)), nil
	case isText:
		return []byte(text), nil
	}
	line, err := gojq.Marshal(result)
	if err != nil || !out.Terminal {
		return line, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", "  "); err != nil {
		return nil, err
	}
	return ui.CleanJSON(b.Bytes()), nil
}
