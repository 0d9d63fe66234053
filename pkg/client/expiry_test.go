package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// When a session expires under several calls, each gets its own answer: who
// notices first takes it from nobody.
func TestSessionExpiresUnderCalls(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := newRawServer(misbehaviours["echo"], true)
	var mu sync.Mutex
	sessions := 0
	carried := make(map[string]int)
	arrived, release := make(chan string, 10), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(release) })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m rawMessage
		_ = json.Unmarshal(body, &m)
		name, session := m.arg("text"), r.Header.Get("Mcp-Session-Id")
		switch {
		case m.Method == "initialize":
			mu.Lock()
			sessions++
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions))
			mu.Unlock()
		case m.Method == "tools/call":
			if session == "1" && name != "first" {
				arrived <- name
				select {
				case <-release:
				case <-r.Context().Done():
					return
				}
			}
			if session == "1" && name != "slow" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			mu.Lock()
			carried[name]++
			mu.Unlock()
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(goOn)
	h := open(t, client.Options{}, httpSpec(srv.URL)).Server("srv")
	call := func(name string) error {
		_, err := h.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"text": name}, Repeatable: name == "repeatable"})
		return err
	}
	names := []string{"slow", "lost", "lost too", "repeatable"}
	ended := make(map[string]chan error)
	for _, name := range names {
		done := make(chan error, 1)
		ended[name] = done
		go func() { done <- call(name) }()
	}
	var got []string
	for range names {
		got = append(got, <-arrived)
	}
	if slices.Sort(got); !slices.Equal(got, sorted(names)) {
		t.Fatalf("arrived %q", got)
	}
	if err := call("first"); !errors.Is(err, client.ErrSessionExpired) {
		t.Errorf("first: %v", err)
	}
	if err := call("next"); err != nil { // on another connection
		t.Errorf("next: %v", err)
	}
	goOn()
	for _, name := range names {
		err := <-ended[name]
		if name == "slow" || name == "repeatable" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, client.ErrSessionExpired) || serverError(t, err).Class != client.ClassExpired {
			t.Errorf("%s: %v", name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(carried) != 3 || carried["slow"] != 1 || carried["next"] != 1 || carried["repeatable"] != 1 || sessions != 2 {
		t.Errorf("carried out %v in %d sessions", carried, sessions)
	}
}

// What is under way in a session that has expired ends with the client.
func TestExpiredSessionIsClosed(t *testing.T) {
	s := newRawServer(misbehaviours["echo"], true)
	arrived := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m rawMessage
		_ = json.Unmarshal(body, &m)
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
		case m.arg("text") == "slow":
			arrived <- struct{}{}
			<-r.Context().Done()
			return
		case m.arg("text") == "lost":
			w.WriteHeader(http.StatusNotFound)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	for name, end := range map[string]func(*client.Client) error{
		"close":     func(c *client.Client) error { return c.Close(t.Context()) },
		"reconnect": func(c *client.Client) error { return c.Server("srv").Reconnect(t.Context()) },
	} {
		c := open(t, client.Options{}, httpSpec(srv.URL))
		call := func(text string) error {
			_, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"text": text}})
			return err
		}
		done := make(chan error, 1)
		go func() { done <- call("slow") }()
		<-arrived
		if err := call("lost"); !errors.Is(err, client.ErrSessionExpired) {
			t.Errorf("%s: lost: %v", name, err)
		}
		if err := call("next"); err != nil {
			t.Errorf("%s: next: %v", name, err)
		}
		if err := end(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-done; err == nil || name == "close" && !errors.Is(err, client.ErrClosed) {
			t.Errorf("%s: slow: %v", name, err)
		}
	}
}
