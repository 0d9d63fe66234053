// Package scripttest has what the script tests share that run mcpctl.
package scripttest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Command is a command of scripts.
type Command = func(ts *testscript.TestScript, neg bool, args []string)

// Commands returns the commands that all scripts have, and more.
func Commands(more map[string]Command) map[string]Command {
	all := map[string]Command{"exitcode": exitcode, "signal": signalled, "unread": unread, "appears": appears, "gone": gone}
	maps.Copy(all, more)
	return all
}

// Home gives a script a home of its own, and an environment in which nothing of
// the user's counts.
func Home(e *testscript.Env) error {
	for name, value := range map[string]string{
		"HOME":            e.WorkDir + "/home",
		"XDG_CONFIG_HOME": e.WorkDir + "/home/config",
		"XDG_CACHE_HOME":  e.WorkDir + "/home/cache",
		"CI":              "",
		"NO_PROXY":        "*",
		"GORACE":          os.Getenv("GORACE"),
	} {
		e.Setenv(name, value)
	}
	return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o700)
}

// exitcode runs a command that must end with a number: exitcode N cmd args...
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command args...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s\n[stdout]\n%s[stderr]\n%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// signalled runs a command, waits until a file is there, sends a signal, and
// checks the exit code and that the process whose number the file holds is
// gone: signal NAME[+NAME] FILE N cmd args...
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: signal NAME FILE N command args...")
	}
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	var stderr bytes.Buffer
	cmd := command(ts, args[3:])
	cmd.Stderr = &stderr
	ts.Check(cmd.Start())
	pid := waitForPID(ts, ts.MkAbs(args[1]))
	for name := range strings.SplitSeq(args[0], "+") {
		ts.Check(cmd.Process.Signal(signals[name]))
	}
	err := cmd.Wait()
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[2] {
		ts.Fatalf("exit code %s (%v), want %s\n%s", got, err, args[2], stderr.String())
	}
	if pid != 0 && alive(pid) {
		ts.Fatalf("process %d is still there", pid)
	}
	said := regexp.MustCompile(`(?m)^mcpctl: (interrupted|terminated|hung up)$|"kind":"signal"`).FindAllString(stderr.String(), -1)
	if len(args[2]) == 3 && len(said) != 1 { // 128 and more
		ts.Fatalf("how it ended is said %d times:\n%s", len(said), stderr.String())
	}
}

// unread runs a command whose standard output is a pipe that nobody reads, and
// checks its exit code and that it says nothing: unread N cmd args...
func unread(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: unread N command args...")
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	ts.Check(r.Close())
	defer w.Close()
	var stderr bytes.Buffer
	cmd := command(ts, args[1:])
	cmd.Stdout, cmd.Stderr = w, &stderr
	err = cmd.Run()
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] || stderr.Len() > 0 {
		ts.Fatalf("exit code %s (%v), want %s\n%s", got, err, args[0], stderr.String())
	}
}

// command prepares a command of the script's.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	path, err := exec.LookPath(args[0])
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if candidate := filepath.Join(dir, args[0]); err != nil && isExecutable(candidate) {
			path, err = candidate, nil
		}
	}
	ts.Check(err)
	cmd.Path, cmd.Err = path, nil
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// appears waits for files.
func appears(ts *testscript.TestScript, _ bool, files []string) {
	for _, file := range files {
		waitForFile(ts, ts.MkAbs(file))
	}
}

// gone checks that the processes whose numbers stand in files are not there.
func gone(ts *testscript.TestScript, _ bool, files []string) {
	for _, file := range files {
		if pid := waitForPID(ts, ts.MkAbs(file)); alive(pid) {
			ts.Fatalf("process %d of %s is still there", pid, file)
		}
	}
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// waitForPID reads the number of a process from a file as soon as it is there;
// zero is none.
func waitForPID(ts *testscript.TestScript, file string) int {
	pid, err := strconv.Atoi(string(waitForFile(ts, file)))
	ts.Check(err)
	return pid
}

// waitForFile reads a file as soon as it is there.
func waitForFile(ts *testscript.TestScript, file string) []byte {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		if data, err := os.ReadFile(file); err == nil {
			return data
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%s did not appear", file)
		}
	}
}

// alive reports whether a process runs; one that ended and waits for its
// parent does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
