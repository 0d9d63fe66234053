package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// teller is a server of the current revision, in memory, that tells about
// changes on one stream after the other.
type teller struct {
	*spy
	refuse func(n int) int // the status of the nth listen request, 0 for success
	honour func(filter string) string

	mu      sync.Mutex
	n       int
	streams []*told
}

// told is one stream.
type told struct {
	filter string
	id     string
	out    *io.PipeWriter
	gone   <-chan struct{}
}

func (s *told) send(text string) { fmt.Fprintf(s.out, "data: %s\n\n", text) }

func (s *told) updated(uri string) {
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, uri, s.id))
}

// open returns the streams that are open.
func (t *teller) open() []*told {
	t.mu.Lock()
	defer t.mu.Unlock()
	var open []*told
	for _, s := range t.streams {
		select {
		case <-s.gone:
		default:
			open = append(open, s)
		}
	}
	return open
}

func (t *teller) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Notifications json.RawMessage }
	}
	_ = json.Unmarshal(body, &m)
	if m.Method != "subscriptions/listen" {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		return inMemory(t.spy).RoundTrip(r)
	}
	t.mu.Lock()
	t.n++
	n := t.n
	t.mu.Unlock()
	if t.refuse != nil {
		if status := t.refuse(n); status != 0 {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		}
	}
	in, out := io.Pipe()
	s := &told{filter: string(m.Params.Notifications), id: string(m.ID), out: out, gone: r.Context().Done()}
	t.mu.Lock()
	t.streams = append(t.streams, s)
	t.mu.Unlock()
	go func() {
		<-s.gone
		out.CloseWithError(r.Context().Err())
	}()
	go func() {
		agreed := s.filter
		if t.honour != nil {
			agreed = t.honour(agreed)
		}
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":%s,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, agreed, s.id))
	}()
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: in, Request: r,
	}, nil
}

// telling runs a test in a bubble of time.
func telling(t *testing.T, s *teller, f func(t *testing.T, srv *client.Server, errs func() []error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.spy = newSpy(false)
		var mu sync.Mutex
		var errs []error
		c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Transport: s}}}, client.Options{
			Handlers: client.Handlers{Error: func(_ context.Context, err error) {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		f(t, c.Server("srv"), func() []error {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(errs)
		})
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if open := s.open(); len(open) != 0 {
			t.Errorf("%d streams are open after the end", len(open))
		}
	})
}

func filters(streams []*told) string {
	var all []string
	for _, s := range streams {
		all = append(all, s.filter)
	}
	return strings.Join(all, " ")
}

// Everything that is listened for shares one stream, which follows what is
// wanted.
func TestOneStream(t *testing.T) {
	s := &teller{}
	telling(t, s, func(t *testing.T, srv *client.Server, errs func() []error) {
		ctx := t.Context()
		var got []string
		defer srv.OnUpdated(func(_ context.Context, uri string) { got = append(got, uri) })()
		step := func(what string, err error, streams int, filter string) {
			t.Helper()
			synctest.Wait()
			if err != nil || s.n != streams || filters(s.open()) != filter {
				t.Errorf("%s: %v, %d streams, open %s", what, err, s.n, filters(s.open()))
			}
		}
		step("subscribe", srv.Subscribe(ctx, "b"), 1, `{"resourceSubscriptions":["b"]}`)
		step("again", srv.Subscribe(ctx, "b"), 1, `{"resourceSubscriptions":["b"]}`)
		step("another", srv.Subscribe(ctx, "a"), 2, `{"resourceSubscriptions":["a","b"]}`)
		stop, err := srv.OnListChanged(ctx, client.KindTools, func(context.Context) { got = append(got, "tools") })
		step("list", err, 3, `{"resourceSubscriptions":["a","b"],"toolsListChanged":true}`)
		stop2, err := srv.OnListChanged(ctx, client.KindTools, func(context.Context) { got = append(got, "tools too") })
		step("list again", err, 3, `{"resourceSubscriptions":["a","b"],"toolsListChanged":true}`)
		open := s.open()[0]
		open.updated("a")
		synctest.Wait()
		open.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		synctest.Wait()
		if !slices.Equal(got, []string{"a", "tools", "tools too"}) {
			t.Errorf("told %q", got)
		}
		step("unsubscribe", srv.Unsubscribe(ctx, "b"), 4, `{"resourceSubscriptions":["a"],"toolsListChanged":true}`)
		stop()
		stop()
		step("stop", nil, 4, `{"resourceSubscriptions":["a"],"toolsListChanged":true}`)
		stop2()
		step("stop the other", nil, 5, `{"resourceSubscriptions":["a"]}`)
		step("the last", srv.Unsubscribe(ctx, "a"), 5, ``)
		step("from nothing", srv.Subscribe(ctx, "c"), 6, `{"resourceSubscriptions":["c"]}`)
		if e := errs(); len(e) != 0 {
			t.Errorf("errors %v", e)
		}
	})
}

// A stream that breaks is opened anew, with pauses that grow, and nobody has to
// ask.
func TestStreamIsRestored(t *testing.T) {
	s := &teller{refuse: func(n int) int {
		if n > 1 && n < 6 {
			return http.StatusServiceUnavailable
		}
		return 0
	}}
	telling(t, s, func(t *testing.T, srv *client.Server, errs func() []error) {
		var got []string
		defer srv.OnUpdated(func(_ context.Context, uri string) { got = append(got, uri) })()
		if err := srv.Subscribe(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		s.open()[0].out.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.n != 6 || len(s.open()) != 1 {
			t.Fatalf("%d attempts", s.n)
		}
		s.open()[0].updated("a")
		synctest.Wait()
		if !slices.Equal(got, []string{"a"}) {
			t.Errorf("told %q", got)
		}
		// Once for all of the outage.
		if e := errs(); len(e) != 1 || serverError(t, e[0]).HTTPStatus != http.StatusServiceUnavailable {
			t.Errorf("errors %v after %v", e, time.Since(start))
		}
		// One that ends each second does not stop anything either.
		for range 10 {
			open := s.open()
			if len(open) != 1 {
				t.Fatalf("%d streams", len(open))
			}
			open[0].send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, open[0].id))
			open[0].out.Close()
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		if s.n != 16 {
			t.Errorf("%d streams", s.n)
		}
	})
}

// A login, or a refusal, is not tried again by itself; asking again is.
func TestStreamStops(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		refused := false
		s := &teller{refuse: func(int) int {
			if refused {
				return status
			}
			return 0
		}}
		telling(t, s, func(t *testing.T, srv *client.Server, errs func() []error) {
			if err := srv.Subscribe(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			refused = true
			s.open()[0].out.Close()
			time.Sleep(time.Hour)
			e := errs()
			if s.n != 2 || len(e) != 1 || errors.Is(e[0], client.ErrAuthRequired) != (status == http.StatusUnauthorized) {
				t.Errorf("%d attempts, errors %v", s.n, e)
			}
			// The connection is as good as before.
			if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err != nil {
				t.Error(err)
			}
			if err := srv.Subscribe(t.Context(), "a"); err == nil || s.n != 3 {
				t.Errorf("%v after %d attempts", err, s.n)
			}
			refused = false
			if err := srv.Subscribe(t.Context(), "a"); err != nil || s.n != 4 {
				t.Errorf("%v after %d attempts", err, s.n)
			}
		})
	}
}

// What a server does not agree to is an error, and no harm to the rest.
func TestNotHonoured(t *testing.T) {
	s := &teller{honour: func(filter string) string {
		return strings.ReplaceAll(strings.ReplaceAll(filter, `,"no"`, ""), `"toolsListChanged":true`, `"toolsListChanged":false`)
	}}
	telling(t, s, func(t *testing.T, srv *client.Server, _ func() []error) {
		if err := srv.Subscribe(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if err := srv.Subscribe(t.Context(), "no"); !errors.Is(err, client.ErrNotSupported) {
			t.Errorf("error %v", err)
		}
		if _, err := srv.OnListChanged(t.Context(), client.KindTools, func(context.Context) {}); !errors.Is(err, client.ErrNotSupported) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if got := filters(s.open()); got != `{"resourceSubscriptions":["a"]}` {
			t.Errorf("open %s", got)
		}
	})
}

// A server that does not answer costs the timeout, once.
func TestNoAcknowledgement(t *testing.T) {
	s := &teller{honour: func(string) string { time.Sleep(time.Hour); return "{}" }}
	telling(t, s, func(t *testing.T, srv *client.Server, _ func() []error) {
		start := time.Now()
		err := srv.Subscribe(t.Context(), "a")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Hour) // until the server comes round
	})
}
