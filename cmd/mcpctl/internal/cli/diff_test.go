package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContractsPage holds the guide to the rules and to what the program
// prints.
func TestContractsPage(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	page := read("docs/contracts.md")
	codes := regexp.MustCompile(`Code = "([a-z-]+)"`).FindAllStringSubmatch(read("pkg/catalog/diff.go"), -1)
	if len(codes) < 30 {
		t.Errorf("%d rules only", len(codes))
	}
	for _, c := range codes {
		if !strings.Contains(page, "| `"+c[1]+"` |") {
			t.Errorf("the rule %s is not in the guide", c[1])
		}
	}
	report := func(old, new string) string {
		var out, errs bytes.Buffer
		app := testApp(t)
		code := app.Run(t.Context(), []string{"diff", filepath.Join(root, "testdata", "contracts", old), filepath.Join(root, "testdata", "contracts", new)}, &out, &errs)
		if code != exitNegative || errs.Len() > 0 {
			t.Fatalf("exit code %d: %s", code, &errs)
		}
		return out.String()
	}
	if !strings.Contains(page, report("context7-1.0.33.json", "context7-4.1.1.json")) {
		t.Error("the report of context7 is not what the program prints")
	}
	for part := range strings.SplitSeq(report("filesystem-2025.11.25.json", "filesystem-2026.8.31.json"), "\n\n") {
		if strings.HasPrefix(part, "filesystem.read_media_file\n") && !strings.Contains(page, part) {
			t.Error("the report of the filesystem server is not what the program prints")
		}
	}
}
