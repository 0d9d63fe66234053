package clientotel_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/client/clientotel"
)

const serverSpan = "00f067aa0ba902b7"

// start returns a client of a server that answers calls with result, and what
// the server finds in the _meta of the calls.
func start(t *testing.T, f client.TraceFunc, result string) (srv *client.Server, meta func() map[string]any) {
	t.Helper()
	script := mcptest.Modern(mcptest.Tool("t"))
	var last map[string]any
	script.Call = func(params json.RawMessage) string {
		var p struct {
			Meta map[string]any `json:"_meta"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		last = p.Meta
		return result
	}
	http := httptest.NewServer(script)
	t.Cleanup(http.Close)
	c, err := client.Open(t.Context(), []client.Spec{{Name: "srv", HTTP: &client.HTTP{URL: http.URL}}}, client.Options{
		Handlers: client.Handlers{Trace: f},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c.Server("srv"), func() map[string]any { return last }
}

func TestTrace(t *testing.T) {
	traceparent := `"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-` + serverSpan + `-01"`
	tests := map[string]struct {
		result, class string
		links         int
	}{
		"no span of the server": {`{"content":[]}`, "", 0},
		"span of the server":    {`{"content":[],"_meta":{` + traceparent + `}}`, "", 1},
		"no valid one":          {`{"content":[],"_meta":{"traceparent":"00-x-y-01"}}`, "", 0},
		"tool error":            {`{"content":[{"type":"text","text":"hush"}],"isError":true,"_meta":{` + traceparent + `}}`, "tool-error", 1},
		"protocol error":        {`error:hush`, "protocol", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.NewSpanRecorder()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
			tracer := provider.Tracer("test")
			srv, meta := start(t, clientotel.Trace(tracer), test.result)
			ctx, parent := tracer.Start(t.Context(), "parent")
			member, err := baggage.NewMember("user", "u1")
			if err != nil {
				t.Fatal(err)
			}
			bag, err := baggage.New(member)
			if err != nil {
				t.Fatal(err)
			}
			_, err = srv.Call(baggage.ContextWithBaggage(ctx, bag), client.Call{Tool: "t"})
			if (err != nil) != (test.class != "") {
				t.Fatal(err)
			}
			ended := spans.Ended()
			if len(ended) != 2 || ended[0].Name() != "tools/list" || ended[1].Name() != "tools/call t" {
				t.Fatalf("spans: %v", ended)
			}
			span := ended[1]
			if span.Parent().SpanID() != parent.SpanContext().SpanID() || span.SpanKind() != trace.SpanKindClient {
				t.Errorf("parent %v, kind %v", span.Parent(), span.SpanKind())
			}
			want := "00-" + span.SpanContext().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"
			if m := meta(); m["traceparent"] != want || m["baggage"] != "user=u1" {
				t.Errorf("the server got %v, want %s", m, want)
			}
			if links := span.Links(); len(links) != test.links || test.links == 1 && links[0].SpanContext.SpanID().String() != serverSpan {
				t.Errorf("links: %v", links)
			}
			attributes := attribute.NewSet(span.Attributes()...)
			for key, want := range map[attribute.Key]string{
				"mcp.method.name": "tools/call", "gen_ai.tool.name": "t", "error.type": test.class,
			} {
				if v, _ := attributes.Value(key); v.AsString() != want {
					t.Errorf("%s is %q, want %q", key, v.AsString(), want)
				}
			}
			if failed := span.Status().Code == codes.Error; failed != (test.class != "") || strings.Contains(span.Status().Description, "hush") {
				t.Errorf("status %v", span.Status())
			}
		})
	}
}

func TestPropagate(t *testing.T) {
	tracer := sdktrace.NewTracerProvider().Tracer("test")
	srv, meta := start(t, clientotel.Propagate(), `{"content":[]}`)
	if _, err := srv.Call(t.Context(), client.Call{Tool: "t"}); err != nil {
		t.Fatal(err)
	}
	if m := meta(); m["traceparent"] != nil || m["baggage"] != nil {
		t.Errorf("without a span the server got %v", m)
	}
	ctx, span := tracer.Start(t.Context(), "mine")
	if _, err := srv.Call(ctx, client.Call{Tool: "t"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := meta()["traceparent"].(string); !strings.Contains(got, span.SpanContext().SpanID().String()) {
		t.Errorf("the server got %q", got)
	}
	// What the caller says itself wins.
	const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01"
	if _, err := srv.Call(ctx, client.Call{Tool: "t", Meta: map[string]any{"traceparent": own}}); err != nil {
		t.Fatal(err)
	}
	if got := meta()["traceparent"]; got != own {
		t.Errorf("the server got %q", got)
	}
}

// A failure that is none of the client's still ends the span.
func TestForeignError(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	f := clientotel.Trace(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test"))
	_, end := f(t.Context(), client.Operation{Server: "s", Method: "resources/read", Target: "memo://secret"})
	end(client.TraceContext{}, errors.New("some text"))
	span := spans.Ended()[0]
	if span.Name() != "resources/read" || span.Status().Description != "_OTHER" {
		t.Errorf("span %q, status %v", span.Name(), span.Status())
	}
}
