package catalog

import (
	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// rest says what an object allows beyond the members that it describes.
type rest struct {
	v    *schemadoc.Value // the schema, where one is written
	kind restKind
}

type restKind uint8

const (
	silent restKind = iota
	anything
	some
	closed
)

func restOf(v *schemadoc.Value) rest {
	r := rest{v: v.Get("additionalProperties")}
	if r.v == nil && v.Get("unevaluatedProperties") != nil && len(contractKeywords(v)) > 0 {
		r.v = v.Get("unevaluatedProperties")
	}
	switch {
	case r.v == nil:
		return r
	case r.v.Is(schemadoc.Bool) && !r.v.Bool:
		r.kind = closed
	case r.v.Is(schemadoc.Bool), string(r.v.AppendContract(nil)) == "{}":
		r.kind = anything
	default:
		r.kind = some
	}
	return r
}

func (l *locator) objects(old, cur place, at judgement) found {
	a, b := old.v.Get("properties"), cur.v.Get("properties")
	restA, restB := restOf(old.v), restOf(cur.v)
	requiredA, requiredB := names(old.v.Get("required")), names(cur.v.Get("required"))
	worst := nothing
	if a.Is(schemadoc.Object) {
		for _, m := range a.Members {
			is := b.Get(m.Name)
			if is == nil {
				if !l.new.Describes(cur.v, m.Name) {
					worst = worst.with(l.gone(m, cur, restB, requiredA[m.Name], at))
				}
				continue
			}
			worst = worst.with(l.presence(m.Name, cur, is, requiredA[m.Name], requiredB[m.Name], at))
			worst = worst.with(l.walk(m.Value, is, at, false))
		}
	}
	if b.Is(schemadoc.Object) {
		for _, m := range b.Members {
			if a.Get(m.Name) == nil && !l.old.Describes(old.v, m.Name) {
				worst = worst.with(l.come(m, restA, requiredB[m.Name], at))
			}
		}
	}
	for _, v := range []*schemadoc.Value{old.v, cur.v} {
		for _, name := range items(v.Get("required")) {
			// Names that are required and have no description.
			if n := name.Str(); a.Get(n) == nil && b.Get(n) == nil && requiredA[n] != requiredB[n] {
				worst = worst.with(l.presence(n, cur, nil, requiredA[n], requiredB[n], at))
			}
		}
	}
	pa, pb := old.v.Get("patternProperties"), cur.v.Get("patternProperties")
	matched := nothing
	if pa.Is(schemadoc.Object) && pb.Is(schemadoc.Object) {
		for _, m := range pa.Members {
			if is := pb.Get(m.Name); is != nil {
				matched = matched.with(l.walk(m.Value, is, at, false))
			}
		}
	}
	if matched == nothing {
		matched = l.group(old, cur, at, "patternProperties")
	}
	worst = worst.with(matched)
	return worst.with(l.others(old, cur, restA, restB, at))
}

func items(v *schemadoc.Value) []*schemadoc.Value {
	if v.Is(schemadoc.Array) {
		return v.Items
	}
	return nil
}

func names(v *schemadoc.Value) map[string]bool {
	set := make(map[string]bool)
	for _, item := range items(v) {
		set[item.Str()] = true
	}
	return set
}

// presence compares whether a member must be there.
func (l *locator) presence(name string, cur place, is *schemadoc.Value, was, now bool, at judgement) found {
	if was == now {
		return nothing
	}
	pointer := l.new.Pointer(cur.v) + "/required"
	if is != nil {
		pointer = l.new.Pointer(is)
	}
	c := Change{Pointer: pointer, Old: presence(was), New: presence(now)}
	if is == nil {
		c.Old, c.New = name+" "+c.Old, name+" "+c.New
	}
	switch {
	case l.side == Input && now && l.new.HasDefault(is):
		c.Code, c.Severity = InputRequiredDefault, Risky
	case l.side == Input && now:
		c.Code, c.Severity = InputRequired, Breaking
	case l.side == Input:
		c.Code, c.Severity = InputOptional, Compatible
	case now:
		c.Code, c.Severity = OutputRequired, Compatible
	default:
		c.Code, c.Severity = OutputOptional, Breaking
	}
	return l.add(c, at, true)
}

func presence(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

// gone judges a member that is not described any more.
func (l *locator) gone(m schemadoc.Member, cur place, others rest, required bool, at judgement) found {
	c := Change{Pointer: l.old.Pointer(m.Value), Old: presence(required) + " " + oneLine(m.Value)}
	if others.kind == some {
		verdict := l.judge.judge(m.Value, others.v)
		c.Severity, c.Witness = verdict.severity, witnessText(verdict.witness)
	}
	if l.side == Input {
		c.Code = InputRemoved
		if others.kind == closed {
			c.Severity = Breaking
			return l.add(c, at, true)
		}
		if c.Severity == Breaking {
			return l.add(c, at, true)
		}
		// It is accepted, and who knows what becomes of it.
		c.Reason = "it is still accepted, but nothing says that it is used"
		l.note(c)
		return found(Risky)
	}
	c.Code = OutputRemoved
	switch {
	case required:
		c.Severity = Breaking
	case others.kind == closed:
		c.Severity = Compatible
	case others.kind != some:
		c.Severity = Risky
	}
	return l.add(c, at, true)
}

// come judges a member that was not described before.
func (l *locator) come(m schemadoc.Member, others rest, required bool, at judgement) found {
	c := Change{Pointer: l.new.Pointer(m.Value), New: presence(required) + " " + oneLine(m.Value)}
	switch {
	case l.side == Input && required && l.new.HasDefault(m.Value):
		c.Code, c.Severity = InputRequiredDefault, Risky
	case l.side == Input && required:
		c.Code, c.Severity = InputRequired, Breaking
	case l.side == Input:
		c.Code = InputAdded
		if others.kind == some || others.kind == anything {
			verdict := l.judge.judge(others.v, m.Value)
			c.Severity, c.Witness = verdict.severity, witnessText(verdict.witness)
			if verdict.severity > Compatible {
				c.Reason = "further members were allowed expressly, so that a caller may use this name"
			}
			if others.kind == anything {
				c.Severity = min(c.Severity, Risky)
			}
		}
	case others.kind == closed:
		c.Code, c.Severity = OutputAdded, Breaking
	default:
		c.Code = OutputAdded
		if others.kind == some {
			verdict := l.judge.judge(others.v, m.Value)
			c.Severity, c.Witness = verdict.severity, witnessText(verdict.witness)
		}
	}
	return l.add(c, at, true)
}

// others compares what is allowed beyond the described members.
func (l *locator) others(old, cur place, a, b rest, at judgement) found {
	if a.kind == some && b.kind == some {
		return l.walk(a.v, b.v, at, false)
	}
	free := func(r rest) bool { return r.kind == silent || r.kind == anything }
	if a.kind == b.kind || free(a) && free(b) {
		return nothing
	}
	keyword := "/additionalProperties"
	c := Change{Pointer: l.new.Pointer(cur.v) + keyword, Old: a.String(), New: b.String()}
	switch {
	case l.side == Input && b.kind != closed && a.kind == closed, l.side == Input && free(b):
		c.Code, c.Severity = InputOpened, Compatible
	case l.side == Input && a.kind == silent:
		c.Code, c.Severity = InputClosed, Risky
	case l.side == Input:
		c.Code, c.Severity = InputClosed, Breaking
	case a.kind == closed:
		c.Code, c.Severity = OutputOpened, Risky
	case free(b):
		c.Code, c.Severity = OutputOpened, Breaking
	default:
		c.Code, c.Severity = OutputClosed, Compatible
	}
	if b.v != nil {
		c.Pointer = l.new.Pointer(b.v)
	} else if a.v != nil {
		c.Pointer = l.old.Pointer(a.v)
	}
	return l.add(c, at, true)
}

func (r rest) String() string {
	switch r.kind {
	case closed:
		return "no further members"
	case anything:
		return "any further members"
	case some:
		return "further members " + oneLine(r.v)
	}
	return "silent about further members"
}
