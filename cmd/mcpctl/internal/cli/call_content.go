package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// writeContent prints a result for a person: text as it is, the structured
// content where there is no text that says the same, and a line for everything
// that is no text.
func writeContent(out *ui.Stream, result *client.Result) error {
	structured, has := result.StructuredContent.(json.RawMessage)
	var b strings.Builder
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok && has && sameJSON(text.Text, structured) {
			continue // servers repeat it for clients that know no structure
		}
		b.WriteString(contentText(c))
	}
	if has {
		if err := view.WriteJSON(&b, structured); err != nil {
			return err
		}
	}
	text := b.String()
	if out.Terminal {
		text = cleanLines(text)
	}
	_, err := fmt.Fprint(out, text)
	return err
}

// sameJSON reports whether a text is a JSON text for the same value, white
// space aside.
func sameJSON(text string, raw json.RawMessage) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, raw) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

// contentText words one item of content, with a line break at its end.
func contentText(c mcp.Content) string {
	var text string
	switch c := c.(type) {
	case *mcp.TextContent:
		text = c.Text
	case *mcp.ImageContent:
		text = placeholder("image", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		text = placeholder("audio", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		text = "[link " + strings.TrimSpace(cmp.Or(c.Title, c.Name)+" "+c.URI) + "]"
	case *mcp.EmbeddedResource:
		switch r := c.Resource; {
		case r == nil:
			text = "[resource without content]"
		case r.Blob != nil:
			text = placeholder("resource "+r.URI, r.MIMEType, len(r.Blob))
		default:
			text = r.Text
		}
	case *client.UnknownContent:
		text = fmt.Sprintf("[content of the unknown kind %q; -o raw shows it]", c.Type)
	default:
		text = fmt.Sprintf("[content of kind %T; -o raw shows it]", c)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func placeholder(what, media string, size int) string {
	return fmt.Sprintf("[%s, %s; -o raw has it]", strings.TrimSpace(what+" "+media), byteSize(size))
}

func byteSize(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}

// cleanLines makes text of several lines harmless in a terminal.
func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		for j, cell := range cells {
			cells[j] = ui.Clean(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}
