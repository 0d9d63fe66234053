package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// Notation has the signs of signatures that are not in ASCII.
type Notation struct{ Arrow, More string }

// The notations: what is printed, and what where the locale has no more than
// ASCII.
var (
	Unicode = Notation{"→", "…"}
	ASCII   = Notation{"->", "..."}
)

// Signature describes a tool in one line, in the notation that most people
// read: name(required: string, optional?: integer) → {member: type}. It is for
// the eye: what does not fit is cut with an ellipsis, and what a type cannot
// say is left out.
func (n Notation) Signature(t catalog.Tool) string {
	s := n.Call(t)
	if t.OutputSchema != nil {
		s += " " + n.Arrow + " " + n.result(t.OutputSchema)
	}
	return s
}

// Call is the part of a signature that says how a tool is called.
func (n Notation) Call(t catalog.Tool) string { return t.Name + "(" + n.params(t.InputSchema) + ")" }

const (
	mostParams  = 12   // parameters of a tool
	mostMembers = 5    // members of an object inside
	mostEnum    = 5    // values of an enumeration
	mostDepth   = 2    // objects within objects
	mostRefs    = 16   // references in a row
	mostSteps   = 2000 // schemas looked at for one signature
)

// describer writes types of one document.
type describer struct {
	Notation
	root  *schemadoc.Value
	enum  int // values of an enumeration, kinds of a union
	steps int // left, since references can multiply a small schema endlessly
}

func (n Notation) parse(schema []byte) (*describer, bool) {
	// Nobody reads a signature of a larger schema.
	root, err := schemadoc.Parse(schema, schemadoc.Limits{Values: 100_000, Depth: 512})
	return &describer{n, root, mostEnum, mostSteps}, err == nil
}

func (n Notation) params(schema []byte) string {
	d, ok := n.parse(schema)
	if !ok {
		return n.More
	}
	root := d.resolve(d.root)
	if members := d.members(root, mostParams, 0); members != "" {
		return members
	}
	if root.Is(schemadoc.Object) && (root.Get("anyOf") != nil || root.Get("oneOf") != nil || root.Get("allOf") != nil) {
		return d.typ(root, 0)
	}
	return ""
}

func (n Notation) result(schema []byte) string {
	d, ok := n.parse(schema)
	if !ok {
		return n.More
	}
	return d.typ(d.root, 0)
}

// properties returns the members of an object, the required ones first, each
// kind in the server's order.
func properties(v *schemadoc.Value) (all []schemadoc.Member, required map[string]bool) {
	properties := v.Get("properties")
	if !properties.Is(schemadoc.Object) {
		return nil, nil
	}
	required = make(map[string]bool)
	if list := v.Get("required"); list != nil {
		for _, name := range list.Items {
			required[name.Str()] = true
		}
	}
	all = slices.Clone(properties.Members)
	slices.SortStableFunc(all, func(a, b schemadoc.Member) int {
		return cmp.Compare(rank(required[a.Name]), rank(required[b.Name]))
	})
	return all, required
}

// members lists the members of an object.
func (d *describer) members(v *schemadoc.Value, most, depth int) string {
	all, required := properties(v)
	var parts []string
	for i, m := range all {
		if i == most {
			parts = append(parts, d.More)
			break
		}
		name := label(m.Name)
		if !required[m.Name] {
			name += "?"
		}
		parts = append(parts, name+": "+d.typ(m.Value, depth+1))
	}
	return strings.Join(parts, ", ")
}

// label writes the name of a member, in quotes where it would be read as
// something else: as nothing, as two names, or as part of the notation.
func label(name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`:;,?|=(){}[]<>"'`, r)
	}) {
		return strconv.Quote(name)
	}
	return name
}

func rank(required bool) int {
	if required {
		return 0
	}
	return 1
}

// resolve follows local references.
func (d *describer) resolve(v *schemadoc.Value) *schemadoc.Value {
	for range mostRefs {
		ref := v.Get("$ref").Str()
		if ref == "" {
			return v
		}
		target := d.at(ref)
		if target == nil {
			return v
		}
		v = target
	}
	return nil
}

func (d *describer) at(ref string) *schemadoc.Value {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	v := d.root
	for token := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		v = v.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return v
}

func (d *describer) typ(v *schemadoc.Value, depth int) string {
	if d.steps--; d.steps < 0 || depth > 2*mostDepth+4 {
		return d.More
	}
	v = d.resolve(v)
	if !v.Is(schemadoc.Object) {
		if v.Is(schemadoc.Bool) && !v.Bool {
			return "never"
		}
		return "any"
	}
	if c := v.Get("const"); c != nil {
		return literal(c)
	}
	if e := v.Get("enum"); e.Is(schemadoc.Array) && len(e.Items) > 0 {
		var parts []string
		for i, item := range e.Items {
			if i == d.enum {
				parts = append(parts, d.More)
				break
			}
			parts = append(parts, literal(item))
		}
		return strings.Join(parts, "|")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := v.Get(keyword); list.Is(schemadoc.Array) && len(list.Items) > 0 && v.Get("properties") == nil {
			return d.union(list.Items, depth)
		}
	}
	if list := v.Get("allOf"); list.Is(schemadoc.Array) && len(list.Items) == 1 && v.Get("type") == nil {
		return d.typ(list.Items[0], depth+1)
	}
	switch t := v.Get("type"); {
	case t.Is(schemadoc.Array):
		var parts []string
		for _, item := range t.Items[:min(len(t.Items), d.enum)] {
			if k := d.kind(v, item.Str(), depth); !slices.Contains(parts, k) {
				parts = append(parts, k)
			}
		}
		return strings.Join(parts, "|")
	case t.Is(schemadoc.String):
		return d.kind(v, t.Text, depth)
	case v.Get("properties") != nil:
		return d.kind(v, "object", depth)
	case v.Get("items") != nil:
		return d.kind(v, "array", depth)
	}
	return "any"
}

func (d *describer) union(items []*schemadoc.Value, depth int) string {
	var parts []string
	for _, item := range items {
		if depth >= mostDepth+2 || d.steps < 0 {
			return d.More
		}
		if len(parts) > d.enum {
			break
		}
		if t := d.typ(item, depth+1); !slices.Contains(parts, t) {
			parts = append(parts, t)
		}
	}
	if len(parts) > d.enum {
		parts = append(parts[:d.enum], d.More)
	}
	return strings.Join(parts, "|")
}

func (d *describer) kind(v *schemadoc.Value, name string, depth int) string {
	switch name {
	case "array":
		if depth > mostDepth+2 {
			return "any[]"
		}
		items := v.Get("items")
		if items == nil || items.Is(schemadoc.Array) {
			return "any[]"
		}
		t := d.typ(items, depth+1)
		if strings.Contains(t, "|") && !strings.HasPrefix(t, "{") {
			t = "(" + t + ")"
		}
		return t + "[]"
	case "object":
		if depth > mostDepth {
			return "{" + d.More + "}"
		}
		if members := d.members(v, mostMembers, depth); members != "" {
			return "{" + members + "}"
		}
		if extra := v.Get("additionalProperties"); extra.Is(schemadoc.Object) {
			return "{[name]: " + d.typ(extra, depth+1) + "}"
		}
		return "object"
	case "":
		return "any"
	}
	return name
}

// literal writes a constant. Long and nested ones say no more than their kind.
func literal(v *schemadoc.Value) string {
	const longest = 30
	if v.Is(schemadoc.Object) || v.Is(schemadoc.Array) || len(v.Text) > longest {
		return v.Kind.String()
	}
	return string(v.AppendCanonical(nil))
}
