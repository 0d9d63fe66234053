//go:build unix

package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// benchServer is the first argument of a test binary that serves benchmarks: a
// process of its own, so that its work is not measured along.
const benchServer = "bench-server"

func init() {
	if len(os.Args) != 3 || os.Args[1] != benchServer {
		return
	}
	tool := `{"name":"forecast","inputSchema":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":7}},` +
		`"required":["city"]},"outputSchema":{"type":"object","properties":{"temperature":{"type":"number"},"conditions":{"type":"string"},` +
		`"hours":{"type":"array","items":{"type":"number"}}},"required":["temperature"]}}`
	script := mcptest.Modern(tool)
	script.Call = func(json.RawMessage) string {
		return `{"resultType":"complete","content":[{"type":"text","text":"21.5 degrees, sunny"}],` +
			`"structuredContent":{"temperature":21.5,"conditions":"sunny","hours":[1,2,3,4,5,6,7,8,9,10,11,12]}}`
	}
	if os.Args[2] == "stdio" {
		script.Serve(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	fmt.Printf("http://%s/\n", l.Addr())
	os.Exit(func() int { _ = http.Serve(l, script); return 1 }())
}

// startBenchServer starts a server that is called over HTTP.
func startBenchServer(b *testing.B) string {
	cmd := exec.Command(os.Args[0], benchServer, "http")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url)
}

var benchArguments = json.RawMessage(`{"city":"Berlin","days":3}`)

// BenchmarkCall compares a call on an open connection with one of the bare
// SDK, in CPU time and in allocations of this process: as generated code makes
// it ("plain"), and with arguments and result checked ("checked").
func BenchmarkCall(b *testing.B) {
	for _, transport := range []string{"http", "stdio"} {
		b.Run(transport, func(b *testing.B) {
			spec := client.Spec{Name: "srv", Stdio: &client.Stdio{Command: os.Args[0], Args: []string{benchServer, "stdio"}}}
			var bareTransport mcp.Transport = &mcp.CommandTransport{Command: exec.Command(os.Args[0], benchServer, "stdio")}
			if transport == "http" {
				url := startBenchServer(b)
				spec = httpSpec(url)
				bareTransport = &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}
			}
			bare, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(), bareTransport, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer bare.Close()
			if _, err := bare.ListTools(b.Context(), nil); err != nil {
				b.Fatal(err)
			}
			c, err := client.Open(b.Context(), []client.Spec{spec}, client.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close(context.Background())
			srv := c.Server("srv")
			if _, err := srv.ListTools(b.Context(), nil); err != nil {
				b.Fatal(err)
			}
			runs := map[string]func() error{
				"bare": func() error {
					_, err := bare.CallTool(b.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: benchArguments})
					return err
				},
				"plain": func() error {
					_, err := srv.CallTool(b.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: benchArguments})
					return err
				},
				"checked": func() error {
					_, err := srv.Call(b.Context(), client.Call{Tool: "forecast", Arguments: benchArguments})
					return err
				},
			}
			cpu, allocs := map[string]time.Duration{}, map[string]uint64{}
			const turn = 200
			for b.Loop() {
				for name, run := range runs {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					cpu[name] += cpuTime(func() {
						for range turn {
							if err := run(); err != nil {
								b.Fatal(name, err)
							}
						}
					})
					runtime.ReadMemStats(&after)
					allocs[name] += after.Mallocs - before.Mallocs
				}
			}
			for _, name := range []string{"plain", "checked"} {
				b.ReportMetric(float64(cpu[name])/float64(cpu["bare"]), name+"-cpu-ratio")
				b.ReportMetric(float64(allocs[name])/float64(allocs["bare"]), name+"-alloc-ratio")
			}
			b.ReportMetric(float64(cpu["bare"].Microseconds())/float64(b.N*turn), "bare-cpu-µs")
			b.ReportMetric(float64(allocs["bare"])/float64(b.N*turn), "bare-allocs")
		})
	}
}

// BenchmarkDiscoverMany discovers twenty servers that take their time to
// answer. "ratio" is the whole by the slowest.
func BenchmarkDiscoverMany(b *testing.B) {
	const servers = 20
	const slowest = 100 * time.Millisecond
	var specs []client.Spec
	for i := range servers {
		script := mcptest.Modern(mcptest.Tool("a"))
		delay := slowest * time.Duration(i+1) / servers
		srv := startDelayed(b, script, delay)
		specs = append(specs, client.Spec{Name: fmt.Sprintf("srv%d", i), HTTP: &client.HTTP{URL: srv}})
	}
	var all, worst time.Duration
	for b.Loop() {
		c, err := client.Open(b.Context(), specs, client.Options{})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		d := c.Discover(b.Context())
		all += time.Since(start)
		longest := time.Duration(0)
		for _, r := range d.Results {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
			longest = max(longest, r.Duration)
		}
		worst += longest
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(all)/float64(worst), "ratio")
	b.ReportMetric(float64(worst.Milliseconds())/float64(b.N), "slowest-ms")
}

// startDelayed serves a script over HTTP that answers tools/list late.
func startDelayed(b *testing.B, script *mcptest.Script, delay time.Duration) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	script.OnRequest = func(method string) {
		if method == "tools/list" {
			time.Sleep(delay) // the latency that is measured against
		}
	}
	srv := &http.Server{Handler: script}
	go func() { _ = srv.Serve(l) }()
	b.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String() + "/"
}
