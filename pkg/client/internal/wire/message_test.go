package wire

import (
	"fmt"
	"strings"
	"testing"
)

// What is kept of a message does not keep the rest of a large text alive.
func TestParseMessageLetsGo(t *testing.T) {
	padding := `"` + strings.Repeat("x", 1<<20) + `"`
	for _, text := range []string{
		`{"jsonrpc":"2.0","method":"m","params":{},"more":%s}`,
		`{"jsonrpc":"2.0","method":"m","params":{},"result":%s}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"more":%s}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"params":%s}`,
		`{"jsonrpc":"2.0","id":1,"error":{},"more":%s}`,
		`[{"jsonrpc":"2.0","method":"m","params":{}},%s]`,
	} {
		msgs, err := parseMessages(fmt.Appendf(nil, text, padding))
		if err != nil || len(msgs) != 1 {
			t.Fatalf("%.60s: %d messages, %v", text, len(msgs), err)
		}
		for _, part := range [][]byte{msgs[0].params, msgs[0].result, msgs[0].err} {
			if cap(part) > maxIdle {
				t.Errorf("%.60s: %d bytes stay", text, cap(part))
			}
		}
	}
}
