package bind

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// Lister lists the tools of a live server, a page at a time. An
// *mcp.ClientSession of go-sdk is one.
type Lister interface {
	ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error)
}

// RawLister lists tools exactly as the server sent them. A [Lister] that is
// one as well is asked for these instead, since decoded tools no longer tell
// everything.
type RawLister interface {
	ListRawTools(context.Context) ([]json.RawMessage, error)
}

// Difference is one tool whose live contract is not the one that the code was
// generated from.
type Difference struct {
	Tool string
	Kind DifferenceKind
}

// DifferenceKind says how a tool differs.
type DifferenceKind string

// The kinds of differences. Tools that the live server has beyond the
// generated ones are none.
const (
	Missing DifferenceKind = "missing" // the server does not list the tool
	Changed DifferenceKind = "changed" // its contract has another digest
)

func (d Difference) String() string { return "tool " + strconv.Quote(d.Tool) + " " + string(d.Kind) }

// maxPages bounds how many pages of tools are read from a server.
const maxPages = 1000

// Check compares the contracts of a live server's tools with those that the
// code was generated from. The differences are sorted by tool.
func (c *Client) Check(ctx context.Context, l Lister) ([]Difference, error) {
	live, exact, err := digests(ctx, l)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for _, t := range c.tools {
		want := t.Digest
		if !exact {
			want = cmp.Or(t.Decoded, t.Digest)
		}
		switch have, ok := live[t.Name]; {
		case !ok:
			out = append(out, Difference{t.Name, Missing})
		case have != want:
			out = append(out, Difference{t.Name, Changed})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.Tool, b.Tool) })
	return out, nil
}

// digests returns the contract digests of a live server's tools by name, and
// whether they were computed from the exact bytes.
func digests(ctx context.Context, l Lister) (map[string]string, bool, error) {
	out := map[string]string{}
	add := func(raw json.RawMessage) error {
		t, err := catalog.ParseTool(raw)
		if err != nil {
			return err
		}
		d, err := t.Digest()
		if err != nil {
			return err
		}
		out[t.Name] = d.Contract
		return nil
	}
	if r, ok := l.(RawLister); ok {
		raws, err := r.ListRawTools(ctx)
		if err != nil {
			return nil, false, err
		}
		for _, raw := range raws {
			if err := add(raw); err != nil {
				return nil, false, err
			}
		}
		return out, true, nil
	}
	params := &mcp.ListToolsParams{}
	seen := map[string]bool{}
	for range maxPages {
		res, err := l.ListTools(ctx, params)
		if err != nil {
			return nil, false, err
		}
		for _, t := range res.Tools {
			raw, err := decoded(t.Name, t.InputSchema, t.OutputSchema)
			if err != nil {
				return nil, false, err
			}
			if err := add(raw); err != nil {
				return nil, false, err
			}
		}
		if res.NextCursor == "" {
			return out, false, nil
		}
		if seen[res.NextCursor] {
			return nil, false, errors.New("the server repeats a cursor of its list of tools")
		}
		seen[res.NextCursor] = true
		params = &mcp.ListToolsParams{Cursor: res.NextCursor}
	}
	return nil, false, fmt.Errorf("the server's list of tools has more than %d pages", maxPages)
}

// decoded is a tool as a client knows it that decoded its schemas.
func decoded(name string, input, output any) (json.RawMessage, error) {
	tool := map[string]any{"name": name, "inputSchema": input}
	if output != nil {
		tool["outputSchema"] = output
	}
	return json.Marshal(tool)
}
