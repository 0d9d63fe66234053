package subschema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Dialect is a version of JSON Schema.
type Dialect uint8

// The dialects that are understood.
const (
	Draft202012 Dialect = iota
	Draft07
)

// The budgets of one schema; beyond them it is not compared.
const (
	MaxValues = 100_000
	MaxNodes  = 10_000
	MaxNest   = 128
)

// Document is one schema with everything that references in it can reach.
type Document struct {
	Root      *schemadoc.Value
	Dialect   Dialect
	resources map[string]*schemadoc.Value
	anchors   map[string]*schemadoc.Value // base#name
	base      map[*schemadoc.Value]string
	rootBase  string
	places    map[*schemadoc.Value]string
	compiled  map[compileKey]*progress
	enums     map[*schemadoc.Value]*formula // the same in every mode
	scopes    map[*schemadoc.Value]*scope
	depth     int
	locations int
}

// ErrDialect says that a schema is in a dialect that is not understood.
var ErrDialect = errors.New("the dialect in $schema is neither draft-07 nor 2020-12")

// NewDocument looks over a schema. The error says why it cannot be compared:
// an unknown dialect, or a budget that it breaks.
func NewDocument(root *schemadoc.Value) (*Document, error) {
	d := &Document{
		Root:      root,
		resources: make(map[string]*schemadoc.Value),
		anchors:   make(map[string]*schemadoc.Value),
		base:      make(map[*schemadoc.Value]string),
		places:    make(map[*schemadoc.Value]string),
		compiled:  make(map[compileKey]*progress),
		enums:     make(map[*schemadoc.Value]*formula),
		scopes:    make(map[*schemadoc.Value]*scope),
	}
	if s := root.Get("$schema"); s != nil {
		switch strings.TrimSuffix(strings.Replace(s.Str(), "http://", "https://", 1), "#") {
		case "https://json-schema.org/draft/2020-12/schema":
		case "https://json-schema.org/draft-07/schema":
			d.Dialect = Draft07
		default:
			return nil, ErrDialect
		}
	}
	values := 0
	if err := countValues(root, 0, &values); err != nil {
		return nil, err
	}
	nodes := 0
	if err := d.index(root, "", "", 0, &nodes); err != nil {
		return nil, err
	}
	d.rootBase = d.base[root]
	d.resources[d.rootBase] = root
	return d, nil
}

func countValues(v *schemadoc.Value, depth int, n *int) error {
	if *n++; *n > MaxValues {
		return fmt.Errorf("the schema has more than %d JSON values", MaxValues)
	}
	if depth > 4*MaxNest {
		return fmt.Errorf("the schema is nested deeper than %d levels", 4*MaxNest)
	}
	for _, item := range v.Items {
		if err := countValues(item, depth+1, n); err != nil {
			return err
		}
	}
	for _, m := range v.Members {
		if err := countValues(m.Value, depth+1, n); err != nil {
			return err
		}
	}
	return nil
}

// index notes where schemas stand, and what their identifiers are.
func (d *Document) index(v *schemadoc.Value, pointer, base string, depth int, nodes *int) error {
	if !v.Is(schemadoc.Object) {
		d.places[v] = pointer
		return nil
	}
	if *nodes++; *nodes > MaxNodes {
		return fmt.Errorf("the schema has more than %d subschemas", MaxNodes)
	}
	if depth > MaxNest {
		return fmt.Errorf("the schema is nested deeper than %d levels", MaxNest)
	}
	id := v.Get("$id").Str()
	if d.Dialect == Draft07 && v.Get("$ref") != nil {
		id = "" // siblings of a reference do not count there
	}
	if id != "" {
		whole, fragment, _ := strings.Cut(id, "#")
		if whole != "" {
			base = join(base, whole)
			d.resources[base] = v
		}
		if fragment != "" && d.Dialect == Draft07 {
			d.anchors[base+"#"+fragment] = v
		}
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if a := v.Get(keyword).Str(); a != "" && d.Dialect == Draft202012 {
			d.anchors[base+"#"+a] = v
		}
	}
	d.base[v], d.places[v] = base, pointer
	for step, sub := range v.Subschemas() {
		if err := d.index(sub, pointer+step.Pointer(), base, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// join resolves a reference without a fragment.
func join(base, ref string) string {
	r, err := url.Parse(ref)
	if err != nil {
		return ref
	}
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	return b.ResolveReference(r).String()
}

// single reports whether the document is one resource.
func (d *Document) single() bool {
	for _, r := range d.resources {
		if r != d.Root {
			return false
		}
	}
	return true
}

// Pointer returns where a schema stands in the document.
func (d *Document) Pointer(v *schemadoc.Value) string { return d.places[v] }

// Resolve returns what a reference in a schema refers to; nil if there is no
// such place in the document.
func (d *Document) Resolve(from *schemadoc.Value, ref string) *schemadoc.Value {
	base := d.base[from]
	whole, fragment, _ := strings.Cut(ref, "#")
	if whole != "" {
		base = join(base, whole)
	}
	target := d.resources[base]
	if target == nil {
		return nil
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if fragment == "" {
		return target
	}
	if !strings.HasPrefix(fragment, "/") {
		return d.anchors[base+"#"+fragment]
	}
	var pointer strings.Builder
	pointer.WriteString(d.places[target])
	for token := range strings.SplitSeq(fragment[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch {
		case target.Is(schemadoc.Object):
			target = target.Get(token)
		case target.Is(schemadoc.Array):
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(target.Items) {
				return nil
			}
			target = target.Items[i]
		default:
			return nil
		}
		if target == nil {
			return nil
		}
		pointer.WriteString("/" + schemadoc.EscapePointer(token))
	}
	if _, known := d.places[target]; !known {
		// It stands where no schema is expected, but is meant as one.
		nodes := 0
		if d.index(target, pointer.String(), base, 0, &nodes) != nil {
			return nil
		}
	}
	return target
}

// Part returns a schema with some keywords of another, in its place: what they
// refer to is what they would refer to there. It returns nil if the other has
// none of them.
func (d *Document) Part(v *schemadoc.Value, keywords ...string) *schemadoc.Value {
	part := &schemadoc.Value{Kind: schemadoc.Object}
	for _, k := range keywords {
		if value := v.Get(k); value != nil && !IsNoise(v, k) {
			part.Members = append(part.Members, schemadoc.Member{Name: k, Value: value})
		}
	}
	if len(part.Members) == 0 {
		return nil
	}
	d.base[part], d.places[part] = d.base[v], d.places[v]
	return part
}

// Describes reports whether any of the schemas that apply to one value with v
// speaks of a member of that name.
func (d *Document) Describes(v *schemadoc.Value, name string) bool {
	sc := d.scope(v)
	if sc.names[name] {
		return true
	}
	for p := range sc.patterns {
		if m := newMachine(p); m.re == nil || m.re.MatchString(name) {
			return true
		}
	}
	return false
}
