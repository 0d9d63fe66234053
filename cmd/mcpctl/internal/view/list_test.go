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
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	results := []Offer{
		{ServerResult: client.ServerResult{
			Name: "good", Transport: client.TransportStdio, Duration: 12400 * time.Microsecond,
			Server: catalog.Server{
				Name: "good", ProtocolVersion: "2026-07-28", Info: json.RawMessage(`{"version":"1","name":"G"}`), Instructions: "be kind",
				Tools: []catalog.Tool{
					tool(`{"name":"a","title":"A","description":"<d>","inputSchema":{"z":1.0,"a":2},"outputSchema":{},"annotations":{"x-y":1,"readOnlyHint":true}}`),
					tool(`{"name":"b","inputSchema":{"type":"object"}}`),
					tool(`{"name":"c","inputSchema":{"x-mcp-header":"X"}}`),
				},
			},
		}},
		{ServerResult: client.ServerResult{Name: "bad", Err: errors.New("gone")}},
	}
	list := List{}
	for _, r := range results {
		list.Servers = append(list.Servers, NewServer(r, []Kind{Tools}, func(err error) *Error {
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
      "era": "modern",
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

// TestListKindsContract holds the keys of the other kinds.
func TestListKindsContract(t *testing.T) {
	offer := Offer{
		ServerResult: client.ServerResult{Name: "s"},
		Resources: []client.Resource{
			{Resource: &mcp.Resource{URI: "u:1", Name: "n", Title: "t", Description: "<d>", MIMEType: "a/b"}, Raw: json.RawMessage(`{"size":1e3,"annotations":{"z":1,"audience":[]}}`)},
			{Resource: &mcp.Resource{URI: "u:2", Name: "n"}, Raw: json.RawMessage(`{"size":null,"annotations":null}`)},
		},
		Templates: []client.ResourceTemplate{
			{ResourceTemplate: &mcp.ResourceTemplate{URITemplate: "u:{x}", Name: "n", MIMEType: "a/b"}, Raw: json.RawMessage(`{}`)},
		},
		Prompts: []client.Prompt{
			{Prompt: &mcp.Prompt{Name: "p", Arguments: []*mcp.PromptArgument{{Name: "a", Description: "d", Required: true}, {Name: "b", Title: "B"}}}},
			{Prompt: &mcp.Prompt{Name: "q", Title: "Q"}},
		},
	}
	const want = `{
  "name": "s",
  "status": "ok",
  "durationMs": 0,
  "resources": [
    {
      "uri": "u:1",
      "name": "n",
      "title": "t",
      "description": "<d>",
      "mimeType": "a/b",
      "size": 1e3,
      "annotations": {
        "z": 1,
        "audience": []
      }
    },
    {
      "uri": "u:2",
      "name": "n"
    }
  ],
  "templates": [
    {
      "uriTemplate": "u:{x}",
      "name": "n",
      "mimeType": "a/b"
    }
  ],
  "prompts": [
    {
      "name": "p",
      "arguments": [
        {
          "name": "a",
          "description": "d",
          "required": true
        },
        {
          "name": "b",
          "title": "B",
          "required": false
        }
      ]
    },
    {
      "name": "q",
      "title": "Q",
      "arguments": []
    }
  ]
}
`
	var got strings.Builder
	if err := WriteJSON(&got, NewServer(offer, []Kind{Resources, Templates, Prompts}, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusContract holds the keys of list --status --output json.
func TestStatusContract(t *testing.T) {
	offer := Offer{
		ServerResult: client.ServerResult{
			Name: "s", Transport: client.TransportHTTP, Duration: 1500 * time.Millisecond,
			Server: catalog.Server{ProtocolVersion: "2025-11-25", Info: json.RawMessage(`{"name":"S"}`), Tools: []catalog.Tool{{Name: "a"}, {Name: "b", Problem: "p"}}},
		},
		Capabilities: json.RawMessage(`{"tools":{"listChanged":true},"prompts":{}}`),
	}
	const want = `{
  "name": "s",
  "status": "ok",
  "transport": "streamable-http",
  "protocolVersion": "2025-11-25",
  "era": "legacy",
  "serverInfo": {
    "name": "S"
  },
  "capabilities": {
    "tools": {
      "listChanged": true
    },
    "prompts": {}
  },
  "durationMs": 1500,
  "counts": {
    "tools": 1,
    "prompts": 0
  }
}
`
	var got strings.Builder
	if err := WriteJSON(&got, NewStatus(offer, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
