//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe waits for who writes into it, which may be nobody.
func TestInterruptedBeforeAPipeIsOpen(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	stop := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := readArguments(ctx, new(App), json.RawMessage(argumentSchema), "", []string{"text=@" + pipe}); !errors.Is(err, stop) {
		t.Error(err)
	}
}
