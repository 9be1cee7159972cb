package apply_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

const deadUID = types.UID("33333333-3333-4333-8333-333333333333")

// left is what an owner leaves behind that is gone: an object that was tied by its
// record and was not to be deleted.
func left(owner types.UID) change {
	return func(obj *unstructured.Unstructured, _ tie) {
		labels(policyName, owner)(obj, byRecord)
		annotate(obj, v1alpha1.AnnotationClaim, claimOf(another, obj, obj.GetName()))
	}
}

func ownedBy(uid types.UID) change {
	return func(obj *unstructured.Unstructured, _ tie) {
		obj.SetOwnerReferences([]metav1.OwnerReference{reference(uid, nil)})
	}
}

// TestAdopt is who may be taken over.
func TestAdopt(t *testing.T) {
	cases := map[string]struct {
		reason string
		shape  []change
		other  bool
		held   bool
		// refused is what the message says; empty: it is adopted.
		refused string
	}{
		"NoOwner":        {reason: "it is nobody's"},
		"DisjointFields": {reason: "what others have in it stays", other: true},
		"OtherLabels": {reason: "labels of others do not matter", shape: []change{func(obj *unstructured.Unstructured, _ tie) {
			obj.SetLabels(map[string]string{"app": "theirs", v1alpha1.LabelManagedBy: "Helm"})
		}}},
		"OurLabels":        {reason: "a child that has lost its proof", shape: []change{labels(policyName, ownerUID)}},
		"OurReference":     {reason: "nor does an ownerReference to our owner", shape: []change{ownedBy(ownerUID)}},
		"DeadOwner":        {reason: "what an owner left that is gone is nobody's", shape: []change{left(deadUID)}},
		"OtherController":  {reason: "somebody controls it", shape: []change{controlledBy(otherUID)}, refused: "its controller is Memcached \"owner\" (uid " + string(otherUID)},
		"OtherReference":   {reason: "it goes with somebody", shape: []change{ownedBy(otherUID)}, refused: "its owner is Memcached \"owner\" (uid " + string(otherUID)},
		"OtherPolicy":      {reason: "another policy's, whether or not its owner lives", shape: []change{labels("another", deadUID)}, refused: `made by policy "another"`},
		"OtherOwner":       {reason: "another owner of the policy lives", shape: []change{labels(policyName, otherUID)}, refused: "for another owner (uid " + string(otherUID)},
		"RecordedByOther":  {reason: "and has it in its record", shape: []change{left(otherUID)}, refused: "for another owner (uid " + string(otherUID)},
		"ClaimedBySomeone": {reason: "a claim without a label: nobody can tell whose", shape: []change{left(""), unlabelled}, refused: v1alpha1.AnnotationClaim},
		"NoPolicy":         {reason: "another policy's owner, of which this one does not know whether it lives", shape: []change{left(deadUID), labels("", deadUID)}, refused: "not by which policy"},
		"Ensured":          {reason: "a policy has made it for itself", shape: []change{ensured("elsewhere/other")}, refused: `policy "elsewhere/other" ensures it`},
		"EnsuredByUs":      {reason: "also if that is ours", shape: []change{ensured(ensuredBy)}, refused: "ensures it"},
		"Terminating":      {reason: "it will be gone soon", held: true, refused: "being deleted"},
	}
	a := newArena(t)
	for _, k := range []kind{kinds[0], kinds[3], kinds[4]} {
		for _, how := range []tie{byController, byRecord} {
			for name, c := range cases {
				t.Run(k.Kind+"/"+string(how)+"/"+name, func(t *testing.T) {
					action := a.wanted(t, k, a.name(), how)
					action.Adopt = true
					content := k.content
					if c.other {
						content = k.other
					}
					theirs := k.object(t, a.namespace, action.Name, content)
					for _, change := range c.shape {
						change(theirs, how)
					}
					if c.held {
						theirs.SetFinalizers([]string{"example.com/held"})
					}
					theirs = a.make(t, k, theirs, "somebody")
					if c.held {
						a.end(t, k, action.Name)
						theirs = a.live(t, k, action.Name)
						defer a.free(t, k, action.Name)
					}
					out := a.do(t, k, action, nil)
					if c.refused == "" {
						a.wantAdopted(t, k, action, out, theirs)
						return
					}
					if out.Problem == nil || !strings.Contains(out.Problem.Message, c.refused) || !strings.Contains(out.Problem.Message, action.Name) {
						t.Errorf("%s: gave %+v (%+v), want it refused and to say %q", c.reason, out, out.Problem, c.refused)
					}
					if diff := cmp.Diff(theirs, a.live(t, k, action.Name)); diff != "" {
						t.Errorf("%s: the object was changed (-before +after):\n%s", c.reason, diff)
					}
				})
			}
		}
	}
}

func unlabelled(obj *unstructured.Unstructured, _ tie) { obj.SetLabels(nil) }

func ensured(by string) change {
	return func(obj *unstructured.Unstructured, _ tie) { annotate(obj, v1alpha1.AnnotationEnsuredBy, by) }
}

// wantAdopted: it is the same object, with what we want in it and what others had
// beside; and it is ours by the proof: the next create meets it.
func (a *arena) wantAdopted(t *testing.T, k kind, action plan.Action, out apply.Outcome, before *unstructured.Unstructured) {
	t.Helper()
	if out.Object == nil || !out.Adopted || out.Met || out.Object.GetUID() != before.GetUID() {
		t.Fatalf("gave %+v (%+v), want it adopted", out, out.Problem)
	}
	if difference := ssadiff.Compare(action.Object, out.Object, manager).Differences; len(difference) > 0 {
		t.Errorf("differs from what is wanted: %+v", difference)
	}
	for _, path := range [][]string{{"data", "theirs"}, {"metadata", "labels", "app"}, {"spec", "paused"}, {"metadata", "annotations", "theirs"}} {
		was, has, _ := unstructured.NestedFieldNoCopy(before.Object, path...)
		if is, _, _ := unstructured.NestedFieldNoCopy(out.Object.Object, path...); has && is != was {
			t.Errorf("%s of others is %v, was %v", strings.Join(path, "."), is, was)
		}
	}
	action.Adopt = false
	if again := a.do(t, k, action, nil); !again.Met {
		t.Errorf("a create after that gave %+v (%+v), want it met", again, again.Problem)
	}
}

// TestAdoptRaces: what happens between the look and the write leaves the object to
// who did it.
func TestAdoptRaces(t *testing.T) {
	k := kinds[0]
	cases := map[string]struct {
		reason string
		happen func(a *arena, t *testing.T, name string) *unstructured.Unstructured
	}{
		"Changed": {"somebody else took it", func(a *arena, t *testing.T, name string) *unstructured.Unstructured {
			obj := a.live(t, k, name)
			obj.SetOwnerReferences([]metav1.OwnerReference{reference(otherUID, new(true))})
			obj, err := a.objects(k).Update(t.Context(), obj, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return obj
		}},
		"Deleted": {"it is not made anew", func(a *arena, t *testing.T, name string) *unstructured.Unstructured {
			a.end(t, k, name)
			return nil
		}},
		"Replaced": {"it is another one", func(a *arena, t *testing.T, name string) *unstructured.Unstructured {
			a.end(t, k, name)
			return a.make(t, k, k.object(t, a.namespace, name, k.content), "somebody")
		}},
	}
	a := newArena(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			action := a.wanted(t, k, a.name(), byController)
			action.Adopt = true
			a.make(t, k, k.object(t, a.namespace, action.Name, k.content), "somebody")
			var after *unstructured.Unstructured
			client := &meddled{Interface: a.client, patches: true, before: func() { after = c.happen(a, t, action.Name) }}
			out := a.doAs(t, k, action, client)
			if !out.Stale {
				t.Errorf("%s: gave %+v (%+v), want it stale", c.reason, out, out.Problem)
			}
			if diff := cmp.Diff(after, a.live(t, k, action.Name)); diff != "" {
				t.Errorf("%s (-before +after):\n%s", c.reason, diff)
			}
		})
	}
}

// TestAdoptForbidden: to adopt takes the right to patch, and the problem says so.
func TestAdoptForbidden(t *testing.T) {
	a, k := newArena(t), kinds[0]
	grant := `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: maker, namespace: ` + a.namespace + `}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [create, get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: maker, namespace: ` + a.namespace + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: maker}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: nobody}]
`
	for document := range strings.SplitSeq(grant, "---\n") {
		if err := control.Cluster(t).Apply(t.Context(), []byte(document)); err != nil {
			t.Fatal(err)
		}
	}
	client, err := dynamic.NewForConfig(control.Cluster(t).User("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	action := a.wanted(t, k, a.name(), byController)
	action.Adopt = true
	a.make(t, k, k.object(t, a.namespace, action.Name, k.content), "somebody")
	var out apply.Outcome
	a.eventually("the rights are there", func() bool {
		out = a.doAs(t, k, action, client)
		return out.Problem == nil || !strings.Contains(out.Problem.Message, "cannot create") && !strings.Contains(out.Problem.Message, "cannot get")
	})
	want := `cannot patch configmaps in namespace "` + a.namespace + `" as ` + ambit
	if out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonForbidden || out.Problem.Message != want {
		t.Errorf("gave %+v (%+v), want %q", out, out.Problem, want)
	}
}

// TestMeets: an object of ours that the cache does not show is found by each tie,
// and is not written.
func TestMeets(t *testing.T) {
	a := newArena(t)
	for _, k := range kinds {
		for _, how := range ties {
			t.Run(k.Kind+"/"+string(how), func(t *testing.T) {
				action := a.wanted(t, k, a.name(), how)
				made := a.do(t, k, action, nil)
				if made.Object == nil || made.Met || made.Adopted {
					t.Fatalf("the first create gave %+v (%+v)", made, made.Problem)
				}
				again := a.do(t, k, action, nil)
				if !again.Met || again.Adopted {
					t.Fatalf("the second create gave %+v (%+v), want it met", again, again.Problem)
				}
				if diff := cmp.Diff(made.Object, again.Object); diff != "" {
					t.Errorf("it was changed (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestAdoptAsItIs: what is adopted for a child with apply Create is tied to its owner, and
// otherwise as it was, also what the policy itself had applied for an owner that is gone.
func TestAdoptAsItIs(t *testing.T) {
	a := newArena(t)
	for _, k := range kinds[:1] {
		for _, how := range []tie{byController, byRecord} {
			for _, by := range []string{"somebody", manager} {
				t.Run(k.Kind+"/"+string(how)+"/"+by, func(t *testing.T) {
					action := a.wanted(t, k, a.name(), how)
					action.Adopt, action.AsItIs = true, true
					theirs := k.object(t, a.namespace, action.Name, k.content)
					theirs.SetLabels(map[string]string{"app": "theirs", v1alpha1.LabelPolicy: policyName, v1alpha1.LabelOwnerUID: string(deadUID)})
					if err := unstructured.SetNestedField(theirs.Object, "PRECIOUS", "data", "password"); err != nil {
						t.Fatal(err)
					}
					if err := unstructured.SetNestedField(action.Object.Object, "generated", "data", "password"); err != nil {
						t.Fatal(err)
					}
					action.Object.SetLabels(labelsWith(action.Object.GetLabels(), "app", "ours"))
					theirs, err := a.objects(k).Apply(t.Context(), action.Name, theirs, metav1.ApplyOptions{FieldManager: by, Force: true})
					if err != nil {
						t.Fatal(err)
					}
					out := a.do(t, k, action, nil)
					if out.Object == nil || !out.Adopted || out.Object.GetUID() != theirs.GetUID() {
						t.Fatalf("gave %+v (%+v), want it adopted", out, out.Problem)
					}
					if diff := cmp.Diff(untied(theirs), untied(out.Object)); diff != "" {
						t.Errorf("more than the tie was changed (-before +after):\n%s", diff)
					}
					if owner := out.Object.GetLabels()[v1alpha1.LabelOwnerUID]; owner != string(ownerUID) {
						t.Errorf("its owner is %s", owner)
					}
					action.Adopt, action.AsItIs = false, false
					if again := a.do(t, k, action, nil); !again.Met {
						t.Errorf("a create after that gave %+v (%+v), want it met", again, again.Problem)
					}
				})
			}
		}
	}
}

func labelsWith(labels map[string]string, key, value string) map[string]string {
	with := map[string]string{key: value}
	maps.Copy(with, labels)
	with[key] = value
	return with
}

// untied is an object without what ties it to an owner, and what the API server notes of
// each write.
func untied(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "ownerReferences", "annotations"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	out.SetLabels(map[string]string{"app": obj.GetLabels()["app"]})
	return out.Object
}
