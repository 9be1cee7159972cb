package policysource

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/pkg/policysource/statuswriter"
	"github.com/ambit-dev/ambit/test/policytext"
)

// TestRealResource: a custom resource from its creation to its end.
func TestRealResource(t *testing.T) {
	w := newWorld(t)
	mark := w.cluster.Audit().Mark()
	w.grant(w.own, "policies", rule("ambit.dev", "reconcilepolicies", "list", "watch", "patch"), rule("ambit.dev", "reconcilepolicies/status", "patch"), rule("events.k8s.io", "events", "create"))
	w.start(Options{CustomResources: true})
	w.putResource(w.own, "cache v1")
	id := w.own + "/cache"
	first := w.runs(id, "")
	object, err := w.get(customResources(), w.own, "cache")
	w.must(err)
	if !slices.Contains(object.GetFinalizers(), v1alpha1.FinalizerCleanup) {
		t.Error("it runs before it has its finalizer")
	}
	w.fares(w.own, "cache", "Ready", "True", v1alpha1.ReasonServing)
	w.fares(w.own, "cache", "Valid", "True", v1alpha1.ReasonValid)
	w.fares(w.own, "cache", "Stalled", "", "")

	w.putResource(w.own, "cache v2")
	second := w.runs(id, first)
	w.putResource(w.own, "cache v3 broken")
	message := w.fares(w.own, "cache", "Valid", "False", v1alpha1.ReasonInvalid)
	if want := "reconcilepolicy " + w.own + "/cache: spec.requeueAfter: unknown variable"; !strings.HasPrefix(message, want) {
		t.Errorf("the message is %q, want %q...", message, want)
	}
	w.fares(w.own, "cache", "Stalled", "True", v1alpha1.ReasonInvalid)
	if now := w.engine.hash(id); now != second {
		t.Error("the last good version does not run any more")
	}

	denied := []v1alpha1.DeniedAccess{{Verb: "list", Resource: "apps", Namespace: "x", Message: "cannot list apps"}}
	w.engine.report(policystatus.Report{Policy: id, Serving: true, Ready: 2, Stalled: 1, Denied: denied})
	w.putResource(w.own, "cache v4")
	w.fares(w.own, "cache", "Permitted", "False", v1alpha1.ReasonForbidden)
	w.fares(w.own, "cache", "Ready", "True", v1alpha1.ReasonServing)
	w.eventually("owners and denied accesses are counted", func() error {
		object, err := w.get(customResources(), w.own, "cache")
		if err != nil {
			return err
		}
		status := object.Object["status"].(map[string]any)
		if status["owners"] != int64(3) || status["deniedCount"] != int64(1) {
			return fmt.Errorf("the status is %v", status)
		}
		return nil
	})
	w.engine.report(policystatus.Report{Policy: id, Serving: true})
	w.fares(w.own, "cache", "Permitted", "True", v1alpha1.ReasonPermitted)
	w.steady(customResources(), "cache")

	w.remove(customResources(), w.own, "cache")
	w.eventually("it is retired", func() error {
		if !w.engine.retires(id) {
			return errors.New("it is not")
		}
		return nil
	})
	w.fares(w.own, "cache", "Ready", "False", v1alpha1.ReasonDeleting)
	w.engine.report(policystatus.Report{Policy: id, Denied: denied})
	w.fares(w.own, "cache", "Stalled", "True", v1alpha1.ReasonDeleting)
	w.engine.report(policystatus.Report{Policy: id})
	w.fares(w.own, "cache", "Stalled", "", "")
	w.engine.clean(id)
	w.eventually("it is gone", func() error {
		if _, err := w.get(customResources(), w.own, "cache"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	w.eventually("nothing is known of it", func() error {
		if list := w.source.Policies(); len(list) > 0 {
			return fmt.Errorf("%v", list)
		}
		return nil
	})
	for _, r := range w.requests(mark, v1alpha1.Resource) {
		if r.Code >= 400 {
			t.Errorf("a request was refused: %s %s: %d", r.Verb, r.URI, r.Code)
		}
	}
	for _, want := range []string{"Warning Invalid", "Normal Serving", "Warning Forbidden cannot list apps", "Normal Permitted", "Normal Deleting", "Warning Deleting the policy was deleted, and cannot clean up: cannot list apps"} {
		if !slices.ContainsFunc(w.events.all(), func(e string) bool { return strings.HasPrefix(e, want) }) {
			t.Errorf("there is no event %s: %q", want, w.events.all())
		}
	}
}

// steady looks on for a while: nothing may be written.
func (w *world) steady(kind schema.GroupVersionResource, name string) {
	w.Helper()
	before, err := w.get(kind, w.own, name)
	w.must(err)
	sets := w.engine.setCount()
	time.Sleep(3 * statuswriter.WriteInterval) // nothing can be waited for: nothing is to happen
	after, err := w.get(kind, w.own, name)
	w.must(err)
	if before.GetResourceVersion() != after.GetResourceVersion() || w.engine.setCount() != sets {
		w.Error("something was written in the steady state")
	}
}

// TestRealConfigMap: a ConfigMap in Ambit's own namespace, with rights in that namespace
// only.
func TestRealConfigMap(t *testing.T) {
	w := newWorld(t)
	w.grant(w.own, "read", rule("", "configmaps", "list", "watch"))
	mark := w.cluster.Audit().Mark()
	w.start(Options{ConfigMaps: true})
	w.putMap(w.own, "policies", map[string]string{
		"a.yaml": policytext.Document("cache v1"), "b.yml": policytext.Document("other v1 owner=Other"), "notes.txt": "not a policy",
	})
	id := w.own + "/cache"
	first := w.runs(id, "")
	w.runs(w.own+"/other", "")
	w.eventually("it is said that nothing can be written", func() error {
		if n := w.logged("the right to patch is missing"); n != 1 {
			return fmt.Errorf("it was said %d times", n)
		}
		return nil
	})
	w.putMap(w.own, "policies", map[string]string{"a.yaml": policytext.Document("cache v2 broken")})
	w.eventually("the mistake is known", func() error {
		for _, p := range w.source.Policies() {
			if p.Name == "cache" && p.State == registry.Invalid && strings.HasPrefix(p.Message, "configmap "+w.own+"/policies a.yaml:6:17: ") {
				return nil
			}
		}
		return fmt.Errorf("%v", w.source.Policies())
	})
	if w.engine.hash(id) != first {
		t.Error("the last good version does not run any more")
	}
	w.eventually("what has gone from the ConfigMap is retired", func() error {
		if !w.engine.retires(w.own + "/other") {
			return errors.New("it is not")
		}
		return nil
	})
	w.engine.clean(w.own + "/other")

	w.grant(w.own, "write", rule("", "configmaps", "patch"))
	w.noted("policies", `"reason":"Invalid"`)
	w.putMap(w.own, "policies", map[string]string{"a.yaml": policytext.Document("cache v3")})
	w.runs(id, first)
	w.noted("policies", `[{"key":"a.yaml","policy":"cache","ready":true,"reason":"Serving"}]`)
	w.steady(configMaps(), "policies")
	for _, r := range w.requests(mark, "configmaps") {
		if r.Namespace != w.own || r.Code >= 400 {
			t.Errorf("an unexpected request: %s %s: %d", r.Verb, r.URI, r.Code)
		}
	}
	if asked := w.requests(mark, v1alpha1.Resource); len(asked) > 0 {
		t.Errorf("custom resources were asked for: %v", asked)
	}

	w.putMap(w.own, "policies", map[string]string{"a.txt": policytext.Document("cache v3")})
	w.eventually("it is retired", func() error {
		if !w.engine.retires(id) {
			return errors.New("it is not")
		}
		return nil
	})
	w.noted("policies", v1alpha1.ReasonDeleting)
	w.engine.clean(id)
	w.eventually("nothing is said of what is not there", func() error {
		object, err := w.get(configMaps(), w.own, "policies")
		if says, is := object.GetAnnotations()[v1alpha1.AnnotationStatus]; err == nil && is {
			return fmt.Errorf("it says %s", says)
		}
		return err
	})
}

// TestRealUnlabelled: a ConfigMap that loses its label has no policies any more.
func TestRealUnlabelled(t *testing.T) {
	w := newWorld(t)
	w.grant(w.own, "read", rule("", "configmaps", "list", "watch"))
	w.start(Options{ConfigMaps: true})
	w.putMap(w.own, "policies", map[string]string{"a.yaml": policytext.Document("cache v1")})
	w.runs(w.own+"/cache", "")
	w.patch(configMaps(), w.own, "policies", `{"metadata":{"labels":{"ambit.dev/policy-source":null}}}`)
	w.eventually("it is retired", func() error {
		if !w.engine.retires(w.own + "/cache") {
			return errors.New("it is not")
		}
		return nil
	})
}

// noted waits until the annotation of a ConfigMap holds a text.
func (w *world) noted(name, text string) {
	w.Helper()
	w.eventually("the annotation says "+text, func() error {
		object, err := w.get(configMaps(), w.own, name)
		if err != nil {
			return err
		}
		if says := object.GetAnnotations()[v1alpha1.AnnotationStatus]; !strings.Contains(says, text) {
			return fmt.Errorf("it says %s", says)
		}
		return nil
	})
}

// TestRealReach: where policies are read follows rights, and what cannot be seen is not
// gone.
func TestRealReach(t *testing.T) {
	w := newWorld(t)
	team := w.cluster.Namespace(t.Context(), t, "team")
	w.start(Options{CustomResources: true, ConfigMaps: true})
	w.putResource(w.own, "mine-"+w.own+" v1 owner=Mine")
	w.putResource(team, "theirs-"+team+" v1 owner=Theirs")
	mine, theirs := w.own+"/mine-"+w.own, team+"/theirs-"+team
	w.eventually("it says why nothing can be read", func() error {
		if ready, why := w.source.Ready(); !ready || strings.Count(why, "cannot list, watch") != 2 {
			return fmt.Errorf("ready is %t: %s", ready, why)
		}
		return nil
	})
	w.grant(w.own, "policies", rule("ambit.dev", "reconcilepolicies", "list", "watch"))
	first := w.runs(mine, "")
	reach := fmt.Sprintf("policies in custom resources are read in namespace %q only", w.own)
	w.eventually("it says where it reads only", func() error {
		if _, why := w.source.Ready(); !strings.Contains(why, reach) {
			return errors.New(why)
		}
		return nil
	})
	if w.engine.hash(theirs) != "" {
		t.Error("something runs that cannot be seen")
	}
	revoke := w.grant("", "policies", rule("ambit.dev", "reconcilepolicies", "list", "watch"))
	w.runs(theirs, "")
	if _, why := w.source.Ready(); strings.Contains(why, reach) || w.logged("are read in namespace") != 1 || w.logged("are read in all namespaces") != 1 {
		t.Errorf("all is read, and it says %q", why)
	}
	revoke()
	mark := w.cluster.Audit().Mark()
	w.eventually("its own namespace is watched again", func() error {
		for _, r := range w.requests(mark, v1alpha1.Resource) {
			if r.IsWatchOpened() && r.Namespace == w.own {
				return nil
			}
		}
		return errors.New("it is not")
	})
	w.putResource(w.own, "mine-"+w.own+" v2 owner=Mine")
	w.runs(mine, first)
	if w.engine.hash(theirs) == "" {
		t.Error("what cannot be seen any more was taken for deleted")
	}
}

// TestRealRestart: a restart writes nothing where nothing has changed, however slowly the
// engine finds that out, and makes no event.
func TestRealRestart(t *testing.T) {
	w := newWorld(t)
	w.grant(w.own, "policies", rule("ambit.dev", "reconcilepolicies", "list", "watch", "patch"), rule("ambit.dev", "reconcilepolicies/status", "patch"),
		rule("", "configmaps", "list", "watch", "patch"), rule("events.k8s.io", "events", "create"))
	both := Options{CustomResources: true, ConfigMaps: true}
	id := w.own + "/cache"
	w.engine.report(policystatus.Report{Policy: id, Serving: true, Ready: 9})
	w.start(both)
	w.putResource(w.own, "cache v1")
	w.putMap(w.own, "policies", map[string]string{"a.yaml": policytext.Document("other v1 owner=Other")})
	w.fares(w.own, "cache", "Ready", "True", v1alpha1.ReasonServing)
	w.noted("policies", `"reason":"Serving"`)
	w.stop()
	mark, before := w.cluster.Audit().Mark(), len(w.events.all())

	w.engine = newFakeEngine()
	w.engine.report(policystatus.Report{Policy: id})
	w.engine.report(policystatus.Report{Policy: w.own + "/other"})
	w.start(both)
	w.runs(id, "")
	w.runs(w.own+"/other", "")
	for _, owners := range []int{1, 5, 9} {
		time.Sleep(statuswriter.WriteInterval) // the engine takes its time
		w.engine.report(policystatus.Report{Policy: id, Serving: true, Ready: owners})
	}
	w.engine.report(policystatus.Report{Policy: w.own + "/other", Serving: true})
	time.Sleep(statuswriter.RestartDebounce + statuswriter.WriteInterval) // nothing can be waited for: nothing is to happen
	for _, r := range append(w.requests(mark, v1alpha1.Resource), w.requests(mark, "configmaps")...) {
		if r.IsWrite() {
			t.Errorf("a write after a restart: %s %s", r.Verb, r.URI)
		}
	}
	if events := w.events.all()[before:]; len(events) > 0 {
		t.Errorf("events after a restart: %q", events)
	}
	w.engine.report(policystatus.Report{Policy: id, Serving: true, Ready: 10})
	w.eventually("a new count is written", func() error {
		object, err := w.get(customResources(), w.own, "cache")
		if err == nil && object.Object["status"].(map[string]any)["owners"] != int64(10) {
			err = fmt.Errorf("%v", object.Object["status"])
		}
		return err
	})
}
