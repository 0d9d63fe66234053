package catalog

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// tenChanges copies a catalogue with a change in the schema of each of ten
// tools, spread over it.
func tenChanges(t testing.TB, c Catalog) Catalog {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	s := c.Servers[0]
	tools := append([]Tool(nil), s.Tools...)
	for i := range 10 {
		at := i * len(tools) / 10
		for len(DiffTool(s.Tools[at], tools[at])) == 0 {
			whole := deepCopy(parse(t, string(s.Tools[at].Raw)))
			mutate(t, rng, whole.Get("inputSchema"))
			tool, err := ParseTool(json.RawMessage(whole.AppendCanonical(nil)))
			if err != nil {
				t.Fatal(err)
			}
			tools[at] = tool
		}
	}
	s.Tools = tools
	return New(s)
}

func BenchmarkDiffLargest(b *testing.B) {
	was := readCaptured(b, captures+"/ms-365.json")
	is := readCaptured(b, captures+"/ms-365.json")
	changed := tenChanges(b, is)
	b.Run("itself", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := Diff(was, is); len(r.Changes) > 0 {
				b.Fatal(r.Changes)
			}
		}
	})
	b.Run("ten changes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := Diff(was, changed); r.Tools-r.Unchanged != 10 {
				b.Fatal(r.Tools, r.Unchanged)
			}
		}
	})
	b.Run("respelled", func(b *testing.B) {
		b.ReportAllocs()
		s := is.Servers[0]
		s.Tools = append([]Tool(nil), s.Tools...)
		for i := range s.Tools {
			v, err := schemadoc.Parse(s.Tools[i].Raw, schemadoc.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			if s.Tools[i], err = ParseTool(v.AppendCanonical(nil)); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if r := Diff(was, Catalog{[]Server{s}}); len(r.Changes) > 0 {
				b.Fatal(r.Changes)
			}
		}
	})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.Logf("%d MiB from the system", m.Sys>>20)
}
