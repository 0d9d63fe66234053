package view

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// TestListContract holds the keys of list --output json and their order.
func TestListContract(t *testing.T) {
	tool := func(raw string) catalog.Tool {
		tool, err := catalog.ParseTool(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	results := []client.ServerResult{
		{
			Name: "good", Transport: client.TransportStdio, Duration: 12400 * time.Microsecond,
			Server: catalog.Server{
				Name: "good", ProtocolVersion: "2026-07-28", Info: json.RawMessage(`{"version":"1","name":"G"}`), Instructions: "be kind",
				Tools: []catalog.Tool{
					tool(`{"name":"a","title":"A","description":"<d>","inputSchema":{"z":1.0,"a":2},"outputSchema":{},"annotations":{"x-y":1,"readOnlyHint":true}}`),
					tool(`{"name":"b","inputSchema":{"type":"object"}}`),
					tool(`{"name":"c","inputSchema":{"x-mcp-header":"X"}}`),
				},
			},
		},
		{Name: "bad", Err: errors.New("gone")},
	}
	list := List{}
	for _, r := range results {
		list.Servers = append(list.Servers, NewServer(r, func(err error) *Error {
			return &Error{Kind: "http", Code: 5, Server: "bad", Message: err.Error(), Hint: "try", HTTPStatus: 410}
		}))
	}
	var got strings.Builder
	if err := WriteJSON(&got, list); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "servers": [
    {
      "name": "good",
      "status": "ok",
      "transport": "stdio",
      "protocolVersion": "2026-07-28",
      "serverInfo": {
        "version": "1",
        "name": "G"
      },
      "instructions": "be kind",
      "durationMs": 12,
      "tools": [
        {
          "name": "a",
          "title": "A",
          "description": "<d>",
          "signature": "a() → any",
          "annotations": {
            "x-y": 1,
            "readOnlyHint": true
          },
          "inputSchema": {
            "z": 1.0,
            "a": 2
          },
          "outputSchema": {}
        },
        {
          "name": "b",
          "signature": "b()",
          "inputSchema": {
            "type": "object"
          }
        }
      ],
      "unusable": [
        {
          "name": "c",
          "reason": "x-mcp-header at \"\" is not on a parameter that is reached through properties alone"
        }
      ]
    },
    {
      "name": "bad",
      "status": "failed",
      "durationMs": 0,
      "tools": [],
      "error": {
        "kind": "http",
        "code": 5,
        "server": "bad",
        "message": "gone",
        "hint": "try",
        "httpStatus": 410
      }
    }
  ]
}
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
