package typegen

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// dialect is the draft by whose rules a schema is read. Later drafts than
// 2020-12 do not exist, earlier ones than draft-07 read like it.
type dialect uint8

const (
	draft2020 dialect = iota
	draft2019
	draft07
)

// dialectOf reads a $schema.
func dialectOf(schema string) (dialect, bool) {
	s := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(schema, "https://"), "http://"), "#")
	switch s {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema":
		return draft2020, true
	case "json-schema.org/draft/2019-09/schema":
		return draft2019, true
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema":
		return draft07, true
	}
	return draft2020, false
}

// node is one schema at its place in a document.
type node struct {
	v       *schemadoc.Value
	parent  *node
	step    string // JSON pointer from the parent
	key     uint64 // hash of the whole pointer: an order that no text decides
	res     *resource
	names   []string // what a type at this place is named after, below the root
	tooDeep bool
}

// child makes the node of a value below n.
func (n *node) child(v *schemadoc.Value, step string) *node {
	return &node{v: v, parent: n, step: step, key: mix(n.key, step), res: n.res}
}

// mix hashes one more text into a key (FNV-1a).
func mix(key uint64, s string) uint64 {
	if key == 0 {
		key = 14695981039346656037
	}
	for i := range len(s) {
		key = (key ^ uint64(s[i])) * 1099511628211
	}
	return (key ^ '/') * 1099511628211
}

// definition is the name of the definition that n is, or "".
func (n *node) definition() string {
	for _, p := range []string{"/$defs/", "/definitions/"} {
		if name, ok := strings.CutPrefix(n.step, p); ok && !strings.Contains(name, "/") {
			s, _ := unescapePointer(name)
			return s
		}
	}
	return ""
}

const (
	maxStep    = 200  // runes of one step in a pointer of a message
	maxPointer = 4000 // runes of a whole one
)

// pointer is the JSON pointer of n for messages. It is made only when asked
// for, since names may be long and below one another.
func (n *node) pointer() string {
	var steps []string
	size := 0
	for ; n.parent != nil; n = n.parent {
		s := clipText(n.step, maxStep)
		if size += len(s); size > maxPointer {
			steps = append(steps, "/…")
			break
		}
		steps = append(steps, s)
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}

// resource is a part of a document with a URI of its own ($id).
type resource struct {
	base    *url.URL
	root    *node
	dialect dialect
	anchors map[string]*node
	dynamic map[string]*node
}

// document is one schema text with an index of its subschemas. References are
// resolved inside it and nowhere else.
type document struct {
	root      *node
	nodes     map[*schemadoc.Value]*node
	resources map[string]*resource
	all       []*resource
	unknown   string // a $schema that is not known
	draft04   bool   // $id is spelled id
	deep      *node  // the first place that is too deep
	count     int
}

// newDocument indexes a schema. Budgets for nodes and depth are applied here,
// while nothing has been made of the schema yet.
func newDocument(v *schemadoc.Value, b Budgets) (*document, *refusal) {
	d := &document{nodes: make(map[*schemadoc.Value]*node), resources: map[string]*resource{}}
	base := &url.URL{}
	res := &resource{base: base, anchors: map[string]*node{}, dynamic: map[string]*node{}}
	d.root = &node{v: v, res: res}
	res.root = d.root
	d.resources[""] = res
	d.all = append(d.all, res)
	if s := v.Get("$schema"); s.Is(schemadoc.String) {
		var ok bool
		if res.dialect, ok = dialectOf(s.Text); !ok {
			d.unknown = s.Text
		}
		d.draft04 = strings.Contains(s.Text, "draft-04")
	}
	if !d.index(d.root, 0, b) {
		return nil, &refusal{CodeBudgetNodes, "the schema has more than " + thousands(b.Nodes) + " subschemas, so it is not looked at", false}
	}
	return d, nil
}

// index registers n and everything below. It reports whether the budget of
// nodes holds. Recursion is bounded by the depth budget.
func (d *document) index(n *node, depth int, b Budgets) bool {
	d.nodes[n.v] = n
	if n.v.Kind != schemadoc.Object {
		return true
	}
	if d.count++; d.count > b.Nodes {
		return false
	}
	d.identify(n)
	if depth >= b.Depth && hasSubschema(n.v) {
		n.tooDeep = true
		if d.deep == nil || n.key < d.deep.key {
			d.deep = n
		}
		return true
	}
	for step, sub := range n.v.Subschemas() {
		c := n.child(sub, step.Pointer())
		c.names = stepNames(n.names, step)
		if !d.index(c, depth+1, b) {
			return false
		}
	}
	return true
}

func hasSubschema(v *schemadoc.Value) bool {
	for _, sub := range v.Subschemas() {
		if sub.Is(schemadoc.Object) {
			return true
		}
	}
	return false
}

// identify reads $id and anchors.
func (d *document) identify(n *node) {
	v := n.v
	id := v.Get("$id")
	if !id.Is(schemadoc.String) && d.draft04 {
		id = v.Get("id")
	}
	// In draft-07 everything beside $ref is ignored, $id included.
	hidden := n.res.dialect == draft07 && v.Get("$ref").Is(schemadoc.String)
	if id.Is(schemadoc.String) && !hidden {
		u, err := n.res.base.Parse(id.Text)
		switch {
		case err != nil:
		case u.Fragment != "" && strings.HasPrefix(id.Text, "#"):
			// Draft-07 spells anchors as an $id that is only a fragment.
			n.res.anchors[u.Fragment] = n
		case n == d.root:
			u.Fragment = ""
			n.res.base = u
			d.resources[u.String()] = n.res
		default:
			u.Fragment = ""
			r := &resource{base: u, root: n, dialect: n.res.dialect, anchors: map[string]*node{}, dynamic: map[string]*node{}}
			if s := v.Get("$schema"); s.Is(schemadoc.String) {
				if dl, ok := dialectOf(s.Text); ok {
					r.dialect = dl
				}
			}
			n.res = r
			if _, dup := d.resources[u.String()]; !dup {
				d.resources[u.String()] = r
			}
			d.all = append(d.all, r)
		}
	}
	if a := v.Get("$anchor"); a.Is(schemadoc.String) {
		n.res.anchors[a.Text] = n
	}
	if a := v.Get("$dynamicAnchor"); a.Is(schemadoc.String) {
		n.res.anchors[a.Text] = n
		n.res.dynamic[a.Text] = n
	}
}

// refOutcome says how the resolution of a reference ended.
type refOutcome uint8

const (
	refFound refOutcome = iota
	refExternal
	refMissing
)

// resolve finds the target of a reference that stands in n.
func (d *document) resolve(n *node, ref string) (*node, refOutcome) {
	u, err := n.res.base.Parse(ref)
	if err != nil {
		return nil, refMissing
	}
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	res := n.res
	if !strings.HasPrefix(ref, "#") {
		var ok bool
		if res, ok = d.resources[u.String()]; !ok {
			return nil, refExternal
		}
	}
	if fragment == "" {
		return res.root, refFound
	}
	if !strings.HasPrefix(fragment, "/") {
		if t, ok := res.anchors[fragment]; ok {
			return t, refFound
		}
		return nil, refMissing
	}
	t, outcome := d.at(res.root, fragment)
	if outcome == refMissing && res != d.all[0] && strings.HasPrefix(ref, "#") {
		// Schemas put together from others often keep an $id inside while
		// their references mean the whole document.
		return d.at(d.root, fragment)
	}
	return t, outcome
}

// at follows a JSON pointer (RFC 6901) from a node.
func (d *document) at(from *node, pointer string) (*node, refOutcome) {
	v, near := from.v, from
	names := from.names
	for tok := range strings.SplitSeq(pointer[1:], "/") {
		name, ok := unescapePointer(tok)
		if !ok {
			return nil, refMissing
		}
		switch v.Kind {
		case schemadoc.Object:
			v = v.Get(name)
		case schemadoc.Array:
			i, ok := arrayIndex(name)
			if !ok || i >= len(v.Items) {
				return nil, refMissing
			}
			v = v.Items[i]
		default:
			return nil, refMissing
		}
		if v == nil {
			return nil, refMissing
		}
		if schemadoc.Keyword(name) == schemadoc.HoldsNone {
			names = append(names[:len(names):len(names)], name)
		}
		if n := d.nodes[v]; n != nil {
			near, names = n, n.names
		}
	}
	if n := d.nodes[v]; n != nil {
		return n, refFound
	}
	if v.Kind != schemadoc.Object && v.Kind != schemadoc.Bool {
		return nil, refMissing
	}
	// A schema where no keyword holds one: legal as a target, if unusual.
	n := from.child(v, pointer)
	n.res, n.names = near.res, names
	d.nodes[v] = n
	d.index(n, 0, Budgets{Nodes: d.count + 1000, Depth: 64})
	return n, refFound
}

// dynamicTarget resolves a $dynamicRef. Which of several dynamic anchors it
// means depends on the path of evaluation, so it has a type only where all
// paths lead to one.
func (d *document) dynamicTarget(n *node, ref string) (*node, refOutcome, bool) {
	t, outcome := d.resolve(n, ref)
	if outcome != refFound {
		return nil, outcome, true
	}
	_, frag, _ := strings.Cut(ref, "#")
	if t.res.dynamic[frag] != t {
		return t, refFound, true // like a plain reference
	}
	var only *node
	for _, r := range d.all {
		if a := r.dynamic[frag]; a != nil {
			if only != nil && only != a {
				return nil, refFound, false
			}
			only = a
		}
	}
	return only, refFound, true
}

func unescapePointer(tok string) (string, bool) {
	if !strings.Contains(tok, "~") {
		return tok, true
	}
	var b strings.Builder
	for i := 0; i < len(tok); i++ {
		if tok[i] != '~' {
			b.WriteByte(tok[i])
			continue
		}
		i++
		switch {
		case i < len(tok) && tok[i] == '0':
			b.WriteByte('~')
		case i < len(tok) && tok[i] == '1':
			b.WriteByte('/')
		default:
			return "", false
		}
	}
	return b.String(), true
}

func arrayIndex(s string) (int, bool) {
	if s == "" || len(s) > 6 || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// stepNames are the names of a type one step further down.
func stepNames(names []string, s schemadoc.Step) []string {
	add := ""
	switch s.Keyword {
	case "properties", "$defs", "definitions":
		add = s.Name
	case "items", "additionalItems", "unevaluatedItems", "contains":
		add = "item"
	case "additionalProperties", "patternProperties", "unevaluatedProperties":
		add = "value"
	case "prefixItems":
		add = "F" + itoa(s.Index)
	default:
		return names
	}
	if len(add) > maxIdent {
		add = clipIdent(goName(add))
	}
	return append(names[:len(names):len(names)], add)
}
