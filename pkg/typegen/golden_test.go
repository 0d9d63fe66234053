package typegen

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// golden compares content with a file, or rewrites the file with -update.
func golden(t *testing.T, path string, content []byte) {
	t.Helper()
	if *update {
		write(t, path, content)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if !bytes.Equal(want, content) {
		t.Errorf("%s is not what the generator gives: %s (run with -update, then read the difference)", path, firstDiff(content, want))
	}
}

// TestRealTools holds ten tools of real servers, as generated in two modes,
// where people can read them and benchmarks can use them.
func TestRealTools(t *testing.T) {
	c := readCatalog(t, "../../testdata/typegen/real/tools.json")
	c.Servers[0].Name = "real tools"
	for pkg, o := range map[string]Options{"explicit": {}, "keep": {Extras: ExtrasKeep}} {
		o.Package = pkg
		res, err := Generate(c, o)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata/realtools", pkg, "tools.go"), res.Files[0].Content)
	}
}
