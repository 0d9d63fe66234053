package catalog

import (
	"encoding/json"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/internal/subschema"
)

// judgement is what a change of a schema means, by what both states accept.
type judgement struct {
	severity Severity
	// same says that both states accept the same.
	same bool
	// undecided says that the severity is [Risky] for want of an answer.
	undecided bool
	witness   *schemadoc.Value
	reason    string
}

func undecided(reason string) judgement {
	return judgement{severity: Risky, undecided: true, reason: reason}
}

// judge compares two states of a schema, or of parts of it that belong
// together. docs/contracts.md says the same in words.
type judge struct {
	space    *subschema.Space
	side     Side
	old, new *subschema.Document
	known    map[[2]*schemadoc.Value]judgement
}

func (j *judge) compile(d *subschema.Document, v *schemadoc.Value, m subschema.Mode) subschema.Schema {
	return j.space.Compile(d, v, m)
}

func (j *judge) judge(was, is *schemadoc.Value) judgement {
	k := [2]*schemadoc.Value{was, is}
	if known, ok := j.known[k]; ok {
		return known
	}
	verdict := j.decide(was, is)
	j.known[k] = verdict
	return verdict
}

func (j *judge) decide(was, is *schemadoc.Value) judgement {
	forth, back := j.within(was, is), j.backward(was, is)
	if forth.Verdict == subschema.Yes {
		return judgement{severity: Compatible, same: back.Verdict == subschema.Yes}
	}
	if j.side == Input {
		return j.input(was, is)
	}
	return j.output(was, is, forth)
}

// within answers whether the change is compatible by the letter: what was sent
// is accepted, or what is returned was promised.
func (j *judge) within(was, is *schemadoc.Value) subschema.Answer {
	if j.side == Input {
		return j.space.Within(j.compile(j.old, was, subschema.Mode{}), j.compile(j.new, is, subschema.Mode{Noise: true}))
	}
	return j.space.Within(j.compile(j.new, is, subschema.Mode{}), j.compile(j.old, was, subschema.Mode{Noise: true}))
}

// backward answers the same for the change undone.
func (j *judge) backward(was, is *schemadoc.Value) subschema.Answer {
	if j.side == Input {
		return j.space.Within(j.compile(j.new, is, subschema.Mode{}), j.compile(j.old, was, subschema.Mode{Noise: true}))
	}
	return j.space.Within(j.compile(j.old, was, subschema.Mode{}), j.compile(j.new, is, subschema.Mode{Noise: true}))
}

// input judges a change that refuses some argument by the letter. It breaks
// callers if that is an argument that the old state described. Members that it
// did not describe, and did not speak of, are a caller's own risk; that they
// now have a description is none at all.
func (j *judge) input(was, is *schemadoc.Value) judgement {
	sent := j.compile(j.old, was, subschema.Mode{Extras: subschema.Closed})
	taken := j.compile(j.new, is, subschema.Mode{Noise: true})
	described := j.space.Within(sent, taken)
	switch described.Verdict {
	case subschema.Undecided:
		return undecided(described.Reason)
	case subschema.No:
		relaxed := j.space.Within(sent, j.compile(j.new, is, subschema.Mode{Noise: true, Defaults: true}))
		if relaxed.Verdict == subschema.Yes {
			return judgement{severity: Risky, witness: described.Witness}
		}
		// Where any members were allowed expressly, one that is described now
		// hurts only who used its name for something else.
		names := j.space.Within(
			j.compile(j.old, was, subschema.Mode{Extras: subschema.Strange, Loose: true}),
			j.compile(j.new, is, subschema.Mode{Noise: true, Defaults: true}),
		)
		if names.Verdict == subschema.Yes {
			return judgement{severity: Risky, witness: described.Witness}
		}
		return judgement{severity: Breaking, witness: described.Witness}
	}
	strange := j.space.Within(j.compile(j.old, was, subschema.Mode{Extras: subschema.Strange}), taken)
	switch strange.Verdict {
	case subschema.Undecided:
		return undecided(strange.Reason)
	case subschema.No:
		return judgement{severity: Risky, witness: strange.Witness}
	}
	return judgement{severity: Compatible}
}

// output judges a change that may return, by the letter, what was not
// promised. If that takes members that the new state does not describe, and
// only because the old one was closed, it is a risk; else it breaks readers.
func (j *judge) output(was, is *schemadoc.Value, letter subschema.Answer) judgement {
	opened := j.space.Within(
		j.compile(j.new, is, subschema.Mode{Extras: subschema.Strange, Loose: true}),
		j.compile(j.old, was, subschema.Mode{Noise: true, Open: true}),
	)
	described := j.space.Within(
		j.compile(j.new, is, subschema.Mode{Extras: subschema.AllOut}),
		j.compile(j.old, was, subschema.Mode{Noise: true}),
	)
	for _, a := range []subschema.Answer{described, opened} {
		if a.Verdict == subschema.No {
			return judgement{severity: Breaking, witness: a.Witness}
		}
	}
	for _, a := range []subschema.Answer{described, opened, letter} {
		if a.Verdict == subschema.Undecided {
			return undecided(a.Reason)
		}
	}
	return judgement{severity: Risky, witness: letter.Witness}
}

// witnessText is a witness as JSON, unless it is too long to help.
func witnessText(v *schemadoc.Value) json.RawMessage {
	const most = 4096
	if v == nil {
		return nil
	}
	text := v.AppendCanonical(nil)
	if len(text) > most {
		return nil
	}
	return text
}
