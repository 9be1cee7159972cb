package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces is where spans go.
type Traces struct {
	// Tracer makes spans; nil: there are none.
	Tracer trace.Tracer
	// Stop sends what is left, and ends what was started, within 5 seconds and even if its
	// context has ended. It is called once, and never nil.
	Stop func(context.Context) error
}

// tracesTimeout bounds what a stop waits for a collector that does not answer.
const tracesTimeout = 5 * time.Second

// StartTraces sends spans by OTLP over HTTP, if OpenTelemetry's environment variables ask
// for that: OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, and
// neither OTEL_SDK_DISABLED is true nor OTEL_TRACES_EXPORTER none. Otherwise nothing is
// started. newTraceSender says which OTEL_EXPORTER_OTLP_* are read; the SDK reads the others
// itself: OTEL_TRACES_SAMPLER, OTEL_BSP_*, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, which
// is ambit if it is not set.
// getenv is os.Getenv but in tests.
func StartTraces(ctx context.Context, getenv func(string) string, version string) (Traces, error) {
	off := Traces{Stop: func(context.Context) error { return nil }}
	wanted, err := wantsTraces(getenv)
	if err != nil || !wanted {
		return off, err
	}
	client, err := newTraceSender(getenv)
	if err != nil {
		return off, fmt.Errorf("preparing to send traces: %w", err)
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return off, fmt.Errorf("preparing to send traces: %w", err)
	}
	about, err := describeService(getenv, version)
	if err != nil {
		return off, fmt.Errorf("preparing to send traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	stop := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesTimeout) // the SDK leaves all running otherwise
		defer cancel()
		defer client.stopSending() // the SDK does not wait for what it has begun
		if err := provider.Shutdown(ctx); err != nil {
			return fmt.Errorf("sending the last traces: %w", err)
		}
		return nil
	}
	return Traces{Tracer: provider.Tracer("github.com/ambit-dev/ambit"), Stop: stop}, nil
}

// describeService is what spans say of who sends them; the environment goes first.
func describeService(getenv func(string) string, version string) (*resource.Resource, error) {
	about := []attribute.KeyValue{attribute.String("service.version", version)}
	if getenv("OTEL_SERVICE_NAME") == "" {
		about = append(about, attribute.String("service.name", "ambit"))
	}
	return resource.Merge(resource.NewSchemaless(about...), resource.Environment())
}

// wantsTraces says whether the environment asks for traces. What it asks for and is not
// there is an error, not silence.
func wantsTraces(getenv func(string) string) (bool, error) {
	_, endpoint := collectorEnvironment(getenv).lookupVariable("ENDPOINT")
	exporter := getenv("OTEL_TRACES_EXPORTER")
	if endpoint == "" || getenv("OTEL_SDK_DISABLED") == "true" || exporter == "none" {
		return false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: there are otlp and none", exporter)
	}
	_, protocol := collectorEnvironment(getenv).lookupVariable("PROTOCOL")
	if protocol != "" && protocol != "http/protobuf" {
		return false, errors.New("traces are sent by OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf only, not by " + protocol)
	}
	return true, nil
}
