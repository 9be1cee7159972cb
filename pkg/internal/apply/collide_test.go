package apply_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/poll"
)

// arena is where appliers meet objects of others: what the applier does is in the
// audit log under the user ambit, what everybody else does is not.
type arena struct {
	t         *testing.T
	namespace string
	admin     dynamic.Interface
	client    dynamic.Interface // as ambit
	mark      cluster.Mark
	cases     int
	met       int // creates that met something
}

func newArena(t *testing.T) *arena {
	t.Helper()
	if err := control.Cluster(t).Apply(t.Context(), []byte(widgets)); err != nil {
		t.Fatal(err)
	}
	a := &arena{t: t, namespace: control.Cluster(t).Namespace(t.Context(), t, "arena")}
	var err error
	if a.admin, err = dynamic.NewForConfig(control.Cluster(t).Admin()); err != nil {
		t.Fatal(err)
	}
	if a.client, err = dynamic.NewForConfig(control.Cluster(t).User(ambit)); err != nil {
		t.Fatal(err)
	}
	a.mark = control.Cluster(t).Audit().Mark()
	return a
}

// objects are those of a kind, as admin.
func (a *arena) objects(k kind) dynamic.ResourceInterface {
	if !k.namespaced {
		return a.admin.Resource(k.gvr())
	}
	return a.admin.Resource(k.gvr()).Namespace(a.namespace)
}

// name is one that no object has.
func (a *arena) name() string {
	a.cases++
	return fmt.Sprintf("%s-%d", a.namespace, a.cases)
}

// make makes an object as somebody.
func (a *arena) make(t *testing.T, k kind, obj *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	t.Helper()
	made, err := a.objects(k).Create(t.Context(), obj, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		t.Fatalf("making %s %s: %v", k.Kind, obj.GetName(), err)
	}
	return made
}

// live reads an object as admin; nil if it is not there.
func (a *arena) live(t *testing.T, k kind, name string) *unstructured.Unstructured {
	t.Helper()
	obj, err := a.objects(k).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// do carries out an action on an object of a kind. before, if it is not nil, is
// called right before the first write.
func (a *arena) do(t *testing.T, k kind, action plan.Action, before func()) apply.Outcome {
	t.Helper()
	if before == nil {
		return a.doAs(t, k, action, a.client)
	}
	return a.doAs(t, k, action, &meddled{Interface: a.client, before: before})
}

// doAs is do with another client. The owner deadUID does not live.
func (a *arena) doAs(t *testing.T, k kind, action plan.Action, client dynamic.Interface) apply.Outcome {
	t.Helper()
	action.Child, action.GVK = "child", k.GroupVersionKind
	if k.namespaced {
		action.Namespace = a.namespace
	}
	applier := apply.Applier{Client: client, Manager: manager, Identity: ambit}
	target := apply.Target{
		Resource: k.gvr(), OwnerUID: ownerUID, OwnerNamespace: action.Namespace,
		Lives: func(owner types.UID) bool { return owner != deadUID },
	}
	if action.Ensured {
		target.OwnerUID = ""
	}
	outcome, err := applier.CarryOut(t.Context(), action, target)
	if err != nil {
		t.Fatalf("%s %s %s: %v", action.Verb, k.Kind, action.Name, err)
	}
	return outcome
}

// wanted is the action that makes an object.
func (a *arena) wanted(t *testing.T, k kind, name string, how tie) plan.Action {
	t.Helper()
	desired := k.object(t, a.namespace, name, k.content)
	bind(desired, how)
	action := plan.Action{Verb: plan.Create, Name: name, Object: desired, Ensured: how == byPolicy}
	if how == byRecord {
		action.Claim = claimOf(record, desired, name)
	}
	return action
}

// TestRefuse: whatever an object looks like that is not ours, it is left as it is,
// to the byte, and the child's problem names it.
func TestRefuse(t *testing.T) {
	a := newArena(t)
	for _, k := range kinds {
		for _, how := range ties {
			for _, name := range slices.Sorted(maps.Keys(shapes)) {
				s := shapes[name]
				if s.ties != nil && !slices.Contains(s.ties, how) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", k.Kind, how, name), func(t *testing.T) {
					a.refuse(t, k, how, s)
				})
			}
		}
	}
	if a.cases < 120 {
		t.Errorf("%d cases, want at least 120", a.cases)
	}
	a.wantNothingWritten()
}

// TestReplaced: an object of ours was replaced by somebody else's of the same name
// after the plan was made. Its uid is another one, so nothing happens to it.
func TestReplaced(t *testing.T) {
	a := newArena(t)
	verbs := map[string]plan.Action{
		"Apply":   {Verb: plan.Apply},
		"Migrate": {Verb: plan.Apply, Migrate: true},
		"Delete":  {Verb: plan.Delete},
		"Merge":   {Verb: plan.Merge, Manager: v1alpha1.MergeManager(policyName, ownerUID)},
		"Release": {Verb: plan.Release, Manager: v1alpha1.MergeManager(policyName, ownerUID)},
	}
	for _, k := range kinds {
		for _, verb := range slices.Sorted(maps.Keys(verbs)) {
			for _, forged := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/Forged=%t", k.Kind, verb, forged), func(t *testing.T) {
					a.replaced(t, k, verbs[verb], forged)
				})
			}
		}
	}
	a.wantNothingWritten()
}

// replaced: with forged, the new object looks like ours in all, so that only its uid
// tells.
func (a *arena) replaced(t *testing.T, k kind, action plan.Action, forged bool) {
	action.Name = a.name()
	action.Object = k.object(t, a.namespace, action.Name, k.content)
	if action.Verb != plan.Merge {
		bind(action.Object, byController)
	}
	ours := a.make(t, k, action.Object, manager)
	action.UID = ours.GetUID()
	foreign := k.object(t, a.namespace, action.Name, k.other)
	if forged {
		foreign = action.Object
	}
	var theirs *unstructured.Unstructured
	out := a.do(t, k, action, func() {
		a.endAll(t, k, action.Name)
		theirs = a.make(t, k, foreign, manager)
	})
	if !out.Stale {
		t.Errorf("gave %+v (%+v), want it stale", out, out.Problem)
	}
	if diff := cmp.Diff(theirs, a.live(t, k, action.Name)); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
}

func (a *arena) refuse(t *testing.T, k kind, how tie, s shape) {
	a.met++
	name := a.name()
	content, by := k.content, s.manager
	if s.other {
		content = k.other
	}
	if by == "" {
		by = "somebody"
	}
	foreign := k.object(t, a.namespace, name, content)
	for _, change := range s.shape {
		change(foreign, how)
	}
	if s.lingers {
		foreign.SetFinalizers([]string{"example.com/held"})
	}
	var theirs *unstructured.Unstructured
	appear := func() {
		theirs = a.make(t, k, foreign, by)
		if s.lingers {
			a.end(t, k, name)
			theirs = a.live(t, k, name)
		}
	}
	if !s.late {
		appear()
		appear = nil
	}
	out := a.do(t, k, a.wanted(t, k, name, how), appear)
	wantRefused(t, out, s, name)
	if diff := cmp.Diff(theirs, a.live(t, k, name)); diff != "" {
		t.Errorf("%s: the object was changed (-before +after):\n%s", s.reason, diff)
	}
	if s.lingers {
		a.free(t, k, name)
	}
}

func wantRefused(t *testing.T, out apply.Outcome, s shape, name string) {
	t.Helper()
	want := v1alpha1.ReasonNameConflict
	if s.lingers {
		want = v1alpha1.ReasonDeleting
	}
	switch {
	case out.Problem == nil || out.Problem.Reason != want || out.Problem.Terminal == s.lingers:
		t.Errorf("%s: gave %+v (%+v), want %s", s.reason, out, out.Problem, want)
	case !strings.Contains(out.Problem.Message, name) || !strings.Contains(out.Problem.Message, s.names):
		t.Errorf("%s: says %q, want it to name %q and say %q", s.reason, out.Problem.Message, name, s.names)
	}
}

// end deletes an object as admin.
func (a *arena) end(t *testing.T, k kind, name string) {
	t.Helper()
	if err := a.objects(k).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// endAll deletes an object as admin, also of a kind that lingers without the
// controllers, which do not run here.
func (a *arena) endAll(t *testing.T, k kind, name string) {
	t.Helper()
	a.end(t, k, name)
	if k.Kind != "Namespace" {
		return
	}
	obj := a.live(t, k, name)
	if err := unstructured.SetNestedSlice(obj.Object, nil, "spec", "finalizers"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.objects(k).Update(t.Context(), obj, metav1.UpdateOptions{}, "finalize"); err != nil {
		t.Fatal(err)
	}
}

// free lets an object go that lingers.
func (a *arena) free(t *testing.T, k kind, name string) {
	t.Helper()
	obj := a.live(t, k, name)
	obj.SetFinalizers(nil)
	if _, err := a.objects(k).Update(t.Context(), obj, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wantNothingWritten looks into the audit log: of all that ambit has tried to write,
// nothing was accepted. What must not be there is looked for when the last request
// is there.
func (a *arena) wantNothingWritten() {
	a.t.Helper()
	last := "last-" + a.namespace
	if _, err := a.client.Resource(kinds[0].gvr()).Namespace(a.namespace).Get(a.t.Context(), last, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		a.t.Fatalf("reading what is not there: %v", err)
	}
	a.requests(func(r cluster.Request) bool { return r.Name == last }, 1)
	tried := a.requests(cluster.Request.IsWrite, a.cases)
	accepted := a.requests(func(r cluster.Request) bool { return r.IsWrite() && r.Code < 300 }, 0)
	refused := a.requests(func(r cluster.Request) bool { return r.Verb == "create" && r.Code == 409 }, a.met)
	if accepted != 0 || tried < a.cases || refused != a.met {
		a.t.Errorf("%d writes in %d cases: %d accepted, want none; %d creates refused, want %d", tried, a.cases, accepted, refused, a.met)
	}
	a.t.Logf("%d cases, %d writes tried, %d accepted", a.cases, tried, accepted)
}

// requests counts the requests of ambit, once there are so many.
func (a *arena) requests(count func(cluster.Request) bool, want int) (n int) {
	a.t.Helper()
	a.eventually(fmt.Sprintf("%d requests are in the audit log", want), func() bool {
		all, err := control.Cluster(a.t).Audit().Since(a.mark, ambit)
		if err != nil {
			a.t.Fatal(err)
		}
		n = 0
		for _, r := range all {
			if count(r) {
				n++
			}
		}
		return n >= want
	})
	return n
}

func (a *arena) eventually(what string, is func() bool) {
	a.t.Helper()
	err := poll.Until(a.t.Context(), 2*time.Minute, func(context.Context) (bool, error) {
		return is(), nil
	})
	if err != nil {
		a.t.Errorf("waiting until %s: %v", what, err)
	}
}
