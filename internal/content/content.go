// Package content reads what tools and prompts return without losing what
// go-sdk does not know: the SDK rejects a whole result for one item of an
// unknown kind.
package content

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Unknown is content of a kind that go-sdk does not know, or that does not
// have the shape of its kind.
type Unknown struct {
	mcp.Content
	// Type is what it says it is.
	Type string
	// Raw is the content as the server sent it.
	Raw json.RawMessage
}

// MarshalJSON returns Raw.
func (c *Unknown) MarshalJSON() ([]byte, error) { return c.Raw, nil }

// ErrNoList says that content is no list.
var ErrNoList = errors.New("the content of the result is no list")

// Decode reads a list of content, which is valid JSON, or nil. What is not
// understood becomes an [Unknown].
func Decode(raw json.RawMessage) ([]mcp.Content, error) {
	if raw == nil || string(raw) == "null" {
		return []mcp.Content{}, nil
	}
	if all, ok := decode(raw); ok {
		return all, nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, ErrNoList
	}
	list := make([]mcp.Content, len(items))
	for i, item := range items {
		if one, ok := decode(append(append([]byte{'['}, item...), ']')); ok && len(one) == 1 {
			list[i] = one[0]
			continue
		}
		unknown := &Unknown{Raw: item}
		var named struct{ Type string }
		if json.Unmarshal(item, &named) == nil {
			unknown.Type = named.Type
		}
		list[i] = unknown
	}
	return list, nil
}

// decode reads a list as go-sdk does.
func decode(raw []byte) ([]mcp.Content, bool) {
	var result mcp.CallToolResult
	doc := append(append([]byte(`{"content":`), raw...), '}')
	err := json.Unmarshal(doc, &result)
	return result.Content, err == nil && result.Content != nil
}
