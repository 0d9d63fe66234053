package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// serverLogs shows what servers log as lines of theirs, and hands on all other
// records.
type serverLogs struct {
	slog.Handler
	out    *ui.Stream
	server string
}

func (h serverLogs) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == "server" {
			h.server = a.Value.String()
		}
	}
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

func (h serverLogs) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != client.ServerLog {
		return h.Handler.Handle(ctx, r)
	}
	from, severity, text := h.server, "", ""
	r.Attrs(func(a slog.Attr) bool {
		switch value := a.Value.String(); a.Key {
		case "server":
			from = value
		case "severity":
			severity = value
		case "logger":
			if value != "" {
				text = value + ": " + text
			}
		case "data":
			var s string
			if json.Unmarshal([]byte(value), &s) != nil {
				s = value // no text, or cut off
			}
			text += s
		}
		return true
	})
	_, err := fmt.Fprintf(h.out, "%s [%s] %s\n", h.out.Faint(ui.Clean(from)+":"), severity, ui.Clean(text))
	return err
}
