// Package netpolicy is the one rule about what may be dialled on behalf of a
// server: which hosts, over how many redirects, what travels along, and how
// much may come back. Everything that speaks HTTP for a configured server goes
// through its [Transport].
package netpolicy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// MaxRedirects is the number of redirects that a [Transport] follows.
const MaxRedirects = 5

// BlockedHostError says that a request, or a hop of a redirect, would have
// gone to a host that is not allowed. Nothing was sent there, unless a custom
// transport had followed a redirect on its own.
type BlockedHostError struct {
	// Host is the host, with the port where it is not the scheme's default.
	Host string
}

func (e *BlockedHostError) Error() string {
	return fmt.Sprintf("host %q is not among the allowed hosts", e.Host)
}

// ErrRedirect says that a redirect could not be followed: there were more
// than [MaxRedirects], or one that leads nowhere.
var ErrRedirect = errors.New("redirect not followed")

// Hosts is an allow list of hosts. Nil allows every host and an empty list
// none. An entry is compared with the host of a URL, which carries the port
// unless it is the default one of the scheme: exactly, without wildcards, in
// any case of letters. The scheme is not looked at.
type Hosts []string

// Check returns a [*BlockedHostError] if u may not be dialled.
func (h Hosts) Check(u *url.URL) error {
	if h == nil {
		return nil
	}
	host := HostOf(u)
	if slices.ContainsFunc(h, func(entry string) bool { return strings.EqualFold(entry, host) }) {
		return nil
	}
	return &BlockedHostError{Host: host}
}

// HostOf returns the lower-case host of u, with the port where it is not the
// default one of the scheme.
func HostOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != defaultPort(u.Scheme) {
		host += ":" + port
	}
	return host
}

// SameOrigin reports whether a and b share scheme, host and port (RFC 6454,
// section 5).
func SameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && HostOf(a) == HostOf(b)
}

func defaultPort(scheme string) string {
	switch strings.ToLower(scheme) {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

// Transport sends requests within the rule. It follows redirects itself,
// since net/http would keep credentials when only the port changes: a client
// that uses a Transport sees the response at the end of the chain.
type Transport struct {
	// Base does the sending.
	Base http.RoundTripper
	// Hosts are checked before every hop. Where Base follows redirects on its
	// own, the URL at which it arrived is checked afterwards.
	Hosts Hosts
	// Headers are added to requests that have none of the name. They are
	// dropped, as credentials are, when a redirect leads to another origin.
	Headers http.Header
}

// credentials are the request headers that belong to one origin whether
// configured or not (RFC 9110, section 15.4, and the Fetch standard). Whoever
// has the id of a session, or of an event in it, can take part in it.
var credentials = []string{"Authorization", "Cookie", "Proxy-Authorization", "Mcp-Session-Id", "Last-Event-ID"}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	for name, values := range t.Headers {
		if _, set := out.Header[name]; !set {
			out.Header[name] = values
		}
	}
	if host := out.Header.Get("Host"); host != "" {
		out.Host = host
		out.Header.Del("Host")
	}
	for hop := 0; ; hop++ {
		if err := t.Hosts.Check(out.URL); err != nil {
			closeBody(out)
			return nil, err
		}
		resp, err := t.Base.RoundTrip(out)
		if err != nil {
			return nil, err
		}
		if resp.Request != nil && resp.Request.URL != nil {
			if err := t.Hosts.Check(resp.Request.URL); err != nil {
				resp.Body.Close()
				return nil, err
			}
		}
		location := resp.Header.Get("Location")
		if !isRedirect(resp.StatusCode) || location == "" {
			return resp, nil
		}
		// A short body is read so that the connection can be used again.
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
		resp.Body.Close()
		if hop == MaxRedirects {
			return nil, fmt.Errorf("%w: more than %d in a row", ErrRedirect, MaxRedirects)
		}
		if out, err = t.next(out, resp.StatusCode, location); err != nil {
			return nil, err
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// next makes the request that follows a redirect, by the rules of the Fetch
// standard: 303, and 301 or 302 after a POST, become a GET without a body.
func (t *Transport) next(from *http.Request, status int, location string) (*http.Request, error) {
	to, err := from.URL.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("%w: its target is no URL", ErrRedirect)
	}
	if to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil, fmt.Errorf("%w: its target is not an HTTP URL", ErrRedirect)
	}
	// A server must not choose credentials for us.
	to.User = nil

	req := from.Clone(from.Context())
	req.URL, req.Host, req.Response = to, "", nil
	if !SameOrigin(from.URL, to) {
		for name := range t.Headers {
			req.Header.Del(name)
		}
		for _, name := range credentials {
			req.Header.Del(name)
		}
	}
	toGET := status == http.StatusSeeOther && from.Method != http.MethodHead ||
		(status == http.StatusMovedPermanently || status == http.StatusFound) && from.Method == http.MethodPost
	switch {
	case toGET:
		req.Method, req.Body, req.GetBody, req.ContentLength = http.MethodGet, nil, nil, 0
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding"} {
			req.Header.Del(name)
		}
	case from.Body != nil && from.Body != http.NoBody:
		if from.GetBody == nil {
			return nil, fmt.Errorf("%w: the request body cannot be sent again", ErrRedirect)
		}
		if req.Body, err = from.GetBody(); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// closeBody keeps the promise of [http.RoundTripper] to close the body also
// on errors.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// TooLargeError says that something a server sent is larger than it may be.
type TooLargeError struct {
	// What is the thing that is too large, such as "response body".
	What string
	// Limit is the largest size, in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes", e.What, e.Limit)
}

// LimitBody returns body with an end: reading more than limit bytes of it is
// a [*TooLargeError].
func LimitBody(body io.ReadCloser, limit int64, what string) io.ReadCloser {
	return &limitedBody{body: body, left: limit, err: &TooLargeError{What: what, Limit: limit}}
}

type limitedBody struct {
	body io.ReadCloser
	left int64
	err  *TooLargeError
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.err
	}
	// One byte more than allowed tells a body at the limit from a larger one.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.err
	}
	return n, err
}

func (b *limitedBody) Close() error { return b.body.Close() }
