//go:build !windows

package wire

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// processGroup is the POSIX process group that a server leads.
type processGroup struct {
	mu  sync.Mutex
	pid int // zero when there is no group to signal
}

func (g *processGroup) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func (g *processGroup) started(p *os.Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = p.Pid
}

func (g *processGroup) terminate() {
	g.signal(syscall.SIGTERM)
	// One that was stopped, as by reading from a terminal that is not its
	// own, has to run to obey.
	g.signal(syscall.SIGCONT)
}

func (g *processGroup) kill() { g.signal(syscall.SIGKILL) }

func (g *processGroup) signal(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid != 0 {
		// The group may be empty already, which is what we want.
		_ = syscall.Kill(-g.pid, sig)
	}
}

// await waits until the group is empty: a signal is sent at once and obeyed
// later. A dead member counts until its new parent has noticed, so there is a
// limit.
func (g *processGroup) await(limit time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; g.pid != 0 && time.Now().Before(deadline); pause *= 2 {
		if syscall.Kill(-g.pid, 0) != nil {
			return
		}
		time.Sleep(pause)
	}
}

// close forgets the group: its number may soon be another's.
func (g *processGroup) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = 0
}
