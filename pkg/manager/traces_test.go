package manager

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/freeport"
	"github.com/ambit-dev/ambit/test/timed"
)

// spans takes spans as a collector does. It is safe for concurrent use.
type spans struct {
	mu  sync.Mutex // guards what is below
	all []span
	raw []string // the requests, as they came
}

// span is one span, as far as tests look.
type span struct {
	name, parent, id string
	service          string
	attributes       map[string]string
}

// ServeHTTP implements http.Handler.
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request v1.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL.Path, err), http.StatusBadRequest)
		return
	}
	s.take(&request, string(body))
}

func (s *spans) take(request *v1.ExportTraceServiceRequest, raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = append(s.raw, raw)
	for _, from := range request.ResourceSpans {
		service := attributes(from.Resource.Attributes)["service.name"]
		for _, scope := range from.ScopeSpans {
			for _, sp := range scope.Spans {
				s.all = append(s.all, span{name: sp.Name, id: string(sp.SpanId), parent: string(sp.ParentSpanId), service: service, attributes: attributes(sp.Attributes)})
			}
		}
	}
}

func attributes(list []*commonv1.KeyValue) map[string]string {
	found := map[string]string{}
	for _, a := range list {
		found[a.Key] = a.Value.GetStringValue()
	}
	return found
}

// named returns the spans of that name.
func (s *spans) named(name string) []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []span
	for _, sp := range s.all {
		if sp.name == name {
			found = append(found, sp)
		}
	}
	return found
}

// TestTraces: passes, plans and writes are sent, and nothing of what objects hold.
func TestTraces(t *testing.T) {
	w := newWorld(t)
	received := &spans{}
	server := httptest.NewServer(received)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	traces, err := StartTraces(t.Context(), envOf(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}), "v0")
	if err != nil {
		t.Fatal(err)
	}
	w.grant("rights", memcachedRights()...)
	r := w.run(Options{Programs: []*policy.Program{memcached(t)}, Namespaces: []string{w.namespace}, Tracer: traces.Tracer})
	w.createOwner("one")
	w.eventually("the writes are traced", func(context.Context) error {
		verbs := verbsOf(received.named("write"))
		if !verbs["create deployments.apps"] || !verbs["patch memcacheds.cache.example.com/status"] {
			return fmt.Errorf("there is %v", verbs)
		}
		return nil
	})
	r.stop()
	if err := traces.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	passes := map[string]span{}
	for _, pass := range received.named("reconcile") {
		passes[pass.id] = pass
		if a := pass.attributes; a["ambit.policy"] != "ambit-system/memcached" || a["ambit.owner.namespace"] != w.namespace || a["ambit.owner.name"] != "one" || pass.service != "ambit" {
			t.Errorf("a pass is %v", pass)
		}
	}
	parts := append(received.named("write"), received.named("plan")...)
	for _, sp := range parts {
		if _, ok := passes[sp.parent]; !ok {
			t.Errorf("%v is in no pass", sp)
		}
	}
	verbs := verbsOf(parts)
	for _, want := range []string{"", "create deployments.apps", "patch memcacheds.cache.example.com/status"} {
		if !verbs[want] {
			t.Errorf("there is no span for %q, only %v", want, verbs)
		}
	}
	if all := strings.Join(received.raw, ""); strings.Contains(all, "11211") || strings.Contains(all, "memcached:") {
		t.Error("the spans have a part of the objects")
	}
}

// verbsOf are the verbs of spans, each with its resource; empty for one that is no write.
func verbsOf(list []span) map[string]bool {
	verbs := map[string]bool{}
	for _, sp := range list {
		verbs[strings.TrimSpace(sp.attributes["ambit.verb"]+" "+sp.attributes["ambit.resource"])] = true
	}
	return verbs
}

// TestTracesOff: without an endpoint nothing is started; what cannot be done is said.
func TestTracesOff(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, test := range map[string]struct {
		env  map[string]string
		want string // in the error; empty: off
	}{
		"nothing is set":       {},
		"a blank endpoint":     {env: map[string]string{endpoint: " "}},
		"the SDK is off":       {env: map[string]string{endpoint: "http://localhost:1", "OTEL_SDK_DISABLED": "true"}},
		"no exporter":          {env: map[string]string{endpoint: "http://localhost:1", "OTEL_TRACES_EXPORTER": "none"}},
		"another exporter":     {env: map[string]string{endpoint: "http://localhost:1", "OTEL_TRACES_EXPORTER": "zipkin"}, want: `"zipkin"`},
		"gRPC":                 {env: map[string]string{endpoint: "http://localhost:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, want: "not by grpc"},
		"an exporter, nowhere": {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			traces, err := StartTraces(t.Context(), envOf(test.env), "v0")
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("says %v, want %q", err, test.want)
				}
				return
			}
			if err != nil || traces.Tracer != nil {
				t.Errorf("a tracer: %v, %v", traces.Tracer, err)
			}
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTracesNobodyListens: a collector that is not there holds nothing up but the stop,
// and that not for long.
func TestTracesNobodyListens(t *testing.T) {
	url := "http://" + freeport.ForTest(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url)
	traces, err := StartTraces(t.Context(), envOf(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": url}), "v0")
	if err != nil {
		t.Fatal(err)
	}
	_, sp := traces.Tracer.Start(t.Context(), "one")
	sp.End()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	t.Log(traces.Stop(ctx)) // it may say that nobody listens
	timed.Check(t, "the stop", time.Since(began), tracesTimeout+time.Second)
}

func envOf(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}
