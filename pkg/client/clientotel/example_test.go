package clientotel_test

import (
	"context"

	"go.opentelemetry.io/otel"

	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/client/clientotel"
)

func ExampleTrace() {
	specs := []client.Spec{{Name: "weather", HTTP: &client.HTTP{URL: "https://mcp.example.com/mcp"}}}
	c, err := client.Open(context.Background(), specs, client.Options{
		Handlers: client.Handlers{Trace: clientotel.Trace(otel.Tracer("my-program"))},
	})
	if err != nil {
		return
	}
	defer c.Close(context.Background())
}
