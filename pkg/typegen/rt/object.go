package rt

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The first field of a generated struct may be one of these, named _ : it
// tells how the struct is encoded and decoded. They take no space.
type (
	// Open is an object whose unknown members are kept in the field with the
	// tag rt:"extras".
	Open struct{}
	// Exact is an object whose unknown members are ignored, and whose names
	// match exactly.
	Exact struct{}
	// Closed is an object that refuses unknown members.
	Closed struct{}
	// Tuple is an array with a field for each place.
	Tuple struct{}
	// OneOf is a value of which exactly one field is set.
	OneOf struct{}
)

type marker uint8

const (
	noMarker marker = iota
	openMarker
	exactMarker
	closedMarker
	tupleMarker
	oneOfMarker
)

// markerOf returns how a struct says it is encoded.
func markerOf(t reflect.Type) marker {
	if t.NumField() == 0 || t.Field(0).Name != "_" {
		return noMarker
	}
	switch t.Field(0).Type {
	case reflect.TypeFor[Open]():
		return openMarker
	case reflect.TypeFor[Exact]():
		return exactMarker
	case reflect.TypeFor[Closed]():
		return closedMarker
	case reflect.TypeFor[Tuple]():
		return tupleMarker
	case reflect.TypeFor[OneOf]():
		return oneOfMarker
	}
	return noMarker
}

func (b builder) marked(c *codec, t reflect.Type, m marker) {
	switch m {
	case tupleMarker:
		b.tuple(c, t)
	case oneOfMarker:
		b.oneOf(c, t)
	default:
		b.object(c, t, m)
	}
}

// objectCodec is the table of a struct that is an object.
type objectCodec struct {
	marker   marker
	fields   []member
	byName   map[string]int
	required int // how many fields must be there
	extras   int // index of the struct's field, or -1
	extra    *codec
	patterns []patternMember
}

// member is a row of the table.
type member struct {
	name     string
	prefix   string // "name": as JSON
	index    int
	required bool
	omit     bool
	codec    *codec
	isZero   func(v reflect.Value) bool
}

type patternMember struct {
	re    *regexp.Regexp
	index int
	codec *codec
}

// tags reads what the tags of a field say.
func tags(f reflect.StructField) (name string, omit bool, role, arg string) {
	name = f.Name
	if tag, ok := f.Tag.Lookup("json"); ok {
		n, opts, _ := strings.Cut(tag, ",")
		if n != "" {
			name = n
		}
		if n == "-" && tag != "-" && opts != "" || tag == "-," {
			name = "-"
		} else if tag == "-" {
			name, role = "", "skip"
		}
		omit = strings.Contains(","+opts+",", ",omitzero,")
	}
	tag, ok := f.Tag.Lookup("rt")
	if !ok {
		return name, omit, role, ""
	}
	if rest, ok := strings.CutPrefix(tag, "omitzero,"); ok {
		omit, tag = true, rest
	}
	role, arg, _ = strings.Cut(tag, "=")
	if role == "name" {
		return arg, omit, "", ""
	}
	return name, omit, role, arg
}

type zeroer interface{ IsZero() bool }

func isZeroFunc(t reflect.Type) func(reflect.Value) bool {
	if t.Implements(reflect.TypeFor[zeroer]()) {
		return func(v reflect.Value) bool { return v.Addr().Interface().(zeroer).IsZero() }
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return reflect.Value.IsNil
	}
	return reflect.Value.IsZero
}

func (b builder) object(c *codec, t reflect.Type, m marker) {
	o := &objectCodec{marker: m, byName: map[string]int{}, extras: -1}
	c.object = o
	c.kinds = kObject
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, omit, role, arg := tags(f)
		switch role {
		case "skip":
		case "extras":
			o.extras, o.extra = i, b.codec(f.Type.Elem())
		case "pattern":
			re, err := regexp.Compile(arg)
			if err != nil {
				continue // the generator checked it
			}
			o.patterns = append(o.patterns, patternMember{re, i, b.codec(f.Type.Elem())})
		default:
			in := b.codec(f.Type)
			if m == noMarker && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map) && f.Type != rawType {
				// A plain struct encodes as encoding/json would have it.
				in = nullable(in)
			}
			o.byName[name] = len(o.fields)
			o.fields = append(o.fields, member{
				name: name, prefix: string(appendString(nil, name)) + ":", index: i, required: !omit, omit: omit,
				codec: in, isZero: isZeroFunc(f.Type),
			})
			if !omit {
				o.required++
			}
		}
	}
	c.dec = o.decode
	c.enc = o.encode
}

// nullable writes null for a nil slice or map.
func nullable(in *codec) *codec {
	return &codec{kinds: in.kinds, dec: func(d *decoder, v reflect.Value) error { return in.dec(d, v) }, enc: func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return in.enc(b, v)
	}}
}

func (o *objectCodec) decode(d *decoder, v reflect.Value) error {
	if c := d.peek(); c != '{' {
		return mismatch("an object", c)
	}
	if err := d.enter(); err != nil {
		return err
	}
	v.SetZero()
	var few [4]uint64
	seen := few[:]
	if len(o.fields) > 256 {
		seen = make([]uint64, (len(o.fields)+63)/64)
	}
	next, have := 0, 0
	for first := true; ; first = false {
		ok, err := d.more('}', first)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		name, err := d.name()
		if err != nil {
			return err
		}
		i := next
		if i >= len(o.fields) || o.fields[i].name != string(name) {
			if i, ok = o.byName[string(name)]; !ok {
				if err := o.unknown(d, v, name); err != nil {
					return err
				}
				continue
			}
		}
		f := &o.fields[i]
		if seen[i/64]&(1<<(i%64)) != 0 {
			if o.marker == noMarker {
				v.Field(f.index).SetZero() // the last one wins, as in encoding/json
			} else {
				return within(&Error{Reason: "the member is given twice"}, f.name)
			}
		} else if f.required {
			have++
		}
		seen[i/64] |= 1 << (i % 64)
		next = i + 1
		if err := f.codec.dec(d, v.Field(f.index)); err != nil {
			return within(err, f.name)
		}
	}
	if have < o.required && o.marker != noMarker {
		for i := range o.fields {
			if f := &o.fields[i]; f.required && seen[i/64]&(1<<(i%64)) == 0 {
				return &Error{Reason: "the member " + strconv.Quote(clip(f.name)) + " is missing"}
			}
		}
	}
	return nil
}

// unknown decodes a member that no field is for.
func (o *objectCodec) unknown(d *decoder, v reflect.Value, name []byte) error {
	for _, p := range o.patterns {
		if !p.re.Match(name) {
			continue
		}
		m := v.Field(p.index)
		if m.IsNil() {
			m.Set(reflect.MakeMap(m.Type()))
		}
		return putMember(d, m, string(name), p.codec)
	}
	switch {
	case o.extras >= 0:
		m := v.Field(o.extras)
		if m.IsNil() {
			m.Set(reflect.MakeMap(m.Type()))
		}
		return putMember(d, m, string(name), o.extra)
	case o.marker == closedMarker:
		return within(&Error{Reason: "the member is not allowed here"}, string(name))
	}
	_, err := d.skip()
	return err
}

func (o *objectCodec) encode(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	first := true
	var err error
	for i := range o.fields {
		f := &o.fields[i]
		fv := v.Field(f.index)
		if f.omit && f.isZero(fv) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, f.prefix...)
		if b, err = f.codec.enc(b, fv); err != nil {
			return b, within(err, f.name)
		}
	}
	for _, p := range o.patterns {
		if err := o.foreign(v.Field(p.index), p.re); err != nil {
			return b, err
		}
		if b, first, err = appendMembers(b, v.Field(p.index), p.codec, first); err != nil {
			return b, err
		}
	}
	if o.extras >= 0 {
		if err := o.foreign(v.Field(o.extras), nil); err != nil {
			return b, err
		}
		if b, _, err = appendMembers(b, v.Field(o.extras), o.extra, first); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// foreign checks that a map of further members has none that belongs
// elsewhere: it would be written twice or read back into another field.
func (o *objectCodec) foreign(m reflect.Value, re *regexp.Regexp) error {
	if m.Len() == 0 {
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		name := it.Key().String()
		if _, ok := o.byName[name]; ok {
			return within(&Error{Reason: "the member has a field of its own"}, name)
		}
		if re != nil && !re.MatchString(name) {
			return within(&Error{Reason: "the name does not match the field's pattern"}, name)
		}
		for _, p := range o.patterns {
			if p.re == re {
				break
			}
			if p.re.MatchString(name) {
				return within(&Error{Reason: "the member belongs to the field of another pattern"}, name)
			}
		}
	}
	return nil
}

// tuple makes the codec of an array with a field for each place.
func (b builder) tuple(c *codec, t reflect.Type) {
	type place struct {
		index    int
		required bool
		codec    *codec
		isZero   func(reflect.Value) bool
	}
	var places []place
	rest, restCodec := -1, (*codec)(nil)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		_, omit, role, _ := tags(f)
		if role == "rest" {
			rest, restCodec = i, b.codec(f.Type.Elem())
			continue
		}
		places = append(places, place{i, !omit, b.codec(f.Type), isZeroFunc(f.Type)})
	}
	c.kinds = kArray
	c.dec = func(d *decoder, v reflect.Value) error {
		if x := d.peek(); x != '[' {
			return mismatch("an array", x)
		}
		if err := d.enter(); err != nil {
			return err
		}
		v.SetZero()
		for n := 0; ; n++ {
			ok, err := d.more(']', n == 0)
			if err != nil {
				return err
			}
			switch {
			case !ok:
				for _, p := range places[min(n, len(places)):] {
					if p.required {
						return &Error{Reason: "the array has only " + strconv.Itoa(n) + " items"}
					}
				}
				return nil
			case n < len(places):
				if err := places[n].codec.dec(d, v.Field(places[n].index)); err != nil {
					return within(err, strconv.Itoa(n))
				}
			case rest < 0:
				return within(&Error{Reason: "the array has too many items"}, strconv.Itoa(n))
			default:
				s := v.Field(rest)
				k := s.Len()
				if k == s.Cap() {
					s.Grow(1)
				}
				s.SetLen(k + 1)
				s.Index(k).SetZero()
				if err := restCodec.dec(d, s.Index(k)); err != nil {
					return within(err, strconv.Itoa(n))
				}
			}
		}
	}
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, '[')
		n := len(places)
		for n > 0 && !places[n-1].required && places[n-1].isZero(v.Field(places[n-1].index)) {
			n--
		}
		var err error
		for i, p := range places[:n] {
			if i > 0 {
				b = append(b, ',')
			}
			if !p.required && p.isZero(v.Field(p.index)) {
				return b, within(&Error{Reason: "an item behind it is set, so it must be too"}, strconv.Itoa(i))
			}
			if b, err = p.codec.enc(b, v.Field(p.index)); err != nil {
				return b, within(err, strconv.Itoa(i))
			}
		}
		if rest < 0 || v.Field(rest).Len() == 0 {
			return append(b, ']'), nil
		}
		if n < len(places) {
			return b, &Error{Reason: "the array has further items, so all of its places must be set"}
		}
		s := v.Field(rest)
		for i := range s.Len() {
			if i+n > 0 {
				b = append(b, ',')
			}
			if b, err = restCodec.enc(b, s.Index(i)); err != nil {
				return b, within(err, strconv.Itoa(i+n))
			}
		}
		return append(b, ']'), nil
	}
}

// oneOf makes the codec of a value of which exactly one field is set. Which
// one is chosen by the kind of the value, for objects by their members, and
// at last by trying.
func (b builder) oneOf(c *codec, t reflect.Type) {
	type variant struct {
		index int
		codec *codec
	}
	var variants []variant
	raw := -1
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case !f.IsExported():
		case f.Name == "Raw":
			raw = i
		default:
			variants = append(variants, variant{i, b.codec(f.Type)})
		}
	}
	c.kinds = kAny
	c.dec = func(d *decoder, v reflect.Value) error {
		v.SetZero()
		pos, depth := d.pos, d.depth
		kind := kindsOfByte(d.peek())
		var fit []variant
		for _, x := range variants {
			if x.codec.kinds&kind != 0 {
				fit = append(fit, x)
			}
		}
		if len(fit) > 1 && kind == kObject {
			names, err := d.scan()
			if err != nil {
				return err
			}
			if err := d.back(pos, depth); err != nil {
				return err
			}
			all := fit
			score := make(map[int]int, len(fit))
			keep := fit[:0:0]
			for _, x := range fit {
				if n, ok := x.codec.suits(names); ok {
					score[x.index] = n
					keep = append(keep, x)
				}
			}
			fit = keep
			slices.SortStableFunc(fit, func(a, b variant) int { return score[b.index] - score[a.index] })
			if len(fit) > 0 {
				// A variant that would drop what another one declares is no
				// choice.
				for _, m := range names {
					if fit[0].codec.takes(m.name) {
						continue
					}
					for _, x := range all {
						if x.codec.declares(m.name) {
							fit = nil
							break
						}
					}
					if fit == nil {
						break
					}
				}
			}
		}
		for _, x := range fit {
			if err := x.codec.dec(d, v.Field(x.index)); err == nil && x.codec.holds(v.Field(x.index)) {
				return nil
			}
			v.Field(x.index).SetZero()
			if err := d.back(pos, depth); err != nil {
				return err
			}
		}
		text, err := d.skip()
		if err != nil {
			return err
		}
		if raw < 0 {
			return &Error{Reason: "the value is none of the possible types"}
		}
		v.Field(raw).SetBytes(slices.Clone(text))
		return nil
	}
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) {
		set := -1
		for i, x := range variants {
			if v.Field(x.index).IsNil() {
				continue
			}
			if set >= 0 {
				return b, &Error{Reason: "both " + t.Field(variants[set].index).Name + " and " + t.Field(x.index).Name + " are set in " + t.Name()}
			}
			set = i
		}
		hasRaw := raw >= 0 && len(v.Field(raw).Bytes()) > 0
		switch {
		case set >= 0 && hasRaw:
			return b, &Error{Reason: "both " + t.Field(variants[set].index).Name + " and Raw are set in " + t.Name()}
		case set >= 0:
			return variants[set].codec.enc(b, v.Field(variants[set].index))
		case hasRaw:
			return appendRaw(b, v.Field(raw).Bytes())
		}
		return b, &Error{Reason: "no field of " + t.Name() + " is set"}
	}
}

// scanned is a member of an object that was only looked at.
type scanned struct {
	name string
	raw  []byte
}

// scan looks at the members of an object.
func (d *decoder) scan() ([]scanned, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	var out []scanned
	for first := true; ; first = false {
		ok, err := d.more('}', first)
		if err != nil {
			return nil, err
		}
		if !ok {
			return out, nil
		}
		name, err := d.name()
		if err != nil {
			return nil, err
		}
		n := string(name)
		raw, err := d.skip()
		if err != nil {
			return nil, err
		}
		out = append(out, scanned{n, raw})
	}
}

// suits reports whether an object with these members can be of c's type: all
// required members are there, constants and enumerations have one of their
// values, and a closed object gets no foreign one. It also returns how many
// members the type declares.
func (c *codec) suits(members []scanned) (int, bool) {
	o := c.object
	if o == nil {
		return 0, true
	}
	declared, required := 0, 0
	for _, m := range members {
		i, ok := o.byName[m.name]
		if !ok {
			if o.marker == closedMarker && !o.matches(m.name) {
				return 0, false
			}
			continue
		}
		declared++
		f := &o.fields[i]
		if f.required {
			required++
		}
		if f.codec.valid != nil || f.codec.elemValid != nil {
			if !f.codec.accepts(m.raw) {
				return 0, false
			}
		}
	}
	return declared, required >= o.required
}

func (o *objectCodec) matches(name string) bool {
	for _, p := range o.patterns {
		if p.re.MatchString(name) {
			return true
		}
	}
	return false
}

func (c *codec) declares(name string) bool {
	o := c.object
	if o == nil {
		return false
	}
	_, ok := o.byName[name]
	return ok
}

// takes reports whether c keeps a member of that name.
func (c *codec) takes(name string) bool {
	o := c.object
	return o == nil || o.extras >= 0 || c.declares(name) || o.matches(name)
}

// holds reports whether a decoded value is one of the type's values.
func (c *codec) holds(v reflect.Value) bool {
	switch {
	case c.valid != nil:
		return c.valid(v)
	case c.elemValid != nil:
		return c.elemValid(v.Elem())
	}
	return true
}
