package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Severity says what a change means for somebody who calls a tool with the
// same arguments as before and reads its results as before.
type Severity uint8

// The severities, mildest first.
const (
	// Compatible: every call that was right is, and every result can be read
	// as before.
	Compatible Severity = iota
	// Risky: it depends on the caller, or it could not be decided.
	Risky
	// Breaking: some call that was right is refused, or some result is not
	// what was promised.
	Breaking
)

func (s Severity) String() string {
	switch s {
	case Breaking:
		return "breaking"
	case Risky:
		return "risky"
	}
	return "compatible"
}

// MarshalText writes a severity by its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Code names the rule that a change falls under. Codes are stable;
// docs/contracts.md explains each with an example.
type Code string

// The rules about a tool as a whole.
const (
	ToolAdded           Code = "tool-added"
	ToolRemoved         Code = "tool-removed"
	ToolUnusable        Code = "tool-unusable"
	ToolUsable          Code = "tool-usable"
	TaskRequired        Code = "task-required"
	TaskForbidden       Code = "task-forbidden"
	TaskAllowed         Code = "task-allowed"
	ExecutionChanged    Code = "execution-changed"
	OutputSchemaAdded   Code = "output-schema-added"
	OutputSchemaRemoved Code = "output-schema-removed"
	AnnotationsChanged  Code = "annotations-changed"
	WordsChanged        Code = "words-changed"
)

// The rules about schemas.
const (
	InputRequired        Code = "input-required"
	InputRequiredDefault Code = "input-required-default"
	InputOptional        Code = "input-optional"
	InputAdded           Code = "input-added"
	InputRemoved         Code = "input-removed"
	InputClosed          Code = "input-closed"
	InputOpened          Code = "input-opened"
	InputNarrowed        Code = "input-narrowed"
	InputWidened         Code = "input-widened"

	OutputOptional Code = "output-optional"
	OutputRequired Code = "output-required"
	OutputAdded    Code = "output-added"
	OutputRemoved  Code = "output-removed"
	OutputOpened   Code = "output-opened"
	OutputClosed   Code = "output-closed"
	OutputWidened  Code = "output-widened"
	OutputNarrowed Code = "output-narrowed"

	DefaultChanged Code = "default-changed"
	FormatChanged  Code = "format-changed"
	HeaderChanged  Code = "header-changed"
	NotDecided     Code = "not-decided"
)

// Side is the schema of a tool that a change is in.
type Side string

// The sides. A change of a tool as a whole has none.
const (
	Input  Side = "input"
	Output Side = "output"
)

// Change is one difference between two states of a tool.
type Change struct {
	Server string
	Tool   string
	Side   Side
	// Pointer is where the change is: a JSON pointer in the schema of the
	// side, else in the tool. It points into the new state, or into the old
	// one where the place is gone.
	Pointer  string
	Code     Code
	Severity Severity
	// Old and New are what stands there, on one line and cut to a sensible
	// length; empty where nothing does. They hold text of servers.
	Old, New string
	// Witness is an argument object that was right and is refused, or a result
	// that is new and was not promised, where one can be shown. It is a value
	// for the whole schema of the side, or for the part at the pointer if
	// Partial is set.
	Witness json.RawMessage
	Partial bool
	// Reason says why a change is not decided, or what else there is to say.
	Reason string
}

// NotDiscovered is a server that could not be asked in one of the states, so
// that nothing is said about its tools.
type NotDiscovered struct {
	Server string
	// New tells whether it was the new state; else the old one.
	New bool
	// Reason is [Server.Missing].
	Reason string
}

// Report is what changed between two catalogues.
type Report struct {
	// Changes are sorted by server, tool and severity, the worst first.
	Changes       []Change
	NotDiscovered []NotDiscovered
	// Tools is the number of tools in both states, Unchanged how many of them
	// are the same.
	Tools, Unchanged int
}

// Add takes the findings of another report into this one.
func (r *Report) Add(other Report) {
	r.Changes = append(r.Changes, other.Changes...)
	r.NotDiscovered = append(r.NotDiscovered, other.NotDiscovered...)
	r.Tools += other.Tools
	r.Unchanged += other.Unchanged
	r.sort()
}

// Worst returns the gravest severity of the report; ok is false where nothing
// changed.
func (r Report) Worst() (worst Severity, ok bool) {
	for _, c := range r.Changes {
		worst = max(worst, c.Severity)
	}
	return worst, len(r.Changes) > 0
}

// Count returns how many changes have a severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, c := range r.Changes {
		if c.Severity == s {
			n++
		}
	}
	return n
}

// Diff compares two states of what servers publish. Servers are matched by
// name; a single server on each side is matched whatever it is called. What
// cannot be decided is reported as risky, with the reason. Diff does not fail
// and does no I/O; its work is bounded per tool.
func Diff(before, after Catalog) Report {
	var r Report
	for _, p := range pairServers(before, after) {
		switch {
		case p.old != nil && p.old.Missing != "":
			r.NotDiscovered = append(r.NotDiscovered, NotDiscovered{p.name, false, p.old.Missing})
		case p.new != nil && p.new.Missing != "":
			r.NotDiscovered = append(r.NotDiscovered, NotDiscovered{p.name, true, p.new.Missing})
		default:
			r.server(p)
		}
	}
	r.sort()
	return r
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(b.Severity, a.Severity),
			cmp.Compare(a.Side, b.Side), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code),
		)
	})
}

type serverPair struct {
	name     string
	old, new *Server
}

func pairServers(before, after Catalog) []serverPair {
	if len(before.Servers) == 1 && len(after.Servers) == 1 {
		return []serverPair{{after.Servers[0].Name, &before.Servers[0], &after.Servers[0]}}
	}
	pairs := make(map[string]*serverPair)
	pair := func(name string) *serverPair {
		if pairs[name] == nil {
			pairs[name] = &serverPair{name: name}
		}
		return pairs[name]
	}
	for i := range before.Servers {
		pair(before.Servers[i].Name).old = &before.Servers[i]
	}
	for i := range after.Servers {
		pair(after.Servers[i].Name).new = &after.Servers[i]
	}
	var all []serverPair
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		all = append(all, *pairs[name])
	}
	return all
}

// byName indexes the tools of a server; of several with one name, the first.
func byName(s *Server) (map[string]*Tool, []string) {
	tools := make(map[string]*Tool)
	if s == nil {
		return tools, nil
	}
	var names []string
	for i := range s.Tools {
		t := &s.Tools[i]
		if tools[t.Name] == nil {
			tools[t.Name] = t
			names = append(names, t.Name)
		}
	}
	return tools, names
}

func (r *Report) server(p serverPair) {
	old, oldNames := byName(p.old)
	cur, curNames := byName(p.new)
	for _, name := range oldNames {
		was, is := old[name], cur[name]
		if is == nil {
			r.Changes = append(r.Changes, Change{Server: p.name, Tool: name, Code: ToolRemoved, Severity: Breaking, Old: name})
			continue
		}
		r.Tools++
		changes := DiffTool(*was, *is)
		if len(changes) == 0 {
			r.Unchanged++
		}
		for _, c := range changes {
			c.Server = p.name
			r.Changes = append(r.Changes, c)
		}
	}
	for _, name := range curNames {
		if old[name] == nil {
			r.Changes = append(r.Changes, Change{Server: p.name, Tool: name, Code: ToolAdded, Severity: Compatible, New: name})
		}
	}
}

// DiffTool compares two states of one tool. The changes name the tool of the
// new state and no server.
func DiffTool(before, after Tool) []Change {
	if bytes.Equal(before.Raw, after.Raw) {
		return nil
	}
	d := toolDiff{tool: after.Name}
	was, err := before.Digest()
	is, err2 := after.Digest()
	if err := cmp.Or(err, err2); err != nil {
		d.add(Change{Code: NotDecided, Severity: Risky, Reason: err.Error()})
		return d.changes
	}
	if was == is {
		return nil
	}
	if before.Problem != after.Problem {
		switch {
		case before.Problem == "":
			d.add(Change{Code: ToolUnusable, Severity: Breaking, Reason: after.Problem})
		case after.Problem == "":
			d.add(Change{Code: ToolUsable, Severity: Compatible, Reason: before.Problem})
		}
	}
	if was.Contract != is.Contract {
		d.execution(before, after)
	}
	d.schemas(Input, before.InputSchema, after.InputSchema)
	d.schemas(Output, before.OutputSchema, after.OutputSchema)
	if was.Description != is.Description {
		d.words(before, after)
	}
	return d.changes
}

// toolDiff gathers the changes of one tool.
type toolDiff struct {
	tool    string
	changes []Change
}

func (d *toolDiff) add(c Change) {
	c.Tool = d.tool
	d.changes = append(d.changes, c)
}

// execution judges whether a tool may or must be called as a task
// (specification 2025-11-25, ToolExecution).
func (d *toolDiff) execution(before, after Tool) {
	support := func(t Tool) (string, string) {
		var raw struct {
			Execution json.RawMessage `json:"execution"`
		}
		var e struct {
			TaskSupport string `json:"taskSupport"`
		}
		_ = json.Unmarshal(t.Raw, &raw) // what has another shape says nothing
		_ = json.Unmarshal(raw.Execution, &e)
		text, _ := schemadoc.Canonical(raw.Execution)
		return cmp.Or(e.TaskSupport, "forbidden"), string(text)
	}
	was, wasText := support(before)
	is, isText := support(after)
	c := Change{Pointer: "/execution/taskSupport", Old: was, New: is}
	switch {
	case was == is && wasText == isText:
		return
	case was == is:
		// Spelled out or not, it is the default.
		if (was == "forbidden" || was == "") && len(wasText)+len(isText) < len(`{"taskSupport":"forbidden"}`)+3 {
			return
		}
		c = Change{Pointer: "/execution", Code: ExecutionChanged, Severity: Compatible, Old: clip(wasText), New: clip(isText)}
	case is == "required":
		c.Code, c.Severity = TaskRequired, Breaking
	case is == "optional":
		c.Code, c.Severity = TaskAllowed, Compatible
	case was == "required", was == "optional":
		c.Code, c.Severity = TaskForbidden, Breaking
	default:
		c.Code, c.Severity = ExecutionChanged, Risky
	}
	d.add(c)
}

// words reports what else of a tool changed, as one change: titles,
// descriptions, icons and the like; hints by themselves.
func (d *toolDiff) words(before, after Tool) {
	was, is := rawMembers(before.Raw), rawMembers(after.Raw)
	names := slices.Sorted(maps.Keys(was))
	for name := range is {
		if was[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var changed []string
	for _, name := range names {
		switch {
		case name == "inputSchema" || name == "outputSchema" || name == "execution" || name == "name":
		case was[name] == is[name]:
		case name == "annotations":
			d.add(Change{Pointer: "/annotations", Code: AnnotationsChanged, Severity: Compatible, Old: clip(was[name]), New: clip(is[name])})
		default:
			changed = append(changed, name)
		}
	}
	switch {
	case len(changed) == 1:
		d.add(Change{Pointer: "/" + schemadoc.EscapePointer(changed[0]), Code: WordsChanged, Severity: Compatible, Old: clip(was[changed[0]]), New: clip(is[changed[0]])})
	case len(changed) > 1:
		d.add(Change{Code: WordsChanged, Severity: Compatible, Reason: strings.Join(changed, ", ")})
	case len(d.changes) == 0 && (schemaWords(before.InputSchema) != schemaWords(after.InputSchema) ||
		schemaWords(before.OutputSchema) != schemaWords(after.OutputSchema)):
		d.add(Change{Code: WordsChanged, Severity: Compatible, Reason: "descriptions inside the schemas"})
	}
}

// schemaWords returns the annotations in a schema.
func schemaWords(raw json.RawMessage) string {
	v, err := schemadoc.Parse(raw, schemadoc.Limits{})
	if err != nil {
		return "{}"
	}
	return string(v.AppendWords(nil))
}

// rawMembers returns the members of a tool in canonical form; null is absent.
func rawMembers(raw json.RawMessage) map[string]string {
	all := make(map[string]string)
	for _, m := range schemadoc.SplitValid(raw) {
		if text, err := schemadoc.Canonical(m.Raw); err == nil && string(text) != "null" {
			all[m.Name] = string(text)
		}
	}
	return all
}

// schemas compares the schemas of one side.
func (d *toolDiff) schemas(side Side, before, after json.RawMessage) {
	if side == Input {
		before, after = orAny(before), orAny(after)
	}
	switch {
	case before == nil && after == nil:
		return
	case before == nil:
		d.add(Change{Side: side, Code: OutputSchemaAdded, Severity: Compatible})
		return
	case after == nil:
		d.add(Change{Side: side, Code: OutputSchemaRemoved, Severity: Breaking})
		return
	}
	was, err := schemadoc.Parse(before, schemadoc.Limits{})
	is, err2 := schemadoc.Parse(after, schemadoc.Limits{})
	if err := cmp.Or(err, err2); err != nil {
		d.add(Change{Side: side, Code: NotDecided, Severity: Risky, Reason: err.Error()})
		return
	}
	if side == Input {
		was, is = asArguments(was), asArguments(is)
	}
	l := newLocator(d, side, was, is)
	if l != nil {
		l.run()
	}
}

func orAny(raw json.RawMessage) json.RawMessage {
	if raw == nil || isNull(raw) {
		return json.RawMessage(`true`)
	}
	return raw
}

// asArguments adds to a schema what the protocol says of arguments: that they
// are an object. (Specification, CallToolRequestParams.)
func asArguments(v *schemadoc.Value) *schemadoc.Value {
	object := schemadoc.Member{Name: "type", Value: &schemadoc.Value{Kind: schemadoc.String, Text: "object"}}
	switch {
	case v.Is(schemadoc.Bool) && v.Bool:
		return &schemadoc.Value{Kind: schemadoc.Object, Members: []schemadoc.Member{object}}
	case !v.Is(schemadoc.Object):
		return v
	}
	t := v.Get("type")
	switch {
	case t == nil && (v.Get("$ref") == nil || !isDraft07(v)):
	case t.Is(schemadoc.Array) && slices.ContainsFunc(t.Items, func(i *schemadoc.Value) bool { return i.Str() == "object" }):
	default:
		return v
	}
	out := &schemadoc.Value{Kind: schemadoc.Object, Members: []schemadoc.Member{object}}
	for _, m := range v.Members {
		if m.Name != "type" {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// isDraft07 reports whether siblings of a reference do not count in a schema.
func isDraft07(v *schemadoc.Value) bool { return strings.Contains(v.Get("$schema").Str(), "draft-07") }

// maxLine bounds what is shown of an old or new value, in characters.
const maxLine = 160

// clip cuts a text to one line.
func clip(text string) string {
	if utf8.RuneCountInString(text) <= maxLine {
		return text
	}
	return string([]rune(text)[:maxLine-1]) + "…"
}

// String puts a change on one line, for logs and tests.
func (c Change) String() string {
	at := c.Pointer
	if c.Side != "" {
		at = string(c.Side) + " " + at
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s [%s]", c.Severity, c.Tool, at, c.Code)), " ")
}
