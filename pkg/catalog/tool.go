package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// ParseTool reads one item of a tools/list result. It keeps the bytes of raw
// and does not copy them. A tool without a name is an error; a tool that may
// not be offered is none and gets its [Tool.Problem].
func ParseTool(raw json.RawMessage) (Tool, error) {
	members, err := schemadoc.Split(raw)
	if err != nil {
		return Tool{}, fmt.Errorf("tool definition is no JSON object")
	}
	t := Tool{Raw: raw}
	for _, m := range members {
		switch m.Name {
		case "name":
			t.Name, err = text(m)
		case "title":
			t.Title, err = text(m)
		case "description":
			t.Description, err = text(m)
		case "inputSchema":
			t.InputSchema = m.Raw
		case "outputSchema":
			t.OutputSchema = m.Raw
		case "annotations":
			// Hints of the wrong type are no reason to lose a tool.
			t.Annotations = Annotations{}
			if json.Unmarshal(m.Raw, &t.Annotations) != nil {
				t.Annotations = Annotations{}
			}
		}
		if err != nil {
			return Tool{}, fmt.Errorf("tool definition: %w", err)
		}
	}
	if t.Name == "" {
		return Tool{}, fmt.Errorf("tool definition without a name")
	}
	if isNull(t.OutputSchema) {
		t.OutputSchema = nil
	}
	if t.Title == "" {
		t.Title = t.Annotations.Title
	}
	_, t.Problem = headers(t.InputSchema)
	return t, nil
}

// text reads a member that must be a string. Null counts as absent, as many
// servers mean it so.
func text(m schemadoc.RawMember) (string, error) {
	var s string
	if json.Unmarshal(m.Raw, &s) != nil {
		return "", fmt.Errorf("member %q is no string", m.Name)
	}
	return s, nil
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// Digest is a pair of digests of a tool, each "sha256:" and hexadecimal.
type Digest struct {
	// Contract changes when a value that the tool takes or gives can become
	// valid or invalid: it covers the tool's name, its execution member and
	// both schemas without annotation keywords.
	Contract string
	// Description changes when anything else about the tool does: its title,
	// description, annotations, icons, _meta, and the schemas' annotations.
	Description string
}

// Digest computes both digests over canonical JSON, in which neither white
// space, nor the order of members, nor the spelling of a number counts.
func (t Tool) Digest() (Digest, error) {
	v, err := schemadoc.Parse(t.Raw, schemadoc.Limits{})
	if err != nil {
		return Digest{}, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	input, output := v.Get("inputSchema"), v.Get("outputSchema")
	contract := &schemadoc.Value{Kind: schemadoc.Object}
	words := &schemadoc.Value{Kind: schemadoc.Object}
	for _, m := range v.Members {
		switch m.Name {
		case "name", "execution":
			contract.Members = append(contract.Members, m)
		case "inputSchema", "outputSchema":
		default:
			words.Members = append(words.Members, m)
		}
	}
	return Digest{
		Contract:    digest(contract, input, output, (*schemadoc.Value).AppendContract),
		Description: digest(words, input, output, (*schemadoc.Value).AppendWords),
	}, nil
}

// digest hashes a canonical array of the tool's own members and what part
// takes of its schemas.
func digest(own, input, output *schemadoc.Value, part func(*schemadoc.Value, []byte) []byte) string {
	doc := own.AppendCanonical([]byte{'['})
	for _, schema := range []*schemadoc.Value{input, output} {
		doc = append(doc, ',')
		if schema == nil || schema.Is(schemadoc.Null) {
			doc = append(doc, "null"...)
			continue
		}
		doc = part(schema, doc)
	}
	sum := sha256.Sum256(append(doc, ']'))
	return "sha256:" + hex.EncodeToString(sum[:])
}
