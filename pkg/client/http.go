package client

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
)

// newTransport returns the transport that is used unless the caller brings
// one. It reads no proxy from the environment, and has no timeouts of its own:
// contexts have them.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    30 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

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

func (s *Server) httpConfig(handler wire.Handler) (wire.HTTPConfig, error) {
	endpoint, header, err := s.spec.HTTP.endpoint()
	if err != nil {
		return wire.HTTPConfig{}, err
	}
	return wire.HTTPConfig{
		Endpoint: endpoint,
		Transport: &netpolicy.Transport{
			Base:    cmp.Or[http.RoundTripper](s.spec.HTTP.Transport, s.opts.Transport),
			Hosts:   s.spec.HTTP.AllowedHosts,
			Headers: header,
		},
		MaxMessageSize: s.opts.MaxMessageSize,
		Handler:        handler,
		Log:            s.log,
	}, nil
}
