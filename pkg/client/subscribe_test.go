package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

// teller is a server of the current revision, in memory, that tells about
// changes on one stream after the other.
type teller struct {
	*spy
	// refuse is the status of the nth listen request, 0 for success, or
	// unreachable or silent.
	refuse func(n int) int
	honour func(filter string) string
	// challenge is WWW-Authenticate of what is refused, ends says that streams
	// on which there is nothing to tell end.
	challenge string
	ends      bool

	mu      sync.Mutex
	n       int
	streams []*told
}

const (
	unreachable = -1 // nothing listens there
	silent      = -2 // there is no answer
)

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

// count returns how often a stream was asked for.
func (t *teller) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
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
		switch status := t.refuse(n); status {
		case 0:
		case unreachable:
			return nil, syscall.ECONNREFUSED
		case silent:
			<-r.Context().Done()
			return nil, r.Context().Err()
		default:
			return &http.Response{StatusCode: status, Header: http.Header{"Www-Authenticate": {t.challenge}}, Body: http.NoBody, Request: r}, nil
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
		ack := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":%s,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, agreed, s.id)
		if t.ends && !strings.ContainsAny(agreed, `"`) {
			s.send(fmt.Sprintf("%s\n\ndata: "+`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, ack, s.id))
			out.Close()
			return
		}
		s.send(ack)
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
			if err != nil || s.count() != streams || filters(s.open()) != filter {
				t.Errorf("%s: %v, %d streams, open %s", what, err, s.count(), filters(s.open()))
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
	for _, trouble := range []int{http.StatusServiceUnavailable, unreachable, silent} {
		s := &teller{refuse: func(n int) int {
			if n > 1 && n < 6 {
				return trouble
			}
			return 0
		}}
		telling(t, s, func(t *testing.T, srv *client.Server, errs func() []error) {
			var got []string
			defer srv.OnUpdated(func(_ context.Context, uri string) { got = append(got, uri) })()
			if err := srv.Subscribe(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			s.open()[0].out.Close()
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if s.count() != 6 || len(s.open()) != 1 {
				t.Fatalf("%d attempts", s.count())
			}
			s.open()[0].updated("a")
			synctest.Wait()
			if !slices.Equal(got, []string{"a", "a"}) { // the first for what was missed
				t.Errorf("told %q", got)
			}
			// Once for all of the outage.
			want := map[int]client.Class{http.StatusServiceUnavailable: client.ClassHTTP, unreachable: client.ClassRefused, silent: client.ClassTimeout}[trouble]
			if e := errs(); len(e) != 1 || serverError(t, e[0]).Class != want {
				t.Errorf("errors %v", e)
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
			if s.count() != 16 {
				t.Errorf("%d streams", s.count())
			}
		})
	}
}

// A login, or a refusal, is not tried again by itself; asking again is.
func TestStreamStops(t *testing.T) {
	for _, test := range []struct {
		status    int
		challenge string
		login     bool
	}{
		{http.StatusUnauthorized, "", true},
		{http.StatusForbidden, `Bearer error="insufficient_scope", scope="read"`, true},
		{http.StatusForbidden, "", false},
	} {
		refused := false
		s := &teller{challenge: test.challenge, refuse: func(int) int {
			if refused {
				return test.status
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
			if s.count() != 2 || len(e) != 1 || errors.Is(e[0], client.ErrAuthRequired) != test.login || serverError(t, e[0]).HTTPStatus != test.status {
				t.Errorf("%d attempts, errors %v", s.count(), e)
			}
			// The connection is as good as before.
			if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err != nil {
				t.Error(err)
			}
			if err := srv.Subscribe(t.Context(), "a"); err == nil || s.count() != 3 {
				t.Errorf("%v after %d attempts", err, s.count())
			}
			refused = false
			if err := srv.Subscribe(t.Context(), "b"); err != nil || s.count() != 4 {
				t.Errorf("%v after %d attempts", err, s.count())
			}
			// What was subscribed to before is back as well.
			synctest.Wait()
			if got := filters(s.open()); got != `{"resourceSubscriptions":["a","b"]}` {
				t.Errorf("open %s", got)
			}
			if e := errs(); len(e) != 1 {
				t.Errorf("errors %v", e)
			}
			// Whoever asks at the moment at which it stops is not forgotten.
			for range 500 {
				refused = true
				s.open()[0].out.Close()
				synctest.Wait()
				if err := srv.Subscribe(t.Context(), "a"); err == nil {
					t.Fatal("it was not refused")
				}
				refused = false
				if err := srv.Subscribe(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Once it was asked for again, a stream that had stopped is restored as any.
func TestStreamGoesOnAfterAStop(t *testing.T) {
	var status atomic.Int32
	s := &teller{refuse: func(int) int { return int(status.Load()) }}
	telling(t, s, func(t *testing.T, srv *client.Server, _ func() []error) {
		if err := srv.Subscribe(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		status.Store(http.StatusUnauthorized)
		s.open()[0].out.Close()
		time.Sleep(time.Hour)
		status.Store(http.StatusServiceUnavailable)
		if err := srv.Subscribe(t.Context(), "a"); err == nil || s.count() != 3 {
			t.Errorf("%v after %d attempts", err, s.count())
		}
		status.Store(0)
		time.Sleep(time.Minute)
		if got := filters(s.open()); got != `{"resourceSubscriptions":["a"]}` {
			t.Errorf("open %s", got)
		}
	})
}

// A connection that breaks over what a server sends is made anew for its
// subscriptions, too.
func TestSubscriptionsAfterRubbish(t *testing.T) {
	var log logBuffer
	failed := make(chan error, 1)
	srv := open(t, client.Options{Logger: log.logger(), MaxMessageSize: 10_000, Handlers: client.Handlers{
		Error: func(_ context.Context, err error) { failed <- err },
	}}, stressSpec(t, "size", "legacy")).Server("srv")
	if err := srv.Subscribe(t.Context(), "memo://a"); err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"size": 20_000}}); err == nil {
		t.Error("a message was not too large")
	}
	eventually(t, func() bool { return strings.Count(log.String(), `"msg":"connected"`) == 2 })
	select {
	case err := <-failed:
		t.Errorf("the handler was told of %v", err)
	default:
	}
}

// Asking again while a stream is down does not wait for the pause, and does
// not take back what was asked before.
func TestSubscribeDuringAnOutage(t *testing.T) {
	var down atomic.Bool
	s := &teller{refuse: func(int) int {
		if down.Load() {
			return http.StatusServiceUnavailable
		}
		return 0
	}}
	telling(t, s, func(t *testing.T, srv *client.Server, _ func() []error) {
		ctx := t.Context()
		if err := srv.Subscribe(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		down.Store(true)
		s.open()[0].out.Close()
		synctest.Wait()
		// The stream is gone, and no attempt was made yet.
		if err := srv.Subscribe(ctx, "a"); err == nil || s.count() != 2 {
			t.Errorf("%v after %d attempts", err, s.count())
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		start, before := time.Now(), s.count()
		if err := srv.Subscribe(ctx, "a"); err == nil || s.count() != before+1 || time.Since(start) != 0 {
			t.Errorf("%v after %d more attempts and %v", err, s.count()-before, time.Since(start))
		}
		if err := srv.Subscribe(ctx, "b"); err == nil {
			t.Error("b was subscribed to")
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := srv.Subscribe(gone, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		down.Store(false)
		if err := srv.Subscribe(ctx, "c"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := filters(s.open()); got != `{"resourceSubscriptions":["a","c"]}` {
			t.Errorf("open %s", got)
		}
		// Nor does anything go on that nobody wants.
		down.Store(true)
		s.open()[0].out.Close()
		time.Sleep(time.Minute)
		for _, uri := range []string{"a", "c"} {
			if err := srv.Unsubscribe(ctx, uri); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		before = s.count()
		time.Sleep(time.Hour)
		if s.count() != before {
			t.Errorf("%d attempts for nothing", s.count()-before)
		}
	})
}

// A server may withdraw a stream, which is then opened anew.
func TestStreamIsWithdrawn(t *testing.T) {
	s := &teller{}
	telling(t, s, func(t *testing.T, srv *client.Server, errs func() []error) {
		if err := srv.Subscribe(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s.open()[0].send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, s.open()[0].id))
		time.Sleep(time.Second)
		synctest.Wait()
		if e := errs(); s.count() != 2 || len(s.open()) != 1 || len(e) != 0 {
			t.Errorf("%d streams, %d open, errors %v", s.count(), len(s.open()), e)
		}
	})
}

// Changes of each kind go to whoever wants that kind.
func TestKindsOfChanges(t *testing.T) {
	s := &teller{}
	telling(t, s, func(t *testing.T, srv *client.Server, _ func() []error) {
		var got []client.Kind
		for _, kind := range []client.Kind{client.KindTools, client.KindResources, client.KindPrompts} {
			stop, err := srv.OnListChanged(t.Context(), kind, func(context.Context) { got = append(got, kind) })
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
		}
		synctest.Wait()
		if got := filters(s.open()); got != `{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":true}` {
			t.Fatalf("open %s", got)
		}
		for _, kind := range []client.Kind{client.KindPrompts, client.KindTools, client.KindResources} {
			s.open()[0].send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`, kind))
			synctest.Wait()
		}
		if !slices.Equal(got, []client.Kind{client.KindPrompts, client.KindTools, client.KindResources}) {
			t.Errorf("told %q", got)
		}
	})
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

// A server that agrees to nothing may end the stream at once.
func TestNothingHonoured(t *testing.T) {
	s := &teller{ends: true, honour: func(string) string { return "{}" }}
	telling(t, s, func(t *testing.T, srv *client.Server, errs func() []error) {
		for range 20 {
			if err := srv.Subscribe(t.Context(), "no"); !errors.Is(err, client.ErrNotSupported) || serverError(t, err).Class != client.ClassSupport || !strings.Contains(err.Error(), "2026-07-28") {
				t.Errorf("error %v", err)
			}
		}
		time.Sleep(time.Hour)
		if e := errs(); s.count() != 20 || len(e) != 0 {
			t.Errorf("%d attempts, errors %v", s.count(), e)
		}
	})
}

// What a server no longer agrees to when the stream is restored is told, and
// is asked for again when somebody does.
func TestNoLongerHonoured(t *testing.T) {
	for name, less := range map[string]string{"something": `{"resourceSubscriptions":["a"]}`, "nothing": "{}"} {
		t.Run(name, func(t *testing.T) {
			agrees := true
			s := &teller{ends: true, honour: func(filter string) string {
				if agrees {
					return filter
				}
				return less
			}}
			telling(t, s, func(t *testing.T, srv *client.Server, errs func() []error) {
				stop, err := srv.OnListChanged(t.Context(), client.KindTools, func(context.Context) {})
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				for _, uri := range []string{"a", "b"} {
					if err := srv.Subscribe(t.Context(), uri); err != nil {
						t.Fatal(err)
					}
				}
				agrees = false
				before := s.count()
				s.open()[0].out.Close()
				time.Sleep(time.Hour)
				e := errs()
				if s.count() != before+1 || len(e) != 1 || !errors.Is(e[0], client.ErrNotSupported) || !strings.Contains(e[0].Error(), "its tools, ") {
					t.Fatalf("%d attempts, errors %v", s.count()-before, e)
				}
				if err := srv.Subscribe(t.Context(), "b"); !errors.Is(err, client.ErrNotSupported) || s.count() != before+2 {
					t.Errorf("%v after %d attempts", err, s.count()-before)
				}
				agrees = true
				if err := srv.Subscribe(t.Context(), "b"); err != nil || s.count() != before+3 {
					t.Errorf("%v after %d attempts", err, s.count()-before)
				}
				synctest.Wait()
				if got := filters(s.open()); got != `{"resourceSubscriptions":["a","b"],"toolsListChanged":true}` {
					t.Errorf("open %s", got)
				}
			})
		})
	}
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

// Older servers are asked for each resource once, and again on another
// connection.
func TestSubscriptionsOfOlderServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpy(true).on("resources/unsubscribe", `{}`)
		s.results["resources/subscribe"] = func(params json.RawMessage) string {
			if strings.Contains(string(params), "no") {
				return `error:{"code":-32002,"message":"no such resource"}`
			}
			return `{}`
		}
		var down atomic.Bool
		var attempts atomic.Int32
		c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if down.Load() {
				attempts.Add(1)
				return nil, io.ErrUnexpectedEOF
			}
			if r.Body == nil {
				r.Body = http.NoBody
			}
			return inMemory(s).RoundTrip(r)
		})}}}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		srv := c.Server("srv")
		ctx := t.Context()
		asked := func(method, want string) {
			t.Helper()
			synctest.Wait()
			var uris []string
			for _, m := range s.messages(method) {
				uris = append(uris, m.param("uri"))
			}
			if got := strings.Join(uris, " "); got != want {
				t.Errorf("%s %s, want %s", method, got, want)
			}
		}
		for _, uri := range []string{"a", "a", "b"} {
			if err := srv.Subscribe(ctx, uri); err != nil {
				t.Fatal(err)
			}
		}
		asked("resources/subscribe", `"a" "b"`)
		if err := srv.Subscribe(ctx, "no"); !errors.Is(err, client.ErrNotSupported) || !strings.Contains(err.Error(), "2025-11-25") {
			t.Errorf("error %v", err)
		}
		asked("resources/subscribe", `"a" "b" "no"`)
		for _, kind := range []client.Kind{client.KindTools, client.KindResources, client.KindPrompts} {
			stop, err := srv.OnListChanged(ctx, kind, func(context.Context) {})
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			stop()
		}
		if err := srv.Unsubscribe(ctx, "b"); err != nil {
			t.Error(err)
		}
		asked("resources/unsubscribe", `"b"`)
		var missed []string
		defer srv.OnUpdated(func(_ context.Context, uri string) { missed = append(missed, uri) })()
		if err := srv.Reconnect(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		asked("resources/subscribe", `"a" "b" "no" "a"`)
		if !slices.Equal(missed, []string{"a"}) {
			t.Errorf("told %q", missed)
		}

		// Without a connection, and with nothing left, none is made.
		down.Store(true)
		if err := srv.Reconnect(ctx); err == nil {
			t.Error("it connects")
		}
		time.Sleep(time.Minute)
		if attempts.Load() < 3 {
			t.Errorf("%d attempts", attempts.Load())
		}
		if err := srv.Unsubscribe(ctx, "a"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		before := attempts.Load()
		time.Sleep(time.Hour)
		if after := attempts.Load(); after != before {
			t.Errorf("%d attempts for nothing", after-before)
		}
	})
}

// What an older server does not announce is not asked of it.
func TestSubscriptionsThatAreNotAnnounced(t *testing.T) {
	s := newSpy(true).on("resources/subscribe", `{}`).
		on("initialize", `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{"listChanged":true}},"serverInfo":{"name":"spy","version":"1"}}`)
	srv := s.start(t, client.Options{})
	if err := srv.Subscribe(t.Context(), "a"); !errors.Is(err, client.ErrNotSupported) || !strings.Contains(err.Error(), "2025-06-18") || len(s.messages("resources/subscribe")) != 0 {
		t.Errorf("%v, %v", err, s.messages("resources/subscribe"))
	}
	for kind, ok := range map[client.Kind]bool{client.KindTools: false, client.KindPrompts: false, client.KindResources: true} {
		stop, err := srv.OnListChanged(t.Context(), kind, func(context.Context) {})
		if ok != (err == nil) || !ok && !errors.Is(err, client.ErrNotSupported) {
			t.Errorf("%s: %v", kind, err)
		}
		if err == nil {
			stop()
		}
	}
}

// waveringServer is the first argument of a test binary that is a server which
// agrees to everything, but not when the file that it is given exists: then it
// agrees to tools alone, and says so last of all.
const waveringServer = "wavering-server"

func init() {
	if len(os.Args) != 3 || os.Args[1] != waveringServer {
		return
	}
	_, err := os.Stat(os.Args[2])
	agrees := err != nil
	_ = os.WriteFile(os.Args[2], nil, 0o600)
	held, ended := "", 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Notifications json.RawMessage }
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		filter := string(m.Params.Notifications)
		ack := func(agreed string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":%s,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, agreed, m.ID)
		}
		switch {
		case m.Method == "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}}}}`+"\n", m.ID)
		case m.Method != "subscriptions/listen":
		case agrees:
			fmt.Println(ack(filter))
		case strings.Contains(filter, "tools"):
			held = ack(filter)
		default:
			fmt.Println(ack("{}"))
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`+"\n", m.ID)
			ended++
		}
		if held != "" && ended == 20 {
			fmt.Println(held)
		}
	}
	os.Exit(0)
}

// The same over stdio, where what a server agrees to may come after that it
// has ended something else.
func TestNoLongerHonouredByAProcess(t *testing.T) {
	failed := make(chan error, 10)
	srv := open(t, client.Options{Handlers: client.Handlers{
		Error: func(_ context.Context, err error) { failed <- err },
	}}, client.Spec{
		Name: "srv", Timeout: 20 * time.Second,
		Stdio: &client.Stdio{Command: os.Args[0], Args: []string{waveringServer, filepath.Join(t.TempDir(), "seen")}},
	}).Server("srv")
	stop, err := srv.OnListChanged(t.Context(), client.KindTools, func(context.Context) {})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for i := range 20 {
		if err := srv.Subscribe(t.Context(), fmt.Sprint("memo://", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := srv.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, client.ErrNotSupported) || !strings.Contains(err.Error(), "no longer agrees to tell about memo://") {
		t.Errorf("error %v", err)
	}
}

// changingServer is the first argument of a test binary that is a server of
// go-sdk whose lists grow.
const changingServer = "changing-server"

func init() {
	if len(os.Args) != 2 || os.Args[1] != changingServer {
		return
	}
	if server.ServeStdio(context.Background(), changing(), os.Stdin, os.Stdout) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func changing() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "changing"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddResource(&mcp.Resource{Name: "a", URI: "memo://a"}, nil)
	s.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	change := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var a struct{ What string }
		if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
			return nil, err
		}
		switch a.What {
		case "tools":
			s.RemoveTools("more")
		case "resources":
			s.AddResource(&mcp.Resource{Name: "b", URI: "memo://b"}, nil)
		case "prompts":
			s.AddPrompt(&mcp.Prompt{Name: "q"}, nil)
		default:
			return &mcp.CallToolResult{}, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: a.What})
		}
		return &mcp.CallToolResult{}, nil
	}
	s.AddTool(&mcp.Tool{Name: "more", InputSchema: object}, change)
	s.AddTool(&mcp.Tool{Name: "change", InputSchema: object}, change)
	return s
}

// Changes of everything, with a server of go-sdk of each era over each
// transport.
func TestSubscriptions(t *testing.T) {
	for _, protocol := range []client.Protocol{client.Protocol20260728, client.ProtocolLegacy} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(transport+"/"+string(protocol), func(t *testing.T) {
				spec := client.Spec{Name: "srv", Protocol: protocol, Timeout: 20 * time.Second}
				if transport == "stdio" {
					spec.Stdio = &client.Stdio{Command: os.Args[0], Args: []string{changingServer}}
				} else {
					s := changing()
					h := httptest.NewServer(server.NewHandler(s, nil))
					t.Cleanup(func() {
						for session := range s.Sessions() {
							session.Close()
						}
						h.Close() // waits for streams
					})
					spec.HTTP = &client.HTTP{URL: h.URL}
				}
				ctx := t.Context()
				srv := open(t, client.Options{}, spec).Server("srv")
				got := make(chan string, 100)
				defer srv.OnUpdated(func(_ context.Context, uri string) { got <- uri })()
				change := func(what string) {
					t.Helper()
					if _, err := srv.Call(ctx, client.Call{Tool: "change", Arguments: map[string]any{"what": what}}); err != nil {
						t.Fatal(err)
					}
				}
				for _, kind := range []client.Kind{client.KindTools, client.KindResources, client.KindPrompts} {
					stop, err := srv.OnListChanged(ctx, kind, func(context.Context) { got <- string(kind) })
					if err != nil {
						t.Fatal(err)
					}
					defer stop()
				}
				for _, uri := range []string{"memo://a", "memo://b", "memo://a"} {
					if err := srv.Subscribe(ctx, uri); err != nil {
						t.Fatal(err)
					}
				}
				for _, what := range []string{"tools", "memo://a", "resources", "memo://b", "prompts"} {
					change("memo://nobody wants this")
					change(what)
					if told := <-got; told != what {
						t.Errorf("told %q, want %q", told, what)
					}
				}
				if err := srv.Unsubscribe(ctx, "memo://a"); err != nil {
					t.Fatal(err)
				}
				// next returns what is told first after a change of both. It
				// takes a moment until a server has heard of the above.
				next := func() string {
					change("memo://a")
					change("memo://b")
					first := <-got
					for told := first; told != "memo://b"; {
						told = <-got
					}
					return first
				}
				eventually(t, func() bool { return next() == "memo://b" })
				if err := srv.Reconnect(ctx); err != nil {
					t.Fatal(err)
				}
				eventually(t, func() bool {
					change("memo://a")
					change("memo://b")
					select {
					case told := <-got:
						return told == "memo://b"
					default:
						return false
					}
				})
			})
		}
	}
}
