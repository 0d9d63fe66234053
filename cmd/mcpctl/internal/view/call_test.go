package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCallContract holds the keys of call --output json and their order.
func TestCallContract(t *testing.T) {
	raw := json.RawMessage(`{"_meta":{"k":"<v>"},"isError":true,"structuredContent":{"z":1.0,"a":12345678901234567890},"content":[{"type":"odd","x":1}],"more":1}`)
	const want = `{
  "server": "s",
  "tool": "t",
  "isError": true,
  "content": [
    {
      "type": "odd",
      "x": 1
    }
  ],
  "structuredContent": {
    "z": 1.0,
    "a": 12345678901234567890
  },
  "_meta": {
    "k": "<v>"
  }
}
`
	const bare = `{
  "server": "s",
  "tool": "t",
  "isError": false,
  "content": []
}
`
	saved := NewCall("s", "t", false, json.RawMessage(`{}`))
	saved.Saved = []Saved{{Path: "out/image.png", MIMEType: "image/png", Bytes: 4}}
	const bareSaved = `{
  "server": "s",
  "tool": "t",
  "isError": false,
  "content": [],
  "saved": [
    {
      "path": "out/image.png",
      "mimeType": "image/png",
      "bytes": 4
    }
  ]
}
`
	for _, test := range []struct {
		call Call
		want string
	}{
		{NewCall("s", "t", true, raw), want},
		{NewCall("s", "t", false, json.RawMessage(`{}`)), bare},
		{saved, bareSaved},
	} {
		var got strings.Builder
		if err := WriteJSON(&got, test.call); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.String()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
