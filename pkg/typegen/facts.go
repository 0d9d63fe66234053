package typegen

import (
	"math/big"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// kindSet is a set of kinds of JSON values. Integers are apart from other
// numbers, since Go has a type for them.
type kindSet uint8

const (
	kNull kindSet = 1 << iota
	kBool
	kInt
	kFrac
	kString
	kArray
	kObject

	kNumber = kInt | kFrac
	kAll    = kNull | kBool | kNumber | kString | kArray | kObject
)

// typeKinds are the names that the keyword type knows.
var typeKinds = map[string]kindSet{
	"null": kNull, "boolean": kBool, "integer": kInt, "number": kNumber,
	"string": kString, "array": kArray, "object": kObject,
}

func kindOf(v *schemadoc.Value) kindSet {
	switch v.Kind {
	case schemadoc.Null:
		return kNull
	case schemadoc.Bool:
		return kBool
	case schemadoc.String:
		return kString
	case schemadoc.Array:
		return kArray
	case schemadoc.Object:
		return kObject
	case schemadoc.Number:
		if isInteger(v.Text) {
			return kInt
		}
		return kFrac
	}
	return 0
}

// isInteger reports whether a number has no fraction, however it is spelled.
func isInteger(text string) bool {
	c := schemadoc.CanonicalNumber(text)
	if _, after, ok := strings.Cut(c, "e"); ok {
		return !strings.HasPrefix(after, "-")
	}
	return !strings.Contains(c, ".")
}

// facts is what a set of schemas says that must all hold: allOf, references
// and their siblings flattened into one. Only what decides on types is here;
// the rest is checked at run time.
type facts struct {
	nodes []*node // where it was said, in reading order

	kinds kindSet
	typed bool // a type keyword was seen
	never bool // a false schema was seen
	wide  bool // something could not be read; reported already

	enum    []*schemadoc.Value
	hasEnum bool

	props    map[string]*prop
	required map[string]bool
	patterns []pattern
	objects  []*objectScope
	// addl are the schemas of additional members, all of which must hold.
	addl     []*node
	addlSaid bool // additionalProperties or a pattern was seen
	closed   bool
	uneval   []unevaluated

	arrays   []*arrayScope
	minItems int
	minimum  *big.Rat
	maximum  *big.Rat
	format   string

	unions []unionGroup
	skip   map[*schemadoc.Value]bool // schemas whose alternatives are accounted for
	cond   []*node
	// branches is set where something applies only to some values.
	branches bool
	runtime  []string // keywords that are left to run time, at nodes[0]
}

// unevaluated is one unevaluatedProperties and the schema it stands in.
type unevaluated struct{ owner, schema *node }

type prop struct {
	nodes []*node
	never bool
}

type pattern struct {
	re    string
	nodes []*node
}

// objectScope is what one schema object says about members. Its
// additionalProperties speaks of the members that this very object does not
// name.
type objectScope struct {
	names    *schemadoc.Value
	patterns []string
	addl     *node
}

type arrayScope struct {
	prefix []*node
	items  *node
}

type unionGroup struct {
	keyword  string
	owner    *node
	branches []*node
}

// collector flattens schemas into facts.
type collector struct {
	w     *walker
	f     *facts
	stack map[*schemadoc.Value]bool // being read
	done  map[*schemadoc.Value]bool
}

// collect reads what nodes say together.
func (w *walker) collect(nodes []*node) *facts {
	f := &facts{kinds: kAll}
	c := collector{w: w, f: f}
	for _, n := range nodes {
		c.read(n)
	}
	f.settle(w)
	return f
}

func (c *collector) read(n *node) {
	v := n.v
	c.w.work++
	if c.done[v] {
		return
	}
	if c.stack[v] {
		c.w.cycle(n)
		c.f.wide = true
		return
	}
	switch v.Kind {
	case schemadoc.Bool:
		if !v.Bool {
			c.f.never = true
		}
		c.f.nodes = append(c.f.nodes, n)
		return
	case schemadoc.Object:
	default:
		c.w.warn(n, CodeNotSchema, "", "a "+v.Kind.String()+" stands where a schema belongs, so any value is taken")
		c.f.wide = true
		return
	}
	if n.tooDeep {
		c.f.wide = true // reported when the document was read
		return
	}
	c.f.nodes = append(c.f.nodes, n)
	if len(v.Members) == 0 {
		return
	}
	if c.stack == nil {
		c.stack, c.done = map[*schemadoc.Value]bool{}, map[*schemadoc.Value]bool{}
	}
	c.stack[v] = true
	c.object(n)
	delete(c.stack, v)
	c.done[v] = true
}

func (c *collector) object(n *node) {
	f, v := c.f, n.v
	if ref := v.Get("$ref"); ref != nil {
		if t := c.w.target(n, "$ref", ref); t != nil {
			c.read(t)
		}
		if n.res.dialect == draft07 && ref.Is(schemadoc.String) {
			return // siblings of $ref are ignored
		}
	}
	scope := &objectScope{}
	array := &arrayScope{}
	var addlItems *node
	for _, m := range sortedMembers(v) {
		switch m.Name {
		case "$dynamicRef", "$recursiveRef":
			if n.res.dialect == draft07 {
				continue
			}
			f.branches = true
			if t := c.w.target(n, m.Name, m.Value); t != nil {
				c.read(t)
			}
		case "type":
			c.types(n, m.Value)
		case "enum":
			if !m.Value.Is(schemadoc.Array) {
				c.malformed(n, "enum", "is no array")
				continue
			}
			f.intersect(m.Value.Items)
		case "const":
			f.intersect([]*schemadoc.Value{m.Value})
		case "properties":
			if !m.Value.Is(schemadoc.Object) {
				c.malformed(n, m.Name, "is no object")
				continue
			}
			scope.names = m.Value
			for _, p := range m.Value.Members {
				f.prop(p.Name).nodes = append(f.prop(p.Name).nodes, c.w.sub(n, p.Value, "properties", p.Name))
			}
		case "required":
			if !m.Value.Is(schemadoc.Array) {
				if !m.Value.Is(schemadoc.Bool) { // draft-03 wrote a boolean
					c.malformed(n, m.Name, "is no array")
				}
				continue
			}
			for _, r := range m.Value.Items {
				if r.Is(schemadoc.String) {
					if f.required == nil {
						f.required = map[string]bool{}
					}
					f.required[r.Text] = true
				}
			}
		case "patternProperties":
			if !m.Value.Is(schemadoc.Object) {
				c.malformed(n, m.Name, "is no object")
				continue
			}
			for _, p := range sortedMembers(m.Value) {
				scope.patterns = append(scope.patterns, p.Name)
				f.addPattern(p.Name, c.w.sub(n, p.Value, m.Name, p.Name))
			}
		case "additionalProperties":
			scope.addl = c.w.sub(n, m.Value, m.Name, "")
		case "unevaluatedProperties":
			if n.res.dialect != draft07 {
				f.uneval = append(f.uneval, unevaluated{n, c.w.sub(n, m.Value, m.Name, "")})
				c.runtime(n, m.Name)
			}
		case "items":
			if m.Value.Is(schemadoc.Array) {
				for i, it := range m.Value.Items {
					array.prefix = append(array.prefix, c.w.sub(n, it, m.Name, itoa(i)))
				}
			} else {
				array.items = c.w.sub(n, m.Value, m.Name, "")
			}
		case "prefixItems":
			if n.res.dialect != draft2020 {
				continue
			}
			if !m.Value.Is(schemadoc.Array) {
				c.malformed(n, m.Name, "is no array")
				continue
			}
			for i, it := range m.Value.Items {
				array.prefix = append(array.prefix, c.w.sub(n, it, m.Name, itoa(i)))
			}
		case "additionalItems":
			addlItems = c.w.sub(n, m.Value, m.Name, "")
		case "minItems":
			if k, ok := smallInt(m.Value); ok {
				f.minItems = max(f.minItems, k)
			}
		case "minimum", "exclusiveMinimum":
			if r := bound(m.Value); r != nil && (f.minimum == nil || r.Cmp(f.minimum) > 0) {
				f.minimum = r
			}
		case "maximum", "exclusiveMaximum":
			if r := bound(m.Value); r != nil && (f.maximum == nil || r.Cmp(f.maximum) < 0) {
				f.maximum = r
			}
		case "format":
			if f.format == "" {
				f.format = m.Value.Str()
			}
		case "allOf":
			if !m.Value.Is(schemadoc.Array) {
				c.malformed(n, m.Name, "is no array")
				continue
			}
			for i, s := range m.Value.Items {
				c.read(c.w.sub(n, s, m.Name, itoa(i)))
			}
		case "if":
			// Members that only the condition names are members all the same.
			f.branches = true
			if v.Get("then") != nil || v.Get("else") != nil {
				f.cond = append(f.cond, c.w.sub(n, m.Value, m.Name, ""))
			}
		case "anyOf", "oneOf":
			f.branches = true
			if !m.Value.Is(schemadoc.Array) || len(m.Value.Items) == 0 {
				c.malformed(n, m.Name, "is no array of schemas")
				continue
			}
			if f.skip[v] {
				continue
			}
			g := unionGroup{keyword: m.Name, owner: n}
			for i, s := range m.Value.Items {
				g.branches = append(g.branches, c.w.sub(n, s, m.Name, itoa(i)))
			}
			f.unions = append(f.unions, g)
		case "then", "else":
			if v.Get("if") != nil {
				f.cond = append(f.cond, c.w.sub(n, m.Value, m.Name, ""))
				c.runtime(n, "if")
			}
		case "dependentSchemas", "dependencies":
			f.branches = true
			if !m.Value.Is(schemadoc.Object) {
				c.malformed(n, m.Name, "is no object")
				continue
			}
			for _, s := range sortedMembers(m.Value) {
				if !s.Value.Is(schemadoc.Array) {
					f.cond = append(f.cond, c.w.sub(n, s.Value, m.Name, s.Name))
				}
			}
			c.runtime(n, m.Name)
		case "not", "contains", "dependentRequired", "unevaluatedItems", "uniqueItems":
			c.runtime(n, m.Name)
		case "propertyNames":
			if !plainNames(m.Value) {
				c.runtime(n, m.Name)
			}
		}
	}
	if addlItems != nil && len(array.prefix) > 0 && v.Get("prefixItems") == nil {
		array.items = addlItems
	}
	if scope.names != nil || scope.patterns != nil || scope.addl != nil {
		f.objects = append(f.objects, scope)
	}
	if array.prefix != nil || array.items != nil {
		f.arrays = append(f.arrays, array)
	}
}

func (c *collector) types(n *node, v *schemadoc.Value) {
	var set kindSet
	switch v.Kind {
	case schemadoc.String:
		set = typeKinds[v.Text]
	case schemadoc.Array:
		for _, t := range v.Items {
			set |= typeKinds[t.Str()]
			if t.Is(schemadoc.String) && typeKinds[t.Text] == 0 {
				set = 0
				break
			}
		}
	}
	if set == 0 {
		c.malformed(n, "type", "names no JSON type")
		return
	}
	c.f.kinds &= set
	c.f.typed = true
}

func (c *collector) malformed(n *node, keyword, what string) {
	c.w.warn(n, CodeMalformed, keyword, keyword+" "+what+", so it is ignored")
}

func (c *collector) runtime(n *node, keyword string) {
	c.w.runtimeNote(n, keyword)
	c.f.runtime = append(c.f.runtime, keyword)
}

// plainNames reports whether propertyNames only says that names are strings,
// as schemas made from records do.
func plainNames(v *schemadoc.Value) bool {
	if v.Is(schemadoc.Bool) {
		return v.Bool
	}
	for _, m := range v.Members {
		if m.Name != "type" || m.Value.Str() != "string" {
			return false
		}
	}
	return true
}

func (f *facts) prop(name string) *prop {
	p := f.props[name]
	if p == nil {
		if f.props == nil {
			f.props = map[string]*prop{}
		}
		p = &prop{}
		f.props[name] = p
	}
	return p
}

func (f *facts) addPattern(re string, n *node) {
	for i := range f.patterns {
		if f.patterns[i].re == re {
			f.patterns[i].nodes = append(f.patterns[i].nodes, n)
			return
		}
	}
	f.patterns = append(f.patterns, pattern{re, []*node{n}})
}

// intersect narrows the enumerated values.
func (f *facts) intersect(values []*schemadoc.Value) {
	if !f.hasEnum {
		f.hasEnum = true
		f.enum = slices.Clone(values)
		return
	}
	have := map[string]bool{}
	for _, v := range values {
		have[string(v.AppendCanonical(nil))] = true
	}
	f.enum = slices.DeleteFunc(f.enum, func(v *schemadoc.Value) bool { return !have[string(v.AppendCanonical(nil))] })
}

// settle draws the conclusions that need all schemas at once.
func (f *facts) settle(w *walker) {
	for _, o := range f.objects {
		if o.addl == nil {
			continue
		}
		f.addlSaid = true
		no := o.addl.v.Is(schemadoc.Bool) && !o.addl.v.Bool
		if no {
			f.closed = true
		} else {
			f.addl = append(f.addl, o.addl)
		}
		if len(f.objects) == 1 {
			break
		}
		// What this object does not name is an additional member to it, even
		// where another one names it.
		for name, p := range f.props {
			if o.names.Get(name) != nil || w.g.matchesAny(o.patterns, name) {
				continue
			}
			if no {
				p.never = true
			} else {
				p.nodes = append(p.nodes, o.addl)
			}
		}
	}
	if len(f.patterns) > 0 {
		f.addlSaid = true
		slices.SortFunc(f.patterns, func(a, b pattern) int { return strings.Compare(a.re, b.re) })
		for name, p := range f.props {
			for _, pt := range f.patterns {
				if w.g.matchesAny([]string{pt.re}, name) {
					p.nodes = append(p.nodes, pt.nodes...)
				}
			}
		}
	}
	// What is evaluated depends on which branches apply. It is known here only
	// where there are none, and for the outermost schema, which sees all.
	if len(f.uneval) == 1 && f.uneval[0].owner == f.nodes[0] && !f.branches && !f.closed && len(f.addl) == 0 {
		if n := f.uneval[0].schema; n.v.Is(schemadoc.Bool) {
			f.closed = !n.v.Bool
		} else {
			f.addl = append(f.addl, n)
		}
		f.addlSaid = true
	}
	if f.hasEnum {
		var set kindSet
		f.enum = slices.DeleteFunc(f.enum, func(v *schemadoc.Value) bool {
			k := kindOf(v)
			if f.kinds&k == 0 {
				return true
			}
			set |= k
			return false
		})
		f.kinds &= set
	}
	if f.kinds == 0 {
		f.never = true
	}
}

// shape is the set of kinds that keywords speak of where no type is named.
func (f *facts) shape() kindSet {
	var k kindSet
	if len(f.objects) > 0 {
		k |= kObject
	}
	if len(f.arrays) > 0 {
		k |= kArray
	}
	return k
}

// declares reports whether properties was seen, be it empty.
func (f *facts) declares() bool {
	return slices.ContainsFunc(f.objects, func(o *objectScope) bool { return o.names != nil })
}

// says reports whether f tells more than an empty schema does.
func (f *facts) says() bool {
	return f.typed || f.hasEnum || f.never || len(f.objects) > 0 || len(f.arrays) > 0 || len(f.unions) > 0
}

// patterned reports whether a pattern takes a member.
func (f *facts) patterned(w *walker, name string) bool {
	for _, p := range f.patterns {
		if w.g.matchesAny([]string{p.re}, name) {
			return true
		}
	}
	return false
}

// sortedMembers are the members of an object by name.
func sortedMembers(v *schemadoc.Value) []schemadoc.Member {
	if v == nil {
		return nil
	}
	byName := func(a, b schemadoc.Member) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(v.Members, byName) {
		return v.Members
	}
	out := slices.Clone(v.Members)
	slices.SortFunc(out, byName)
	return out
}

func smallInt(v *schemadoc.Value) (int, bool) {
	r := rational(v)
	if r == nil || !r.IsInt() || r.Sign() < 0 || !r.Num().IsInt64() || r.Num().Int64() > 1<<20 {
		return 0, false
	}
	return int(r.Num().Int64()), true
}

// rational reads a number exactly, or returns nil where it is none or its
// exponent is out of all proportion.
func rational(v *schemadoc.Value) *big.Rat {
	if !v.Is(schemadoc.Number) || len(v.Text) > 400 {
		return nil
	}
	if i := strings.IndexAny(v.Text, "eE"); i >= 0 {
		if exp := strings.TrimLeft(v.Text[i+1:], "+-0"); len(exp) > 3 {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(v.Text)
	if !ok {
		return nil
	}
	return r
}

// farOut stands for every bound whose size is out of all proportion.
var farOut = new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(1000), nil))

// bound is rational for a number of which only its place matters: one that is
// too long to be read exactly is cut after its first digits, or is [farOut].
func bound(v *schemadoc.Value) *big.Rat {
	r := rational(v)
	if r != nil || !v.Is(schemadoc.Number) {
		return r
	}
	c := schemadoc.CanonicalNumber(v.Text)
	switch {
	case !strings.Contains(c, "e"):
		return rational(&schemadoc.Value{Kind: schemadoc.Number, Text: c[:min(len(c), 100)]})
	case strings.Contains(c, "e-"):
		return new(big.Rat)
	case strings.HasPrefix(c, "-"):
		return new(big.Rat).Neg(farOut)
	}
	return farOut
}
