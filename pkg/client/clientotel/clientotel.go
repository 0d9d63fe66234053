// Package clientotel connects package client with OpenTelemetry: requests get
// spans, and servers learn which span a request belongs to. It is apart so
// that programs without OpenTelemetry do not link it.
//
// Names follow the semantic conventions for MCP
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/). No span holds
// arguments, results or other words of a server.
package clientotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// w3c is the form that the protocol prescribes (specification 2026-07-28,
// OpenTelemetry trace context).
var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Trace returns a function for [client.Handlers] that makes a span of each
// request, as a child of the one in the context, and sends it to the server.
// Where the server answers with a span of its own, the request's span links to
// that.
func Trace(tracer trace.Tracer) client.TraceFunc {
	return func(ctx context.Context, op client.Operation) (client.TraceContext, func(client.TraceContext, error)) {
		name := op.Method
		attributes := []attribute.KeyValue{
			attribute.String("mcp.method.name", op.Method),
			attribute.String("mcpctl.server.name", op.Server),
		}
		if key := targetKey(op.Method); key != "" && op.Target != "" {
			attributes = append(attributes, attribute.String(key, op.Target))
			if key != resourceKey { // which would be a name for each resource
				name += " " + op.Target
			}
		}
		ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
		return inject(ctx), func(server client.TraceContext, err error) {
			if remote := extract(server); remote.IsValid() {
				span.AddLink(trace.Link{SpanContext: remote})
			}
			if err != nil {
				class := errorType(err)
				span.SetAttributes(attribute.String("error.type", class))
				span.SetStatus(codes.Error, class)
			}
			span.End()
		}
	}
}

// Propagate returns a function for [client.Handlers] that sends the span and
// the baggage of the context, and makes no span.
func Propagate() client.TraceFunc {
	return func(ctx context.Context, _ client.Operation) (client.TraceContext, func(client.TraceContext, error)) {
		return inject(ctx), nil
	}
}

const resourceKey = "mcp.resource.uri"

// targetKey names the attribute for what a request is about.
func targetKey(method string) string {
	switch method {
	case "tools/call":
		return "gen_ai.tool.name"
	case "prompts/get":
		return "gen_ai.prompt.name"
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return resourceKey
	}
	return ""
}

func inject(ctx context.Context) client.TraceContext {
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return client.TraceContext{Traceparent: carrier["traceparent"], Tracestate: carrier["tracestate"], Baggage: carrier["baggage"]}
}

func extract(t client.TraceContext) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": t.Traceparent, "tracestate": t.Tracestate})
	return trace.SpanContextFromContext(ctx)
}

// errorType returns the class of a failure, which has no words of the server.
func errorType(err error) string {
	if e, ok := errors.AsType[*client.ServerError](err); ok {
		return string(e.Class)
	}
	return "_OTHER"
}
