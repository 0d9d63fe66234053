package client

import (
	"runtime"
	"strings"
)

// inherited are the variables that a server gets from its parent by default.
func inherited() []string {
	if runtime.GOOS == "windows" {
		return []string{
			"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PROCESSOR_ARCHITECTURE",
			"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
		}
	}
	return []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
}

// environment returns the variables of a child. The result is never nil,
// which os/exec would take for the whole environment of the parent.
func environment(s *Stdio, lookup func(string) (string, bool)) []string {
	env := []string{}
	if !s.NoInheritEnv {
		for _, name := range inherited() {
			// Shells export functions as values that start so; a server has
			// no use for them, and they have been used to inject commands.
			if value, ok := lookup(name); ok && !strings.HasPrefix(value, "()") {
				env = append(env, name+"="+value)
			}
		}
	}
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	// Of equal names os/exec lets the last one win.
	return env
}
