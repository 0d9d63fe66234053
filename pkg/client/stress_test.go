package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// said calls the tool of a misbehaving server and returns the text of the
// result.
func said(t *testing.T, c *client.Client, arguments map[string]any) string {
	t.Helper()
	res, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// Lines that are no messages, answers to other requests, and further answers
// to the same one change nothing.
func TestStressRubbish(t *testing.T) {
	for _, name := range []string{"noise", "ids", "twice"} {
		t.Run(name, func(t *testing.T) {
			raw(t, name, func(t *testing.T, spec client.Spec, s *rawServer) {
				if s != nil && name == "noise" {
					t.Skip("event streams have no lines beside messages")
				}
				c := open(t, client.Options{}, spec)
				for range 3 {
					if got := said(t, c, nil); got != "done" {
						t.Fatalf("result %q", got)
					}
				}
			})
		})
	}
}

// A message may be as large as the limit, and not a byte larger.
func TestStressSize(t *testing.T) {
	const limit = 100_000
	raw(t, "size", func(t *testing.T, spec client.Spec, s *rawServer) {
		c := open(t, client.Options{MaxMessageSize: limit}, spec)
		srv := c.Server("srv")
		framing := 0
		if s != nil {
			framing = len("data: \n\n") // counts as well
		} else {
			framing = len("\n")
		}
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"size": limit - framing}}); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		_, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"size": limit - framing + 1}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("larger than %d bytes", limit)) {
			t.Errorf("beyond the limit: %v", err)
		}
		if got := said(t, c, map[string]any{"size": 1000}); len(got) == 0 {
			t.Error("nothing afterwards")
		}
	})
}

// A server is told when nobody waits any longer, and what it sends then is
// nobody's.
func TestStressLate(t *testing.T) {
	t.Parallel() // it waits most of the time
	raw(t, "late", func(t *testing.T, spec client.Spec, _ *rawServer) {
		c := open(t, client.Options{}, spec)
		srv := c.Server("srv")
		if _, err := srv.ListRawTools(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, end := range []struct {
			timeout time.Duration
			want    error
		}{{100 * time.Millisecond, context.DeadlineExceeded}, {0, context.Canceled}} {
			ctx, cancel := context.WithCancel(t.Context())
			if end.timeout == 0 {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			_, err := srv.Call(ctx, client.Call{Tool: "t", Arguments: map[string]any{"wait": "yes"}, Timeout: end.timeout})
			cancel()
			if !errors.Is(err, end.want) {
				t.Errorf("error %v, want %v", err, end.want)
			}
			if got := said(t, c, nil); got != "done" {
				t.Errorf("result %q", got)
			}
		}
	})
}

// A process that dies takes the calls under way with it, which are not sent
// again unless their caller allows that.
func TestStressDies(t *testing.T) {
	t.Parallel() // it waits most of the time
	for _, era := range []string{"modern", "legacy"} {
		for _, repeatable := range []bool{false, true} {
			t.Run(fmt.Sprint(era, ", repeatable ", repeatable), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "calls")
				spec := stressSpec(t, "dies", era)
				c := open(t, client.Options{}, spec)
				_, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"file": file}, Repeatable: repeatable})
				calls, readErr := os.ReadFile(file)
				if readErr != nil {
					t.Fatal(readErr)
				}
				if repeatable {
					if err != nil || len(calls) != 2 {
						t.Errorf("%d calls, %v", len(calls), err)
					}
					return
				}
				if e := serverError(t, err); e.Class != client.ClassExited || e.Summary() != "exited with status 7" || len(calls) != 1 {
					t.Errorf("%d calls, %v", len(calls), err)
				}
				if got := said(t, c, nil); got != "alive" {
					t.Errorf("result %q", got)
				}
				if n := len(stressProcesses(t, spec)); n != 2 {
					t.Errorf("%d processes were started", n)
				}
			})
		}
	}
}

// The same with a crowd of calls under way: each is sent once and fails once.
func TestStressDiesUnderCalls(t *testing.T) {
	const n = 50
	file := filepath.Join(t.TempDir(), "calls")
	spec := stressSpec(t, "dies", "modern")
	c := open(t, client.Options{}, spec)
	said(t, c, nil)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			_, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"file": file, "last": n}})
			if e, ok := errors.AsType[*client.ServerError](err); !ok || e.Class != client.ClassExited {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	if calls, err := os.ReadFile(file); err != nil || len(calls) != n {
		t.Errorf("%d calls, %v", len(calls), err)
	}
	said(t, c, nil)
	if n := len(stressProcesses(t, spec)); n != 2 {
		t.Errorf("%d processes were started", n)
	}
}

// Frames come in any pieces, and half a frame is no message.
func TestStressPartialFrames(t *testing.T) {
	raw(t, "partial", func(t *testing.T, spec client.Spec, s *rawServer) {
		c := open(t, client.Options{}, spec)
		for _, how := range []string{"pieces", "last"} {
			if got := said(t, c, map[string]any{"how": how}); got != "done" {
				t.Errorf("%s: result %q", how, got)
			}
		}
		// A process that has gone is noticed at its end at the latest.
		if _, err := c.Server("srv").ListRawTools(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"how": "cut"}})
		e := serverError(t, err)
		if spec.Stdio != nil && e.Summary() != "exited with status 3" || s != nil && e.Summary() != "the server closed the connection" {
			t.Errorf("cut: %v", err)
		}
		if s != nil {
			if n := s.count("tools/call"); n != 3 {
				t.Errorf("%d calls", n)
			}
		}
		if got := said(t, c, nil); got != "done" {
			t.Errorf("result %q", got)
		}
	})
}

// The same where a connection breaks in the middle of a call.
func TestStressBreaks(t *testing.T) {
	t.Parallel() // it waits most of the time
	for _, legacy := range []bool{false, true} {
		s := newRawServer(misbehaviours["echo"], legacy)
		var broken atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if broken.Load() > 0 && r.Method == http.MethodPost {
				broken.Add(-1)
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			s.ServeHTTP(w, r)
		}))
		defer srv.Close()
		c := open(t, client.Options{}, httpSpec(srv.URL))
		said(t, c, nil)
		for _, repeatable := range []bool{false, true} {
			before := s.count("tools/call")
			broken.Store(1)
			_, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Repeatable: repeatable})
			if calls := s.count("tools/call") - before; repeatable != (err == nil) || repeatable != (calls == 1) {
				t.Errorf("repeatable %v: %d calls, %v", repeatable, calls, err)
			}
		}
		broken.Store(1)
		if _, err := c.Server("srv").ListRawTools(t.Context()); err != nil {
			t.Errorf("a read is repeated: %v", err)
		}
	}
}

// A server that is busy says when to come back, and is left alone until then.
func TestStressBusy(t *testing.T) {
	for i := range 4 { // two eras with two statuses
		status := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[i%2]
		synctest.Test(t, func(t *testing.T) {
			s := newRawServer(misbehaviours["echo"], i < 2)
			var busy time.Time
			transport := roundTrip(func(r *http.Request) (*http.Response, error) {
				w := httptest.NewRecorder()
				if time.Now().Before(busy) {
					w.Header().Set("Retry-After", "30")
					w.WriteHeader(status)
				} else {
					s.ServeHTTP(w, r)
				}
				return w.Result(), nil
			})
			c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Transport: transport}}}, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			said(t, c, nil)

			start := time.Now()
			busy = start.Add(30 * time.Second)
			_, err = c.Server("srv").Call(t.Context(), client.Call{Tool: "t"})
			if e := serverError(t, err); e.HTTPStatus != status || e.RetryAfter != 30*time.Second || time.Since(start) != 0 {
				t.Errorf("after %v: %v, come back in %v", time.Since(start), err, e.RetryAfter)
			}
			if _, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Repeatable: true}); err != nil || time.Since(start) != 30*time.Second {
				t.Errorf("repeatable: %v after %v", err, time.Since(start))
			}
			start = time.Now()
			busy = start.Add(30 * time.Second)
			if _, err := c.Server("srv").ListRawTools(t.Context()); err != nil || time.Since(start) != 30*time.Second {
				t.Errorf("list: %v after %v", err, time.Since(start))
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A burst is more than slow handlers take: memory stays, calls go on, and what
// has changed is told all the same.
func TestStressBurst(t *testing.T) {
	const room = 16 << 20 // of what waits for a handler
	bursts := map[string]struct{ n, size, grown int }{
		"many":  {33_000, 100, room}, // with progress and changes 100,000
		"large": {160, 500_000, 5 * room / 2},
	}
	for name, burst := range bursts {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				burst.n = min(burst.n/2, 8000)
			}
			raw(t, "burst", func(t *testing.T, spec client.Spec, s *rawServer) {
				if testing.Short() && name == "large" && (s != nil || legacyEra(spec, s)) {
					t.Skip("one of them is slow enough")
				}
				entered, release := make(chan struct{}, 1), make(chan struct{})
				var logs, progress, bytes atomic.Int64
				spec.LogLevel, spec.Timeout = "debug", 5*time.Minute
				spec.Log = func(context.Context, client.LogMessage) {
					if logs.Add(1) == 1 {
						entered <- struct{}{}
					}
					<-release
				}
				c := open(t, client.Options{}, spec)
				goOn := sync.OnceFunc(func() { close(release) })
				t.Cleanup(goOn) // or what has failed would wait in Close
				srv := c.Server("srv")
				want := map[string]bool{"tools": true, "resources": true, "prompts": true}
				for i := range 10 {
					want[fmt.Sprintf("memo://%d", i)] = true
				}
				var mu sync.Mutex
				tell := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					delete(want, what)
				}
				defer srv.OnUpdated(func(_ context.Context, uri string) { tell(uri) })()
				for _, kind := range []client.Kind{client.KindTools, client.KindResources, client.KindPrompts} {
					stop, err := srv.OnListChanged(t.Context(), kind, func(context.Context) { tell(string(kind)) })
					if err != nil {
						t.Fatal(err)
					}
					defer stop()
				}
				said(t, c, map[string]any{"n": 1})
				said(t, c, map[string]any{"after": "yes"})
				<-entered // and there it stays

				before := heap()
				returned := make(chan error, 1)
				go func() {
					_, err := srv.Call(t.Context(), client.Call{
						Tool: "t", Arguments: map[string]any{"n": burst.n, "size": burst.size},
						OnProgress: func(client.Progress) {
							progress.Add(1)
							<-release
						},
						OnLog: func(m client.LogMessage) {
							bytes.Add(int64(len(m.Data)))
							<-release
						},
					})
					returned <- err
				}()
				if got := said(t, c, map[string]any{"after": "yes"}); got != "after" {
					t.Errorf("result %q", got)
				}
				if grown := int64(heap()) - int64(before); grown > int64(burst.grown) {
					t.Errorf("%d bytes more are in use", grown)
				}
				goOn()
				if err := <-returned; err != nil {
					t.Fatal(err)
				}
				// Over HTTP the last ones may only come now.
				most, mostBytes := int64(3000), int64(2*room)
				if s != nil {
					most, mostBytes = int64(burst.n)+1, mostBytes+16<<20
				}
				if got := progress.Load(); got == 0 || got > most {
					t.Errorf("%d of %d went to the call's own handler", got, burst.n)
				}
				if got := bytes.Load(); got == 0 || got > mostBytes {
					t.Errorf("%d bytes went to the call's own handler", got)
				}
				eventually(t, func() bool {
					mu.Lock()
					defer mu.Unlock()
					return len(want) == 0
				})
				if got := logs.Load(); got > most {
					t.Errorf("%d log messages were kept", got)
				}
			})
		})
	}
}

// Updates that nobody asked for do not crowd out the one that somebody did.
func TestStressUpdates(t *testing.T) {
	raw(t, "updates", func(t *testing.T, spec client.Spec, _ *rawServer) {
		c := open(t, client.Options{}, spec)
		srv := c.Server("srv")
		if err := srv.Subscribe(t.Context(), "memo://mine"); err != nil {
			t.Fatal(err)
		}
		release, mine := make(chan struct{}), make(chan struct{})
		told, long := 0, false
		defer srv.OnUpdated(func(_ context.Context, uri string) {
			<-release
			told++
			long = long || len(uri) > 10_000
			if uri == "memo://mine" {
				close(mine)
			}
		})()
		goOn := sync.OnceFunc(func() { close(release) })
		t.Cleanup(goOn)
		said(t, c, nil)
		goOn()
		select {
		case <-mine:
			if told > 2100 || long { // what is being told and what waits
				t.Errorf("%d updates were kept, a long one: %v", told, long)
			}
		case <-time.After(10 * time.Second):
			t.Error("the update that was asked for is lost")
		}
	})
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to that")
		}
		time.Sleep(time.Millisecond) // polls another goroutine
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestStressConcurrentCalls(t *testing.T) {
	raw(t, "echo", func(t *testing.T, spec client.Spec, _ *rawServer) {
		c := open(t, client.Options{}, spec)
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				want := fmt.Sprint("call ", i)
				res, err := c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]string{"text": want}})
				if err != nil || res.Content[0].(*mcp.TextContent).Text != want {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
}

// A server of an older revision may ask a lot; one of the current revision is
// not answered at all.
func TestStressServerRequests(t *testing.T) {
	raw(t, "requests", func(t *testing.T, spec client.Spec, s *rawServer) {
		legacy := legacyEra(spec, s)
		var asked, most, now atomic.Int32
		spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
			asked.Add(1)
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			runtime.Gosched()
			now.Add(-1)
			return &client.InputAnswer{Action: client.Decline}, nil
		}
		c := open(t, client.Options{}, spec)
		if !legacy {
			if got := said(t, c, map[string]any{"n": 50, "method": "elicitation/create"}); got != "0" || asked.Load() != 0 {
				t.Errorf("%s answers, asked %d times", got, asked.Load())
			}
			return
		}
		if got := said(t, c, map[string]any{"n": 20, "method": "elicitation/create", "want": 20}); got != "20" || asked.Load() != 20 {
			t.Errorf("%s answers, asked %d times", got, asked.Load())
		}
		for _, method := range []string{"roots/list", "sampling/createMessage", "ping", "no/such"} {
			if got := said(t, c, map[string]any{"n": 5, "method": method, "want": 5}); got != "5" {
				t.Errorf("%s: %s answers", method, got)
			}
		}
		// More at once than is answered: the rest is let go, and all goes on.
		said(t, c, map[string]any{"n": 1000, "method": "elicitation/create"})
		if most.Load() > 64 {
			t.Errorf("%d questions at once", most.Load())
		}
		said(t, c, map[string]any{"n": 1, "method": "ping", "want": 1})
	})
}

// A conversation ends.
func TestStressAsksForever(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			spec := stressSpec(t, "asks", "modern")
			if transport == "http" {
				srv := httptest.NewServer(newRawServer(misbehaviours["asks"], false))
				defer srv.Close()
				spec = httpSpec(srv.URL)
			}
			asked := 0
			spec.Input = func(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
				asked++
				return &client.InputAnswer{Action: client.Accept}, nil
			}
			_, err := open(t, client.Options{}, spec).Server("srv").Call(t.Context(), client.Call{Tool: "t"})
			if err == nil || !strings.Contains(err.Error(), "asks for input more than 32 times") || asked != 32 {
				t.Errorf("asked %d times, %v", asked, err)
			}
		})
	}
}

// Handlers may call the client, and one that does not come back does not keep
// it from being closed.
func TestStressHandlers(t *testing.T) {
	raw(t, "burst", func(t *testing.T, spec client.Spec, _ *rawServer) {
		var c *client.Client
		inner := make(chan error, 1)
		release := make(chan struct{})
		spec.LogLevel = "debug"
		spec.Log = func(ctx context.Context, _ client.LogMessage) {
			_, err := c.Server("srv").ListRawTools(ctx)
			select {
			case inner <- err:
			default:
			}
			<-release
		}
		c, err := client.Open(t.Context(), []client.Spec{spec}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		if _, err := c.Server("srv").Call(t.Context(), client.Call{
			Tool: "t", Arguments: map[string]any{"n": 3},
			OnProgress: func(client.Progress) {
				if calls++; calls == 1 {
					if _, err := c.Server("srv").ListRawTools(t.Context()); err != nil {
						t.Error(err)
					}
				}
			},
		}); err != nil || calls != 3 {
			t.Errorf("%d calls of the handler, %v", calls, err)
		}
		if err := <-inner; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		close(release)
	})
}

// Ten thousand calls leave nothing behind.
func TestStressMemory(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	raw(t, "echo", func(t *testing.T, spec client.Spec, _ *rawServer) {
		c := open(t, client.Options{}, spec)
		for range 200 {
			said(t, c, map[string]any{"text": "warm"})
		}
		before, goroutines := heap(), runtime.NumGoroutine()
		for range n {
			said(t, c, map[string]any{"text": "x"})
		}
		if grown := int64(heap()) - int64(before); grown > 1<<20 {
			t.Errorf("%d bytes more are in use after %d calls", grown, n)
		}
		if more := runtime.NumGoroutine() - goroutines; more > 10 {
			t.Errorf("%d goroutines more", more)
		}
	})
}
