package typegen

// union decides on the type of facts with alternatives. It reports false where
// the alternatives change nothing about the type.
func (w *walker) union(f *facts, p place, e *entry, root bool) (typed, bool) {
	return typed{}, false
}

// severalKinds is the type of values of several named kinds.
func (w *walker) severalKinds(kinds kindSet, f *facts, p place, e *entry) typed {
	return typed{t: &goType{kind: anyType}}
}

// alternatives is the type of a member that several branches declare.
func (w *walker) alternatives(alts [][]*node, p place) typed {
	return typed{t: &goType{kind: anyType}}
}
