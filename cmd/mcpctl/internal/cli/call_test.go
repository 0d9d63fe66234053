package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Nothing of a result is lost without a word, and nothing reaches a terminal
// that could rewrite it.
func TestContent(t *testing.T) {
	structured := json.RawMessage(`{"a": [1.50, null]}`)
	for name, test := range map[string]struct {
		content    []mcp.Content
		structured any
		terminal   bool
		want       string
	}{
		"text":             {[]mcp.Content{&mcp.TextContent{Text: "a\tb\n"}, &mcp.TextContent{Text: "c"}}, nil, false, "a\tb\nc\n"},
		"escapes, piped":   {[]mcp.Content{&mcp.TextContent{Text: "\x1b[31mred"}}, nil, false, "\x1b[31mred\n"},
		"escapes, shown":   {[]mcp.Content{&mcp.TextContent{Text: "a\tb\n\x1b[31mred\r\nx\ry\u202e"}}, nil, true, "a\tb\n·[31mred\nx y·\n"},
		"structured":       {nil, structured, false, "{\n  \"a\": [\n    1.50,\n    null\n  ]\n}\n"},
		"structured twice": {[]mcp.Content{&mcp.TextContent{Text: `{"a":[1.50,null]}`}}, structured, false, "{\n  \"a\": [\n    1.50,\n    null\n  ]\n}\n"},
		"its only member":  {[]mcp.Content{&mcp.TextContent{Text: "[1.50, null]"}}, structured, false, "{\n  \"a\": [\n    1.50,\n    null\n  ]\n}\n"},
		"its only text":    {[]mcp.Content{&mcp.TextContent{Text: "a\nb"}}, json.RawMessage(`{"content":"a\nb"}`), false, "a\nb\n"},
		"both":             {[]mcp.Content{&mcp.TextContent{Text: "see"}}, json.RawMessage("7"), false, "see\n7\n"},
		"image":            {[]mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 1500)}}, nil, false, "[image image/png, 1.5 kB; --save DIR would keep it]\n"},
		"audio":            {[]mcp.Content{&mcp.AudioContent{MIMEType: "audio/wav", Data: make([]byte, 3)}}, nil, false, "[audio audio/wav, 3 bytes; --save DIR would keep it]\n"},
		"link":             {[]mcp.Content{&mcp.ResourceLink{Name: "n", URI: "u:x"}}, nil, false, "[link n] mcpctl read -s srv u:x\n"},
		"link, quoted":     {[]mcp.Content{&mcp.ResourceLink{Title: "T", URI: "u:x'$(id)"}}, nil, false, "[link T] mcpctl read -s srv 'u:x'\\''$(id)'\n"},
		"link, broken":     {[]mcp.Content{&mcp.ResourceLink{Name: "a\nb", URI: "http://x/\x1b[m"}}, nil, false, "[link a b] http://x/·[m\n"},
		"link to the web":  {[]mcp.Content{&mcp.ResourceLink{Name: "n", URI: "https://e.org/"}}, nil, false, "[link n] https://e.org/\n"},
		"resource":         {[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u:x", MIMEType: "text/plain", Text: "inside"}}}, nil, false, "[resource u:x text/plain]\ninside\n"},
		"for a model":      {[]mcp.Content{&mcp.TextContent{Text: "t", Annotations: &mcp.Annotations{Audience: []mcp.Role{"assistant"}}}}, nil, false, "t\n"},
		"blob":             {[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u:x", MIMEType: "a/b", Blob: make([]byte, 2_000_000)}}}, nil, false, "[resource u:x a/b, 2.0 MB; --save DIR would keep it]\n"},
		"no resource":      {[]mcp.Content{&mcp.EmbeddedResource{}}, nil, false, "[resource without content]\n"},
		"unknown":          {[]mcp.Content{&client.UnknownContent{Type: "hologram"}}, nil, false, "[content of the unknown kind \"hologram\"; -o raw shows it]\n"},
	} {
		var b strings.Builder
		out := ui.NewStream(&b, nil, ui.Never, func(string) (string, bool) { return "", false })
		out.Terminal = test.terminal
		result := &client.Result{CallToolResult: &mcp.CallToolResult{Content: test.content, StructuredContent: test.structured}}
		o := callOptions{resultFlags: resultFlags{outputFlags: outputFlags{output: "text"}, images: "auto"}}
		app := &App{Out: out, LookupEnv: func(string) (string, bool) { return "", false }, secrets: redact.New()}
		if err := o.show(t.Context(), app, "srv", "t", result); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if b.String() != test.want {
			t.Errorf("%s: %q, want %q", name, b.String(), test.want)
		}
	}
}
