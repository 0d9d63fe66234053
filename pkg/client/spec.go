package client

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/redact"
)

// Spec says what to connect to, and how. Exactly one of Stdio and HTTP is set.
type Spec struct {
	// Name identifies the server within a client. It is what results and
	// errors call the server.
	Name string
	// Stdio makes the server a child process.
	Stdio *Stdio
	// HTTP makes it a URL.
	HTTP *HTTP
	// Timeout bounds every operation on the server, connecting included; zero
	// means [Options.Timeout].
	Timeout time.Duration
	// Protocol pins a revision; empty means to probe.
	Protocol Protocol
	// ClientInfo is what this server learns about the client. Fields that are
	// set replace those of [Options.ClientInfo].
	ClientInfo Implementation
	// Handlers replace those of [Options] one by one.
	Handlers
	// LogLevel is the least severe level of what the server is asked to log,
	// one of RFC 5424; empty means "info", "off" nothing. What servers of
	// older revisions log all the same is then dropped.
	LogLevel string
	// Extensions are capabilities to advertise, by the identifier of the
	// extension (specification 2026-07-28, extension negotiation).
	Extensions map[string]any
	// ForwardInstructions lets [Client.Instructions] pass on what the server
	// says for a model. Such text acts on the model as if its user had said
	// it, so it is off unless the server is trusted.
	ForwardInstructions bool
	// InstructionsMaxLength bounds it, in characters; zero means
	// [DefaultInstructionsMaxLength].
	InstructionsMaxLength int
	// Secrets are values besides those that the client finds itself (headers,
	// environment, user info and query of the URL) that must not appear in
	// errors and logs, such as a token among the arguments.
	Secrets []string
}

// Stdio is a server that runs as a child process and speaks over its standard
// streams (specification, stdio transport).
type Stdio struct {
	// Command is the program: a path, or a name that is looked up in the PATH
	// that the child gets.
	Command string
	Args    []string
	// Env are variables for the child, on top of the inherited ones.
	Env map[string]string
	// Dir is the child's working directory; empty means the caller's.
	Dir string
	// NoInheritEnv gives the child nothing but Env. Otherwise it inherits a
	// short list: HOME, LOGNAME, PATH, SHELL, TERM and USER on POSIX, and
	// APPDATA, HOMEDRIVE, HOMEPATH, LOCALAPPDATA, PATH,
	// PROCESSOR_ARCHITECTURE, SYSTEMDRIVE, SYSTEMROOT, TEMP, USERNAME and
	// USERPROFILE on Windows; everywhere what names certificates to trust
	// (CURL_CA_BUNDLE, NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE, SSL_CERT_DIR,
	// SSL_CERT_FILE), and proxies (ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, NO_PROXY
	// and their lower case), unless a user stands in their address.
	NoInheritEnv bool
}

// HTTP is a server that is reached by URL, over streamable HTTP or, where the
// server is older than that, over HTTP with SSE.
type HTTP struct {
	// URL is the endpoint. User info in it becomes an Authorization header.
	URL string
	// Headers are sent with every request to the URL's origin, and to no
	// other.
	Headers map[string]string
	// AllowedHosts are the hosts that may be dialled, redirects included. Nil
	// means every host, an empty list none. An entry is a host with its port,
	// which is left out where it is the scheme's default.
	AllowedHosts []string
	// Transport replaces [Options.Transport] for this server. It sees the
	// context of each call. Redirects that it follows on its own can only be
	// checked afterwards.
	Transport http.RoundTripper
}

// Protocol says how the revision of the protocol is negotiated.
type Protocol string

// The pins. The zero value asks with server/discover and falls back to
// initialize.
const (
	// Protocol20260728 accepts that revision only and never sends initialize.
	Protocol20260728 Protocol = "2026-07-28"
	// ProtocolLegacy sends initialize without probing.
	ProtocolLegacy Protocol = "legacy"
)

// Implementation names a program to its peer (specification, Implementation).
type Implementation struct {
	Name    string
	Version string
}

// or returns i with its empty fields taken from other.
func (i Implementation) or(other Implementation) Implementation {
	if i.Name == "" {
		i.Name = other.Name
	}
	if i.Version == "" {
		i.Version = other.Version
	}
	return i
}

// Validate reports what is wrong with a specification on its own. The error
// repeats no value that could be secret.
func (s *Spec) Validate() error {
	switch {
	case s.Name == "":
		return errors.New("a server has no name")
	case s.Stdio == nil && s.HTTP == nil:
		return fmt.Errorf("server %q has neither a command nor a url", s.Name)
	case s.Stdio != nil && s.HTTP != nil:
		return fmt.Errorf("server %q has both a command and a url", s.Name)
	case s.Timeout < 0:
		return fmt.Errorf("server %q has a negative timeout", s.Name)
	}
	if !validLogLevel(s.LogLevel) {
		return fmt.Errorf("server %q has the unknown log level %q", s.Name, s.LogLevel)
	}
	switch s.Protocol {
	case "", Protocol20260728, ProtocolLegacy:
	default:
		return fmt.Errorf("server %q pins protocol %q, which is neither %q nor %q",
			s.Name, s.Protocol, Protocol20260728, ProtocolLegacy)
	}
	if s.Stdio != nil {
		return s.validateStdio()
	}
	return s.validateHTTP()
}

func (s *Spec) validateStdio() error {
	if s.Stdio.Command == "" {
		return fmt.Errorf("server %q has an empty command", s.Name)
	}
	for name, value := range s.Stdio.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("server %q has an environment variable with the invalid name %q", s.Name, name)
		}
		if strings.Contains(value, "\x00") {
			return fmt.Errorf("server %q: the value of environment variable %s contains a NUL byte", s.Name, name)
		}
	}
	return nil
}

func (s *Spec) validateHTTP() error {
	// The errors of net/url repeat the URL, which may hold a password.
	u, err := url.Parse(s.HTTP.URL)
	switch {
	case err != nil:
		return fmt.Errorf("server %q has an invalid url", s.Name)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("server %q has a url that is neither http nor https", s.Name)
	case u.Hostname() == "":
		return fmt.Errorf("server %q has a url without a host", s.Name)
	}
	for name, value := range s.HTTP.Headers {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isTokenChar(r) }) {
			return fmt.Errorf("server %q has a header with the invalid name %q", s.Name, name)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("server %q: the value of header %s contains a line break", s.Name, name)
		}
	}
	return nil
}

// isTokenChar reports whether r may stand in a header name (RFC 9110, section
// 5.6.2).
func isTokenChar(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// redactor returns what keeps the secrets of the specification out of text.
func (s *Spec) redactor() *redact.Redactor { return redact.New(s.SecretValues()...) }

// SecretValues returns what must not appear in text about the server: the
// values of its headers and environment variables, the user info and query of
// its URL, parts of these that may come back alone, such as the strings in a
// variable that holds JSON, and [Spec.Secrets]. Some may be short or empty.
func (s *Spec) SecretValues() []string {
	secrets := append([]string(nil), s.Secrets...)
	if s.Stdio != nil {
		for _, value := range s.Stdio.Env {
			secrets = append(append(secrets, value), linesOf(value)...)
			for _, leaf := range jsonStrings(value) {
				secrets = append(append(secrets, headerSecrets(leaf)...), linesOf(leaf)...)
			}
		}
	}
	if s.HTTP != nil {
		for _, value := range s.HTTP.Headers {
			secrets = append(secrets, headerSecrets(value)...)
		}
		if u, err := url.Parse(s.HTTP.URL); err == nil {
			secrets = append(secrets, urlSecrets(u)...)
		}
	}
	return secrets
}

// linesOf returns the lines of a value that has several: a key comes back line
// by line.
func linesOf(value string) []string {
	if !strings.ContainsAny(value, "\r\n") {
		return nil
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == '\r' || r == '\n' })
}

// maxJSONStrings bounds how many strings of one value count as secrets.
const maxJSONStrings = 100

// jsonStrings returns the strings in a value that is a JSON object or array,
// such as the headers that some servers want in a variable. Names of members
// are left out, and so is what is too short to be looked for.
func jsonStrings(value string) []string {
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") {
		return nil
	}
	var parsed any
	if json.Unmarshal([]byte(value), &parsed) != nil {
		return nil
	}
	var found []string
	var walk func(any)
	walk = func(v any) {
		if len(found) == maxJSONStrings {
			return
		}
		switch v := v.(type) {
		case string:
			if len(v) >= redact.MinLength {
				found = append(found, v)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(parsed)
	return found
}

// headerSecrets returns the value of a header and the parts of it that may
// come back alone: the credentials after a scheme, decoded where they are
// basic ones (RFC 7617), and the values of cookies.
func headerSecrets(value string) []string {
	secrets := []string{value}
	if scheme, rest, ok := strings.Cut(strings.TrimSpace(value), " "); ok {
		rest = strings.TrimSpace(rest)
		secrets = append(secrets, rest)
		if strings.EqualFold(scheme, "Basic") {
			if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
				user, password, _ := strings.Cut(string(plain), ":")
				secrets = append(secrets, string(plain), user, password)
			}
		}
	}
	for part := range strings.SplitSeq(value, ";") {
		if _, v, ok := strings.Cut(part, "="); ok {
			secrets = append(secrets, v)
		}
	}
	return secrets
}

func urlSecrets(u *url.URL) []string {
	var secrets []string
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.User.Username(), password, u.User.String(), u.User.Username()+":"+password)
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	// As spelled, in case the server repeats it without decoding.
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if _, v, ok := strings.Cut(pair, "="); ok {
			secrets = append(secrets, v)
		}
	}
	return secrets
}
