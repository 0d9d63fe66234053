package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
)

// An expression that does not come to an end is ended by the context.
func TestJQEnds(t *testing.T) {
	cause := errors.New("enough")
	for _, expression := range []string{"def f: f; f", "[limit(1e12; repeat(1)) | select(. == 2)]", "last(range(1e12))"} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
		defer cancel()
		o := outputFlags{output: "json", formats: []string{"text", "json"}, jq: expression}
		if err := o.check(); err != nil {
			t.Fatal(err)
		}
		app := &App{Out: ui.NewStream(new(bytes.Buffer), nil, ui.Never, func(string) (string, bool) { return "", false })}
		if err := o.write(ctx, app, struct{}{}); !errors.Is(err, cause) {
			t.Errorf("%s: error %v", expression, err)
		}
	}
}
