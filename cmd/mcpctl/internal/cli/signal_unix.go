//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoreFileSizeSignal makes a write past the file size limit an error like
// that of a full disk; by default the signal ends the process with a trace.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }

// catchPipeSignal makes a write to a pipe that nobody reads an error; by
// default the signal ends the process, and nobody would end its servers. It is
// not ignored, since child processes would inherit that.
func catchPipeSignal() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// brokenPipe are the errors of writing to a pipe that nobody reads.
var brokenPipe = []error{syscall.EPIPE}
