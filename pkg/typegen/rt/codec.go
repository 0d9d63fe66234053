package rt

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

// A codec encodes and decodes values of one Go type. Codecs of structs are
// tables made of the struct's tags, once for each type.
type codec struct {
	dec func(d *decoder, v reflect.Value) error
	// enc appends v, which is addressable, to b.
	enc func(b []byte, v reflect.Value) ([]byte, error)
	// kinds are the first bytes of the JSON values that the type can hold.
	kinds kinds
	// object is the table of a struct that is an object.
	object *objectCodec
	// valid tells whether a decoded value is one of the type's values; nil
	// where every one is.
	valid func(v reflect.Value) bool
	// elemValid is that of a pointer's target.
	elemValid func(v reflect.Value) bool
	typ       reflect.Type
}

// accepts reports whether a JSON text is one of the type's values.
func (c *codec) accepts(raw []byte) bool {
	v := reflect.New(c.typ).Elem()
	d := decoder{data: raw}
	return c.dec(&d, v) == nil && c.holds(v)
}

// kinds is a set of kinds of JSON values.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kNumber
	kString
	kArray
	kObject

	kAny = kNull | kBool | kNumber | kString | kArray | kObject
)

func kindsOfByte(c byte) kinds {
	switch c {
	case '{':
		return kObject
	case '[':
		return kArray
	case '"':
		return kString
	case 't', 'f':
		return kBool
	case 'n':
		return kNull
	}
	return kNumber
}

var (
	codecs   sync.Map // reflect.Type -> *codec, complete ones only
	building sync.Mutex
)

// codecOf returns the codec of a type.
func codecOf(t reflect.Type) *codec {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	building.Lock()
	defer building.Unlock()
	b := builder{}
	c := b.codec(t)
	for t, c := range b {
		codecs.Store(t, c)
	}
	return c
}

// builder holds codecs that are being made, so that recursive types find
// themselves.
type builder map[reflect.Type]*codec

var (
	rawType         = reflect.TypeFor[json.RawMessage]()
	numberType      = reflect.TypeFor[json.Number]()
	marshalerType   = reflect.TypeFor[json.Marshaler]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	wrapperType     = reflect.TypeFor[wrapper]()
	validType       = reflect.TypeFor[interface{ Valid() bool }]()
)

// wrapper is a generic type of this package around another type.
type wrapper interface {
	inner() reflect.Type
	decode(d *decoder, inner *codec) error
	encode(b []byte, inner *codec) ([]byte, error)
	wrapped(inner kinds) kinds
}

func (b builder) codec(t reflect.Type) *codec {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	if c, ok := b[t]; ok {
		return c
	}
	c := &codec{}
	b[t] = c
	b.fill(c, t)
	c.typ = t
	if t.Kind() != reflect.Pointer && t.Implements(validType) {
		c.valid = func(v reflect.Value) bool { return v.Interface().(interface{ Valid() bool }).Valid() }
	}
	return c
}

func (b builder) fill(c *codec, t reflect.Type) {
	pt := reflect.PointerTo(t)
	switch {
	case t == rawType:
		*c = *rawCodec
		return
	case t == numberType:
		*c = *exactNumberCodec
		return
	case pt.Implements(wrapperType):
		b.wrapper(c, t)
		return
	case t.Kind() == reflect.Struct:
		if m := markerOf(t); m != noMarker {
			b.marked(c, t, m)
			return
		}
	}
	if t.Implements(marshalerType) && pt.Implements(unmarshalerType) {
		methods(c, t)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		b.object(c, t, noMarker)
	case reflect.Pointer:
		b.pointer(c, t)
	case reflect.Slice:
		b.slice(c, t)
	case reflect.Map:
		b.dict(c, t)
	default:
		if k := basicCodec(t.Kind()); k != nil {
			*c = *k
			return
		}
		std(c)
	}
}

// basicCodec is the codec of a basic kind, or nil.
func basicCodec(k reflect.Kind) *codec {
	switch k {
	case reflect.String:
		return stringCodec
	case reflect.Bool:
		return boolCodec
	case reflect.Int64:
		return intCodec
	case reflect.Float64:
		return floatCodec
	}
	return nil
}

var stringCodec = &codec{
	kinds: kString,
	dec: func(d *decoder, v reflect.Value) error {
		if c := d.peek(); c != '"' {
			return mismatch("a string", c)
		}
		s, err := d.str()
		if err != nil {
			return err
		}
		v.SetString(string(s))
		return nil
	},
	enc: func(b []byte, v reflect.Value) ([]byte, error) { return appendString(b, v.String()), nil },
}

var boolCodec = &codec{
	kinds: kBool,
	dec: func(d *decoder, v reflect.Value) error {
		switch c := d.peek(); c {
		case 't':
			v.SetBool(true)
			return d.literal("true")
		case 'f':
			v.SetBool(false)
			return d.literal("false")
		default:
			return mismatch("a boolean", c)
		}
	},
	enc: func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil },
}

var intCodec = &codec{
	kinds: kNumber,
	dec: func(d *decoder, v reflect.Value) error {
		if c := d.peek(); kindsOfByte(c) != kNumber || c == 0 {
			return mismatch("an integer", c)
		}
		text, plain, err := d.number()
		if err != nil {
			return err
		}
		n, err := integer(text, plain)
		if err != nil {
			return err
		}
		v.SetInt(n)
		return nil
	},
	enc: func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil },
}

var floatCodec = &codec{
	kinds: kNumber,
	dec: func(d *decoder, v reflect.Value) error {
		if c := d.peek(); kindsOfByte(c) != kNumber || c == 0 {
			return mismatch("a number", c)
		}
		text, _, err := d.number()
		if err != nil {
			return err
		}
		f, err := float(text)
		if err != nil {
			return err
		}
		v.SetFloat(f)
		return nil
	},
	enc: func(b []byte, v reflect.Value) ([]byte, error) { return appendFloat(b, v.Float()) },
}

var exactNumberCodec = &codec{
	kinds: kNumber,
	dec: func(d *decoder, v reflect.Value) error {
		if c := d.peek(); kindsOfByte(c) != kNumber || c == 0 {
			return mismatch("a number", c)
		}
		text, _, err := d.number()
		if err != nil {
			return err
		}
		v.SetString(string(text))
		return nil
	},
	enc: func(b []byte, v reflect.Value) ([]byte, error) {
		s := v.String()
		if s == "" {
			s = "0" // as encoding/json does
		}
		d := decoder{data: []byte(s)}
		if _, _, err := d.number(); err != nil || d.pos < len(s) {
			return b, &Error{Reason: "the json.Number is no number"}
		}
		return append(b, s...), nil
	},
}

var rawCodec = &codec{
	kinds: kAny,
	dec: func(d *decoder, v reflect.Value) error {
		raw, err := d.skip()
		if err != nil {
			return err
		}
		v.SetBytes(slices.Clone(raw))
		return nil
	},
	enc: func(b []byte, v reflect.Value) ([]byte, error) { return appendRaw(b, v.Bytes()) },
}

// appendRaw appends a JSON text that somebody else made.
func appendRaw(b, raw []byte) ([]byte, error) {
	if raw == nil {
		return append(b, "null"...), nil
	}
	d := decoder{data: raw}
	d.space()
	text, err := d.skip()
	if err != nil {
		return b, &Error{Reason: "the json.RawMessage is no JSON"}
	}
	d.space()
	if d.pos < len(raw) {
		return b, &Error{Reason: "the json.RawMessage is no JSON"}
	}
	return append(b, text...), nil
}

// methods uses a type's own methods.
func methods(c *codec, t reflect.Type) {
	switch t {
	case reflect.TypeFor[True](), reflect.TypeFor[False]():
		c.kinds = kBool
	case reflect.TypeFor[JSONNull]():
		c.kinds = kNull
	default:
		c.kinds = kAny
		switch t.Kind() {
		case reflect.String:
			c.kinds = kString
		case reflect.Int64, reflect.Float64:
			c.kinds = kNumber
		case reflect.Slice:
			c.kinds = kArray
		case reflect.Map:
			c.kinds = kObject
		}
		if t == reflect.TypeFor[Time]() {
			c.kinds = kString
		}
	}
	c.dec = func(d *decoder, v reflect.Value) error {
		raw, err := d.skip()
		if err != nil {
			return err
		}
		return v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw)
	}
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) {
		raw, err := v.Interface().(json.Marshaler).MarshalJSON()
		if err != nil {
			return b, err
		}
		return append(b, raw...), nil
	}
}

// std leaves a type to encoding/json. Generated code holds none such.
func std(c *codec) {
	c.kinds = kAny
	c.dec = func(d *decoder, v reflect.Value) error {
		raw, err := d.skip()
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, v.Addr().Interface())
	}
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) {
		raw, err := json.Marshal(v.Interface())
		if err != nil {
			return b, err
		}
		return append(b, raw...), nil
	}
}

func (b builder) wrapper(c *codec, t reflect.Type) {
	w := reflect.New(t).Interface().(wrapper)
	in := b.codec(w.inner())
	c.kinds = w.wrapped(in.kinds)
	c.dec = func(d *decoder, v reflect.Value) error { return v.Addr().Interface().(wrapper).decode(d, in) }
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) { return v.Addr().Interface().(wrapper).encode(b, in) }
}

// pointer is for what may be absent. A nil pointer that must be written is
// null, but null is never read.
func (b builder) pointer(c *codec, t reflect.Type) {
	in := b.codec(t.Elem())
	c.kinds = in.kinds
	c.object = in.object
	elem := t.Elem()
	if elem.Implements(validType) {
		c.elemValid = func(v reflect.Value) bool { return v.Interface().(interface{ Valid() bool }).Valid() }
	}
	c.dec = func(d *decoder, v reflect.Value) error {
		p := reflect.New(elem)
		if err := in.dec(d, p.Elem()); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return in.enc(b, v.Elem())
	}
}

func (b builder) slice(c *codec, t reflect.Type) {
	in := b.codec(t.Elem())
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
			if !ok {
				if n == 0 {
					v.Set(reflect.MakeSlice(t, 0, 0)) // empty is not nil
				}
				return nil
			}
			if n == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(n + 1)
			item := v.Index(n)
			item.SetZero()
			if err := in.dec(d, item); err != nil {
				return within(err, strconv.Itoa(n))
			}
		}
	}
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, '[')
		var err error
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = in.enc(b, v.Index(i)); err != nil {
				return b, within(err, strconv.Itoa(i))
			}
		}
		return append(b, ']'), nil
	}
}

func (b builder) dict(c *codec, t reflect.Type) {
	in := b.codec(t.Elem())
	c.kinds = kObject
	c.dec = func(d *decoder, v reflect.Value) error {
		if x := d.peek(); x != '{' {
			return mismatch("an object", x)
		}
		if err := d.enter(); err != nil {
			return err
		}
		m := reflect.MakeMap(t)
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
			if err := putMember(d, m, string(name), in); err != nil {
				return err
			}
		}
		v.Set(m)
		return nil
	}
	c.enc = func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, '{')
		b, _, err := appendMembers(b, v, in, true)
		if err != nil {
			return b, err
		}
		return append(b, '}'), nil
	}
}

// putMember decodes a member into a map.
func putMember(d *decoder, m reflect.Value, name string, in *codec) error {
	key := reflect.ValueOf(name).Convert(m.Type().Key())
	if m.MapIndex(key).IsValid() {
		return within(&Error{Reason: "the member is given twice"}, name)
	}
	val := reflect.New(m.Type().Elem()).Elem()
	if err := in.dec(d, val); err != nil {
		return within(err, name)
	}
	m.SetMapIndex(key, val)
	return nil
}

// appendMembers appends the entries of a map by name.
func appendMembers(b []byte, m reflect.Value, in *codec, first bool) ([]byte, bool, error) {
	if m.Len() == 0 {
		return b, first, nil
	}
	names := make([]string, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		names = append(names, it.Key().String())
	}
	slices.Sort(names)
	val := reflect.New(m.Type().Elem()).Elem()
	for _, n := range names {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, n), ':')
		val.Set(m.MapIndex(reflect.ValueOf(n).Convert(m.Type().Key())))
		var err error
		if b, err = in.enc(b, val); err != nil {
			return b, first, within(err, n)
		}
	}
	return b, first, nil
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// Marshal encodes v. It differs from [json.Marshal] in that a nil slice or map
// in a field that must be there is written as [] or {}, and in writing what
// the tags of generated types say beyond the json tag. Generated MarshalJSON
// methods call it.
func Marshal(v any) ([]byte, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return []byte("null"), nil
	}
	// Encoding needs addressable values.
	p := rv
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		p = rv.Elem()
	} else {
		p = reflect.New(rv.Type()).Elem()
		p.Set(rv)
	}
	c := codecOf(p.Type())
	buf := buffers.Get().(*[]byte)
	out, err := c.enc((*buf)[:0], p)
	var res []byte
	if err == nil {
		res = slices.Clone(out)
	}
	if cap(out) <= 1<<16 {
		*buf = out[:0]
		buffers.Put(buf)
	}
	return res, err
}
