package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments adds arguments of a tool, or values of the one that is typed.
func (q *completing) arguments(t catalog.Tool) {
	root, err := schemadoc.Parse(t.InputSchema, schemadoc.Limits{})
	if err != nil {
		return
	}
	r := &argumentReader{app: q.app, root: root, given: make(map[string]bool)}
	key, value, isValue := strings.Cut(q.word, "=")
	if !isValue {
		for _, arg := range q.args[1:] {
			given, _, _ := strings.Cut(arg, "=")
			r.given[strings.TrimSuffix(given, ":")] = true
		}
		q.noSpace()
		q.inOrder()
		q.properties(r, r.resolve(root), "", 0)
		return
	}
	if strings.HasPrefix(value, "@") && !strings.HasPrefix(value, "@@") {
		q.files(key+"=@", value[1:])
		return
	}
	name, isJSON := strings.CutSuffix(key, ":")
	_, schema, err := r.find(name)
	if err != nil {
		return
	}
	q.inOrder()
	for _, v := range r.values(schema, isJSON, 0) {
		q.add(key+"="+v, "")
	}
}

// properties adds the names of an object's members, required ones first.
func (q *completing) properties(r *argumentReader, object *schemadoc.Value, prefix string, depth int) {
	properties := object.Get("properties")
	if properties == nil || depth > 8 {
		return
	}
	required := make(map[string]bool)
	if list := object.Get("required"); list != nil {
		for _, item := range list.Items {
			required[item.Str()] = true
		}
	}
	members := slices.Clone(properties.Members)
	slices.SortStableFunc(members, func(a, b schemadoc.Member) int {
		switch {
		case required[a.Name] == required[b.Name]:
			return 0
		case required[a.Name]:
			return -1
		}
		return 1
	})
	for _, m := range members {
		name := prefix + m.Name
		types := r.types(m.Value, 0)
		schema := r.resolve(m.Value)
		about := schema.Get("description").Str()
		list := slices.Contains(types, "array")
		switch {
		case strings.Contains(name, "="), r.given[name] && !list:
		case schema.Get("properties") != nil && strings.HasPrefix(q.word, name+"."):
			q.properties(r, schema, name+".", depth+1)
		case schema.Get("properties") != nil:
			q.add(name+".", about)
		case slices.Equal(types, []string{"object"}),
			slices.Equal(types, []string{"array"}) && slices.Equal(r.types(r.items(schema), 0), []string{"object"}):
			q.add(name+":=", about)
		default:
			q.add(name+"=", about)
		}
	}
}

// maxValues bounds how many values of an argument are looked at.
const maxValues = 200

// values returns the values that a schema allows, where it lists them, as they
// are typed on the command line.
func (r *argumentReader) values(schema *schemadoc.Value, isJSON bool, depth int) []string {
	v := r.resolve(schema)
	if r.steps++; v == nil || depth > 8 || r.steps > maxSteps {
		return nil
	}
	types := r.types(v, 0)
	var all []string
	literal := func(item *schemadoc.Value) {
		switch {
		case isJSON:
			all = append(all, string(item.AppendCanonical(nil)))
		case item.Is(schemadoc.String) && strings.HasPrefix(item.Text, "@"):
			all = append(all, "@"+item.Text)
		case item.Is(schemadoc.String):
			all = append(all, item.Text)
		case !slices.Contains(types, "string"): // else it would be one
			all = append(all, string(item.AppendCanonical(nil)))
		}
	}
	if c := v.Get("const"); c != nil {
		literal(c)
	}
	if e := v.Get("enum"); e != nil {
		for _, item := range e.Items[:min(len(e.Items), maxValues)] {
			literal(item)
		}
	}
	if len(all) == 0 {
		if slices.Contains(types, "boolean") && !slices.Contains(types, "string") {
			all = append(all, "true", "false")
		}
		if !isJSON && slices.Contains(types, "array") {
			all = append(all, r.values(r.items(v), isJSON, depth+1)...)
		}
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if list := v.Get(name); list != nil && len(all) < maxValues {
			for _, item := range list.Items {
				all = append(all, r.values(item, isJSON, depth+1)...)
			}
		}
	}
	return all[:min(len(all), maxValues)]
}

func (q *completing) promptArguments(p mcp.Prompt) {
	if key, value, ok := strings.Cut(q.word, "=@"); ok && !strings.HasPrefix(value, "@") {
		q.files(key+"=@", value)
		return
	}
	q.noSpace()
	q.inOrder()
	for _, a := range p.Arguments {
		if !slices.ContainsFunc(q.args[1:], func(arg string) bool { return strings.HasPrefix(arg, a.Name+"=") }) {
			q.add(a.Name+"=", cmp.Or(a.Description, a.Title))
		}
	}
}

// files adds the names of files behind a prefix such as key=@.
func (q *completing) files(prefix, path string) {
	dir, base := filepath.Split(path)
	at := dir
	if !filepath.IsAbs(at) {
		at = filepath.Join(q.app.Dir, dir)
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return
	}
	folders := 0
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		before := len(q.found)
		if info, err := os.Stat(filepath.Join(at, name)); err == nil && info.IsDir() {
			q.add(prefix+dir+name+string(filepath.Separator), "")
			folders += len(q.found) - before
			continue
		}
		q.add(prefix+dir+name, "")
	}
	if folders > 0 && folders == len(q.found) {
		q.noSpace()
	}
}

// object completes --args and --answers.
func (q *completing) object() {
	if path, ok := strings.CutPrefix(q.word, "@"); ok {
		q.files("@", path)
		return
	}
	q.add("@", "the file that holds it")
	q.noSpace()
}
