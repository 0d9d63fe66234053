package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
)

// errForeignEndpoint says that a server of the older SSE transport wants
// messages to be sent to another origin than the one it was configured with.
var errForeignEndpoint = errors.New("the server names an endpoint on another origin")

// errNoStream says that a GET did not open an event stream.
var errNoStream = errors.New("no event stream")

// maxErrorBody bounds how much of a failed response is looked at.
const maxErrorBody = 1 << 20

// newTransport returns the transport that is used unless the caller brings
// one. It reads no proxy from the environment, and has no timeouts of its own:
// contexts have them.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    30 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// endpoint returns the URL of an HTTP server without user info, which goes
// into the headers instead.
func (h *HTTP) endpoint() (*url.URL, http.Header, error) {
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil, nil, errors.New("invalid url") // the cause repeats it
	}
	header := make(http.Header, len(h.Headers)+1)
	if user := u.User; user != nil {
		password, _ := user.Password()
		// RFC 7617, section 2.
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
		u.User = nil
	}
	for name, value := range h.Headers {
		header.Set(name, value)
	}
	return u, header, nil
}

// httpClient returns the client for all requests to one server, and its
// endpoint. Whatever is under way ends when life does.
func (s *Server) httpClient(life context.Context) (*http.Client, *url.URL, error) {
	endpoint, header, err := s.spec.HTTP.endpoint()
	if err != nil {
		return nil, nil, err
	}
	policy := &netpolicy.Transport{
		Base:    cmp.Or[http.RoundTripper](s.spec.HTTP.Transport, s.opts.Transport),
		Hosts:   s.spec.HTTP.AllowedHosts,
		Headers: header,
	}
	trip := func(req *http.Request) (*http.Response, error) {
		if !netpolicy.SameOrigin(req.URL, endpoint) {
			return nil, errForeignEndpoint
		}
		if req.Header.Get("Mcp-Method") == "notifications/cancelled" {
			// On this transport closing the response cancels (specification
			// 2026-07-28, streamable HTTP, cancellation).
			return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
		}
		ctx, cancel := context.WithCancel(req.Context())
		stop := context.AfterFunc(life, cancel)
		resp, err := policy.RoundTrip(req.WithContext(ctx))
		if err != nil {
			stop()
			cancel()
			return nil, err
		}
		resp.Body = &closeHook{resp.Body, func() { stop(); cancel() }}
		return resp, nil
	}
	return &http.Client{
		Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			ex := exchangeOf(req.Context())
			resp, err := trip(req)
			if err == nil {
				err = s.watch(ex, req, resp)
			}
			if err != nil {
				if ex != nil {
					ex.fail(err)
				}
				return nil, err
			}
			return resp, nil
		}),
		// Redirects have been followed where they may be.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, endpoint, nil
}

// watch bounds a response, makes it digestible for the SDK and records what
// passes in ex, which may be nil.
func (s *Server) watch(ex *exchange, req *http.Request, resp *http.Response) error {
	if ex == nil {
		ex = new(exchange) // nobody looks
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	ex.setResponse(resp, media)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		resp.Body.Close()
		ex.setErrorBody(body)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	if req.Method == http.MethodGet && media != "text/event-stream" {
		resp.Body.Close()
		return errNoStream
	}
	id := ""
	if ex.keep {
		id = requestID(req)
	}
	body := resp.Body
	if media == "text/event-stream" {
		var listen func([]byte)
		if id != "" {
			listen = func(data []byte) { ex.setMessage(data, id) }
		}
		body = newSSEReader(body, s.opts.MaxMessageSize, listen)
	} else {
		body = netpolicy.LimitBody(body, int64(s.opts.MaxMessageSize), "the response")
		if id != "" {
			size := min(max(resp.ContentLength, 0)+1, int64(s.opts.MaxMessageSize))
			body = &bodyRecorder{
				ReadCloser: body,
				buf:        bytes.NewBuffer(make([]byte, 0, size)),
				end:        func(body []byte) { ex.setMessage(body, id) },
			}
		}
	}
	resp.Body = recordErrors(body, ex.fail)
	return nil
}

// bodyRecorder hands a body to end once it has been read to its end.
type bodyRecorder struct {
	io.ReadCloser
	buf *bytes.Buffer
	end func([]byte)
}

func (r *bodyRecorder) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.buf.Write(p[:n])
	if errors.Is(err, io.EOF) && r.end != nil {
		r.end(r.buf.Bytes())
		r.end = nil
	}
	return n, err
}

// closeHook is a body that calls a function when it is closed.
type closeHook struct {
	io.ReadCloser
	closed func()
}

func (b *closeHook) Close() error {
	err := b.ReadCloser.Close()
	b.closed()
	return err
}
