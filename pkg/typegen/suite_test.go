package typegen

import (
	"bufio"
	"encoding/json"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"os"
	"testing"
)

func TestTmpSuite(t *testing.T) {
	f, err := os.Open(os.Getenv("SUITE"))
	if err != nil {
		t.Skip()
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<26)
	for sc.Scan() {
		var r struct {
			ID     string
			Schema json.RawMessage
		}
		if json.Unmarshal(sc.Bytes(), &r) != nil {
			t.Fatal()
		}
		if want := os.Getenv("ID"); want != "" && want != r.ID {
			continue
		}
		raw, _ := json.Marshal(map[string]any{"name": "bench_case", "inputSchema": r.Schema})
		tool, err := catalog.ParseTool(raw)
		if err != nil {
			continue
		}
		res, err := Generate(catalog.New(catalog.Server{Name: "s", Tools: []catalog.Tool{tool}}), Options{Extras: ExtrasKeep})
		if os.Getenv("ID") != "" {
			if err != nil {
				t.Error(err)
			} else {
				t.Logf("%s\n%v", res.Files[0].Content, res.Diagnostics)
			}
		}
	}
}
