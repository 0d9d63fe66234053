package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/server"
	"github.com/spf13/cobra"
)

type serveOptions struct {
	demo   bool
	listen string
}

const serveLong = `Serves the demo server, a small invented weather service: over standard input
and output, or with --listen over streamable HTTP at the path /mcp.`

const serveExample = `  # See what it offers
  mcpctl list -- mcpctl serve --demo

  # Over HTTP, on a port of its own choice, which it prints
  mcpctl serve --demo --listen 127.0.0.1:0`

func newServeCmd(app *App) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:     "serve --demo",
		Short:   "Serve the demo server",
		Long:    serveLong,
		Example: serveExample,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), app, o) },
	}
	cmd.Flags().BoolVar(&o.demo, "demo", false, "serve the demo server")
	cmd.Flags().StringVar(&o.listen, "listen", "", "serve HTTP on this `address`, such as 127.0.0.1:8080, instead of stdio")
	return cmd
}

func runServe(ctx context.Context, app *App, o serveOptions) error {
	if !o.demo {
		return usagef("there is nothing to serve but the demo server so far: serve --demo")
	}
	s := demo.New(Version())
	s.AddReceivingMiddleware(server.Recover(app.Log))
	if o.listen == "" {
		// Standard output belongs to the protocol.
		return server.ServeStdio(ctx, s, io.NopCloser(app.In), nopCloser{app.Out})
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return hinted{fmt.Errorf("listen on %s: %w", o.listen, err), "--listen takes host:port; port 0 lets the system choose"}
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewHandler(s, app.Log))
	fmt.Fprintf(app.Err, "serving http://%s/mcp\n", l.Addr())
	return server.ServeHTTP(ctx, l, s, mux)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
