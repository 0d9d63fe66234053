// Mcpctl inspects MCP servers and generates typed Go code from what they
// publish.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/cli"
)

func main() {
	collectLater()
	os.Exit(cli.Main())
}

// collectLater puts the first garbage collection off until the heap has 12 MB,
// three times the usual size: most commands end before that, and a collection
// is a fifth of their work. Later ones come as usual.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(300)
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
