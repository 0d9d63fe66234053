package view

import (
	"encoding/json"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// Diff is the output of mcpctl diff.
type Diff struct {
	Summary       DiffSummary       `json:"summary"`
	Changes       []DiffChange      `json:"changes"`
	NotDiscovered []DiffUnreachable `json:"notDiscovered"`
}

// DiffSummary counts. Verdict is the gravest severity among the changes, or
// "unchanged"; tools are those in both states.
type DiffSummary struct {
	Verdict    string `json:"verdict"`
	Breaking   int    `json:"breaking"`
	Risky      int    `json:"risky"`
	Compatible int    `json:"compatible"`
	Tools      int    `json:"tools"`
	Unchanged  int    `json:"unchangedTools"`
}

// DiffChange is one change. Side is "input" or "output", or absent for a
// change of the tool as a whole. The witness is a value for the whole schema
// of the side, unless partial is true: then it is one for the place at the
// pointer.
type DiffChange struct {
	Server   string          `json:"server"`
	Tool     string          `json:"tool"`
	Side     string          `json:"side,omitempty"`
	Pointer  string          `json:"pointer"`
	Code     string          `json:"code"`
	Severity string          `json:"severity"`
	Old      string          `json:"old,omitempty"`
	New      string          `json:"new,omitempty"`
	Witness  json.RawMessage `json:"witness,omitempty"`
	Partial  bool            `json:"partial,omitempty"`
	Reason   string          `json:"reason,omitempty"`
}

// DiffUnreachable is a server of which nothing is said, since it could not be
// asked. State is "old" or "new".
type DiffUnreachable struct {
	Server string `json:"server"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// NewDiff shows a report.
func NewDiff(r catalog.Report) Diff {
	d := Diff{
		Summary: DiffSummary{
			Verdict:    "unchanged",
			Breaking:   r.Count(catalog.Breaking),
			Risky:      r.Count(catalog.Risky),
			Compatible: r.Count(catalog.Compatible),
			Tools:      r.Tools,
			Unchanged:  r.Unchanged,
		},
		Changes:       []DiffChange{},
		NotDiscovered: []DiffUnreachable{},
	}
	if worst, ok := r.Worst(); ok {
		d.Summary.Verdict = worst.String()
	}
	for _, c := range r.Changes {
		d.Changes = append(d.Changes, DiffChange{
			Server: c.Server, Tool: c.Tool, Side: string(c.Side), Pointer: c.Pointer,
			Code: string(c.Code), Severity: c.Severity.String(), Old: c.Old, New: c.New,
			Witness: c.Witness, Partial: c.Partial, Reason: c.Reason,
		})
	}
	for _, n := range r.NotDiscovered {
		state := "old"
		if n.New {
			state = "new"
		}
		d.NotDiscovered = append(d.NotDiscovered, DiffUnreachable{n.Server, state, n.Reason})
	}
	return d
}
