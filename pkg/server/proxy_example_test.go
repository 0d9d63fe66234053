package server_test

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

// A stdio server that is served over HTTP, to clients of every revision.
func ExampleNewProxy() {
	ctx := context.Background()
	c, err := client.Open(ctx, []client.Spec{{
		Name: "files", Stdio: &client.Stdio{Command: "mcp-server-filesystem", Args: []string{"/srv"}},
	}}, client.Options{})
	if err != nil {
		return
	}
	defer c.Close(ctx)
	proxy, err := server.NewProxy(ctx, c.Server("files"), slog.Default())
	if err != nil {
		return
	}
	defer proxy.Close()
	http.Handle("/mcp", server.NewHandler(proxy.Server, slog.Default()))
}
