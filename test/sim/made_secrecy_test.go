package sim_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/test/sim"
)

// said is all that Ambit says to anybody. It is safe for concurrent use.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(text + "\n")
}

// Eventf implements ownerreconcile.Recorder.
func (s *said) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	s.add(fmt.Sprintf("%v %v %s %s %s "+note, append([]any{regarding, related, eventtype, reason, action}, args...)...))
}

// ObserveReconcile implements telemetry.Metrics.
func (s *said) ObserveReconcile(sample telemetry.ReconcileSample) { s.add(fmt.Sprintf("%+v", sample)) }

// ObserveWrite implements telemetry.Metrics.
func (s *said) ObserveWrite(sample telemetry.WriteSample) { s.add(fmt.Sprintf("%+v", sample)) }

// ObserveLatency implements telemetry.Metrics.
func (s *said) ObserveLatency(sample telemetry.LatencySample) { s.add(fmt.Sprintf("%+v", sample)) }

// addGoroutines adds the stacks of all goroutines, and their labels.
func (s *said) addGoroutines(t *testing.T) {
	t.Helper()
	for detail := range 3 {
		var stacks bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, detail); err != nil {
			t.Fatal(err)
		}
		s.add(stacks.String())
	}
}

// secretForms are the texts that a value could stand in.
func secretForms(value string) []string {
	forms := []string{value, base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value)), fmt.Sprint([]byte(value))}
	quoted, _ := json.Marshal(value)
	forms = append(forms, strings.Trim(string(quoted), `"`))
	if block, _ := pem.Decode([]byte(value)); block != nil { // the middle of a key, whatever the lines
		body := base64.StdEncoding.EncodeToString(block.Bytes)
		forms = append(forms, body, body[len(body)-40:])
		encoded := base64.StdEncoding.EncodeToString([]byte(value))
		forms = append(forms, encoded[len(encoded)/2:len(encoded)/2+40])
	}
	return forms
}

// TestMadeIsSecret: the values that were made stand in no log at any level, trace, metric, stack, Event, status, annotation or other object than their
// Secret, nor in any kept object; not when writes are refused, answers lost and values spoilt by others either.
func TestMadeIsSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMadeStage(t, func(c *counts) sim.Faults { return &losses{counts: c} })
		seen := watchValues(s)
		out := &said{}
		spans := tracetest.NewInMemoryExporter()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		ctx := t.Context()
		s.owner("one", 3)
		options := controller.Options{
			Programs: programs(t, madePolicy), Recorder: out, Metrics: out, Tracer: tracer.Tracer("test"),
			Logger: funcr.NewJSON(out.add, funcr.Options{Verbosity: 127, LogCaller: funcr.All, LogTimestamp: true}),
		}
		stop := startAmbit(t, s.server, ambitUser, options)
		s.untilMade()
		out.addGoroutines(t)
		for i, patch := range []string{`{"metadata":{"annotations":{"ambit.dev/rotate":"a"}}}`, `{"metadata":{"annotations":{"ambit.dev/made":"{"}}}`,
			`{"metadata":{"annotations":{"ambit.dev/made":null}}}`, `{"data":{"password":"c2hvcnQ="}}`, `{"metadata":{"annotations":{"ambit.dev/rotate":"b"}},"data":{"user":"eA=="}}`} {
			s.patchSecret("db", patch)
			s.resize("one", 3+i)
			out.addGoroutines(t)
			time.Sleep(time.Minute)
		}
		for _, patch := range []string{`{"data":{"tls.key":"eA=="}}`, `{"metadata":{"annotations":{"ambit.dev/rotate":"a"}}}`} {
			s.patchSecret("tls", patch)
			s.patchSecret("ca", `{"metadata":{"annotations":{"ambit.dev/rotate":"c"}}}`)
			time.Sleep(3 * time.Hour)
		}
		stop()
		for _, resource := range []string{"configmaps", "events"} {
			gvr, known := resources()[resource]
			if !known {
				continue
			}
			list, err := s.admin.Resource(gvr).Namespace("one").List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out.add(fmt.Sprint(list.Object, list.Items))
		}
		out.add(fmt.Sprint(s.cache("one").Object))
		for _, name := range []string{"db", "ca", "tls"} {
			object := s.read(secrets, "one", name)
			unstructured.RemoveNestedField(object.Object, "data")
			out.add(fmt.Sprint(object.Object))
		}
		for _, span := range spans.GetSpans() {
			out.add(fmt.Sprintf("%+v", span))
		}
		text, values := out.text.String(), 0
		for id, list := range seen() {
			_, key, _ := strings.Cut(id, " ")
			if key != "password" && key != "previous" && key != "tls.key" && key != "next.key" {
				continue
			}
			for _, encoded := range list {
				value, err := base64.StdEncoding.DecodeString(encoded)
				if err != nil || len(value) < 12 {
					continue
				}
				values++
				for _, form := range secretForms(string(value)) {
					if at := strings.Index(text, form); at >= 0 {
						t.Errorf("a value of %s is said: ...%s...", id, text[max(0, at-200):min(len(text), at+200)])
						break
					}
				}
			}
		}
		if values < 8 || len(text) < 10000 || len(spans.GetSpans()) == 0 || !strings.Contains(text, "\"because\"") || !strings.Contains(text, "Outcome:created") {
			t.Errorf("%d values were looked for in %d bytes with %d spans", values, len(text), len(spans.GetSpans()))
		}
		t.Logf("%d values in %d bytes, %d spans", values, len(text), len(spans.GetSpans()))
	})
}
