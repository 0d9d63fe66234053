package typegen

// This file is the model between the walk, which knows JSON Schema, and the
// emitter, which knows Go: a handful of Go-like types and declarations.

// goKind is the shape of a [goType].
type goKind uint8

const (
	anyType    goKind = iota // json.RawMessage
	boolType                 // bool
	intType                  // int64
	floatType                // float64
	numberType               // json.Number
	stringType               // string
	timeType                 // rt.Time
	trueType                 // rt.True
	falseType                // rt.False
	nullType                 // rt.JSONNull
	sliceType                // []elem
	mapType                  // map[string]elem
	namedType                // decl.name
	nullOf                   // rt.Null[elem]
	optOf                    // rt.Opt[elem]
	orOf                     // rt.Or[elem]
	ptrTo                    // *elem
)

// goType is one Go type expression.
type goType struct {
	kind goKind
	elem *goType
	decl *decl
}

// declKind is what a [decl] declares.
type declKind uint8

const (
	structDecl  declKind = iota // an object with members
	tupleDecl                   // an array with positions
	unionDecl                   // one of several types
	enumDecl                    // a string or number with named values
	literalDecl                 // one of several JSON texts of any kind
	definedDecl                 // a name for a slice, a map or a scalar
	rawDecl                     // a root that is any JSON value
)

// codecKind says what encoding and decoding a struct takes.
type codecKind uint8

const (
	plainCodec  codecKind = iota // struct tags and encoding/json
	openCodec                    // exact names, unknown members kept in extras
	exactCodec                   // exact names, unknown members ignored
	closedCodec                  // exact names, unknown members refused
)

// decl is one type declaration with what hangs on it.
type decl struct {
	kind   declKind
	name   string
	doc    doc
	codec  codecKind
	fields []field // structDecl, tupleDecl, unionDecl
	base   *goType // enumDecl: string, int64, float64; definedDecl: the type
	values []enumValue
	open   bool // enumDecl: values beside the named ones are allowed
	root   bool
	output bool

	schema    string // root types: what values are checked against
	schemaVar string
}

// field is one field of a struct.
type field struct {
	name     string
	json     string // the member's name
	typ      *goType
	required bool
	omitzero bool
	role     fieldRole
	pattern  string
	index    int // tupleDecl
	doc      doc
}

type fieldRole uint8

const (
	memberField  fieldRole = iota
	extrasField            // members that nothing else takes
	patternField           // members whose names match pattern
	restField              // items behind the positions of a tuple
	variantField           // one variant of a union
	rawField               // what no variant takes
)

// enumValue is one named value.
type enumValue struct {
	name string
	text string // Go literal; literalDecl: JSON text
}

// doc is what a comment says. All of it is the server's text; the emitter
// makes it harmless.
type doc struct {
	lead       string // our own words, first
	title      string
	text       string
	extra      []string // default, examples: one line each
	deprecated bool
}

// client is the bindings of one server.
type client struct {
	typeName string
	server   string
	toolsVar string
	methods  []method
}

// method is one tool's pair of methods.
type method struct {
	name, fullName string
	tool           string
	toolVar        string
	in             *decl
	out            *goType // nil where the tool has no output schema
	doc            doc
	contract       string // digest of the tool's contract
	decoded        string // the same for clients that decode, where it differs
}

// pkg is one package to be emitted.
type pkg struct {
	name    string
	clients []client
	decls   []*decl
}
