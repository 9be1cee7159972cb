package statuswriter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/go-logr/logr/funcr"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// fakeReporter reports what it is told to.
type fakeReporter []policystatus.Report

func (f fakeReporter) Reports() []policystatus.Report { return f }
func (f fakeReporter) RetiredOf(string) (int, bool)   { return 0, false }

// fakeObjects are objects whose writes are answered, or not as long as they are away.
type fakeObjects struct {
	objects   map[manifest.Origin]*unstructured.Unstructured
	isAway    bool
	forbidden bool
	answered  int
}

func (f *fakeObjects) FindObject(o manifest.Origin) *unstructured.Unstructured {
	return f.objects[o.WithoutKey()]
}
func (f *fakeObjects) AnnotatedOrigins() []manifest.Origin { return nil }
func (f *fakeObjects) MayPatch(*unstructured.Unstructured, string) (allowed, known bool) {
	return !f.forbidden, true
}
func (f *fakeObjects) PatchObject(ctx context.Context, _ *unstructured.Unstructured, _ string, _ []byte) error {
	if f.isAway {
		<-ctx.Done()
		return ctx.Err()
	}
	f.answered++
	return nil
}
func (f *fakeObjects) RecordEvent(*unstructured.Unstructured, string, string, string) {}

// resourceNamed is a custom resource without a status.
func resourceNamed(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ReconcilePolicy"))
	object.SetNamespace("own")
	object.SetName(name)
	object.SetUID(types.UID(name))
	object.SetGeneration(1)
	return object
}

// invalidPolicies are custom resources of policies that do not compile, and a decision on them.
func invalidPolicies(count int) (*fakeObjects, registry.Decision) {
	server, d := &fakeObjects{objects: map[manifest.Origin]*unstructured.Unstructured{}}, registry.Decision{}
	for i := range count {
		object := resourceNamed(fmt.Sprintf("policy-%02d", i))
		from := manifest.Origin{Kind: manifest.CustomResource, Namespace: "own", Name: object.GetName()}
		server.objects[from] = object
		d.Policies = append(d.Policies, registry.PolicyState{
			Key: registry.Key{Origin: from, Name: from.Name}, UID: string(object.GetUID()), Generation: 1, ID: "own/" + from.Name,
			Resolution: registry.Resolution{State: registry.Invalid, Reason: v1alpha1.ReasonInvalid, Message: "bad"},
		})
	}
	return server, d
}

// TestAway: while the API server takes writes and does not answer, each pass waits for one of them, so
// that the next one has newer reports.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, d := invalidPolicies(20)
		w := New(Options{Reporter: fakeReporter{}, Objects: map[manifest.Kind]Objects{manifest.CustomResource: server}, Clock: clock.RealClock{}})
		w.TakeDecision(d)
		pass := func() time.Duration {
			from := time.Now()
			w.writeAll(t.Context())
			return time.Since(from)
		}
		server.isAway = true
		for range 3 {
			if took := pass(); took > writeTimeout {
				t.Errorf("a pass took %v", took)
			}
			time.Sleep(WriteInterval)
		}
		server.isAway = false
		time.Sleep(maxBackoff)
		if pass(); server.answered != 20 {
			t.Errorf("%d of 20 are written when it is back", server.answered)
		}
	})
}

// TestForbidden: what may not be patched is logged once, and written when it is permitted.
func TestForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, d := invalidPolicies(2)
		server.forbidden = true
		var log []string
		w := New(Options{
			Reporter: fakeReporter{}, Objects: map[manifest.Kind]Objects{manifest.CustomResource: server}, Clock: clock.RealClock{},
			Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{}),
		})
		w.TakeDecision(d)
		for range 3 {
			w.writeAll(t.Context())
			time.Sleep(WriteInterval)
		}
		const want = `"level"=0 "msg"="how policies fare is not written on all of them: the right to patch is missing" "resource"="reconcilepolicies/status" "namespace"="own" "name"="policy-00"`
		if log = slices.DeleteFunc(log, func(line string) bool { return strings.Contains(line, "policy is not ready") }); !slices.Equal(log, []string{want}) {
			t.Errorf("the log is %q", log)
		}
		server.forbidden = false
		if w.writeAll(t.Context()); server.answered != 2 {
			t.Errorf("%d of 2 are written when it is permitted", server.answered)
		}
	})
}
