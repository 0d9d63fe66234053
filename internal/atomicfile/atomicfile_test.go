package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// killAt is the variable that makes the test binary write the files of
// [killFiles] into the folder in its argument and kill itself at that step.
const killAt = "ATOMICFILE_KILL_AT"

func TestMain(m *testing.M) {
	if at := os.Getenv(killAt); at != "" {
		n, _ := strconv.Atoi(at)
		step := func(string) {
			if n--; n == 0 {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {} // until the signal arrives
			}
		}
		if _, err := Write(context.Background(), killFiles(os.Args[1], "new"), Options{Step: step}); err != nil {
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func killFiles(dir, version string) []File {
	big := bytes.Repeat([]byte(version), chunk/2)
	return []File{
		{filepath.Join(dir, "b", "two.go"), []byte(version + " two")},
		{filepath.Join(dir, "a", "one.go"), big},
		{filepath.Join(dir, "a", "three.go"), []byte(version + " three")},
	}
}

func TestKilledAtEveryStep(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that is killed there leaves its lock for a while")
	}
	for n := 1; ; n++ {
		dir := t.TempDir()
		if _, err := Write(t.Context(), killFiles(dir, "old"), Options{}); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], dir)
		cmd.Env = append(os.Environ(), killAt+"="+strconv.Itoa(n))
		killed := cmd.Run() != nil
		olds, news := killFiles(dir, "old"), killFiles(dir, "new")
		for i := range olds {
			got, err := os.ReadFile(olds[i].Path)
			if err != nil || !bytes.Equal(got, olds[i].Data) && !bytes.Equal(got, news[i].Data) {
				t.Errorf("step %d: %s is neither the old nor the new file (%v)", n, olds[i].Path, err)
			}
		}
		if _, err := Write(t.Context(), killFiles(dir, "new"), Options{}); err != nil {
			t.Fatal(err)
		}
		want := []string{"a/one.go", "a/three.go", "b/two.go"}
		if left := files(t, dir); !cmp.Equal(want, left) {
			t.Errorf("step %d: after the next run there are %v", n, left)
		}
		if !killed {
			if n < 12 {
				t.Errorf("only %d steps", n)
			}
			return
		}
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	same, changed := filepath.Join(dir, "same"), filepath.Join(dir, "changed")
	for _, p := range []string{same, changed} {
		if err := os.WriteFile(p, []byte("old"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(same)
	if err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(dir, "x", "y", "fresh")
	written, err := Write(t.Context(), []File{{same, []byte("old")}, {fresh, []byte("new")}, {changed, []byte("new")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{changed, fresh}, written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if after, err := os.Stat(same); err != nil || !os.SameFile(before, after) {
		t.Errorf("a file with the same content was replaced (%v)", err)
	}
	if info, err := os.Stat(changed); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o640) {
		t.Errorf("mode %v, %v, want that of the old file", info.Mode(), err)
	}
	if got := files(t, dir); !cmp.Equal(got, []string{"changed", "same", "x/y/fresh"}) {
		t.Errorf("files %v", got)
	}
}

func TestNothingChangesOnFailure(t *testing.T) {
	tests := []struct {
		name  string
		setUp func(t *testing.T, dir string) (File, context.Context)
		want  string
	}{
		{"a target is a folder", func(t *testing.T, dir string) (File, context.Context) {
			return File{dir, []byte("x")}, t.Context()
		}, "not a regular file"},
		{"a parent is a file", func(t *testing.T, dir string) (File, context.Context) {
			return File{filepath.Join(dir, "first", "x"), []byte("x")}, t.Context()
		}, "not a directory"},
		{"cancelled", func(t *testing.T, dir string) (File, context.Context) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("told to stop"))
			return File{filepath.Join(dir, "z"), []byte("x")}, ctx
		}, "told to stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			first := filepath.Join(dir, "first")
			if err := os.WriteFile(first, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			bad, ctx := tt.setUp(t, dir)
			written, err := Write(ctx, []File{{first, []byte("new")}, {filepath.Join(dir, "m", "n"), []byte("new")}, bad}, Options{})
			if err == nil || written != nil {
				t.Fatalf("written %v, error %v", written, err)
			}
			if !strings.Contains(err.Error(), tt.want) && runtime.GOOS != "windows" || strings.Contains(err.Error(), suffix) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
			if got, _ := os.ReadFile(first); string(got) != "old" {
				t.Errorf("first is %q", got)
			}
			if got := files(t, dir); !cmp.Equal(got, []string{"first"}) {
				t.Errorf("files %v", got)
			}
			if _, err := os.Stat(filepath.Join(dir, "m")); err == nil {
				t.Error("a folder made for the run is left")
			}
		})
	}
}

func TestTemporaryFilesOfALivingWriterStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there open files cannot be removed anyway")
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "f")
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := Write(context.Background(), []File{{target, []byte("slow")}}, Options{Step: func(name string) {
			if name == "rename f" {
				close(reached)
				<-goOn
			}
		}})
		done <- err
	}()
	<-reached
	if _, err := Write(t.Context(), []File{{target, []byte("quick")}}, Options{}); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(target); string(got) != "slow" {
		t.Errorf("the target is %q, want what was renamed last", got)
	}
}
