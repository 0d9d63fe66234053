package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// TestPageIsBounded holds that no server makes a page that nobody reads.
func TestPageIsBounded(t *testing.T) {
	var many, long []string
	for i := range 5000 {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	for i := range 100 {
		long = append(long, fmt.Sprintf(`"p%d":{"type":"string","description":%q}`, i, strings.Repeat("word ", 10_000)))
	}
	out := ui.NewStream(nil, nil, ui.Never, func(string) (string, bool) { return "", false })
	for name, properties := range map[string][]string{"many": many, "long": long} {
		tool, err := catalog.ParseTool(fmt.Appendf(nil, `{"name":"t","description":%q,"inputSchema":{"type":"object","properties":{%s}}}`,
			strings.Repeat("text ", 100_000), strings.Join(properties, ",")))
		if err != nil {
			t.Fatal(err)
		}
		page := toolPage(out, "srv", tool, "")
		if len(page) > 2*mostPage || strings.Count(page, "  p") > mostListed {
			t.Errorf("%s: %d bytes", name, len(page))
		}
		if !strings.HasSuffix(page, "\n  …\n") {
			t.Errorf("%s: ends with %q", name, page[len(page)-40:])
		}
	}
}
