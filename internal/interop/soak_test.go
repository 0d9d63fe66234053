package interop

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// TestSoak connects, lists and closes over and over, and then looks for what
// was left behind: goroutines, memory, file descriptors. `make soak` says for
// how long.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("MCPCTL_SOAK"))
	if err != nil {
		t.Skip("MCPCTL_SOAK names no duration: run make soak")
	}
	p := needPeers(t)
	specs := []client.Spec{
		{Name: "stdio", Stdio: &client.Stdio{Command: p.node, Args: []string{p.script("everything"), "stdio"}}},
		{Name: "http", HTTP: &client.HTTP{URL: p.everything(t, "streamableHttp") + "/mcp"}},
		{Name: "sse", HTTP: &client.HTTP{URL: p.everything(t, "sse") + "/sse"}},
	}
	round := func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c, err := client.Open(ctx, specs, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range c.Discover(ctx).Results {
			if result.Err != nil {
				t.Errorf("%s: %v", result.Name, result.Err)
			} else if len(result.Server.Tools) == 0 {
				t.Errorf("%s: no tools", result.Name)
			}
		}
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	}

	const warmUp = 3
	for range warmUp {
		round()
	}
	before := look()
	leaked := goleak.IgnoreCurrent()
	rounds := 0
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); rounds++ {
		round()
	}
	if err := goleak.Find(leaked); err != nil {
		t.Errorf("after %d rounds: %v", rounds, err)
	}
	after := look()
	t.Logf("%d rounds in %v; before %+v, after %+v", rounds, length, before, after)
	if after.heap > before.heap+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes in %d rounds", before.heap, after.heap, rounds)
	}
	if after.files > before.files+8 {
		t.Errorf("open files grew from %d to %d in %d rounds", before.files, after.files, rounds)
	}
}

type footprint struct {
	heap  uint64
	files int // 0 where the system does not say
}

func look() footprint {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd")
	return footprint{heap: m.HeapAlloc, files: len(files)}
}
