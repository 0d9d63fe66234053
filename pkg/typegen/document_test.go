package typegen

import (
	"testing"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

func TestResolve(t *testing.T) {
	v, err := schemadoc.Parse([]byte(`{
		"$id": "https://example.test/dir/root.json",
		"properties": {
			"list": {"items": [{"type": "string"}, {"type": "null"}]},
			"in": {"$id": "inner.json", "$defs": {"x": {"$anchor": "mark"}}, "properties": {"far": {}}},
			"weird": {"x-schemas": {"a": {"type": "boolean"}, "t": true, "n": 1}},
			"a/b~c%d": {}
		},
		"$defs": {"named": {"$anchor": "spot"}, "urn": {"$id": "urn:example:x", "$defs": {"y": {}}}}
	}`), schemadoc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	d, refused := newDocument(v, DefaultBudgets)
	if refused != nil {
		t.Fatal(refused)
	}
	inner := d.nodes[v.Get("properties").Get("in")]
	tests := []struct {
		from    *node
		ref     string
		want    string
		outcome refOutcome
	}{
		{d.root, "#", "", refFound},
		{d.root, "root.json", "", refFound},
		{d.root, "https://example.test/dir/root.json#/properties/list", "/properties/list", refFound},
		{d.root, "#/properties/list/items/1", "/properties/list/items/1", refFound},
		{d.root, "#/properties/a~1b~0c%25d", "/properties/a~1b~0c%d", refFound},
		{d.root, "#spot", "/$defs/named", refFound},
		{d.root, "inner.json#mark", "/properties/in/$defs/x", refFound},
		{d.root, "urn:example:x#/$defs/y", "/$defs/urn/$defs/y", refFound},
		{d.root, "#/properties/weird/x-schemas/a", "/properties/weird/x-schemas/a", refFound},
		{d.root, "#/properties/weird/x-schemas/t", "/properties/weird/x-schemas/t", refFound},
		{inner, "#", "/properties/in", refFound},
		{inner, "#/$defs/x", "/properties/in/$defs/x", refFound},
		{inner, "#mark", "/properties/in/$defs/x", refFound},
		{inner, "root.json#/$defs/named", "/$defs/named", refFound},
		{inner, "#/$defs/named", "/$defs/named", refFound}, // the whole document is meant
		{d.root, "#mark", "", refMissing},
		{d.root, "#/properties/none", "", refMissing},
		{d.root, "#/properties/list/items/2", "", refMissing},
		{d.root, "#/properties/list/items/01", "", refMissing},
		{d.root, "#/properties/list/items/x", "", refMissing},
		{d.root, "#/properties/weird/x-schemas/n", "", refMissing},
		{d.root, "#/properties/weird/x-schemas/n/z", "", refMissing},
		{d.root, "#/properties/a~2b", "", refMissing},
		{d.root, "#/properties/%zz", "", refMissing},
		{d.root, "other.json", "", refExternal},
		{d.root, "https://example.test/other#/a", "", refExternal},
	}
	for _, tt := range tests {
		n, outcome := d.resolve(tt.from, tt.ref)
		if outcome != tt.outcome {
			t.Errorf("%s: outcome %d, want %d", tt.ref, outcome, tt.outcome)
			continue
		}
		if outcome == refFound && n.pointer() != tt.want {
			t.Errorf("%s leads to %q, want %q", tt.ref, n.pointer(), tt.want)
		}
	}
}

func TestDialects(t *testing.T) {
	for schema, want := range map[string]dialect{
		"https://json-schema.org/draft/2020-12/schema": draft2020, "http://json-schema.org/schema#": draft2020,
		"https://json-schema.org/draft/2019-09/schema": draft2019, "http://json-schema.org/draft-07/schema#": draft07,
		"http://json-schema.org/draft-04/schema": draft07,
	} {
		if got, ok := dialectOf(schema); got != want || !ok {
			t.Errorf("%s: %v, %v", schema, got, ok)
		}
	}
	if _, ok := dialectOf("https://example.test/own"); ok {
		t.Error("an unknown dialect is known")
	}
	// Draft-04 spells $id as id, later ones do not.
	for draft, external := range map[string]bool{"04": false, "07": true} {
		schema := `{"$schema":"http://json-schema.org/draft-` + draft + `/schema#","type":"object","properties":{"a":{"$ref":"other.json"}},"definitions":{"o":{"id":"other.json","type":"string"}}}`
		_, res := generate(t, oneTool(t, schema, ""), Options{})
		found := false
		for _, d := range res.Diagnostics {
			found = found || d.Code == CodeExternalRef
		}
		if found != external {
			t.Errorf("draft-%s: %v", draft, res.Diagnostics)
		}
	}
}
