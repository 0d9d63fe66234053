//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// ignoreFileSizeSignal makes a write past the file size limit an error like
// that of a full disk; by default the signal ends the process with a trace.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
