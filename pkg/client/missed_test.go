package client_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// What may have changed while nobody listened is told once when somebody does
// again, and only that.
func TestMissedChanges(t *testing.T) {
	refused := false
	s := &teller{refuse: func(int) int {
		if refused {
			return http.StatusUnauthorized
		}
		return 0
	}}
	telling(t, s, func(t *testing.T, srv *client.Server, _ func() []error) {
		s.on("tools/list", `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":3600000,"cacheScope":"public"}`)
		var got []string
		told := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", what, got, want)
			}
			got = nil
		}
		defer srv.OnUpdated(func(_ context.Context, uri string) { got = append(got, uri) })()
		watch := func(kind client.Kind) (stop func()) {
			stop, err := srv.OnListChanged(t.Context(), kind, func(context.Context) { got = append(got, string(kind)) })
			if err != nil {
				t.Fatal(err)
			}
			return stop
		}
		subscribe := func(uri string) {
			if err := srv.Subscribe(t.Context(), uri); err != nil {
				t.Fatal(err)
			}
		}
		lists := func() int {
			if _, err := srv.ListRawTools(t.Context()); err != nil {
				t.Fatal(err)
			}
			return len(s.messages("tools/list"))
		}
		lose := func() {
			s.open()[0].out.Close()
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		subscribe("a")
		subscribe("b")
		stopTools, stopPrompts := watch(client.KindTools), watch(client.KindPrompts)
		defer stopTools()
		if err := srv.Unsubscribe(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		told("a stream that is wider")
		if n := lists(); n != 1 {
			t.Errorf("listed %d times", n)
		}
		lose()
		told("a lost stream", "a", "prompts", "tools")
		if n := lists(); n != 2 {
			t.Errorf("listed %d times", n)
		}
		s.honour = func(filter string) string { return strings.Replace(filter, `"a"`, ``, 1) }
		lose()
		told("a server that agrees to less", "prompts", "tools")
		s.honour = nil
		lose()
		told("a server that agrees again", "a", "prompts", "tools")

		// A login that expires.
		refused = true
		lose()
		told("nothing is restored")
		stopPrompts()
		refused = false
		subscribe("c")
		told("restored by asking again", "a", "tools")
	})
}

// Where each thing has a stream of its own, only what was lost is told.
func TestMissedChangesOfOneStream(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := open(t, client.Options{}, stressSpec(t, "withdraws", "modern"))
	srv := c.Server("srv")
	got := make(chan string, 10)
	defer srv.OnUpdated(func(_ context.Context, uri string) { got <- uri })()
	uris := []string{"memo://a", "memo://b", "memo://c"}
	for _, uri := range uris {
		if err := srv.Subscribe(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
	}
	for _, uri := range uris {
		said(t, c, map[string]any{"filter": fmt.Sprintf(`{"resourceSubscriptions":[%q]}`, uri)})
		if told := <-got; told != uri {
			t.Errorf("told of %s, want %s", told, uri)
		}
	}
}
