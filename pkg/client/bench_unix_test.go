//go:build unix

package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkDiscover compares the CPU time of discovering one server in this
// process, the server's own part included, with that of the bare SDK: connect,
// list all tools, close. The two take turns, so that they meet the same
// machine. "ratio" is ours by theirs.
func BenchmarkDiscover(b *testing.B) {
	for _, bench := range []struct {
		name, file string
		legacy     bool
	}{
		{"small", "stripe", false},
		{"large", "todoist", false},
		{"legacy", "stripe", true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			tools := catalogueTools(b, bench.file)
			script := mcptest.Modern(tools...)
			if bench.legacy {
				script = mcptest.Legacy(tools...)
			}
			srv := httptest.NewServer(script)
			defer srv.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()

			bare := func() {
				c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
				cs, err := c.Connect(b.Context(), &mcp.StreamableClientTransport{
					Endpoint: srv.URL, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true,
				}, nil)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for _, err := range cs.Tools(b.Context(), nil) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				cs.Close()
				if n != len(tools) {
					b.Fatalf("%d tools, want %d", n, len(tools))
				}
			}
			spec := httpSpec(srv.URL)
			ours := func() {
				c, err := client.Open(b.Context(), []client.Spec{spec}, client.Options{Transport: transport})
				if err != nil {
					b.Fatal(err)
				}
				r := c.Discover(b.Context()).Results[0]
				if err := c.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				if r.Err != nil || len(r.Server.Tools) != len(tools) {
					b.Fatalf("%d tools, want %d: %v", len(r.Server.Tools), len(tools), r.Err)
				}
			}
			bare()
			ours()
			var bareCPU, oursCPU time.Duration
			const turn = 8
			for b.Loop() {
				bareCPU += cpuTime(func() {
					for range turn {
						bare()
					}
				})
				oursCPU += cpuTime(func() {
					for range turn {
						ours()
					}
				})
			}
			runs := float64(b.N * turn)
			b.ReportMetric(float64(oursCPU)/float64(bareCPU), "ratio")
			b.ReportMetric(float64(bareCPU.Microseconds())/runs, "bare-cpu-µs")
			b.ReportMetric(float64(oursCPU.Microseconds())/runs, "ours-cpu-µs")
		})
	}
}

// cpuTime returns the CPU time that the process spends in f, including the
// collection of the garbage that f leaves.
func cpuTime(f func()) time.Duration {
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	f()
	runtime.GC()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	spent := func(r syscall.Rusage) time.Duration {
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return spent(after) - spent(before)
}

func catalogueTools(b *testing.B, name string) []string {
	raw, err := os.ReadFile("../../testdata/catalogues/" + name + ".json")
	if err != nil {
		b.Fatal(err)
	}
	var file struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &file); err != nil {
		b.Fatal(err)
	}
	var tools []string
	for _, tool := range file.Tools {
		tools = append(tools, string(tool))
	}
	return tools
}
