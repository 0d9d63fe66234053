package cli

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files")

// killAt is the variable that makes the program under test kill itself at a
// step of writing files.
const killAt = "MCPCTL_TEST_KILL_AT"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcpctl":     func() { os.Exit(MainWith(atomicfile.Options{Step: killStep()})) },
		"fakeserver": fakeServer,
	})
}

func killStep() func(string) {
	n, _ := strconv.Atoi(os.Getenv(killAt))
	if n == 0 {
		return nil
	}
	return func(string) {
		if n--; n == 0 {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {} // until the signal arrives
		}
	}
}

// fakeServer is a stdio server: one of the behaviours of mcptest, or "tools
// FILE", which publishes the tools/list result in a file.
func fakeServer() {
	mcptest.Main()
	if len(os.Args) > 2 && os.Args[1] == "tools" {
		list, err := os.ReadFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		script := mcptest.Modern()
		script.List = func(*string) string { return strings.ReplaceAll(string(list), "\n", " ") }
		script.Serve(os.Stdin, os.Stdout)
		return
	}
	os.Exit(mcptest.Run(os.Args[1], os.Args[2:]...))
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "..", "..", "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for name, value := range map[string]string{
				"HOME":            e.WorkDir + "/home",
				"XDG_CONFIG_HOME": e.WorkDir + "/home/config",
				"CI":              "",
				"NO_PROXY":        "*",
				"GORACE":          os.Getenv("GORACE"),
			} {
				e.Setenv(name, value)
			}
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitcode,
			"signal":   signalled,
			"http":     serveHTTP,
			"gone":     gone,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "procfs" {
				return runtime.GOOS == "linux", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
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
// gone: signal NAME FILE N cmd args...
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: signal NAME FILE N command args...")
	}
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	var stderr bytes.Buffer
	cmd := exec.Command(args[3], args[4:]...)
	path, err := exec.LookPath(args[3])
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if candidate := filepath.Join(dir, args[3]); err != nil && isExecutable(candidate) {
			path, err = candidate, nil
		}
	}
	ts.Check(err)
	cmd.Path, cmd.Err = path, nil
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stderr = &stderr
	ts.Check(cmd.Start())
	pid := waitForPID(ts, ts.MkAbs(args[1]))
	ts.Check(cmd.Process.Signal(signals[args[0]]))
	err = cmd.Wait()
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[2] {
		ts.Fatalf("exit code %s (%v), want %s\n%s", got, err, args[2], stderr.String())
	}
	if alive(pid) {
		ts.Fatalf("process %d is still there", pid)
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

// waitForPID reads the number of a process from a file as soon as it is there.
func waitForPID(ts *testscript.TestScript, file string) int {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		if data, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(string(data))
			ts.Check(err)
			return pid
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

// serveHTTP starts a server and puts its address into a variable: http NAME
// BEHAVIOUR, where the behaviour is a status, "tools FILE", "hang", "tls FILE",
// which writes its certificate, or "echo STATUS", which repeats all headers in
// its body.
func serveHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: http NAME BEHAVIOUR")
	}
	var h http.Handler
	start := httptest.NewServer
	switch args[1] {
	case "tools":
		script := mcptest.Modern()
		list := strings.ReplaceAll(ts.ReadFile(args[2]), "\n", " ")
		script.List = func(*string) string { return list }
		h = script
	case "hang":
		h = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	case "tls":
		start = httptest.NewTLSServer
		h = mcptest.Modern()
	case "echo":
		status, err := strconv.Atoi(args[2])
		ts.Check(err)
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			all, _ := json.Marshal(r.Header)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":%q}}`, all)
		})
	default:
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		h = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	s := start(h)
	ts.Defer(s.CloseClientConnections)
	if cert := s.Certificate(); cert != nil {
		data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), data, 0o600))
	}
	ts.Setenv(args[0], s.URL+"/mcp")
	ts.Setenv(args[0]+"_HOST", strings.TrimPrefix(strings.TrimPrefix(s.URL, "https://"), "http://"))
}
