package typegen

import (
	"errors"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Budgets bound what one run does with schemas that somebody else wrote. A
// value equal to a budget passes.
type Budgets struct {
	Values  int // JSON values of one schema
	Run     int // JSON values of all schemas of a run
	Nodes   int // subschemas of one schema; booleans are not counted
	Depth   int // levels of subschemas; the root is 0
	RawDeep int // levels of arrays and objects, whatever they mean
	Work    int // schemas read and fields made for one schema, repetitions included
}

// DefaultBudgets are the budgets of the documentation.
var DefaultBudgets = Budgets{
	Values:  100_000,
	Run:     1_000_000,
	Nodes:   10_000,
	Depth:   128,
	RawDeep: schemadoc.MaxDepth,
	Work:    200_000,
}

func (b Budgets) withDefaults() Budgets {
	or := func(have, def int) int {
		if have > 0 {
			return have
		}
		return def
	}
	d := DefaultBudgets
	return Budgets{
		or(b.Values, d.Values), or(b.Run, d.Run), or(b.Nodes, d.Nodes),
		or(b.Depth, d.Depth), or(b.RawDeep, d.RawDeep), or(b.Work, d.Work),
	}
}

// meter counts a run's values.
type meter struct {
	Budgets
	run int
}

func newMeter(b Budgets) *meter { return &meter{Budgets: b} }

// refusal says why a schema is not looked at.
type refusal struct {
	code, reason string
	fatal        bool
}

// admit counts a schema before anything of it is copied, and parses it where
// the budgets allow that. A schema over its own budget still adds the capped
// count to the run.
func (m *meter) admit(raw []byte) (*schemadoc.Value, *refusal) {
	values, depth := schemadoc.Count(raw)
	m.run += min(values, m.Values+1)
	switch {
	case values > m.Values:
		return nil, &refusal{CodeBudgetValues, "the schema has more than " + thousands(m.Values) + " JSON values, so it is not looked at", false}
	case m.run > m.Run:
		return nil, &refusal{CodeBudgetRun, "all schemas together have more than " + thousands(m.Run) + " JSON values, so this one is not looked at", false}
	case depth > m.RawDeep:
		return nil, &refusal{CodeDepth, "the schema nests JSON deeper than " + thousands(m.RawDeep) + " levels", true}
	}
	v, err := schemadoc.Parse(raw, schemadoc.Limits{Values: m.Values, Depth: m.RawDeep})
	if err != nil {
		if _, ok := errors.AsType[*schemadoc.LimitError](err); ok {
			return nil, &refusal{CodeDepth, "the schema nests JSON too deep", true}
		}
		return nil, &refusal{CodeNotJSON, "the schema is not valid JSON", true}
	}
	return v, nil
}

func thousands(n int) string {
	s := ""
	for n >= 1000 {
		s = "," + pad3(n%1000) + s
		n /= 1000
	}
	return itoa(n) + s
}
