package subschema

import (
	"math/big"
	"strconv"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// Mode says how a schema is read. The zero mode reads it as it is written; the
// others answer what a judge of changes wants to know beside that.
type Mode struct {
	// Extras is what is thought of members that an object does not describe
	// and does not speak of either.
	Extras Extras
	// Loose counts additionalProperties: true as not speaking of them, too.
	Loose bool
	// Open reads additionalProperties: false as if it were not there.
	Open bool
	// Defaults takes members that have a default as not required.
	Defaults bool
	// Noise ignores bounds of ±(2^53−1) on integers, which generators of
	// schemas add and which no program means.
	Noise bool
}

// Extras is a reading of objects that do not speak of further members.
type Extras uint8

// The readings.
const (
	Literal Extras = iota // anything goes, as JSON Schema has it
	Closed                // there are none
	Strange               // there is at most one of a name that nobody uses
	AllOut                // there are none, whatever the object says of them
)

// strange is a name that no schema describes.
const strange = "mcpctl/undescribed"

type compileKey struct {
	v    *schemadoc.Value
	m    Mode
	part bool // in place of another schema, not at a value of its own
}

// progress is a schema that is compiled, or being compiled.
type progress struct {
	f         *formula
	rec       *formula
	locations int // how many values deep it began
}

// Compile reads a schema of a document. Root tells whether it is the schema of
// all arguments or of the whole result.
func (s *Space) Compile(d *Document, v *schemadoc.Value, m Mode) Schema {
	c := compiler{Space: s, doc: d}
	return Schema{c.value(v, m)}
}

type compiler struct {
	*Space
	doc *Document
}

// value compiles the schema of a value.
func (c *compiler) value(v *schemadoc.Value, m Mode) *formula {
	return c.once(compileKey{v: v, m: m}, func() *formula {
		f := c.inPlace(v, m)
		if m.Extras != Literal {
			f = c.and(f, c.described(v, m))
		}
		return f
	})
}

// part compiles a schema that applies to the same value as another.
func (c *compiler) part(v *schemadoc.Value, m Mode) *formula {
	return c.once(compileKey{v: v, m: m, part: true}, func() *formula { return c.inPlace(v, m) })
}

// once compiles a schema once. Where it is met again inside itself there will
// be a recursive formula, unless that is for the same value: then the schema
// has no meaning.
func (c *compiler) once(k compileKey, compile func() *formula) *formula {
	if k.v.Is(schemadoc.Bool) {
		return c.boolean(k.v.Bool)
	}
	p, ok := c.doc.compiled[k]
	if !ok {
		if c.doc.depth > 4*MaxNest || !c.spend(4) {
			return c.opaque("deep "+strconv.Itoa(len(c.formulas)), "references that lead too deep")
		}
		p = &progress{locations: c.doc.locations}
		c.doc.compiled[k] = p
		c.doc.depth++
		if !k.part {
			c.doc.locations++
		}
		f := compile()
		if !k.part {
			c.doc.locations--
		}
		c.doc.depth--
		p.f = f
		if p.rec != nil {
			p.rec.kids = []*formula{f}
		}
		return f
	}
	if p.f != nil {
		return p.f
	}
	if k.part && c.doc.locations == p.locations {
		return c.opaque("circle "+c.doc.identity(k.v), "references that lead in a circle")
	}
	if p.rec == nil {
		p.rec = &formula{op: opRec, id: len(c.formulas)}
		c.formulas = append(c.formulas, p.rec)
	}
	return p.rec
}

// identity is a text that two schemas share only if they mean the same: their
// own, and those of all schemas that references in them lead to.
func (d *Document) identity(v *schemadoc.Value) string {
	var text []byte
	if d.Dialect == Draft07 {
		text = append(text, "draft-07 "...)
	}
	seen := map[*schemadoc.Value]bool{v: true}
	for queue := []*schemadoc.Value{v}; len(queue) > 0; queue = queue[1:] {
		text = append(queue[0].AppendContract(text), '\n')
		queue = d.targets(queue[0], queue, seen)
		if len(seen) > MaxNodes {
			return string(text) + d.Pointer(v) + string(d.Root.AppendContract(nil))
		}
	}
	if hasKeyword(v, "$dynamicRef") || hasKeyword(v, "$id") || len(seen) > 1 && hasKeyword(d.Root, "$id") {
		text = d.Root.AppendContract(append(text, d.Pointer(v)...))
	}
	return string(text)
}

// targets appends what the references in a schema lead to, but what was seen.
func (d *Document) targets(v *schemadoc.Value, to []*schemadoc.Value, seen map[*schemadoc.Value]bool) []*schemadoc.Value {
	if ref := v.Get("$ref"); ref.Is(schemadoc.String) {
		if target := d.Resolve(v, ref.Text); target != nil && !seen[target] {
			seen[target] = true
			to = append(to, target)
		}
	}
	for _, sub := range v.Subschemas() {
		to = d.targets(sub, to, seen)
	}
	return to
}

// hasKeyword reports whether a schema or one inside it has a keyword.
func hasKeyword(v *schemadoc.Value, keyword string) bool {
	if v.Get(keyword) != nil {
		return true
	}
	for _, sub := range v.Subschemas() {
		if hasKeyword(sub, keyword) {
			return true
		}
	}
	return false
}

// wrong stands for a keyword with a value that it cannot have.
func (c *compiler) wrong(v *schemadoc.Value, keyword string) *formula {
	value := v.Get(keyword)
	if value == nil {
		value = v
	}
	return c.opaque("wrong "+keyword+" "+key(value), "the value of "+strconv.Quote(keyword)+" is not valid there")
}

func (c *compiler) inPlace(v *schemadoc.Value, m Mode) *formula {
	switch {
	case v.Is(schemadoc.Bool):
		return c.boolean(v.Bool)
	case !v.Is(schemadoc.Object):
		return c.opaque("wrong "+key(v), "something stands in the place of a schema that is none")
	}
	var all []*formula
	if ref := v.Get("$ref"); ref != nil {
		all = append(all, c.reference(v, ref, m))
		if c.doc.Dialect == Draft07 {
			return all[0]
		}
	}
	if ref := v.Get("$dynamicRef"); ref != nil && c.doc.Dialect == Draft202012 {
		if ref.Is(schemadoc.String) && c.doc.single() {
			// Where all is one resource there is one place that it can mean.
			all = append(all, c.reference(v, ref, m))
		} else {
			all = append(all, c.opaque("$dynamicRef "+c.doc.identity(v), "$dynamicRef between schemas with an $id is not compared"))
		}
	}
	all = append(all, c.types(v), c.values(v))
	all = append(all, c.numbers(v, m)...)
	all = append(all, c.strings(v)...)
	all = append(all, c.arrays(v, m)...)
	all = append(all, c.objects(v, m)...)
	all = append(all, c.combinations(v, m)...)
	return c.and(all...)
}

func (c *compiler) reference(v, ref *schemadoc.Value, m Mode) *formula {
	if !ref.Is(schemadoc.String) {
		return c.wrong(v, "$ref")
	}
	target := c.doc.Resolve(v, ref.Text)
	if target == nil {
		return c.opaque("ref "+ref.Text+" "+c.doc.rootBase, "a reference does not resolve")
	}
	return c.part(target, m)
}

var kindNames = map[string]schemadoc.Kind{
	"null": schemadoc.Null, "boolean": schemadoc.Bool, "number": schemadoc.Number, "integer": schemadoc.Number,
	"string": schemadoc.String, "array": schemadoc.Array, "object": schemadoc.Object,
}

// typeNames lists the types of a schema; ok is false where they are not valid.
func typeNames(v *schemadoc.Value) (names []string, ok bool) {
	t := v.Get("type")
	items := []*schemadoc.Value{t}
	if t.Is(schemadoc.Array) {
		items = t.Items
	}
	for _, item := range items {
		if kindNames[item.Str()] == schemadoc.Invalid {
			return nil, false
		}
		names = append(names, item.Text)
	}
	return names, len(names) > 0
}

func (c *compiler) types(v *schemadoc.Value) *formula {
	if v.Get("type") == nil {
		return c.truth
	}
	names, ok := typeNames(v)
	if !ok {
		return c.wrong(v, "type")
	}
	var mask kinds
	integer, number := false, false
	for _, n := range names {
		mask |= kindBit(kindNames[n])
		integer = integer || n == "integer"
		number = number || n == "number"
	}
	f := c.kindsOf(mask)
	if integer && !number {
		f = c.and(f, c.multiple(big.NewRat(1, 1)))
	}
	return f
}

func (c *compiler) multiple(n *big.Rat) *formula {
	return c.intern(&formula{op: opMultiple, num: n})
}

func (c *compiler) values(v *schemadoc.Value) *formula {
	if v.Get("enum") == nil && v.Get("const") == nil {
		return c.truth
	}
	if f := c.doc.enums[v]; f != nil {
		return f
	}
	f := c.constants(v)
	c.doc.enums[v] = f
	return f
}

func (c *compiler) constants(v *schemadoc.Value) *formula {
	f := c.truth
	if e := v.Get("enum"); e != nil {
		if !e.Is(schemadoc.Array) {
			return c.wrong(v, "enum")
		}
		f = c.oneOfValues(e.Items)
	}
	if one := v.Get("const"); one != nil {
		f = c.and(f, c.equals(one))
	}
	return f
}

// largestExact is the largest integer up to which float64 has all of them.
var largestExact = big.NewRat(1<<53-1, 1)

// onlyIntegers reports whether the numbers of a schema are integers by type.
func onlyIntegers(v *schemadoc.Value) bool {
	names, _ := typeNames(v)
	integer := false
	for _, n := range names {
		if n == "number" {
			return false
		}
		integer = integer || n == "integer"
	}
	return integer
}

func (c *compiler) numbers(v *schemadoc.Value, m Mode) []*formula {
	var all []*formula
	for _, k := range []struct {
		keyword string
		op      op
		excl    bool
	}{{"minimum", opMin, false}, {"exclusiveMinimum", opMin, true}, {"maximum", opMax, false}, {"exclusiveMaximum", opMax, true}, {"multipleOf", opMultiple, false}} {
		b := v.Get(k.keyword)
		if b == nil {
			continue
		}
		if !b.Is(schemadoc.Number) {
			all = append(all, c.wrong(v, k.keyword))
			continue
		}
		n, ok := rational(b.Text)
		switch {
		case !ok:
			all = append(all, c.opaque(k.keyword+" "+key(b), "a number is too large to be compared"))
		case k.op == opMultiple && n.Sign() <= 0:
			all = append(all, c.wrong(v, k.keyword))
		case m.Noise && !k.excl && IsNoise(v, k.keyword):
		default:
			all = append(all, c.intern(&formula{op: k.op, num: n, excl: k.excl}))
		}
	}
	return all
}

// IsNoise reports whether a bound of a schema is one that generators put on
// every integer: the limits within which float64 is exact.
func IsNoise(v *schemadoc.Value, keyword string) bool {
	b := v.Get(keyword)
	if !b.Is(schemadoc.Number) || !onlyIntegers(v) {
		return false
	}
	n, ok := rational(b.Text)
	switch {
	case !ok:
		return false
	case keyword == "minimum":
		return n.Cmp(new(big.Rat).Neg(largestExact)) == 0
	case keyword == "maximum":
		return n.Cmp(largestExact) == 0
	}
	return false
}

// length reads the value of a keyword that counts.
func length(v *schemadoc.Value) (int, bool) {
	if !v.Is(schemadoc.Number) {
		return 0, false
	}
	n, ok := rational(v.Text)
	if !ok || !n.IsInt() || n.Sign() < 0 {
		return 0, false
	}
	if !n.Num().IsInt64() || n.Num().Int64() > 1<<40 {
		return 1 << 40, true
	}
	return int(n.Num().Int64()), true
}

// counts compiles a lower and an upper keyword.
func (c *compiler) counts(v *schemadoc.Value, low, high string, lowOp, highOp op) []*formula {
	var all []*formula
	for i, keyword := range []string{low, high} {
		b := v.Get(keyword)
		if b == nil {
			continue
		}
		n, ok := length(b)
		if !ok {
			all = append(all, c.wrong(v, keyword))
			continue
		}
		all = append(all, c.count([]op{lowOp, highOp}[i], n))
	}
	return all
}

func (c *compiler) strings(v *schemadoc.Value) []*formula {
	all := c.counts(v, "minLength", "maxLength", opMinLen, opMaxLen)
	if p := v.Get("pattern"); p.Is(schemadoc.String) {
		all = append(all, c.pattern(p.Text))
	} else if p != nil {
		all = append(all, c.wrong(v, "pattern"))
	}
	if f := v.Get("format").Str(); examples[f] != nil {
		all = append(all, c.intern(&formula{op: opFormat, text: f}))
	}
	return all
}

func (c *compiler) pattern(p string) *formula {
	if p == "" || p == "^" || p == ".*" || p == "^.*" || p == "$" {
		return c.truth
	}
	return c.intern(&formula{op: opPattern, text: p})
}

func (c *compiler) schemas(v *schemadoc.Value, m Mode, compile func(*schemadoc.Value, Mode) *formula) []*formula {
	out := make([]*formula, len(v.Items))
	for i, item := range v.Items {
		out[i] = compile(item, m)
	}
	return out
}

func (c *compiler) arrays(v *schemadoc.Value, m Mode) []*formula {
	all := c.counts(v, "minItems", "maxItems", opMinItems, opMaxItems)
	prefix, rest := v.Get("prefixItems"), v.Get("items")
	if c.doc.Dialect == Draft07 {
		prefix = nil
		if rest.Is(schemadoc.Array) {
			prefix, rest = rest, v.Get("additionalItems")
		}
	}
	spoken := rest != nil
	rests := c.truth
	if rest != nil {
		if rest.Is(schemadoc.Array) {
			all = append(all, c.wrong(v, "items"))
		} else {
			rests = c.value(rest, m)
		}
	}
	if prefix != nil && !prefix.Is(schemadoc.Array) {
		all = append(all, c.wrong(v, "prefixItems"))
		prefix = nil
	}
	if u := v.Get("unevaluatedItems"); u != nil && c.doc.Dialect == Draft202012 && !spoken {
		if combines(v) || v.Get("contains") != nil {
			all = append(all, c.opaque("unevaluatedItems "+c.doc.identity(v), "unevaluatedItems beside schemas that it depends on is not compared"))
		} else {
			rests = c.value(u, m)
		}
	}
	var first []*formula
	if prefix != nil {
		first = c.schemas(prefix, m, c.value)
	}
	all = append(all, c.items(first, rests))
	switch u := v.Get("uniqueItems"); {
	case u.Is(schemadoc.Bool):
		if u.Bool {
			all = append(all, c.intern(&formula{op: opUnique}))
		}
	case u != nil:
		all = append(all, c.wrong(v, "uniqueItems"))
	}
	if has := v.Get("contains"); has != nil {
		all = append(all, c.contains(v, has)...)
	}
	return all
}

func (c *compiler) contains(v, has *schemadoc.Value) []*formula {
	f := c.value(has, Mode{})
	least, most := 1, -1
	if c.doc.Dialect == Draft202012 {
		for i, keyword := range []string{"minContains", "maxContains"} {
			if b := v.Get(keyword); b != nil {
				count, ok := length(b)
				if !ok {
					return []*formula{c.wrong(v, keyword)}
				}
				*[]*int{&least, &most}[i] = count
			}
		}
	}
	var all []*formula
	if least > 0 {
		all = append(all, c.intern(&formula{op: opContains, n: least, kids: []*formula{f}}))
	}
	if most >= 0 {
		// It is a constraint on arrays, so what is none must not break it.
		more := c.intern(&formula{op: opContains, n: most + 1, kids: []*formula{f}})
		all = append(all, c.or(c.kindsOf(allKinds&^kindBit(schemadoc.Array)), c.not(more)))
	}
	return all
}

// combines reports whether a schema has other schemas apply to its value.
func combines(v *schemadoc.Value) bool {
	for _, keyword := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies", "not"} {
		if v.Get(keyword) != nil {
			return true
		}
	}
	return false
}

func (c *compiler) objects(v *schemadoc.Value, m Mode) []*formula {
	all := c.counts(v, "minProperties", "maxProperties", opMinProps, opMaxProps)
	all = append(all, c.required(v, m)...)
	sh, wrong := c.members(v, m)
	all = append(all, wrong...)
	all = append(all, c.shapeOf(sh))
	if names := v.Get("propertyNames"); names != nil {
		f := c.value(names, Mode{})
		switch {
		case f.op == opFalse:
			all = append(all, c.count(opMaxProps, 0))
		case f.underKind(schemadoc.String) != yes:
			all = append(all, c.intern(&formula{op: opNames, kids: []*formula{f}}))
		}
	}
	return append(all, c.dependencies(v, m)...)
}

// members compiles what a schema says of the values of members.
func (c *compiler) members(v *schemadoc.Value, m Mode) (*shape, []*formula) {
	var wrong []*formula
	sh := &shape{props: make(map[string]*formula), matching: make(map[string]*formula), rest: c.truth}
	for i, keyword := range []string{"properties", "patternProperties"} {
		switch p := v.Get(keyword); {
		case p.Is(schemadoc.Object):
			into := []map[string]*formula{sh.props, sh.matching}[i]
			for _, member := range p.Members {
				into[member.Name] = c.value(member.Value, m)
			}
		case p != nil:
			wrong = append(wrong, c.wrong(v, keyword))
		}
	}
	rest := v.Get("additionalProperties")
	if u := v.Get("unevaluatedProperties"); u != nil && c.doc.Dialect == Draft202012 && rest == nil {
		if names, simple := c.evaluated(v); simple {
			if names.all {
				return sh, wrong
			}
			// Everything that is described in place of this schema is
			// evaluated; a second shape says what the others must be.
			other := &shape{props: make(map[string]*formula), matching: make(map[string]*formula), rest: c.truth}
			if !(m.Open && isFalse(u)) {
				other.rest = c.value(u, m)
			}
			for n := range names.names {
				other.props[n] = c.truth
			}
			for p := range names.patterns {
				other.matching[p] = c.truth
			}
			wrong = append(wrong, c.shapeOf(other))
		} else {
			wrong = append(wrong, c.opaque("unevaluatedProperties "+c.doc.identity(v), "unevaluatedProperties beside schemas that apply under conditions is not compared"))
		}
	}
	if rest != nil && !(m.Open && isFalse(rest)) {
		sh.rest = c.value(rest, m)
	}
	return sh, wrong
}

func isFalse(v *schemadoc.Value) bool { return v.Is(schemadoc.Bool) && !v.Bool }

func (c *compiler) required(v *schemadoc.Value, m Mode) []*formula {
	r := v.Get("required")
	if r == nil {
		return nil
	}
	if !r.Is(schemadoc.Array) {
		return []*formula{c.wrong(v, "required")}
	}
	var all []*formula
	for _, n := range r.Items {
		if !n.Is(schemadoc.String) {
			return []*formula{c.wrong(v, "required")}
		}
		if m.Defaults && c.doc.HasDefault(v.Get("properties").Get(n.Text)) {
			continue
		}
		all = append(all, c.has(n.Text))
	}
	return all
}

// HasDefault reports whether a schema, or one that it refers to, has a
// default.
func (d *Document) HasDefault(v *schemadoc.Value) bool {
	for range MaxNest {
		if v.Get("default") != nil {
			return true
		}
		ref := v.Get("$ref")
		if !ref.Is(schemadoc.String) {
			return false
		}
		v = d.Resolve(v, ref.Text)
	}
	return false
}

// dependencies compiles what holds where a member is there.
func (c *compiler) dependencies(v *schemadoc.Value, m Mode) []*formula {
	var all []*formula
	where := func(name string, then *formula) {
		// It is a constraint on objects.
		object := c.kindsOf(kindBit(schemadoc.Object))
		all = append(all, c.or(c.not(c.and(object, c.has(name))), then))
	}
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		if c.doc.Dialect == Draft07 && keyword != "dependencies" {
			continue
		}
		deps := v.Get(keyword)
		if deps == nil {
			continue
		}
		if !deps.Is(schemadoc.Object) {
			all = append(all, c.wrong(v, keyword))
			continue
		}
		for _, dep := range deps.Members {
			if !dep.Value.Is(schemadoc.Array) {
				if keyword == "dependentRequired" {
					all = append(all, c.wrong(v, keyword))
				} else {
					where(dep.Name, c.part(dep.Value, m))
				}
				continue
			}
			var names []*formula
			for _, n := range dep.Value.Items {
				names = append(names, c.has(n.Str()))
			}
			where(dep.Name, c.and(names...))
		}
	}
	return all
}

func (c *compiler) combinations(v *schemadoc.Value, m Mode) []*formula {
	var all []*formula
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list := v.Get(keyword)
		if list == nil {
			continue
		}
		if !list.Is(schemadoc.Array) || len(list.Items) == 0 {
			all = append(all, c.wrong(v, keyword))
			continue
		}
		kids := c.schemas(list, m, c.part)
		switch keyword {
		case "allOf":
			all = append(all, kids...)
		case "anyOf":
			all = append(all, c.or(kids...))
		case "oneOf":
			all = append(all, c.exactlyOne(kids, c.schemas(list, Mode{}, c.part)))
		}
	}
	if not := v.Get("not"); not != nil {
		all = append(all, c.not(c.part(not, Mode{})))
	}
	if cond := v.Get("if"); cond != nil {
		f := c.part(cond, Mode{})
		if then := v.Get("then"); then != nil {
			all = append(all, c.or(c.not(f), c.part(then, m)))
		}
		if other := v.Get("else"); other != nil {
			all = append(all, c.or(f, c.part(other, m)))
		}
	}
	return all
}

// exactlyOne compiles oneOf. Where kinds tell the alternatives apart it is the
// same as anyOf. The others are excluded as they are written, whatever the
// mode.
func (c *compiler) exactlyOne(kids, written []*formula) *formula {
	apart := true
	for _, k := range order {
		n := 0
		for _, f := range written {
			if f.underKind(k) != no {
				n++
			}
		}
		apart = apart && n <= 1
	}
	if apart {
		return c.or(kids...)
	}
	if len(kids) > maxOneOf {
		return c.opaque("oneOf "+strconv.Itoa(len(c.formulas)), "oneOf with very many alternatives")
	}
	var all []*formula
	for i, f := range kids {
		only := []*formula{f}
		for j, other := range written {
			if j != i {
				only = append(only, c.not(other))
			}
		}
		all = append(all, c.and(only...))
	}
	return c.or(all...)
}

const maxOneOf = 60
