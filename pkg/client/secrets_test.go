package client_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const secret = `s3cr3t/"Ω" value+x`

// leaks reports which text holds the secret, in any of its spellings.
func leaks(t *testing.T, what, text string) {
	t.Helper()
	quoted, _ := json.Marshal(secret)
	for _, form := range []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(secret)), "s3cr3t",
	} {
		if strings.Contains(text, form) {
			t.Errorf("%s holds %q:\n%s", what, form, text)
		}
	}
}

// everything returns all text of a failure that a program could show.
func everything(err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n%+v\n", err, err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintln(&b, e.Error())
	}
	if e, ok := errors.AsType[*client.ServerError](err); ok {
		fmt.Fprintln(&b, e.Summary(), e.Stderr)
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		fmt.Fprintln(&b, rpc.Message, string(rpc.Data))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		fmt.Fprintln(&b, u)
	}
	return b.String()
}

func TestSecretsOfStdio(t *testing.T) {
	for _, behaviour := range []string{"echo-secret", "echo-secret-exit"} {
		t.Run(behaviour, func(t *testing.T) {
			var log logBuffer
			spec := stdio(behaviour, "TOKEN")
			spec.Stdio.Env = map[string]string{"TOKEN": secret}
			r := open(t, client.Options{Logger: log.logger()}, spec).Discover(t.Context()).Results[0]
			if r.Err == nil {
				t.Fatal("no error")
			}
			leaks(t, "the error", everything(r.Err))
			leaks(t, "the log", log.String())
			for text, want := range map[string]int{log.String(): 1, everything(r.Err): 1} {
				if strings.Count(text, "[redacted]") < want {
					t.Errorf("nothing was there to be redacted:\n%s", text)
				}
			}
		})
	}
}

func TestSecretsOfSeveralLines(t *testing.T) {
	spec := stdio("echo-secret-exit", "KEY")
	spec.Stdio.Env = map[string]string{"KEY": "first line\nsecond line"}
	e := serverError(t, discoverOne(t, spec).Err)
	if e.Stderr != "starting with [redacted]\n[redacted]" {
		t.Errorf("stderr is %q", e.Stderr)
	}
}

// A variable that holds JSON holds secrets that come back alone.
func TestSecretsInJSON(t *testing.T) {
	for value, want := range map[string][]string{
		`{"Authorization":"Bearer tok-abcdef"}`:              {"Bearer tok-abcdef", "tok-abcdef"},
		` [{"a":{"b":["inner-secret", 12345678]}}, "short"]`: {"inner-secret"},
		`{"key":"line number one\nline number two"}`:         {"line number one", "line number two"},
		`{"cookie":"session=s3cr3t-id"}`:                     {"s3cr3t-id"},
		`{"broken":"not-json"`:                               nil,
		`"only a string"`:                                    nil,
	} {
		spec := stdio("modern")
		spec.Stdio.Env = map[string]string{"X": value}
		got := spec.SecretValues()
		for _, secret := range append([]string{value}, want...) {
			if !slices.Contains(got, secret) {
				t.Errorf("%s: %q is not among %q", value, secret, got)
			}
		}
		if want == nil && len(got) != 1 {
			t.Errorf("%s: secrets are %q", value, got)
		}
		if slices.Contains(got, "short") || slices.Contains(got, "Authorization") {
			t.Errorf("%s: secrets are %q", value, got)
		}
	}
	spec := stdio("modern")
	spec.Stdio.Env = map[string]string{"X": `["` + strings.Repeat(`long-enough","`, 5000) + `"]`}
	if n := len(spec.SecretValues()); n > 200 {
		t.Errorf("%d secrets", n)
	}
}

func TestSecretsOfHTTP(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) string {
		user, password, _ := r.BasicAuth()
		return strings.Join([]string{
			r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.URL.RawQuery, r.URL.Query().Get("token"), user, password,
		}, " ")
	}
	handlers := map[string]http.HandlerFunc{
		"body": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			fmt.Fprintln(w, echo(w, r))
		},
		"error": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			(&mcptest.Script{
				Discover: mcptest.DiscoverResult,
				List:     func(*string) string { return "error:" + echo(w, r) },
			}).ServeHTTP(w, withBody(r, body))
		},
		"rubbish": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintln(w, echo(w, r))
		},
		"stream": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", echo(w, r))
		},
		"type": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", echo(w, r)) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "ftp://h/"+url.PathEscape(echo(w, r)))
			w.WriteHeader(307)
		},
		"hang up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	edits := map[string]func(*client.HTTP){
		"header":    func(h *client.HTTP) { h.Headers = map[string]string{"X-Key": secret} },
		"bearer":    func(h *client.HTTP) { h.Headers = map[string]string{"Authorization": "Bearer " + secret} },
		"query":     func(h *client.HTTP) { h.URL += "?token=" + url.QueryEscape(secret) },
		"user info": func(h *client.HTTP) { h.URL = strings.Replace(h.URL, "://", "://me:"+url.PathEscape(secret)+"@", 1) },
	}
	for name, handler := range handlers {
		for where, edit := range edits {
			t.Run(name+" "+where, func(t *testing.T) {
				var log logBuffer
				spec := httpSpec(serve(t, handler) + "/mcp")
				edit(spec.HTTP)
				c := open(t, client.Options{Logger: log.logger()}, spec)
				r := c.Discover(t.Context()).Results[0]
				if r.Err == nil {
					t.Fatal("no error")
				}
				_, err := c.Server("srv").CallTool(t.Context(), &mcp.CallToolParams{Name: "x"})
				leaks(t, "the error", everything(r.Err)+everything(err))
				leaks(t, "the log", log.String())
				if name == "error" && !strings.Contains(r.Err.Error(), "[redacted]") {
					t.Errorf("nothing was there to be redacted: %v", r.Err)
				}
			})
		}
	}
}

func withBody(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return r
}

// Data is not altered, whatever is in it.
func TestSecretsStayInData(t *testing.T) {
	tool := `{"name":"t","description":"abcdefghijkl","inputSchema":{"type":"object"}}`
	script := mcptest.Modern(tool)
	script.Call = func(json.RawMessage) string { return `{"content":[],"structuredContent":"abcdefghijkl"}` }
	spec := httpSpec(serve(t, script))
	spec.HTTP.Headers = map[string]string{"X-Key": "abcdefghijkl"}
	c := open(t, client.Options{}, spec)
	if r := c.Discover(t.Context()).Results[0]; r.Err != nil || string(r.Server.Tools[0].Raw) != tool {
		t.Errorf("tool is %+v, error %v", r.Server.Tools, r.Err)
	}
	result, err := c.Server("srv").CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
	if err != nil || string(result.StructuredContent.(json.RawMessage)) != `"abcdefghijkl"` {
		t.Errorf("result is %+v, error %v", result, err)
	}
}

func TestInvalidSpecs(t *testing.T) {
	ok := &client.HTTP{URL: "http://localhost/"}
	tests := []struct {
		spec client.Spec
		want string
	}{
		{client.Spec{HTTP: ok}, "a server has no name"},
		{client.Spec{Name: "x"}, `server "x" has neither a command nor a url`},
		{client.Spec{Name: "x", HTTP: ok, Stdio: &client.Stdio{Command: "c"}}, `server "x" has both a command and a url`},
		{client.Spec{Name: "x", HTTP: ok, Timeout: -1}, `server "x" has a negative timeout`},
		{client.Spec{Name: "x", HTTP: ok, Protocol: "1.0"}, `server "x" pins protocol "1.0", which is neither "2026-07-28" nor "legacy"`},
		{client.Spec{Name: "x", Stdio: &client.Stdio{}}, `server "x" has an empty command`},
		{
			client.Spec{Name: "x", Stdio: &client.Stdio{Command: "c", Env: map[string]string{"A=": ""}}},
			`server "x" has an environment variable with the invalid name "A="`,
		},
		{
			client.Spec{Name: "x", Stdio: &client.Stdio{Command: "c", Env: map[string]string{"A": secret + "\x00"}}},
			`server "x": the value of environment variable A contains a NUL byte`,
		},
		{client.Spec{Name: "x", HTTP: &client.HTTP{URL: "http://me:s3cr3tpass@h:port/"}}, `server "x" has an invalid url`},
		{client.Spec{Name: "x", HTTP: &client.HTTP{URL: "ftp://h/"}}, `server "x" has a url that is neither http nor https`},
		{client.Spec{Name: "x", HTTP: &client.HTTP{URL: "http:///p"}}, `server "x" has a url without a host`},
		{
			client.Spec{Name: "x", HTTP: &client.HTTP{URL: "http://h", Headers: map[string]string{"a b": "v"}}},
			`server "x" has a header with the invalid name "a b"`,
		},
		{
			client.Spec{Name: "x", HTTP: &client.HTTP{URL: "http://h", Headers: map[string]string{"A": secret + "\r\nB: c"}}},
			`server "x": the value of header A contains a line break`,
		},
	}
	for _, test := range tests {
		_, err := client.Open(t.Context(), []client.Spec{test.spec}, client.Options{})
		if err == nil || err.Error() != test.want {
			t.Errorf("error is %v, want %s", err, test.want)
		}
	}
	_, err := client.Open(t.Context(), []client.Spec{{Name: "x", HTTP: ok}, {Name: "y"}, {Name: "x", HTTP: ok}}, client.Options{})
	if want := "server \"y\" has neither a command nor a url\ntwo servers have the name \"x\""; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
