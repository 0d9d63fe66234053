//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// readerGone says when nobody reads a pipe any longer. Writing would say it
// too, but what is watched may not change for days.
func readerGone(w io.Writer) <-chan error {
	gone := make(chan error, 1)
	if p, ok := w.(pipe); ok {
		w = p.Writer
	}
	f, ok := w.(*os.File)
	if !ok {
		return gone
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return gone
	}
	go func() {
		fds := []unix.PollFd{{Fd: int32(f.Fd())}}
		_, err := unix.Poll(fds, -1)
		for errors.Is(err, unix.EINTR) {
			_, err = unix.Poll(fds, -1)
		}
		if err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone <- goneError{syscall.EPIPE}
		}
	}()
	return gone
}
