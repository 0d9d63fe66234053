package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// streamed serves a handler without a network, piece by piece, so that time can
// be made up.
func streamed(h http.HandlerFunc) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		in, out := io.Pipe()
		w := &pipeWriter{resp: &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Body: in, Request: r}, out: out, ready: make(chan struct{})}
		stop := context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
		go func() {
			defer stop()
			h(w, r)
			w.Flush()
			out.Close()
		}()
		select {
		case <-w.ready:
			return w.resp, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})
}

type pipeWriter struct {
	resp  *http.Response
	out   *io.PipeWriter
	ready chan struct{}
	once  sync.Once
}

func (w *pipeWriter) Header() http.Header { return w.resp.Header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.resp.StatusCode = status
		close(w.ready)
	})
}

func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.Flush()
	return w.out.Write(p)
}

// A server of an older revision may end its streams every second: each goes on
// where it was, nothing is told twice, and nothing is called twice.
func TestStressStreamsEndEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds = 20
		s := newRawServer(nil, true)
		var call string // the id of the call
		event := func(w http.ResponseWriter, id, data string) { fmt.Fprintf(w, "id: %s\ndata: %s\n\n", id, data) }
		told := func(n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"run","progress":%d}}`, n)
		}
		h := func(w http.ResponseWriter, r *http.Request) {
			last := r.Header.Get("Last-Event-Id")
			kind, n := "", -1
			if last != "" {
				kind = last[:1]
				n, _ = strconv.Atoi(last[1:])
			}
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				if !strings.Contains(string(body), `"tools/call"`) {
					r.Body = io.NopCloser(strings.NewReader(string(body)))
					s.ServeHTTP(w, r)
					return
				}
				var m rawMessage
				_ = json.Unmarshal(body, &m)
				call = string(m.ID)
				s.mu.Lock()
				s.seen["tools/call"]++
				s.mu.Unlock()
				kind = "c"
			}
			w.Header().Set("Content-Type", "text/event-stream")
			n++
			switch {
			case kind == "c" && n == rounds:
				event(w, fmt.Sprint("c", n), result(json.RawMessage(call), "done"))
				return
			case kind == "c":
				if n > 0 { // as a server does that sends too much again
					event(w, fmt.Sprint("c", n-1), told(n-1))
				}
				event(w, fmt.Sprint("c", n), told(n))
			default:
				event(w, fmt.Sprint("u", n), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memo://%d"}}`, n))
			}
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
		c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Transport: streamed(h)}}}, client.Options{Timeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		srv := c.Server("srv")
		var updated, want []string
		defer srv.OnUpdated(func(_ context.Context, uri string) { updated = append(updated, uri) })()
		if err := srv.Subscribe(t.Context(), "memo://0"); err != nil {
			t.Fatal(err)
		}
		var progress, all []float64
		start := time.Now()
		res, err := srv.Call(t.Context(), client.Call{Tool: "t", ProgressToken: "run", OnProgress: func(p client.Progress) { progress = append(progress, p.Progress) }})
		if err != nil || len(res.Content) != 1 || s.count("tools/call") != 1 {
			t.Fatalf("%d calls, %v", s.count("tools/call"), err)
		}
		if took := time.Since(start); took != 2*rounds*time.Second { // open for one second and away for another
			t.Errorf("took %v", took)
		}
		synctest.Wait()
		for i := range rounds {
			all, want = append(all, float64(i)), append(want, fmt.Sprint("memo://", i))
		}
		if !slices.Equal(progress, all) {
			t.Errorf("progress %v", progress)
		}
		if !slices.Equal(updated[:min(len(updated), rounds)], want) {
			t.Errorf("updated %v", updated)
		}
	})
}

// A session that the server has forgotten costs calls one failure, and reads
// none.
func TestStressSessionExpires(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := newRawServer(misbehaviours["echo"], true)
	var current, subscribed atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch session := r.Header.Get("Mcp-Session-Id"); {
		case strings.Contains(string(body), `"initialize"`):
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(current.Add(1)))
		case session != fmt.Sprint(current.Load()):
			w.WriteHeader(http.StatusNotFound)
			return
		case strings.Contains(string(body), `"resources/subscribe"`):
			subscribed.Store(current.Load())
		}
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	c := open(t, client.Options{}, httpSpec(srv.URL))
	h := c.Server("srv")
	if err := h.Subscribe(t.Context(), "memo://a"); err != nil {
		t.Fatal(err)
	}
	said(t, c, nil)
	// expire reports how many calls the server carries out in f.
	expire := func(f func()) int {
		before := s.count("tools/call")
		current.Add(1000)
		f()
		return s.count("tools/call") - before
	}
	expire(func() {
		if _, err := h.ListRawTools(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if calls := expire(func() {
		if _, err := h.Call(t.Context(), client.Call{Tool: "t", Repeatable: true}); err != nil {
			t.Error(err)
		}
	}); calls != 1 {
		t.Errorf("repeatable: %d calls", calls)
	}
	if calls := expire(func() {
		if _, err := h.CallTool(t.Context(), nil); !errors.Is(err, client.ErrSessionExpired) {
			t.Errorf("error %v", err)
		}
		said(t, c, nil)
	}); calls != 1 {
		t.Errorf("call: %d calls", calls)
	}
	var failed atomic.Int64
	calls := expire(func() {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, err := h.Call(t.Context(), client.Call{Tool: "t"})
				switch {
				case errors.Is(err, client.ErrSessionExpired):
					failed.Add(1)
				case err != nil:
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	if n := int(failed.Load()); n == 0 || calls != 50-n {
		t.Errorf("a crowd: %d calls, %d failed", calls, n)
	}
	said(t, c, nil)
	eventually(t, func() bool { return subscribed.Load() == current.Load() })
}

// Streams that a server leaves open after the response do not pile up.
func TestStressStreamsStayOpen(t *testing.T) {
	t.Parallel() // it waits most of the time
	for _, legacy := range []bool{false, true} {
		s := newRawServer(misbehaviours["lingers"], legacy)
		var now, most atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			s.ServeHTTP(w, r)
		}))
		defer srv.Close()
		c := open(t, client.Options{}, httpSpec(srv.URL))
		for range 200 {
			said(t, c, nil)
		}
		if got := most.Load(); got > 100 {
			t.Errorf("%d streams at a time", got)
		}
	}
}

// A server that only wants to be asked again is, but not for ever.
func TestStressAgainForever(t *testing.T) {
	for _, timeout := range []time.Duration{10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newRawServer(misbehaviours["again"], false)
			c, err := client.Open(t.Context(), []client.Spec{{
				Name: "srv", Timeout: timeout, HTTP: &client.HTTP{URL: "http://h/", Transport: inMemory(s)},
			}}, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			_, err = c.Server("srv").Call(t.Context(), client.Call{Tool: "t"})
			if timeout == time.Hour && (err == nil || !strings.Contains(err.Error(), "more than 32 times")) ||
				timeout < time.Hour && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: %d times, %v", timeout, s.count("tools/call"), err)
			}
		})
	}
}

// A process that does not read any longer holds up no call beyond its time,
// and not Close.
func TestStressDeaf(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := open(t, client.Options{}, stressSpec(t, "deaf", "modern"))
	if _, err := c.Server("srv").ListRawTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := c.Server("srv").Call(t.Context(), client.Call{
				Tool: "t", Arguments: map[string]any{"text": strings.Repeat("x", 100_000)}, Timeout: 200 * time.Millisecond,
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
}
