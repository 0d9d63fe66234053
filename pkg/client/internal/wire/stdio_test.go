package wire

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A message that cannot be decoded is told from other JSON on stdout.
func TestTakeLine(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	const good = `{"jsonrpc":"2.0","method":"x"}`
	for _, test := range []struct {
		name, line string
		messages   int
		broken     bool
		stray      int
	}{
		{"empty", ``, 0, false, 0},
		{"message", good, 1, false, 0},
		{"batch", `[` + good + `, ` + good + `]`, 2, false, 0},
		{"text", `listening on port 3000`, 0, false, 1},
		{"text that looks like JSON", `[db] connected`, 0, false, 1},
		{"log", `{"level":"info","id":7,"method":"GET","msg":{"jsonrpc":"2.0"}}`, 0, false, 1},
		{"log that knows the version", `{"level":"info","jsonrpc":"2.0","id":null}`, 0, false, 1},
		{"list", `[1,2]`, 0, false, 1},
		{"cut off", good[:len(good)-1], 0, false, 1},
		{"deep log", `{"level":"info","data":` + deep + `}`, 0, false, 1},
		{"deep notification", `{"jsonrpc":"2.0","method":"x","params":` + deep + `}`, 1, false, 0},
		{"method of another type", `{"jsonrpc":"2.0","method":7}`, 0, true, 0},
		{"other version", `{"jsonrpc":"1.0","id":1,"result":{}}`, 0, true, 0},
		{"other version in a batch", `[` + good + `,{"jsonrpc":"1.0","id":1,"result":{}}]`, 1, true, 0},
	} {
		n := 0
		c := &Stdio{cfg: StdioConfig{Log: slog.New(slog.DiscardHandler)}}
		c.duplex = newDuplex(Handler{Notification: func(Notification) { n++ }}, nil)
		err := c.takeLine([]byte(test.line))
		if n != test.messages || (err != nil) != test.broken || c.StrayLines() != test.stray {
			t.Errorf("%s: %d messages, error %v, %d stray lines", test.name, n, err, c.StrayLines())
		}
	}
}

// A request that nobody waits for any longer leaves nothing behind.
func TestCancelledCallsAreForgotten(t *testing.T) {
	var sent []string
	d := newDuplex(Handler{}, func(_ context.Context, msg []byte) error {
		sent = append(sent, string(msg))
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Call(ctx, Request{ID: 7, Method: "tools/call"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(d.pending) != 0 {
		t.Errorf("%d requests are kept", len(d.pending))
	}
	d.tasks.Wait()
	if want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"cancelled"}}`; len(sent) != 2 || sent[1] != want {
		t.Errorf("sent %q", sent)
	}
	d.shut(t.Context())
}

// A request that is taken back at once is not answered.
func TestRequestIsTakenBackAtOnce(t *testing.T) {
	for range 100 {
		ended := make(chan error, 1)
		d := newDuplex(Handler{Request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, nil
		}}, func(_ context.Context, msg []byte) error {
			t.Errorf("answered %s", msg)
			return nil
		})
		d.deliver(&message{id: json.RawMessage("1"), method: "elicitation/create"})
		d.deliver(&message{method: "notifications/cancelled", params: json.RawMessage(`{"requestId":1}`)})
		<-ended
		d.shut(t.Context())
	}
}

// A request whose server is gone is not answered, however long somebody thinks
// about it; nor is one that is read after that.
func TestRequestEndsWithTheConnection(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan error)
	d := newDuplex(Handler{Request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		asked <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, nil
	}}, func(_ context.Context, msg []byte) error {
		t.Errorf("answered %s", msg)
		return nil
	})
	d.deliver(&message{id: json.RawMessage("1"), method: "elicitation/create"})
	<-asked
	d.end(errStreamEnd)
	<-ended
	d.deliver(&message{id: json.RawMessage("2"), method: "elicitation/create"})
	<-asked
	<-ended
	d.shut(t.Context())
}
