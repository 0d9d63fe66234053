// Package atomicfile replaces several files so that each is, at every moment
// and whatever happens to the process, either the old or the new one, whole.
//
// All new files are staged beside their targets and synced first; only then
// are they renamed, one after another. Several renames are not one
// transaction, but nothing short of a failing file system stops between them.
// What a killed process leaves behind is removed by the next call that writes
// the same file.
package atomicfile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file to write: its whole new content.
type File struct {
	Path string
	Data []byte
}

// Options change how [Write] works. The zero value is the usual way.
type Options struct {
	// Mode is the mode of files that do not exist yet, before the umask. Zero
	// means 0o666. A file that exists keeps its mode.
	Mode fs.FileMode
	// Step is called before each step with its name, so that a test can stop
	// the process there.
	Step func(name string)
}

// Write writes all files or, when anything fails before the first rename,
// none. It creates missing folders. Files whose content is the same already
// are not touched; the paths of the others are returned in sorted order. The
// context is heeded until the first rename.
//
// An error names the target, never a temporary file.
func Write(ctx context.Context, files []File, o Options) (written []string, err error) {
	w := writer{mode: cmp.Or(o.Mode, 0o666), step: o.Step}
	if w.step == nil {
		w.step = func(string) {}
	}
	defer w.cleanUp()
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range files {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if err := w.stage(f); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.Path, reason(err))
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for i, s := range w.staged {
		w.step("rename " + filepath.Base(s.target))
		if err := os.Rename(s.temp, s.target); err != nil {
			return written, fmt.Errorf("replace %s: %w", s.target, reason(err))
		}
		w.staged[i].temp = ""
		written = append(written, s.target)
	}
	w.made = nil // they hold files now
	for _, d := range w.dirs {
		w.step("sync folder")
		if err := d.sync(); err != nil {
			return written, fmt.Errorf("sync folder %s: %w", d.path, reason(err))
		}
	}
	w.step("done")
	return written, nil
}

// reason strips the temporary path off an error; the caller names the target.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

type writer struct {
	mode   fs.FileMode
	step   func(string)
	staged []staged
	dirs   []*dir
	made   []string // folders created here, parents first
}

// staged is a complete temporary file; temp is empty once it is renamed.
type staged struct{ temp, target string }

func (w *writer) stage(f File) error {
	folder, base := filepath.Split(filepath.Clean(f.Path))
	d, err := w.open(filepath.Clean(folder))
	if err != nil {
		return err
	}
	w.step("clean " + base)
	d.removeStale(base)
	mode, exists := w.mode, false
	if info, err := os.Lstat(f.Path); err == nil {
		if !info.Mode().IsRegular() {
			return errors.New("not a regular file")
		}
		mode, exists = info.Mode().Perm(), true
		if old, err := os.ReadFile(f.Path); err == nil && bytes.Equal(old, f.Data) {
			return nil
		}
	}
	w.step("create " + base)
	temp, err := create(folder, base, mode)
	if err != nil {
		return err
	}
	w.staged = append(w.staged, staged{temp.Name(), f.Path})
	if err := w.fill(temp, f.Data, base); err != nil {
		temp.Close()
		return err
	}
	if exists {
		// The umask may have taken bits that the old file has.
		if err := temp.Chmod(mode); err != nil {
			temp.Close()
			return err
		}
	}
	w.step("sync " + base)
	if err := temp.Sync(); err != nil {
		temp.Close()
		return err
	}
	return temp.Close()
}

// chunk is how much is written between two steps.
const chunk = 64 << 10

func (w *writer) fill(f *os.File, data []byte, base string) error {
	for part := range slices.Chunk(data, chunk) {
		w.step("write " + base)
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	return nil
}

const suffix = ".tmp"

// prefix begins the names of the temporary files of one target.
func prefix(base string) string { return "." + base + ".mcpctl-" }

// create makes a new temporary file beside its target.
func create(folder, base string, mode fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(folder, prefix(base)+rand.Text()+suffix)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// open makes sure that a folder exists and holds it open until the end.
func (w *writer) open(path string) (*dir, error) {
	for _, d := range w.dirs {
		if d.path == path {
			return d, nil
		}
	}
	var missing []string
	for p := path; ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) || p == filepath.Dir(p) {
			break
		}
		missing = append(missing, p)
	}
	for _, p := range slices.Backward(missing) {
		if err := os.Mkdir(p, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		w.made = append(w.made, p)
	}
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	w.dirs = append(w.dirs, d)
	return d, nil
}

// cleanUp removes what did not get to its place.
func (w *writer) cleanUp() {
	for _, s := range w.staged {
		if s.temp != "" {
			os.Remove(s.temp)
		}
	}
	for _, d := range w.dirs {
		d.close()
	}
	for _, p := range slices.Backward(w.made) {
		os.Remove(p) // fails where somebody put a file meanwhile, as it should
	}
}

// stale lists the temporary files of a target in a folder.
func stale(folder, base string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix(base)) && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	return names
}
