package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// TestDiffContract holds the keys of diff --output json and their order.
func TestDiffContract(t *testing.T) {
	report := catalog.Report{
		Changes: []catalog.Change{
			{
				Server: "weather", Tool: "a", Side: catalog.Input, Pointer: "/properties/n/maximum", Code: catalog.InputNarrowed,
				Severity: catalog.Breaking, Old: "10", New: "<5>", Witness: json.RawMessage(`{"n":10}`),
			},
			{
				Server: "weather", Tool: "a", Side: catalog.Output, Code: catalog.NotDecided, Severity: catalog.Risky,
				Reason: "a reference does not resolve", Witness: json.RawMessage(`1`), Partial: true,
			},
			{Server: "weather", Tool: "b", Code: catalog.ToolAdded, Severity: catalog.Compatible, New: "b"},
		},
		NotDiscovered: []catalog.NotDiscovered{{Server: "tickets", New: true, Reason: "refused"}, {Server: "x", Reason: "dns"}},
		Tools:         4, Unchanged: 3,
	}
	var got strings.Builder
	if err := WriteJSON(&got, NewDiff(report)); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "summary": {
    "verdict": "breaking",
    "breaking": 1,
    "risky": 1,
    "compatible": 1,
    "tools": 4,
    "unchangedTools": 3
  },
  "changes": [
    {
      "server": "weather",
      "tool": "a",
      "side": "input",
      "pointer": "/properties/n/maximum",
      "code": "input-narrowed",
      "severity": "breaking",
      "old": "10",
      "new": "<5>",
      "witness": {
        "n": 10
      }
    },
    {
      "server": "weather",
      "tool": "a",
      "side": "output",
      "pointer": "",
      "code": "not-decided",
      "severity": "risky",
      "witness": 1,
      "partial": true,
      "reason": "a reference does not resolve"
    },
    {
      "server": "weather",
      "tool": "b",
      "pointer": "",
      "code": "tool-added",
      "severity": "compatible",
      "new": "b"
    }
  ],
  "notDiscovered": [
    {
      "server": "tickets",
      "state": "new",
      "reason": "refused"
    },
    {
      "server": "x",
      "state": "old",
      "reason": "dns"
    }
  ]
}
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var empty strings.Builder
	if err := WriteJSON(&empty, NewDiff(catalog.Report{Tools: 1, Unchanged: 1})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(empty.String(), `"verdict": "unchanged"`) || !strings.Contains(empty.String(), `"changes": []`) {
		t.Errorf("%s", empty.String())
	}
}
