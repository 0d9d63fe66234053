package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// mostLogs is how many messages of servers one command shows that was not asked
// to say more. A flood hides what matters.
const mostLogs = 1000

// serverLogs bounds what servers log. With an out it shows that as lines of
// theirs; all other records are handed on.
type serverLogs struct {
	slog.Handler
	out    *ui.Stream
	server string
	left   *atomic.Int64 // messages that are still shown; nil for all
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
	if h.left != nil {
		switch left := h.left.Add(-1); {
		case left == -1:
			return h.Handler.Handle(ctx, slog.NewRecord(r.Time, slog.LevelWarn, "servers log more than is shown; -v shows it", 0))
		case left < 0:
			return nil
		}
	}
	if h.out == nil {
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
