package client

import (
	"runtime"
	"slices"
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

// Without these a server, or what installs it, waits in vain for a network that
// its parent knows the way into.
var (
	certificates = []string{"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
	proxies      = []string{"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy"}
)

// environment returns the variables of a child. The result is never nil,
// which os/exec would take for the whole environment of the parent.
func environment(s *Stdio, lookup func(string) (string, bool)) []string {
	env := []string{}
	if !s.NoInheritEnv {
		for _, name := range slices.Concat(inherited(), certificates, proxies) {
			value, ok := lookup(name)
			switch {
			case !ok:
			case strings.HasPrefix(value, "()"):
				// Shells export functions as values that start so; a server has
				// no use for them, and they have been used to inject commands.
			case slices.Contains(proxies, name) && strings.Contains(value, "@"):
				// The password for a proxy is not everybody's.
			default:
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
