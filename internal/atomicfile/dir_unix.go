//go:build unix

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dir is a folder that is being written to. While it is open it holds a shared
// lock, so that nobody takes the temporary files in it for stale ones.
type dir struct {
	path string
	file *os.File
}

func openDir(path string) (*dir, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	// A file system without locks is no reason not to write; see removeStale.
	_ = flock(f, unix.LOCK_SH)
	return &dir{path, f}, nil
}

// removeStale removes the temporary files that a killed process left of a
// target. Where another process is writing in the folder, or where locks do
// not work, it leaves them.
func (d *dir) removeStale(base string) {
	names := stale(d.path, base)
	if len(names) == 0 || flock(d.file, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	for _, name := range names {
		os.Remove(name)
	}
	_ = flock(d.file, unix.LOCK_SH)
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (d *dir) sync() error {
	// Some file systems cannot sync a folder; the renames are done all the same.
	if err := d.file.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

func (d *dir) close() { d.file.Close() }
