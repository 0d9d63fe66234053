package typegen

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
)

// The emitter turns the model into source. It knows no JSON Schema.

const (
	importBind     = moduleSelf + "/pkg/typegen/bind"
	importRT       = moduleSelf + "/pkg/typegen/rt"
	importValidate = moduleSelf + "/pkg/typegen/validate"
	importMCP      = moduleSDK + "/mcp"
)

type emitter struct{ f *jen.File }

// emit writes one package as one file, formatted. An error means that the
// model was not Go, which is a mistake of this package.
func emit(p *pkg, o Options) ([]byte, error) {
	e := emitter{jen.NewFile(p.name)}
	e.f.HeaderComment(Header)
	if o.PackagePerServer && len(p.clients) == 1 {
		e.f.PackageComment("// Package " + p.name + " calls the tools of the MCP server " + quoteText(p.clients[0].server) + ".")
	}
	// Or every import would get an alias.
	for _, path := range []string{importBind, importRT, importValidate, importMCP} {
		e.f.ImportName(path, path[strings.LastIndexByte(path, '/')+1:])
	}
	for _, c := range p.clients {
		e.client(c)
	}
	for _, d := range p.decls {
		e.decl(d)
	}
	for _, c := range p.clients {
		e.tools(c)
	}
	for _, d := range p.decls {
		e.schema(d)
	}
	var out bytes.Buffer
	if err := e.f.Render(&out); err != nil {
		return nil, &Error{Code: "internal", Reason: "the generated source is not valid Go, which is a mistake of the generator"}
	}
	return groupImports(out.Bytes()), nil
}

var firstForeignImport = regexp.MustCompile(`(?s)^(.*?\nimport \(\n(?:\t"[^".]+"\n)+)(\t"[^"]*\.)`)

// groupImports puts an empty line between the imports of the standard library
// and the others, as goimports does and jennifer does not.
func groupImports(source []byte) []byte {
	return firstForeignImport.ReplaceAll(source, []byte("$1\n$2"))
}

// declare starts a declaration behind an empty line and a comment.
func (e *emitter) declare(d doc) *jen.Statement {
	e.f.Line()
	if text := comment(d); text != "" {
		e.f.Comment(text)
	}
	return e.f.Null()
}

// typ is a type expression.
func typ(t *goType) *jen.Statement {
	switch t.kind {
	case anyType:
		return rawMessage()
	case boolType:
		return jen.Bool()
	case intType:
		return jen.Int64()
	case floatType:
		return jen.Float64()
	case numberType:
		return jen.Qual("encoding/json", "Number")
	case stringType:
		return jen.String()
	case timeType:
		return jen.Qual(importRT, "Time")
	case trueType:
		return jen.Qual(importRT, "True")
	case falseType:
		return jen.Qual(importRT, "False")
	case nullType:
		return jen.Qual(importRT, "JSONNull")
	case sliceType:
		return jen.Index().Add(typ(t.elem))
	case mapType:
		return jen.Map(jen.String()).Add(typ(t.elem))
	case nullOf:
		return jen.Qual(importRT, "Null").Types(typ(t.elem))
	case optOf:
		return jen.Qual(importRT, "Opt").Types(typ(t.elem))
	case orOf:
		return jen.Qual(importRT, "Or").Types(typ(t.elem))
	case ptrTo:
		return jen.Op("*").Add(typ(t.elem))
	}
	return jen.Id(t.decl.name)
}

func rawMessage() *jen.Statement { return jen.Qual("encoding/json", "RawMessage") }

// text is source that stands as it is: a literal.
func text(source string) *jen.Statement { return jen.Op(source) }

// ---- bindings ----

func (e *emitter) client(c client) {
	bind := func(name string) *jen.Statement { return jen.Qual(importBind, name) }
	recv := jen.Id("c").Op("*").Id(c.typeName)
	ctx := jen.Id("ctx").Qual("context", "Context")
	result := jen.Op("*").Qual(importMCP, "CallToolResult")

	about := []string{"Errors are those of the caller, [bind.ArgumentError], [bind.ToolError], [bind.ResultError] and [bind.InputRequiredError]."}
	if checked(c) {
		about = append([]string{"Arguments are checked against their schema before they are sent, and structured results when they arrive."}, about...)
	}
	e.declare(doc{lead: c.typeName + " calls the tools of the MCP server " + quoteText(c.server) + ".", extra: about}).
		Type().Id(c.typeName).Struct(jen.Id("client").Op("*").Add(bind("Client")))
	e.declare(doc{lead: "New" + c.typeName + " returns a client that calls through caller, for example an *mcp.ClientSession."}).
		Func().Id("New"+c.typeName).
		Params(jen.Id("caller").Add(bind("Caller")), jen.Id("opts").Op("...").Add(bind("Option"))).
		Op("*").Id(c.typeName).
		Block(jen.Return(jen.Op("&").Id(c.typeName).Values(jen.Dict{
			jen.Id("client"): bind("New").Call(jen.Id("caller"), jen.Id(c.toolsVar), jen.Id("opts").Op("...")),
		})))
	e.declare(doc{lead: "Check compares the tools of a live server with those that this code was generated from. No differences means that every call still fits; descriptions do not count. The lister is usually the *mcp.ClientSession itself."}).
		Func().Params(recv).Id("Check").Params(ctx, jen.Id("lister").Add(bind("Lister"))).
		Params(jen.Index().Add(bind("Difference")), jen.Error()).
		Block(jen.Return(jen.Id("c").Dot("client").Dot("Check").Call(jen.Id("ctx"), jen.Id("lister"))))
	for _, m := range c.methods {
		d := m.doc
		d.lead = m.name + " calls the tool " + quoteText(m.tool) + "."
		if d.title != "" && d.title != m.tool {
			d.lead = m.name + " calls the tool " + quoteText(m.tool) + " (" + clipText(d.title, 80) + ")."
		}
		args := []jen.Code{ctx, jen.Id("in").Id(m.in.name)}
		if m.out == nil {
			d.extra = append(d.extra[:len(d.extra):len(d.extra)], "The tool declares no output schema, so this is its whole result.")
			e.declare(d).Func().Params(recv).Id(m.name).Params(args...).Params(result, jen.Error()).
				Block(jen.Return(jen.Id("c").Dot("client").Dot("Call").Call(jen.Id("ctx"), jen.Id(m.toolVar), jen.Id("in"))))
			continue
		}
		call := bind("Call").Types(typ(m.out)).Call(jen.Id("ctx"), jen.Id("c").Dot("client"), jen.Id(m.toolVar), jen.Id("in"))
		e.declare(d).Func().Params(recv).Id(m.name).Params(args...).Params(typ(m.out), jen.Error()).Block(
			jen.List(jen.Id("out"), jen.Id("_"), jen.Err()).Op(":=").Add(call),
			jen.Return(jen.Id("out"), jen.Err()),
		)
		e.declare(doc{lead: m.fullName + " is " + m.name + " and also returns the whole result, with its content and _meta."}).
			Func().Params(recv).Id(m.fullName).Params(args...).Params(typ(m.out), result, jen.Error()).
			Block(jen.Return(call))
	}
}

// checked reports whether the calls of a client are checked against schemas.
func checked(c client) bool {
	for _, m := range c.methods {
		if m.in.schema != "" {
			return true
		}
	}
	return false
}

// tools writes what the bindings know of each tool.
func (e *emitter) tools(c client) {
	tool := jen.Qual(importBind, "Tool")
	var all []jen.Code
	for _, m := range c.methods {
		all = append(all, jen.Id(m.toolVar))
	}
	list := jen.Values()
	if len(all) > 0 {
		list = lines(all)
	}
	e.declare(doc{}).Var().Id(c.toolsVar).Op("=").Index().Op("*").Add(tool).Add(list)
	for _, m := range c.methods {
		members := []jen.Code{
			member("Name", jen.Lit(m.tool)),
			member("Digest", jen.Lit(m.contract)),
		}
		if m.decoded != "" {
			members = append(members, member("Decoded", jen.Lit(m.decoded)))
		}
		if m.in.schema != "" {
			members = append(members, member("Input", jen.Id(m.in.schemaVar)))
		}
		if m.out != nil && m.out.decl.schema != "" {
			members = append(members, member("Output", jen.Id(m.out.decl.schemaVar)))
		}
		e.declare(doc{}).Var().Id(m.toolVar).Op("=").Op("&").Add(tool).Add(lines(members))
	}
}

// member is a key and value of a composite literal, in the order of the
// caller: jen.Dict sorts.
func member(key string, value jen.Code) jen.Code { return jen.Id(key).Op(":").Add(value) }

// lines is the body of a composite literal with an element a line.
func lines(elements []jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, elements...)
}

// schema writes the schema that a root type is checked against.
func (e *emitter) schema(d *decl) {
	if d.schema != "" {
		e.declare(doc{}).Var().Id(d.schemaVar).Op("=").Op("&").Qual(importValidate, "Schema").
			Values(member("JSON", text(goString(d.schema))))
	}
}

// ---- declarations ----

func (e *emitter) decl(d *decl) {
	head := d.doc
	if head.lead == "" {
		head.lead = d.name + " is " + article(d) + "."
	} else {
		head.lead = d.name + " " + head.lead
	}
	if d.kind == unionDecl {
		head.extra = append(head.extra[:len(head.extra):len(head.extra)], "Set exactly one field, or encoding fails. After decoding exactly one is set; Raw holds JSON that fits none of the others.")
	}
	declared := e.declare(head).Type().Id(d.name)
	switch d.kind {
	case structDecl, tupleDecl, unionDecl:
		e.structDecl(declared, d)
	case enumDecl:
		e.enumDecl(declared, d)
	case literalDecl:
		e.literalDecl(declared, d)
	case rawDecl:
		declared.Add(embedding(rawMessage()))
	case definedDecl:
		e.definedDecl(declared, d)
	}
	if d.schema != "" {
		of := "the arguments"
		if d.output {
			of = "the result"
		}
		e.declare(doc{lead: "Validate checks v against the schema of " + of + "."}).
			Func().Params(value(d)).Id("Validate").Params().Error().
			Block(jen.Return(jen.Qual(importValidate, "Value").Call(jen.Id(d.schemaVar), jen.Id("v"))))
	}
}

func article(d *decl) string {
	switch d.kind {
	case structDecl:
		return "an object"
	case tupleDecl:
		return "an array with a type for each place"
	case unionDecl:
		return "one of several types"
	case enumDecl, literalDecl:
		return "one of a set of values"
	}
	return "a value"
}

// value and pointer are the receivers of methods.
func value(d *decl) *jen.Statement   { return jen.Id("v").Id(d.name) }
func pointer(d *decl) *jen.Statement { return jen.Id("v").Op("*").Id(d.name) }

// embedding is a struct of one embedded type, on one line.
func embedding(t *jen.Statement) *jen.Statement {
	return jen.Custom(jen.Options{Open: "struct{ ", Close: " }"}, t)
}

func (e *emitter) definedDecl(declared *jen.Statement, d *decl) {
	switch d.base.kind {
	case boolType, intType, floatType, stringType, sliceType, mapType:
		declared.Add(typ(d.base))
		if d.base.kind == sliceType || d.base.kind == mapType {
			e.codec(d,
				jen.Qual(importRT, "Marshal").Call(jen.Add(typ(d.base)).Call(jen.Id("v"))),
				jen.Qual(importRT, "Unmarshal").Call(jen.Id("data"), jen.Parens(jen.Op("*").Add(typ(d.base))).Call(jen.Id("v"))),
			)
		}
	case numberType:
		declared.Add(embedding(rawMessage()))
	default:
		// Embedding brings the methods along, which a defined type would lose.
		declared.Add(embedding(typ(d.base)))
	}
}

// codec writes the two methods of encoding/json.
func (e *emitter) codec(d *decl, marshal, unmarshal jen.Code) {
	e.declare(doc{lead: "MarshalJSON encodes v by the rules of package rt."}).Func().Params(value(d)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).
		Block(jen.Return(marshal))
	e.declare(doc{lead: "UnmarshalJSON decodes v by the rules of package rt."}).Func().Params(pointer(d)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().
		Block(jen.Return(unmarshal))
}

// marker is the type of the blank field that tells the runtime how a struct is
// encoded, "" for one that encoding/json does well.
func marker(d *decl) string {
	switch {
	case d.kind == tupleDecl:
		return "Tuple"
	case d.kind == unionDecl:
		return "OneOf"
	case d.codec == openCodec:
		return "Open"
	case d.codec == exactCodec:
		return "Exact"
	case d.codec == closedCodec:
		return "Closed"
	}
	return ""
}

// meanings explain the markers where they stand.
var meanings = map[string]string{
	"Tuple":  "an array, one field for each place",
	"OneOf":  "encoded as the field that is set",
	"Open":   "unknown members are kept",
	"Exact":  "names match exactly, unknown members are ignored",
	"Closed": "unknown members are an error",
}

func (e *emitter) structDecl(declared *jen.Statement, d *decl) {
	var fields []jen.Code
	documented := false
	for _, f := range d.fields {
		documented = documented || !f.doc.empty()
	}
	mark := marker(d)
	if mark != "" {
		fields = append(fields, jen.Id("_").Qual(importRT, mark).Comment(meanings[mark]))
		if documented {
			fields = append(fields, jen.Line())
		}
	}
	for _, f := range d.fields {
		if text := comment(f.doc); text != "" {
			fields = append(fields, jen.Comment(text))
		}
		field := jen.Id(f.name).Add(typ(f.typ))
		if tag := fieldTag(f); len(tag) > 0 {
			field.Tag(tag)
		}
		fields = append(fields, field)
	}
	declared.Struct(fields...)
	if mark != "" {
		e.codec(d,
			jen.Qual(importRT, "Marshal").Call(jen.Op("&").Id("v")),
			jen.Qual(importRT, "Unmarshal").Call(jen.Id("data"), jen.Id("v")),
		)
	}
}

// fieldTag is the tag of a field: what the runtime's tables are made of.
func fieldTag(f field) map[string]string {
	switch f.role {
	case extrasField:
		return map[string]string{"json": "-", "rt": "extras"}
	case patternField:
		return map[string]string{"json": "-", "rt": "pattern=" + f.pattern}
	case restField:
		return map[string]string{"json": "-", "rt": "rest"}
	case variantField, rawField:
		return nil
	}
	name := f.json
	if f.omitzero {
		name += ",omitzero"
	}
	switch {
	case f.json == "-" && !f.omitzero:
		name = "-,"
	case f.json == "" || strings.ContainsAny(f.json, ",\"\\"):
		// The codec reads the second tag; the first could not say it.
		exact := "name=" + f.json
		if f.omitzero {
			exact = "omitzero," + exact
		}
		return map[string]string{"json": "-", "rt": exact}
	}
	return map[string]string{"json": name}
}

func (e *emitter) enumDecl(declared *jen.Statement, d *decl) {
	declared.Add(typ(d.base))
	switch len(d.values) {
	case 0:
		return
	case 1:
		v := d.values[0]
		e.declare(doc{lead: v.name + " is the only value."}).Const().Id(v.name).Id(d.name).Op("=").Add(text(v.text))
	default:
		var values []jen.Code
		for _, v := range d.values {
			values = append(values, jen.Id(v.name).Id(d.name).Op("=").Add(text(v.text)))
		}
		e.declare(doc{lead: "The values of " + d.name + "."}).Const().Defs(values...)
	}
	if d.open {
		return
	}
	e.valid(d)
	if len(d.values) == 1 {
		only := jen.Id(d.values[0].name)
		e.codec(d,
			jen.Qual(importRT, "MarshalConst").Call(jen.Id("v"), only),
			jen.Qual(importRT, "UnmarshalConst").Call(jen.Id("data"), jen.Id("v"), only),
		)
	}
}

// valid writes the method Valid of an enumeration.
func (e *emitter) valid(d *decl) {
	declare := func(lead string, body ...jen.Code) {
		e.declare(doc{lead: lead}).Func().Params(value(d)).Id("Valid").Params().Bool().Block(body...)
	}
	if len(d.values) == 1 {
		only := d.values[0].name
		declare("Valid reports whether v is "+only+".", jen.Return(jen.Id("v").Op("==").Id(only)))
		return
	}
	var names []jen.Code
	for _, v := range d.values {
		names = append(names, jen.Id(v.name))
	}
	// One a line, but the first.
	cases := jen.Custom(jen.Options{Separator: ",\n"}, names...)
	declare("Valid reports whether v is one of the values.",
		jen.Switch(jen.Id("v")).Block(jen.Case(cases).Block(jen.Return(jen.True()))),
		jen.Return(jen.False()),
	)
}

func (e *emitter) literalDecl(declared *jen.Statement, d *decl) {
	literal := jen.Qual(importRT, "Literal")
	declared.Add(embedding(literal))
	if len(d.values) == 0 {
		return
	}
	var values []jen.Code
	for _, v := range d.values {
		inner := jen.Add(literal).Values(member("JSON", text(goString(v.text))))
		values = append(values, jen.Id(v.name).Op("=").Id(d.name).Values(inner))
	}
	e.declare(doc{lead: "The values of " + d.name + "."}).Var().Defs(values...)
	e.valid(d)
	e.declare(doc{lead: "Is reports whether v is the value w."}).
		Func().Params(value(d)).Id("Is").Params(jen.Id("w").Id(d.name)).Bool().
		Block(jen.Return(jen.Id("v").Op("==").Id("w")))
}

// goString writes a string literal, raw where that is easier to read.
func goString(s string) string {
	if strings.ContainsRune(s, '"') && strconv.CanBackquote(s) && printable(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

func printable(s string) bool {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}
