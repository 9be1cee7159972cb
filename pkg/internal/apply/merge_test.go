package apply_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// shared is an object of somebody else that owners merge into.
type shared struct {
	*arena
	kind
	called string
	uid    types.UID
}

func newShared(a *arena, t *testing.T, k kind, content string) *shared {
	t.Helper()
	made := a.make(t, k, k.object(t, a.namespace, a.name(), content), "somebody")
	return &shared{a, k, made.GetName(), made.GetUID()}
}

func managerOf(owner types.UID) string { return v1alpha1.MergeManager(policyName, owner) }

func (s *shared) merge(t *testing.T, owner types.UID, content string) apply.Outcome {
	t.Helper()
	return s.do(t, s.kind, s.merging(t, owner, content), nil)
}

func (s *shared) merging(t *testing.T, owner types.UID, content string) plan.Action {
	t.Helper()
	return plan.Action{Verb: plan.Merge, Name: s.called, UID: s.uid, Manager: managerOf(owner), Object: s.object(t, s.namespace, s.called, content)}
}

func (s *shared) release(t *testing.T, owner types.UID) apply.Outcome {
	t.Helper()
	return s.do(t, s.kind, s.releasing(owner), nil)
}

func (s *shared) releasing(owner types.UID) plan.Action {
	return plan.Action{Verb: plan.Release, Name: s.called, UID: s.uid, Manager: managerOf(owner)}
}

// set changes the object as somebody else.
func (s *shared) set(t *testing.T, by, content string) {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.objects(s.kind).Patch(t.Context(), s.called, types.MergePatchType, body, metav1.PatchOptions{FieldManager: by}); err != nil {
		t.Fatal(err)
	}
}

// want says what the object has of the given content's top-level fields.
func (s *shared) want(t *testing.T, reason, content string) {
	t.Helper()
	want := map[string]any{}
	if err := yaml.Unmarshal([]byte(content), &want); err != nil {
		t.Fatal(err)
	}
	live := s.live(t, s.kind, s.called)
	for key, value := range want {
		if diff := cmp.Diff(value, live.Object[key]); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", reason, key, diff)
		}
	}
}

func (s *shared) wantEntries(t *testing.T, owner types.UID, want int) {
	t.Helper()
	got := 0
	for _, e := range s.live(t, s.kind, s.called).GetManagedFields() {
		if e.Manager == managerOf(owner) {
			got++
		}
	}
	if got != want {
		t.Errorf("%d entries of the manager of owner %s, want %d", got, owner, want)
	}
}

func wantDone(t *testing.T, out apply.Outcome) {
	t.Helper()
	if out.Object == nil || out.Met || out.Adopted {
		t.Errorf("gave %+v (%+v), want it done", out, out.Problem)
	}
}

// TestMerge is who wins: nobody's fields are taken, and what two have alike belongs
// to both.
func TestMerge(t *testing.T) {
	theirs := `data: {theirs: "1"}`
	cases := map[string]struct {
		reason string
		theirs string
		before func(t *testing.T, s *shared)
		merge  string
		// refused is what the message says; empty: it is merged.
		refused string
		want    string
	}{
		"Disjoint": {reason: "what nobody has", merge: `data: {ours: "1"}`, want: `data: {theirs: "1", ours: "1"}`},
		"Alike":    {reason: "what others have alike", merge: `data: {theirs: "1", ours: "1"}`, want: `data: {theirs: "1", ours: "1"}`},
		"Conflict": {reason: "what others have otherwise", merge: `data: {theirs: "2", ours: "1"}`,
			refused: `manager "somebody" has data.theirs`, want: theirs},
		"TwoManagers": {reason: "all are named", merge: `data: {theirs: "2", more: "2"}`,
			before:  func(t *testing.T, s *shared) { s.set(t, "a second", `data: {more: "1"}`) },
			refused: `manager "a second" has data.more; manager "somebody" has data.theirs`, want: `data: {theirs: "1", more: "1"}`},
		"ManyFields": {reason: "but not all fields", theirs: `data: {a: "1", b: "1", c: "1", d: "1", e: "1", f: "1", g: "1"}`,
			merge:   `data: {a: "2", b: "2", c: "2", d: "2", e: "2", f: "2", g: "2"}`,
			refused: `manager "somebody" has data.a, data.b, data.c, data.d, data.e, 2 more`,
			want:    `data: {a: "1", b: "1", c: "1", d: "1", e: "1", f: "1", g: "1"}`},
		"OtherOwner": {reason: "another owner of the policy is another manager", merge: `data: {ours: "1"}`,
			before:  func(t *testing.T, s *shared) { wantDone(t, s.merge(t, otherUID, `data: {ours: "2"}`)) },
			refused: `manager "` + managerOf(otherUID) + `" has data.ours`, want: `data: {theirs: "1", ours: "2"}`},
		"OtherOwnerDisjoint": {reason: "two owners add to one object", merge: `data: {ours: "1"}`,
			before: func(t *testing.T, s *shared) { wantDone(t, s.merge(t, otherUID, `data: {other: "1"}`)) },
			want:   `data: {theirs: "1", ours: "1", other: "1"}`},
		"Changed": {reason: "our own fields change", merge: `data: {ours: "2"}`,
			before: func(t *testing.T, s *shared) { wantDone(t, s.merge(t, ownerUID, `data: {ours: "1"}`)) },
			want:   `data: {theirs: "1", ours: "2"}`},
		"LeftOut": {reason: "and go when they are no longer merged", merge: `data: {ours: "1"}`,
			before: func(t *testing.T, s *shared) { wantDone(t, s.merge(t, ownerUID, `data: {ours: "1", gone: "1"}`)) },
			want:   `data: {theirs: "1", ours: "1"}`},
		"TakenAway": {reason: "somebody took a field of ours since", merge: `data: {ours: "1"}`,
			before: func(t *testing.T, s *shared) {
				wantDone(t, s.merge(t, ownerUID, `data: {ours: "1"}`))
				s.set(t, "taker", `data: {ours: "2"}`)
			},
			refused: `manager "taker" has data.ours`, want: `data: {theirs: "1", ours: "2"}`},
		"ThePolicysOwn": {reason: "the policy's manager is another one as well", merge: `data: {ours: "1"}`,
			before:  func(t *testing.T, s *shared) { s.set(t, manager, `data: {ours: "2"}`) },
			refused: `manager "` + manager + `" has data.ours`, want: `data: {theirs: "1", ours: "2"}`},
	}
	a := newArena(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.theirs == "" {
				c.theirs = theirs
			}
			s := newShared(a, t, kinds[0], c.theirs)
			if c.before != nil {
				c.before(t, s)
			}
			before := s.live(t, s.kind, s.called)
			out := s.merge(t, ownerUID, c.merge)
			s.want(t, c.reason, c.want)
			if c.refused == "" {
				wantDone(t, out)
				s.wantEntries(t, ownerUID, 1)
				return
			}
			if p := out.Problem; p == nil || p.Reason != v1alpha1.ReasonFieldConflict || !p.Terminal ||
				p.Message != "cannot merge into ConfigMap "+a.namespace+"/"+s.called+": "+c.refused {
				t.Errorf("%s: gave %+v (%+v), want a terminal FieldConflict that says %q", c.reason, out, out.Problem, c.refused)
			}
			if diff := cmp.Diff(before, s.live(t, s.kind, s.called)); diff != "" {
				t.Errorf("%s: the object was changed (-before +after):\n%s", c.reason, diff)
			}
		})
	}
}

// TestRelease: what an owner has merged goes, and nothing else.
func TestRelease(t *testing.T) {
	a := newArena(t)
	s := newShared(a, t, kinds[0], `data: {theirs: "1"}`)
	wantDone(t, s.merge(t, ownerUID, `{data: {ours: "1", theirs: "1"}, metadata: {annotations: {ours: "1"}, labels: {l: "1"}}}`))
	wantDone(t, s.merge(t, otherUID, `{data: {other: "1"}, metadata: {labels: {l: "1"}}}`))

	wantDone(t, s.release(t, ownerUID))
	s.want(t, "fields of others stay, those that two had as well", `data: {theirs: "1", other: "1"}`)
	s.wantEntries(t, ownerUID, 0)
	s.wantEntries(t, otherUID, 1)
	live := s.live(t, s.kind, s.called)
	if diff := cmp.Diff(map[string]string{"l": "1"}, live.GetLabels()); diff != "" || len(live.GetAnnotations()) > 0 {
		t.Errorf("annotations are %v, labels (-want +got):\n%s", live.GetAnnotations(), diff)
	}

	for _, nothing := range []string{"a second time", "and a third"} {
		wantDone(t, s.release(t, ownerUID))
		if diff := cmp.Diff(live, s.live(t, s.kind, s.called)); diff != "" {
			t.Errorf("%s: the object was changed (-before +after):\n%s", nothing, diff)
		}
	}
	wantDone(t, s.release(t, otherUID))
	s.want(t, "what is left is theirs", `data: {theirs: "1"}`)
}

// TestReleaseWithoutEntry: where the manager has nothing, nothing is written.
func TestReleaseWithoutEntry(t *testing.T) {
	a := newArena(t)
	for _, k := range kinds {
		t.Run(k.Kind, func(t *testing.T) {
			s := newShared(a, t, k, k.other)
			before := s.live(t, k, s.called)
			wantDone(t, s.release(t, ownerUID))
			if diff := cmp.Diff(before, s.live(t, k, s.called)); diff != "" {
				t.Errorf("the object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestMergeKinds: labels and annotations come into and go out of objects of every
// kind, and the rest of them stays.
func TestMergeKinds(t *testing.T) {
	a := newArena(t)
	const ours = `metadata: {labels: {ours: "1"}, annotations: {scheduler.alpha.kubernetes.io/node-selector: "a=b"}}`
	for _, k := range kinds {
		t.Run(k.Kind, func(t *testing.T) {
			s := newShared(a, t, k, k.other)
			before := s.live(t, k, s.called)
			out := s.merge(t, ownerUID, ours)
			wantDone(t, out)
			if live := s.live(t, k, s.called); live.GetLabels()["ours"] != "1" || len(live.GetOwnerReferences()) > 0 {
				t.Errorf("labels are %v, owners %v", live.GetLabels(), live.GetOwnerReferences())
			}
			again := s.merge(t, ownerUID, ours)
			if again.Object == nil || again.Object.GetResourceVersion() != out.Object.GetResourceVersion() {
				t.Errorf("merging the same again wrote the object")
			}
			wantDone(t, s.release(t, ownerUID))
			after := s.live(t, k, s.called)
			for _, obj := range []*unstructured.Unstructured{before, after} {
				obj.SetResourceVersion("")
				obj.SetGeneration(0) // of a Deployment also changes with its annotations
				obj.SetManagedFields(nil)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("what is left (-before +after):\n%s", diff)
			}
		})
	}
}

// TestMergeRaces: the object went, or another came in its place. Neither is made
// nor changed.
func TestMergeRaces(t *testing.T) {
	a := newArena(t)
	for _, verb := range []plan.Verb{plan.Merge, plan.Release} {
		for _, replaced := range []bool{false, true} {
			t.Run(string(verb)+map[bool]string{false: "/Deleted", true: "/Replaced"}[replaced], func(t *testing.T) {
				s := newShared(a, t, kinds[0], `data: {theirs: "1"}`)
				wantDone(t, s.merge(t, ownerUID, `data: {ours: "1"}`))
				action := s.merging(t, ownerUID, `data: {ours: "2"}`)
				if verb == plan.Release {
					action = s.releasing(ownerUID)
				}
				var after *unstructured.Unstructured
				out := s.do(t, s.kind, action, func() {
					s.end(t, s.kind, s.called)
					if replaced {
						after = s.make(t, s.kind, s.object(t, s.namespace, s.called, `data: {ours: "3"}`), managerOf(ownerUID))
					}
				})
				if !out.Stale && (out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonFieldConflict) {
					t.Errorf("gave %+v (%+v), want it stale", out, out.Problem)
				}
				if diff := cmp.Diff(after, s.live(t, s.kind, s.called)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestMergeRefused: what stands in the way is said, and no value of a Secret.
func TestMergeRefused(t *testing.T) {
	a := newArena(t)
	secret := newShared(a, t, kinds[1], `data: {theirs: b25lLXNlY3JldA==}`)
	out := secret.merge(t, ownerUID, `data: {theirs: YW5vdGhlcg==}`)
	if out.Problem == nil || !strings.Contains(out.Problem.Message, "data.theirs") || strings.Contains(out.Problem.Message, "b25l") || strings.Contains(out.Problem.Message, "YW5v") {
		t.Errorf("gave %+v (%+v), want the field named and no value", out, out.Problem)
	}
	widget := newShared(a, t, kinds[7], "spec: {theirs: 1}")
	if out := widget.merge(t, ownerUID, "spec: {our: 1}"); out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonInvalid || !strings.Contains(out.Problem.Message, "our") {
		t.Errorf("a field that is not in the schema gave %+v (%+v), want Invalid", out, out.Problem)
	}
	client, err := dynamic.NewForConfig(control.Cluster(t).User("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	namespace := newShared(a, t, kinds[3], "{}")
	for _, action := range []plan.Action{namespace.merging(t, ownerUID, `metadata: {labels: {l: "1"}}`), namespace.releasing(ownerUID)} {
		out := a.doAs(t, namespace.kind, action, client)
		if out.Problem == nil || out.Problem.Message != "cannot patch namespaces as ambit" || out.Problem.Denied[0].Verb != "patch" {
			t.Errorf("%s without the right gave %+v (%+v)", action.Verb, out, out.Problem)
		}
	}
}

// TestUnderstood: an action on what is there needs its uid. Without one a
// server-side apply would make the object.
func TestUnderstood(t *testing.T) {
	a, k := newArena(t), kinds[0]
	for _, verb := range []plan.Verb{plan.Apply, plan.Merge, plan.Release, plan.Delete, "Nonsense"} {
		applier := apply.Applier{Client: a.client, Manager: manager, Identity: ambit}
		action := plan.Action{Verb: verb, GVK: k.GroupVersionKind, Namespace: a.namespace, Name: "absent", Object: k.object(t, a.namespace, "absent", k.content)}
		if out, err := applier.CarryOut(t.Context(), action, apply.Target{Resource: k.gvr()}); err == nil || out != (apply.Outcome{}) {
			t.Errorf("%s without a uid gave %+v, %v; want an error", verb, out, err)
		}
	}
	if a.live(t, k, "absent") != nil {
		t.Error("it was made")
	}
}

// TestNotServed: of a kind that is not served nothing can be said, least of all
// that an object is gone.
func TestNotServed(t *testing.T) {
	a, k := newArena(t), kinds[7]
	made := a.make(t, k, k.object(t, a.namespace, a.name(), k.content), "somebody")
	for _, verb := range []plan.Verb{plan.Create, plan.Apply, plan.Merge, plan.Release, plan.Delete} {
		applier := apply.Applier{Client: a.client, Manager: manager, Identity: ambit}
		action := plan.Action{
			Verb: verb, GVK: k.GroupVersionKind, Namespace: a.namespace, Name: made.GetName(), UID: made.GetUID(),
			Object: k.object(t, a.namespace, made.GetName(), k.content),
		}
		target := apply.Target{Resource: k.gvr().GroupResource().WithVersion("v9"), OwnerUID: ownerUID}
		out, err := applier.CarryOut(t.Context(), action, target)
		if err != nil || out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonKindMissing {
			t.Errorf("%s gave %+v (%+v), %v; want %s", verb, out, out.Problem, err, v1alpha1.ReasonKindMissing)
		}
	}
	out := a.markAs(t, a.client, kind{GroupVersionKind: k.GroupVersionKind, resource: "gadgets", namespaced: true}, made, plan.OwnerMetadata{Finalizer: true})
	if out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonKindMissing {
		t.Errorf("a mark gave %+v (%+v)", out, out.Problem)
	}
}
