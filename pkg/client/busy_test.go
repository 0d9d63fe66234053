package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// Who has less time than a busy server asks for is told so at once.
func TestBusyForTooLong(t *testing.T) {
	for name, test := range map[string]struct {
		timeout time.Duration // of the server
		ctx     time.Duration // of the caller
		tried   bool
	}{
		"timeout":       {20 * time.Second, time.Hour, false},
		"caller":        {time.Hour, 20 * time.Second, false},
		"time for that": {time.Hour, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newRawServer(misbehaviours["echo"], false)
				var busy time.Time
				transport := roundTrip(func(r *http.Request) (*http.Response, error) {
					w := httptest.NewRecorder()
					if time.Now().Before(busy) {
						w.Header().Set("Retry-After", "30")
						w.WriteHeader(http.StatusServiceUnavailable)
					} else {
						s.ServeHTTP(w, r)
					}
					return w.Result(), nil
				})
				c, err := client.Open(t.Context(), []client.Spec{{
					Name: "srv", Timeout: test.timeout, HTTP: &client.HTTP{URL: "http://h/", Transport: transport},
				}}, client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close(context.Background())
				said(t, c, nil)
				for what, f := range map[string]func(context.Context) error{
					"call": func(ctx context.Context) error {
						_, err := c.Server("srv").Call(ctx, client.Call{Tool: "t", Repeatable: true})
						return err
					},
					"list": func(ctx context.Context) error {
						_, err := c.Server("srv").ListRawTools(ctx)
						return err
					},
				} {
					ctx, cancel := context.WithTimeout(t.Context(), test.ctx)
					start := time.Now()
					busy = start.Add(30 * time.Second)
					err := f(ctx)
					took := time.Since(start)
					cancel()
					if test.tried {
						if err != nil || took != 30*time.Second {
							t.Errorf("%s: %v after %v", what, err, took)
						}
						continue
					}
					e := serverError(t, err)
					if took != 0 || e.Class != client.ClassHTTP || e.RetryAfter != 30*time.Second || errors.Is(err, context.DeadlineExceeded) ||
						!strings.HasSuffix(err.Error(), "HTTP 503: service unavailable, come back in 30s") {
						t.Errorf("%s: %v after %v", what, err, took)
					}
				}
			})
		})
	}
}

// The same goes for the stream of a call that was interrupted.
func TestBusyForTooLongInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRawServer(func(_ *rawServer, m rawMessage, _ func(string)) { m.write("id: a\n\n") }, true)
		h := func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Last-Event-Id") != "" {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			s.ServeHTTP(w, r)
		}
		c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: "http://h/", Transport: streamed(h)}}}, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		start := time.Now()
		_, err = c.Server("srv").Call(t.Context(), client.Call{Tool: "t", Timeout: time.Minute})
		if e := serverError(t, err); e.Class != client.ClassHTTP || e.RetryAfter != time.Minute || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
