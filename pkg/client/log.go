package client

import (
	"context"
	"log/slog"

	"github.com/mcpctl/mcpctl/internal/redact"
)

// redactHandler keeps secrets out of what the package and the SDK log.
type redactHandler struct {
	next    slog.Handler
	secrets *redact.Redactor
}

func (h redactHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h redactHandler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.secrets.String(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h redactHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return redactHandler{h.next.WithAttrs(clean), h.secrets}
}

func (h redactHandler) WithGroup(name string) slog.Handler {
	return redactHandler{h.next.WithGroup(name), h.secrets}
}

func (h redactHandler) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64:
		return a
	case slog.KindGroup:
		group := make([]slog.Attr, len(a.Value.Group()))
		for i, member := range a.Value.Group() {
			group[i] = h.attr(member)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	}
	return slog.String(a.Key, h.secrets.String(a.Value.String()))
}
