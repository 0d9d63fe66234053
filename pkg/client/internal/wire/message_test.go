package wire

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// What is kept of a message does not keep the rest of a large text alive.
func TestParseMessageLetsGo(t *testing.T) {
	padding := `"` + strings.Repeat("x", 1<<20) + `"`
	for _, text := range []string{
		`{"jsonrpc":"2.0","method":"m","params":{"a":1},"more":%s}`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":1},"result":%s}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1},"more":%s}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1},"more":%s}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1},"params":%s}`,
		`{"jsonrpc":"2.0","id":1,"error":{"a":1},"more":%s}`,
		`[{"jsonrpc":"2.0","method":"m","params":{"a":1}},%s]`,
	} {
		whole := fmt.Appendf(nil, text, padding)
		alive := weak.Make(&whole[0])
		msgs, err := parseMessages(whole)
		if err != nil || len(msgs) != 1 {
			t.Fatalf("%s: %d messages, %v", text, len(msgs), err)
		}
		whole = nil
		runtime.GC()
		if alive.Value() != nil {
			t.Errorf("%s: all of it stays", text)
		}
		runtime.KeepAlive(msgs)
	}
}
