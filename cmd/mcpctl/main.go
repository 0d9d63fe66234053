// Mcpctl inspects MCP servers and generates typed Go code from what they
// publish.
package main

import (
	"os"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/cli"
)

func main() { os.Exit(cli.Main()) }
