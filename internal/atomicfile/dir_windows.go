package atomicfile

import (
	"os"
)

// dir is a folder that is being written to. Windows cannot sync a folder.
type dir struct{ path string }

func openDir(path string) (*dir, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return &dir{path}, nil
}

// removeStale removes the temporary files that a killed process left of a
// target. Those that another process has open cannot be removed.
func (d *dir) removeStale(base string) {
	for _, name := range stale(d.path, base) {
		os.Remove(name)
	}
}

func (d *dir) sync() error { return nil }

func (d *dir) close() {}
