package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpctl/mcpctl/internal/redact"
)

// How long a server may take to go away by itself: after its standard input
// was closed, and after it was told to terminate. (Specification, stdio
// transport, shutdown.)
const (
	stdinGrace     = 500 * time.Millisecond
	terminateGrace = 2 * time.Second
	// outputGrace is how long the descendants of a server that has ended may
	// hold on to its output before they are killed.
	outputGrace = 250 * time.Millisecond
)

// process is a running stdio server: a child with a process group (on Windows
// a job) of its own, so that what it starts goes away with it.
type process struct {
	cmd    *exec.Cmd
	group  processGroup
	stdin  *os.File
	stdout *os.File
	stderr *tail

	outputs sync.WaitGroup // readers of stdout and stderr
	exited  chan struct{}  // closed when the child itself has ended
	gone    chan struct{}  // closed when it and its descendants have
	asked   atomic.Bool    // whether we ended it
}

// Command is a program that speaks over its standard streams.
type Command struct {
	// Name is a path, or a name that is looked up in the PATH that the child
	// gets.
	Name string
	Args []string
	// Env are all variables of the child, as NAME=VALUE. Of equal names the
	// last one wins.
	Env []string
	// Dir is the child's working directory; empty means the caller's.
	Dir string
}

// CommandError says that a program could not be started. The text has no words
// of the system.
type CommandError struct {
	Reason string
	Err    error
}

func (e *CommandError) Error() string { return e.Reason }

// Unwrap returns the error of the system.
func (e *CommandError) Unwrap() error { return e.Err }

// ErrCommandNotFound says that there is no such program.
var ErrCommandNotFound = errors.New("command not found")

// ExitError says how a process ended by itself.
type ExitError struct{ Reason string }

func (e *ExitError) Error() string { return e.Reason }

func startProcess(s Command, log *slog.Logger, secrets *redact.Redactor) (*process, error) {
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return nil, &CommandError{"the working directory is no folder", err}
		}
	}
	path, err := lookCommand(s.Name, s.Dir, s.Env)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, &CommandError{ErrCommandNotFound.Error(), errors.Join(ErrCommandNotFound, err)}
	case err != nil:
		// A folder, or no permission.
		return nil, &CommandError{"the command is not executable", err}
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	childIn, in := pipe()
	out, childOut := pipe()
	errOut, childErr := pipe()
	if err != nil {
		return nil, &CommandError{"the command cannot be started", err}
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{s.Name}, s.Args...),
		Env: s.Env, Dir: s.Dir,
		Stdin: childIn, Stdout: childOut, Stderr: childErr,
	}
	p := &process{
		cmd: cmd, stdin: in, stdout: out,
		stderr: &tail{log: log, secrets: secrets},
		exited: make(chan struct{}), gone: make(chan struct{}),
	}
	p.group.prepare(cmd)
	if err := cmd.Start(); err != nil {
		// A script without its interpreter is one of these.
		return nil, &CommandError{"the command cannot be started", err}
	}
	p.group.started(cmd.Process)
	files = []*os.File{childIn, childOut, childErr}
	p.outputs.Go(func() { p.stderr.read(errOut) })
	p.outputs.Add(1) // until readerDone
	go p.wait(errOut)
	return p, nil
}

// wait follows the child to its end and then takes its descendants along.
func (p *process) wait(stderr *os.File) {
	_ = p.cmd.Wait() // exit reads the state
	close(p.exited)
	// Whoever is left has lost its server. The end of the output says that
	// nobody is.
	p.group.terminate()
	drained := make(chan struct{})
	go func() {
		p.outputs.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-time.After(outputGrace):
	}
	p.group.kill()
	p.group.await(outputGrace)
	p.group.close()
	p.stdin.Close()
	// One that left the group may still hold the pipes.
	select {
	case <-drained:
	case <-time.After(outputGrace):
	}
	p.stdout.Close()
	stderr.Close()
	<-drained
	close(p.gone)
}

// readerDone is called once by whoever reads stdout, at its end.
func (p *process) readerDone() { p.outputs.Done() }

// stop ends the process and its descendants, and returns when they are gone.
// It asks first: by closing standard input, then with a termination signal,
// each for a while or until ctx ends.
func (p *process) stop(ctx context.Context) {
	p.ask()
	p.stdin.Close()
	if !p.ended(ctx, stdinGrace) {
		p.group.terminate()
		if !p.ended(ctx, terminateGrace) {
			p.group.kill()
		}
	}
	p.leave()
}

// abort is stop for a process that has already shown that it does not behave,
// or for a caller who does not want to wait.
func (p *process) abort() {
	p.ask()
	p.stdin.Close()
	p.group.terminate()
	if !p.ended(context.Background(), stdinGrace) {
		p.group.kill()
	}
	p.leave()
}

// ask notes that the process, if it still runs, ends by our will.
func (p *process) ask() {
	select {
	case <-p.exited:
	default:
		p.asked.Store(true)
	}
}

// leave waits until a process that was ended is gone. The kernel may hold on
// to a killed process that waits for a device, which is no reason to hang.
func (p *process) leave() {
	select {
	case <-p.gone:
	case <-time.After(terminateGrace):
	}
}

func (p *process) ended(ctx context.Context, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// exit returns how the process ended by itself, or nil.
func (p *process) exit() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	if p.asked.Load() {
		return nil
	}
	state := p.cmd.ProcessState
	if state == nil {
		return &ExitError{"exited"}
	}
	if code := state.ExitCode(); code >= 0 {
		return &ExitError{fmt.Sprintf("exited with status %d", code)}
	}
	// The text names the signal: "signal: killed".
	return &ExitError{"ended by " + state.String()}
}

// lookCommand finds a command as the child would: a name in the child's PATH,
// a relative path from its working directory.
func lookCommand(command, dir string, env []string) (string, error) {
	if filepath.Base(command) != command {
		if dir != "" && !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		path, err := exec.LookPath(command)
		if errors.Is(err, exec.ErrNotFound) {
			// On Windows this also says that no extension makes it a program.
			err = os.ErrNotExist
		}
		if err != nil {
			return "", err
		}
		// os/exec would take a relative path from Dir once more.
		return filepath.Abs(path)
	}
	path := ""
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			path = value
		}
	}
	err := os.ErrNotExist
	for _, folder := range filepath.SplitList(path) {
		// A relative folder would let the working directory choose programs.
		if !filepath.IsAbs(folder) {
			continue
		}
		found, lookErr := exec.LookPath(filepath.Join(folder, command))
		if lookErr == nil {
			return found, nil
		}
		// A program further down the list is preferred to a file that is none.
		if errors.Is(lookErr, os.ErrPermission) {
			err = os.ErrPermission
		}
	}
	return "", err
}

// Bounds of what is kept of a server's standard error.
const (
	tailLines   = 20
	tailLine    = 2 << 10  // bytes of one line that are shown
	tailBuffer  = 64 << 10 // bytes of one line that are looked at
	strayLength = 200      // bytes of a stray line of stdout that are logged
)

// tail keeps the last lines of a server's standard error, without secrets,
// and logs each.
type tail struct {
	log     *slog.Logger
	secrets *redact.Redactor

	mu   sync.Mutex
	last []string
}

func (t *tail) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, tailBuffer)
	for {
		// A line that does not fit is cut, but only after secrets were
		// replaced in more of it than is shown.
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			t.add(OneLine(t.secrets.String(string(line)), tailLine))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func (t *tail) add(line string) {
	if line == "" {
		return
	}
	t.log.Debug("server stderr", "line", line)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == tailLines {
		t.last = append(t.last[:0], t.last[1:]...)
	}
	t.last = append(t.last, line)
}

// String returns the lines that are kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.last, "\n")
}
