package schemadoc

// SplitValid is [Split] for a text that is known to be valid JSON, which it
// does not check again. Of a text that is no object it returns nothing.
func SplitValid(valid []byte) []RawMember {
	b := builder{raw: valid}
	b.space()
	if b.pos == len(valid) || valid[b.pos] != '{' {
		return nil
	}
	b.pos++
	var members []RawMember
	for !b.closes('}') {
		b.space()
		name := b.str()
		b.space()
		b.pos++ // the colon
		members = append(members, RawMember{name, b.rawValue()})
	}
	return members
}

// ItemsValid returns the items of a JSON array in a text that is known to be
// valid JSON, each as the exact bytes, which alias it. It reports whether the
// text is an array.
func ItemsValid(valid []byte) (items [][]byte, ok bool) {
	b := builder{raw: valid}
	b.space()
	if b.pos == len(valid) || valid[b.pos] != '[' {
		return nil, false
	}
	b.pos++
	for !b.closes(']') {
		items = append(items, b.rawValue())
	}
	return items, true
}

// rawValue steps over one value and returns its bytes.
func (b *builder) rawValue() []byte {
	b.space()
	start := b.pos
	b.skip()
	return b.raw[start:b.pos:b.pos]
}
