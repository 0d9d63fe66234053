// Package typegen turns the JSON Schemas of MCP tools into Go: types that hold
// every valid value as far as the chosen mode says, and per server a client
// whose methods call its tools.
//
// It is a pure function of its arguments. [Generate] touches no network, no
// clock, no file system and no environment, and gives the same bytes for the
// same catalogue however that is ordered. Everything in a catalogue is
// untrusted text: its size and depth are bounded before anything is copied,
// and none of it reaches the output but as a checked identifier, a quoted
// string or a harmless comment.
//
// The way from catalogue to source has five steps in files of their own: budget
// counts; document and facts read JSON Schema; walk, with shapes, union, enum
// and cycles, decides on types; names allocates identifiers; emit writes Go and
// knows no JSON Schema. What passes between walk and emit is in model.
package typegen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// Extras says what becomes of members that a schema does not declare.
type Extras string

// The modes of [Options.Extras].
const (
	// ExtrasExplicit keeps unknown members where the schema speaks of them:
	// additionalProperties that is true or a schema, and patternProperties.
	// Where it says false, they are refused. A schema that says nothing gives
	// a plain struct. This is the default.
	ExtrasExplicit Extras = "explicit"
	// ExtrasKeep keeps unknown members wherever the schema leaves an object
	// open, and matches names exactly: no valid value loses anything.
	ExtrasKeep Extras = "keep"
	// ExtrasDrop gives plain structs throughout.
	ExtrasDrop Extras = "drop"
)

// Numbers says what JSON numbers become.
type Numbers string

// The modes of [Options.Numbers].
const (
	// NumbersNative gives int64 for integers and float64 for other numbers,
	// and json.Number where the schema itself names integers past int64.
	NumbersNative Numbers = "native"
	// NumbersExact gives json.Number throughout.
	NumbersExact Numbers = "exact"
)

// Formats says what string formats become.
type Formats string

// The modes of [Options.Formats].
const (
	// FormatsString leaves every string a string.
	FormatsString Formats = "string"
	// FormatsTime gives rt.Time for the format date-time: a time that keeps
	// its original text.
	FormatsTime Formats = "time"
)

// Options steer [Generate]. The zero value is the default of everything.
type Options struct {
	// Package is the name of the package clause; "mcptools" when empty. With
	// PackagePerServer it is not used.
	Package string
	// PackagePerServer gives each server a package of its own, named after it,
	// instead of one file with all.
	PackagePerServer bool
	// Prefix puts the server's Go name before every name, so that adding a
	// server renames nothing. It belongs to outputs that hold several servers
	// and is on by itself where the catalogue has more than one.
	Prefix bool
	// Extras is what becomes of undeclared members.
	Extras Extras
	// Numbers is what numbers become.
	Numbers Numbers
	// Formats is what string formats become.
	Formats Formats
	// Widen turns what fails a run (depth, references that do not resolve,
	// cycles of references alone) into json.RawMessage with a warning.
	Widen bool
	// NoValidate leaves out the embedded schemas, the Validate methods and the
	// checks of calls.
	NoValidate bool
	// Budgets bound the work. Zero fields have the defaults of
	// [DefaultBudgets].
	Budgets Budgets
}

// File is one generated file.
type File struct {
	// Name is the suggested file name, slash-separated. With PackagePerServer
	// it begins with the folder of the package.
	Name    string
	Package string
	Content []byte
	// Server is the server whose package this is, with PackagePerServer.
	Server string
}

// Result is what [Generate] returns.
type Result struct {
	Files []File
	// Diagnostics are sorted by server, tool, side and pointer.
	Diagnostics []Diagnostic
	// Modules are the modules, beside the standard library, that the generated
	// files import from.
	Modules []string
}

// Severity tells a warning from a note.
type Severity string

// The severities.
const (
	// Warning says that the output is less precise than the schema, or that
	// something was left out or renamed.
	Warning Severity = "warning"
	// Note says that a rule is not in the types and is checked at run time.
	Note Severity = "note"
)

// The codes of diagnostics and errors. docs/diagnostics.md shows an example of
// each.
const (
	CodeBudgetValues  = "budget-values"   // a schema with too many JSON values
	CodeBudgetRun     = "budget-run"      // the whole run has too many JSON values
	CodeBudgetNodes   = "budget-nodes"    // a schema with too many subschemas
	CodeBudgetOutput  = "budget-output"   // a schema that combines into too many types
	CodeDepth         = "depth"           // subschemas nested too deep
	CodeUnresolvedRef = "unresolved-ref"  // a local reference without a target
	CodeRefCycle      = "reference-cycle" // references and combinators in a circle
	CodeExternalRef   = "external-ref"    // a reference to another document
	CodeDynamicRef    = "dynamic-ref"     // a dynamic reference with several targets
	CodeMalformed     = "malformed"       // a keyword with a value of the wrong shape
	CodeContradiction = "contradiction"   // no value can satisfy the schema
	CodeNotJSON       = "not-json"        // a schema that is no JSON
	CodeNotSchema     = "not-a-schema"    // neither an object nor a boolean
	CodeCollision     = "name-collision"  // two names became one Go name
	CodePattern       = "pattern"         // a pattern that Go's regexp cannot match
	CodeOverlap       = "pattern-overlap" // one name may match several patterns
	CodeToolProblem   = "tool-problem"    // a tool that clients must not offer
	CodeDuplicate     = "duplicate-tool"  // two tools of one name
	CodeDialect       = "dialect"         // a $schema that is not known
	CodeRuntime       = "checked-at-run-time"
)

// Side is the side of a tool that a schema describes.
type Side string

// The sides.
const (
	Input  Side = "input"
	Output Side = "output"
)

// Diagnostic is one thing to know about the output. Names and pointers in it
// are server text, clipped and without control characters; values never are.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Server   string   `json:"server,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Side     Side     `json:"side,omitempty"`
	// Pointer is the JSON pointer of the schema in question within its
	// document; "" is the root.
	Pointer string `json:"pointer"`
	Keyword string `json:"keyword,omitempty"`
	Reason  string `json:"reason"`
}

// String returns the diagnostic as one line.
func (d Diagnostic) String() string {
	return string(d.Severity) + ": " + position(d.Server, d.Tool, d.Side, d.Pointer) + ": " + d.Reason + " [" + d.Code + "]"
}

func position(server, tool string, side Side, pointer string) string {
	var b strings.Builder
	b.WriteString("server " + strconv.Quote(server))
	if tool != "" {
		b.WriteString(", tool " + strconv.Quote(tool))
	}
	if side != "" {
		b.WriteString(", " + string(side) + " schema")
		if pointer == "" {
			b.WriteString(" root")
		} else {
			b.WriteString(" at " + strconv.Quote(pointer))
		}
	}
	return b.String()
}

// Error is what fails a run.
type Error struct {
	Code    string
	Server  string
	Tool    string
	Side    Side
	Pointer string
	Reason  string
}

func (e *Error) Error() string {
	if e.Server == "" && e.Tool == "" {
		return e.Reason
	}
	return position(e.Server, e.Tool, e.Side, e.Pointer) + ": " + e.Reason
}

// The modules that generated code may import from.
const (
	moduleSelf = "github.com/mcpctl/mcpctl"
	moduleSDK  = "github.com/modelcontextprotocol/go-sdk"
)

// Generate turns a catalogue into Go source. Errors are of type [*Error].
func Generate(c catalog.Catalog, o Options) (Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Result{}, err
	}
	servers := slices.Clone(c.Servers)
	slices.SortStableFunc(servers, func(a, b catalog.Server) int { return cmp.Compare(a.Name, b.Name) })
	g := &generator{opts: o, budget: newMeter(o.Budgets)}
	var res Result
	if o.PackagePerServer {
		dirs := newScope()
		names := make([]string, len(servers))
		for i, s := range servers {
			names[i] = s.Name
		}
		folders := packageNames(dirs, names)
		for _, s := range servers {
			p, err := g.pkg(folders[s.Name], []catalog.Server{s}, false)
			if err != nil {
				return Result{}, err
			}
			source, err := emit(p, o)
			if err != nil {
				return Result{}, err
			}
			name := folders[s.Name]
			res.Files = append(res.Files, File{Name: name + "/" + name + ".go", Package: name, Server: s.Name, Content: source})
		}
	} else {
		p, err := g.pkg(o.Package, servers, o.Prefix || len(servers) > 1)
		if err != nil {
			return Result{}, err
		}
		source, err := emit(p, o)
		if err != nil {
			return Result{}, err
		}
		res.Files = []File{{Name: o.Package + ".go", Package: o.Package, Content: source}}
	}
	res.Modules = []string{moduleSelf, moduleSDK}
	res.Diagnostics = g.sorted()
	return res, nil
}

func (o Options) withDefaults() (Options, error) {
	o.Package = cmp.Or(o.Package, "mcptools")
	o.Extras = cmp.Or(o.Extras, ExtrasExplicit)
	o.Numbers = cmp.Or(o.Numbers, NumbersNative)
	o.Formats = cmp.Or(o.Formats, FormatsString)
	o.Budgets = o.Budgets.withDefaults()
	switch {
	case o.Extras != ExtrasExplicit && o.Extras != ExtrasKeep && o.Extras != ExtrasDrop:
		return o, &Error{Code: "option", Reason: fmt.Sprintf("unknown extras mode %q", o.Extras)}
	case o.Numbers != NumbersNative && o.Numbers != NumbersExact:
		return o, &Error{Code: "option", Reason: fmt.Sprintf("unknown numbers mode %q", o.Numbers)}
	case o.Formats != FormatsString && o.Formats != FormatsTime:
		return o, &Error{Code: "option", Reason: fmt.Sprintf("unknown formats mode %q", o.Formats)}
	case !validPackage(o.Package):
		return o, &Error{Code: "option", Reason: fmt.Sprintf("%q cannot be a package name", o.Package)}
	}
	return o, nil
}

// generator is the state of one run.
type generator struct {
	opts   Options
	budget *meter
	diags  []Diagnostic
	seen   map[Diagnostic]bool

	patterns map[string]*regexp.Regexp // compiled, nil where Go cannot
	matched  int                       // bytes matched against patterns
}

// note records a diagnostic once.
func (g *generator) note(d Diagnostic) {
	d.Server, d.Tool = clipText(d.Server, 120), clipText(d.Tool, 120)
	if g.seen == nil {
		g.seen = map[Diagnostic]bool{}
	}
	if !g.seen[d] {
		g.seen[d] = true
		g.diags = append(g.diags, d)
	}
}

func (g *generator) sorted() []Diagnostic {
	sort.SliceStable(g.diags, func(i, j int) bool {
		a, b := g.diags[i], g.diags[j]
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Side, b.Side),
			cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Keyword, b.Keyword),
			cmp.Compare(a.Reason, b.Reason)) < 0
	})
	return g.diags
}

// pkg builds the model of one package.
func (g *generator) pkg(name string, servers []catalog.Server, prefixed bool) (*pkg, error) {
	p := &pkg{name: name}
	names := newScope(reservedNames...)

	// Names of servers and tools come first and are known as a set, so that
	// they do not depend on anything inside a schema.
	serverNames := make([]string, 0, len(servers))
	for _, s := range servers {
		if slices.Contains(serverNames, s.Name) {
			return nil, &Error{Code: CodeCollision, Server: clipText(s.Name, 120), Reason: "the catalogue has this server twice"}
		}
		serverNames = append(serverNames, s.Name)
	}
	collided := func(server string) func(string, string) {
		return func(raw, got string) {
			g.note(Diagnostic{
				Severity: Warning, Code: CodeCollision, Server: server, Tool: raw,
				Reason: "its Go name is taken, so it is named " + got,
			})
		}
	}
	serverGo := clientNames(serverNames, func(raw, got string) {
		g.note(Diagnostic{Severity: Warning, Code: CodeCollision, Server: raw, Reason: "its Go name is taken, so it is named " + got})
	})
	type job struct {
		server catalog.Server
		tools  []catalog.Tool
		goName map[string]string
	}
	jobs := make([]job, len(servers))
	for i, s := range servers {
		j := job{server: s}
		tools := slices.Clone(s.Tools)
		slices.SortStableFunc(tools, func(a, b catalog.Tool) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), strings.Compare(string(a.Raw), string(b.Raw)))
		})
		var toolNames []string
		for k, t := range tools {
			if t.Problem != "" {
				g.note(Diagnostic{
					Severity: Warning, Code: CodeToolProblem, Server: s.Name, Tool: t.Name,
					Reason: "left out: " + clipText(t.Problem, 200),
				})
				continue
			}
			if k > 0 && len(j.tools) > 0 && j.tools[len(j.tools)-1].Name == t.Name {
				g.note(Diagnostic{
					Severity: Warning, Code: CodeDuplicate, Server: s.Name, Tool: t.Name,
					Reason: "left out: the server lists another tool of this name",
				})
				continue
			}
			j.tools = append(j.tools, t)
			toolNames = append(toolNames, t.Name)
		}
		prefix := ""
		if prefixed {
			prefix = serverGo[s.Name]
		}
		j.goName = names.roots(toolNames, prefix, serverGo[s.Name]+"Client", collided(s.Name))
		jobs[i] = j
	}
	private := newScope()
	for _, j := range jobs {
		prefix := ""
		if prefixed {
			prefix = serverGo[j.server.Name]
		}
		c := client{typeName: serverGo[j.server.Name] + "Client", server: j.server.Name}
		c.toolsVar = private.fresh(lowerFirst(serverGo[j.server.Name]) + "Tools")
		methods := newScope(reservedMethods...).assign(slices.Sorted(maps.Keys(j.goName)), "", "N", "Tool", "Tool", func(string, string) {})
		full := newScope(slices.Collect(maps.Values(methods))...)
		for _, t := range j.tools {
			m, decls, err := g.tool(names, j.server.Name, t, j.goName[t.Name])
			if err != nil {
				return nil, err
			}
			m.name = methods[t.Name]
			m.fullName = m.name + "WithResult"
			if !full.take(m.fullName) {
				m.fullName += "X" + shortHash(t.Name)
				full.take(m.fullName)
			}
			m.toolVar = private.fresh(lowerFirst(prefix+m.name) + "Tool")
			m.in.schemaVar = private.fresh(lowerFirst(m.in.name) + "Schema")
			if m.out != nil {
				m.out.decl.schemaVar = private.fresh(lowerFirst(m.out.decl.name) + "Schema")
			}
			c.methods = append(c.methods, m)
			p.decls = append(p.decls, decls...)
		}
		p.clients = append(p.clients, c)
	}
	finishDecls(p)
	return p, nil
}

// clientNames gives each server a Go name N, so that all NClient and NewNClient
// differ. Where the client of one server would be the constructor of another,
// the one that begins with New gets a hash. Like [scope.assign] it depends on
// the set of names alone.
func clientNames(servers []string, collided func(raw, got string)) map[string]string {
	got := newScope().assign(servers, "", "N", "Server", "", collided)
	plain := newScope(slices.Collect(maps.Values(got))...)
	used := maps.Clone(plain.used)
	for _, raw := range slices.Sorted(maps.Keys(got)) {
		n := got[raw]
		if t, ok := strings.CutPrefix(n, "New"); !ok || !plain.used[t] {
			continue
		}
		n += "X" + shortHash(raw)
		for used[n] || used["New"+n] || used[strings.TrimPrefix(n, "New")] {
			n += "X"
		}
		used[n] = true
		got[raw] = n
		collided(raw, n)
	}
	return got
}

// roots names the root types of one server's tools: prefix, tool, and Input
// or Output. A tool keeps its plain name only if all that is derived from it
// is free.
func (s *scope) roots(tools []string, prefix, clientName string, collided func(raw, got string)) map[string]string {
	s.take(clientName)
	s.take("New" + clientName)
	own := newScope()
	for u := range s.used {
		for _, suffix := range []string{"Input", "Output"} {
			if t, ok := strings.CutSuffix(u, suffix); ok {
				own.take(t)
			}
		}
	}
	got := own.assign(tools, prefix, "N", "Tool", "", collided)
	if prefix == "" {
		// assign makes names exported by itself only without a prefix.
		for k, v := range got {
			got[k] = exported(v, "N")
		}
	}
	for _, n := range got {
		s.take(clipIdent(n + "Input"))
		s.take(clipIdent(n + "Output"))
	}
	return got
}

// tool builds the model of one tool.
func (g *generator) tool(names *scope, server string, t catalog.Tool, goName string) (method, []*decl, error) {
	m := method{tool: t.Name, doc: doc{title: t.Title, text: t.Description}}
	d, err := t.Digest()
	if err != nil {
		return m, nil, &Error{Code: CodeNotJSON, Server: clipText(server, 120), Tool: clipText(t.Name, 120), Reason: "the tool is not valid JSON"}
	}
	m.contract = d.Contract
	if m.decoded = decodedDigest(t); m.decoded == m.contract {
		m.decoded = ""
	}
	in, err := g.side(names, server, t, Input, clipIdent(goName+"Input"))
	if err != nil {
		return m, nil, err
	}
	m.in = in.root
	decls := in.decls
	if len(t.OutputSchema) > 0 {
		out, err := g.side(names, server, t, Output, clipIdent(goName+"Output"))
		if err != nil {
			return m, nil, err
		}
		m.out = &goType{kind: namedType, decl: out.root}
		decls = append(decls, out.decls...)
	}
	return m, decls, nil
}

// decodedDigest is the digest of a tool's contract as a client computes it that
// has decoded the schemas, whose numbers are float64 then, and has dropped
// other members. It is empty where that cannot differ.
func decodedDigest(t catalog.Tool) string {
	if !bytes.Contains(t.Raw, []byte(`"execution"`)) && !longNumber(t.Raw) {
		return ""
	}
	tool := map[string]any{"name": t.Name}
	for name, raw := range map[string]json.RawMessage{"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema} {
		if len(raw) == 0 {
			continue
		}
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return ""
		}
		tool[name] = v
	}
	raw, err := json.Marshal(tool)
	if err != nil {
		return ""
	}
	decoded, err := catalog.ParseTool(raw)
	if err != nil {
		return ""
	}
	d, err := decoded.Digest()
	if err != nil {
		return ""
	}
	return d.Contract
}

// longNumber reports whether a text holds more digits in a row than every
// float64 can tell apart.
func longNumber(raw []byte) bool {
	run := 0
	for _, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			if run++; run > 15 {
				return true
			}
		case c == '.':
		default:
			run = 0
		}
	}
	return false
}

// reservedNames are the package-level identifiers that generated files need
// for themselves.
var reservedNames = []string{"Check", "Tools"}

// reservedMethods are what no method of a tool may be called: the methods that
// a client has beside them, and those of well-known interfaces, since go vet
// wants these to have the signatures of the interfaces.
var reservedMethods = []string{
	"Check",
	"As", "Format", "GobDecode", "GobEncode", "Is", "MarshalJSON", "MarshalXML", "Peek", "ReadByte", "ReadFrom", "ReadRune",
	"Scan", "Seek", "UnmarshalJSON", "UnmarshalXML", "UnreadByte", "UnreadRune", "Unwrap", "WriteByte", "WriteTo",
}

// AsError returns the [*Error] in err's tree.
func AsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }

func sortStrings(s []string) { slices.Sort(s) }
