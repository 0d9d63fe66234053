package netpolicy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHosts(t *testing.T) {
	tests := []struct {
		allowed Hosts
		url     string
		blocked string
	}{
		{nil, "http://anything.example", ""},
		{Hosts{}, "http://a.example", "a.example"},
		{Hosts{"a.example"}, "https://A.Example/x", ""},
		{Hosts{"A.EXAMPLE"}, "https://a.example:443/x", ""},
		{Hosts{"a.example"}, "http://a.example:443/", "a.example:443"},
		{Hosts{"a.example"}, "http://a.example:8080/", "a.example:8080"},
		{Hosts{"a.example:8080"}, "http://a.example:8080/", ""},
		{Hosts{"a.example:8080"}, "http://a.example/", "a.example"},
		{Hosts{"*.example"}, "http://a.example/", "a.example"},
		{Hosts{"example"}, "http://a.example/", "a.example"},
		{Hosts{"a.example"}, "http://a.example.evil/", "a.example.evil"},
		{Hosts{"a.example"}, "http://a.example@evil.example/", "evil.example"},
		{Hosts{"[::1]:80"}, "http://[::1]:80/", "[::1]"},
		{Hosts{"[::1]"}, "http://[::1]:80/", ""},
		{Hosts{"[::1]:81"}, "http://[::1]:81/", ""},
	}
	for _, test := range tests {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if blocked, ok := errors.AsType[*BlockedHostError](test.allowed.Check(u)); ok {
			got = blocked.Host
		}
		if got != test.blocked {
			t.Errorf("%v, %s: blocked %q, want %q", test.allowed, test.url, got, test.blocked)
		}
	}
}

// fakeNet answers from a table of URL to status and location, and writes down
// what it was asked.
type fakeNet struct {
	answers map[string]string
	log     []string
}

func (n *fakeNet) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		r.Body.Close()
	}
	n.log = append(n.log, strings.TrimSpace(fmt.Sprintf("%s %s auth=%s key=%s other=%s type=%s %s", r.Method, r.URL,
		r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.Header.Get("X-Other"), r.Header.Get("Content-Type"), body)))
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}
	if answer, ok := n.answers[r.URL.String()]; ok {
		var location string
		fmt.Sscanf(answer, "%d %s", &resp.StatusCode, &location)
		if location != "" {
			resp.Header.Set("Location", location)
		}
	}
	return resp, nil
}

func TestRedirects(t *testing.T) {
	tests := []struct {
		name    string
		answers map[string]string
		hosts   Hosts
		log     []string
		err     string
	}{
		{
			"none", nil, nil,
			[]string{"POST http://a/ auth=A key=K other=O type=text/plain body"},
			"",
		},
		{
			"307, same origin",
			map[string]string{"http://a/": "307 /b"},
			nil,
			[]string{
				"POST http://a/ auth=A key=K other=O type=text/plain body",
				"POST http://a/b auth=A key=K other=O type=text/plain body",
			},
			"",
		},
		{
			"308, other port and back",
			map[string]string{"http://a/": "308 http://a:8080/", "http://a:8080/": "308 http://a/c"},
			nil,
			[]string{
				"POST http://a/ auth=A key=K other=O type=text/plain body",
				"POST http://a:8080/ auth= key= other=O type=text/plain body",
				"POST http://a/c auth= key= other=O type=text/plain body",
			},
			"",
		},
		{
			"303, other scheme",
			map[string]string{"http://a/": "303 https://a/"},
			nil,
			[]string{
				"POST http://a/ auth=A key=K other=O type=text/plain body",
				"GET https://a/ auth= key= other=O type=",
			},
			"",
		},
		{
			"301",
			map[string]string{"http://a/": "301 //a:80/x"},
			nil,
			[]string{
				"POST http://a/ auth=A key=K other=O type=text/plain body",
				"GET http://a:80/x auth=A key=K other=O type=",
			},
			"",
		},
		{
			"user info in the target",
			map[string]string{"http://a/": "307 http://u:p@a/x"},
			nil,
			[]string{
				"POST http://a/ auth=A key=K other=O type=text/plain body",
				"POST http://a/x auth=A key=K other=O type=text/plain body",
			},
			"",
		},
		{
			"blocked",
			map[string]string{"http://a/": "307 http://b/"},
			Hosts{"a"},
			[]string{"POST http://a/ auth=A key=K other=O type=text/plain body"},
			`host "b" is not among the allowed hosts`,
		},
		{"blocked at once", nil, Hosts{}, nil, `host "a" is not among the allowed hosts`},
		{
			"file",
			map[string]string{"http://a/": "307 file:///etc/passwd"},
			nil,
			[]string{"POST http://a/ auth=A key=K other=O type=text/plain body"},
			"redirect not followed: its target is not an HTTP URL",
		},
		{
			"loop",
			map[string]string{"http://a/": "307 http://a/"},
			nil,
			slicesRepeat("POST http://a/ auth=A key=K other=O type=text/plain body", MaxRedirects+1),
			"redirect not followed: more than 5 in a row",
		},
		{
			"not a redirect",
			map[string]string{"http://a/": "300 http://b/"},
			nil,
			[]string{"POST http://a/ auth=A key=K other=O type=text/plain body"},
			"",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			base := &fakeNet{answers: test.answers}
			transport := &Transport{Base: base, Hosts: test.hosts, Headers: http.Header{"Authorization": {"A"}, "X-Key": {"K"}}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Other", "O")
			req.Header.Set("Content-Type", "text/plain")
			resp, err := transport.RoundTrip(req)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				resp.Body.Close()
			}
			if got != test.err {
				t.Errorf("error is %q, want %q", got, test.err)
			}
			if diff := cmp.Diff(test.log, base.log); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if len(req.Header) != 2 {
				t.Errorf("the caller's request was changed: %v", req.Header)
			}
		})
	}
}

// What belongs to a session stays with the origin that opened it.
func TestRedirectsKeepSessions(t *testing.T) {
	names := []string{"Authorization", "Cookie", "Proxy-Authorization", "Mcp-Session-Id", "Last-Event-ID"}
	for location, kept := range map[string]bool{"/b": true, "http://b/": false, "https://a/": false, "http://a:81/": false} {
		var last http.Header
		base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
			resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}
			if last == nil {
				resp.StatusCode = 307
				resp.Header.Set("Location", location)
			}
			last = r.Header
			return resp, nil
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			req.Header.Set(name, "x")
		}
		resp, err := (&Transport{Base: base}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for _, name := range names {
			if (last.Get(name) != "") != kept {
				t.Errorf("%s: %s is %q", location, name, last.Get(name))
			}
		}
	}
}

func slicesRepeat(s string, n int) []string {
	var out []string
	for range n {
		out = append(out, s)
	}
	return out
}

// A transport that follows redirects on its own is checked afterwards.
func TestRedirectsOfTheBase(t *testing.T) {
	closed := false
	base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		to := r.Clone(r.Context())
		to.URL = &url.URL{Scheme: "http", Host: "inner"}
		return &http.Response{StatusCode: 200, Body: body(func() { closed = true }), Request: to}, nil
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/", nil)
	resp, err := (&Transport{Base: base, Hosts: Hosts{"a"}}).RoundTrip(req)
	if blocked, ok := errors.AsType[*BlockedHostError](err); !ok || blocked.Host != "inner" || !closed {
		if resp != nil {
			resp.Body.Close()
		}
		t.Errorf("error is %v, body closed: %v", err, closed)
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type body func()

func (b body) Read([]byte) (int, error) { return 0, io.EOF }
func (b body) Close() error             { b(); return nil }

func TestLimitBody(t *testing.T) {
	for _, test := range []struct {
		size, limit int
		tooLarge    bool
	}{{0, 0, false}, {1, 0, true}, {9, 10, false}, {10, 10, false}, {11, 10, true}, {100_000, 10, true}} {
		got, err := io.ReadAll(LimitBody(io.NopCloser(strings.NewReader(strings.Repeat("x", test.size))), int64(test.limit), "the body"))
		large, tooLarge := errors.AsType[*TooLargeError](err)
		if tooLarge != test.tooLarge || len(got) != min(test.size, test.limit) {
			t.Errorf("%d of %d: read %d, error %v", test.size, test.limit, len(got), err)
		}
		if tooLarge && large.Error() != fmt.Sprintf("the body is larger than %d bytes", test.limit) {
			t.Errorf("error is %q", large)
		}
	}
}
