package wire

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processGroup is a job object that holds a server and what it starts. What
// is left of it dies when the job is closed, also when this program is killed.
type processGroup struct {
	mu  sync.Mutex
	pid uint32
	job windows.Handle
}

func (g *processGroup) prepare(cmd *exec.Cmd) {
	// A console group of its own keeps Ctrl-C for the program, and lets
	// terminate reach the server alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// started puts the process into a job. Without one, which can only be for
// lack of resources, kill ends the process alone.
func (g *processGroup) started(p *os.Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = uint32(p.Pid)
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = g.assign(job)
	}
	if err != nil {
		windows.CloseHandle(job)
		return
	}
	g.job = job
}

func (g *processGroup) assign(job windows.Handle) error {
	handle, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, g.pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(handle)
	return windows.AssignProcessToJobObject(job, handle)
}

func (g *processGroup) terminate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid != 0 {
		// Programs without a console do not get it; kill follows.
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.pid)
	}
}

func (g *processGroup) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.job != 0:
		_ = windows.TerminateJobObject(g.job, 1)
	case g.pid != 0:
		if p, err := os.FindProcess(int(g.pid)); err == nil {
			_ = p.Kill()
			_ = p.Release()
		}
	}
}

// await does nothing: ending a job ends what is in it.
func (g *processGroup) await(time.Duration) {}

func (g *processGroup) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		windows.CloseHandle(g.job)
	}
	g.job, g.pid = 0, 0
}
