package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// A server that has turned out to be an older one is not probed again, unless
// it has become a newer one.
func TestEraIsRemembered(t *testing.T) {
	s := newSpy(true)
	srv := s.start(t, client.Options{})
	for range 3 {
		if err := srv.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, m := len(s.messages("server/discover")), len(s.messages("initialize")); n != 1 || m != 3 {
		t.Errorf("%d probes and %d handshakes", n, m)
	}
	s.mu.Lock()
	delete(s.results, "initialize")
	s.results["server/discover"] = newSpy(false).results["server/discover"]
	s.mu.Unlock()
	if err := srv.Reconnect(t.Context()); err != nil || srv.Peer().Revision != "2026-07-28" {
		t.Errorf("%v, revision %s", err, srv.Peer().Revision)
	}
}

// A read waits a little for a server that restarts; one that was never there
// is not waited for, and calls are not repeated.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpy(false)
		up := time.Now().Add(time.Hour)
		tries := 0
		c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if tries++; time.Now().Before(up) {
				if tries > 1 {
					return nil, syscall.ECONNREFUSED
				}
				return nil, io.ErrUnexpectedEOF
			}
			return inMemory(s).RoundTrip(r)
		})}}}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		srv := c.Server("srv")
		start := time.Now()
		if _, err := srv.ListRawTools(t.Context()); err == nil || time.Since(start) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		up = time.Now()
		if err := srv.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		tries, up = 0, time.Now().Add(600*time.Millisecond) // less than the two shortest pauses
		if _, err := srv.ListRawTools(t.Context()); err != nil || time.Since(start) == 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		tries, up = 0, time.Now().Add(600*time.Millisecond) // less than the two shortest pauses
		start = time.Now()
		_, err = srv.Call(t.Context(), client.Call{Tool: "t"})
		if e := serverError(t, err); e.Class != client.ClassNetwork || time.Since(start) != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
