package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// lateServer is the first argument of a test binary that is a server which
// learns late of a subscription that ended: each read of a resource is an
// update of all that was ever subscribed to, in that order.
const lateServer = "late-server"

func init() {
	if len(os.Args) != 2 || os.Args[1] != lateServer {
		return
	}
	type listening struct {
		id  json.RawMessage
		uri string
	}
	var all []listening
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Notifications struct{ ResourceSubscriptions []string }
			}
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		notify := func(l listening, method, params string) {
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/%s","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},%s}}`+"\n", method, l.id, params)
		}
		switch m.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}}}}`+"\n", m.ID)
		case "subscriptions/listen":
			l := listening{m.ID, m.Params.Notifications.ResourceSubscriptions[0]}
			all = append(all, l)
			notify(l, "subscriptions/acknowledged", fmt.Sprintf(`"notifications":{"resourceSubscriptions":[%q]}`, l.uri))
		case "resources/read":
			for _, l := range all {
				notify(l, "resources/updated", fmt.Sprintf(`"uri":%q`, l.uri))
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","contents":[]}}`+"\n", m.ID)
		}
	}
	os.Exit(0)
}

// What a server sends about a subscription before it learns of its end is not
// told.
func TestUpdatesAfterUnsubscribe(t *testing.T) {
	srv := open(t, client.Options{}, client.Spec{Name: "srv", Stdio: &client.Stdio{Command: os.Args[0], Args: []string{lateServer}}}).Server("srv")
	updated := make(chan string, 10)
	defer srv.OnUpdated(func(_ context.Context, uri string) { updated <- uri })()
	for _, uri := range []string{"memo://a", "memo://b"} {
		if err := srv.Subscribe(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want ...string) {
		t.Helper()
		if _, err := srv.ReadResource(t.Context(), "memo://a"); err != nil {
			t.Fatal(err)
		}
		for _, uri := range want {
			if got := <-updated; got != uri {
				t.Errorf("updated %s, want %s", got, uri)
			}
		}
	}
	read("memo://a", "memo://b")
	if err := srv.Unsubscribe(t.Context(), "memo://a"); err != nil {
		t.Fatal(err)
	}
	read("memo://b")
}
