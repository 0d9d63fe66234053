package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// spy is a server of either era that answers as it is told, over HTTP, and
// keeps what it gets.
type spy struct {
	legacy bool
	// results are by method; one that begins with "error:" is the error object.
	results map[string]func(params json.RawMessage) string

	mu  sync.Mutex
	got []spied
}

type spied struct {
	ID, Method string
	Params     json.RawMessage
	Header     http.Header
}

// meta returns a member of _meta as JSON text.
func (m spied) meta(name string) string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	return string(p.Meta[name])
}

// param returns a parameter as JSON text.
func (m spied) param(name string) string {
	p := make(map[string]json.RawMessage)
	_ = json.Unmarshal(m.Params, &p)
	return string(p[name])
}

func (s *spy) on(method, result string) *spy {
	s.results[method] = func(json.RawMessage) string { return result }
	return s
}

// tools sets what tools/list returns.
func (s *spy) tools(tools ...string) *spy {
	return s.on("tools/list", `{"tools":[`+strings.Join(tools, ",")+`]}`)
}

const spyCapabilities = `"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},` +
	`"prompts":{"listChanged":true},"completions":{},"logging":{}}`

func newSpy(legacy bool) *spy {
	s := &spy{legacy: legacy, results: make(map[string]func(json.RawMessage) string)}
	if legacy {
		s.on("initialize", `{"protocolVersion":"2025-11-25",`+spyCapabilities+`,"serverInfo":{"name":"spy","version":"1"}}`)
		s.on("logging/setLevel", `{}`)
	} else {
		s.on("server/discover", `{"supportedVersions":["2026-07-28"],`+spyCapabilities+`}`)
	}
	return s.tools(`{"name":"t","inputSchema":{"type":"object"}}`).on("tools/call", `{"content":[{"type":"text","text":"done"}]}`)
}

// messages returns what came of a method so far.
func (s *spy) messages(method string) []spied {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []spied
	for _, m := range s.got {
		if m.Method == method {
			found = append(found, m)
		}
	}
	return found
}

func (s *spy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.mu.Lock()
	s.got = append(s.got, spied{string(m.ID), m.Method, m.Params, r.Header})
	f := s.results[m.Method]
	s.mu.Unlock()
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer := `"error":{"code":-32601,"message":"no such method"}`
	if f != nil {
		answer = f(m.Params)
		if failed, ok := strings.CutPrefix(answer, "error:"); ok {
			answer = `"error":` + failed
		} else {
			answer = `"result":` + answer
		}
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

// start serves s and returns a handle on it.
func (s *spy) start(t *testing.T, opts client.Options, change ...func(*client.Spec)) *client.Server {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	spec := httpSpec(srv.URL)
	for _, f := range change {
		f(&spec)
	}
	return open(t, opts, spec).Server("srv")
}

// eras runs a test with a server of each era.
func eras(t *testing.T, f func(t *testing.T, s *spy)) {
	t.Helper()
	for name, legacy := range map[string]bool{"modern": false, "legacy": true} {
		t.Run(name, func(t *testing.T) { f(t, newSpy(legacy)) })
	}
}

// serveRaw serves a misbehaving server over HTTP and returns a handle on it.
func serveRaw(t *testing.T, s *rawServer, opts client.Options, change ...func(*client.Spec)) *client.Server {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	spec := httpSpec(srv.URL)
	for _, f := range change {
		f(&spec)
	}
	return open(t, opts, spec).Server("srv")
}

// inMemory serves a handler without a network, so that time can be made up.
func inMemory(h http.Handler) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		done := make(chan *http.Response, 1)
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			done <- w.Result()
		}()
		select {
		case resp := <-done:
			return resp, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})
}
