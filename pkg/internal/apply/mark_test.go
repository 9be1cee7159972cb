package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/test/cluster"
)

// owners are the objects of a kind, as a user.
func (a *arena) owners(k kind, as dynamic.Interface) dynamic.ResourceInterface {
	if !k.namespaced {
		return as.Resource(k.gvr())
	}
	return as.Resource(k.gvr()).Namespace(a.namespace)
}

func (a *arena) markAs(t *testing.T, as dynamic.Interface, k kind, owner *unstructured.Unstructured, mark plan.OwnerMetadata) apply.Outcome {
	t.Helper()
	before := owner.DeepCopy()
	applier := apply.Applier{Manager: manager, Identity: ambit}
	out := applier.WriteMetadata(t.Context(), a.owners(k, as), owner, mark)
	if diff := cmp.Diff(before, owner); diff != "" {
		t.Errorf("the owner that was given was changed (-before +after):\n%s", diff)
	}
	return out
}

// TestMark: one finalizer and one annotation come and go, and all else stays.
func TestMark(t *testing.T) {
	const ours, a1, b1 = v1alpha1.FinalizerCleanup, "example.com/a", "example.com/b"
	type metadata struct {
		Finalizers  []string
		Annotations map[string]string
	}
	record := func(text string) map[string]string {
		return map[string]string{"theirs": "1", v1alpha1.AnnotationChildren: text}
	}
	cases := map[string]struct {
		reason      string
		owner, want metadata
		mark        plan.OwnerMetadata
		quiet       bool // no request
	}{
		"First":      {"an owner without any", metadata{}, metadata{[]string{ours}, map[string]string{v1alpha1.AnnotationChildren: "x"}}, plan.OwnerMetadata{Finalizer: true, Children: "x"}, false},
		"Beside":     {"ours comes last", metadata{[]string{b1, a1}, nil}, metadata{[]string{b1, a1, ours}, nil}, plan.OwnerMetadata{Finalizer: true}, false},
		"Between":    {"the order of others stays", metadata{[]string{b1, ours, a1}, nil}, metadata{[]string{b1, a1}, nil}, plan.OwnerMetadata{}, false},
		"Only":       {"it was the only one", metadata{[]string{ours}, nil}, metadata{}, plan.OwnerMetadata{}, false},
		"Annotation": {"annotations of others stay", metadata{nil, map[string]string{"theirs": "1"}}, metadata{nil, record("x")}, plan.OwnerMetadata{Children: "x"}, false},
		"Changed":    {"the finalizer is not sent again", metadata{[]string{ours, a1}, record("x")}, metadata{[]string{ours, a1}, record("y")}, plan.OwnerMetadata{Finalizer: true, Children: "y"}, false},
		"Removed":    {"all of ours goes", metadata{[]string{a1, ours}, record("x")}, metadata{[]string{a1}, map[string]string{"theirs": "1"}}, plan.OwnerMetadata{}, false},
		"Empty":      {"also a record without a word", metadata{nil, record("")}, metadata{nil, map[string]string{"theirs": "1"}}, plan.OwnerMetadata{}, false},
		"Nothing":    {"it says so already", metadata{[]string{ours, a1}, record("x")}, metadata{[]string{ours, a1}, record("x")}, plan.OwnerMetadata{Finalizer: true, Children: "x"}, true},
		"Neither":    {"it has neither already", metadata{[]string{a1}, nil}, metadata{[]string{a1}, nil}, plan.OwnerMetadata{}, true},
	}
	a := newArena(t)
	for _, k := range []kind{kinds[3], kinds[7]} {
		for name, c := range cases {
			t.Run(k.Kind+"/"+name, func(t *testing.T) {
				owner := k.object(t, a.namespace, a.name(), k.content)
				owner.SetFinalizers(c.owner.Finalizers)
				owner.SetAnnotations(c.owner.Annotations)
				owner = a.make(t, k, owner, "somebody")
				defer a.free(t, k, owner.GetName())
				out := a.markAs(t, a.client, k, owner, c.mark)
				live := a.live(t, k, owner.GetName())
				if diff := cmp.Diff(c.want, metadata{live.GetFinalizers(), live.GetAnnotations()}); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				if c.quiet {
					if out != (apply.Outcome{}) || live.GetResourceVersion() != owner.GetResourceVersion() {
						t.Errorf("%s: gave %+v, want nothing written", c.reason, out)
					}
					return
				}
				if diff := cmp.Diff(live, out.Object); diff != "" {
					t.Errorf("the outcome's object (-live +got):\n%s", diff)
				}
				if again := a.markAs(t, a.client, k, live, c.mark); again != (apply.Outcome{}) {
					t.Errorf("the same mark again gave %+v, want nothing", again)
				}
			})
		}
	}
	a.requests(cluster.Request.IsWrite, 16)
	if n := a.requests(cluster.Request.IsWrite, 0); n != 16 {
		t.Errorf("%d writes, want one for each case that is not quiet: 16", n)
	}
}

// TestMarkRaces: the owner is another than the one that was read.
func TestMarkRaces(t *testing.T) {
	a, k := newArena(t), kinds[7]
	made := func(t *testing.T, finalizers ...string) *unstructured.Unstructured {
		owner := k.object(t, a.namespace, a.name(), k.content)
		owner.SetFinalizers(finalizers)
		return a.make(t, k, owner, "somebody")
	}
	mark := plan.OwnerMetadata{Finalizer: true, Children: "x"}

	t.Run("Changed", func(t *testing.T) {
		owner := made(t)
		changed := owner.DeepCopy()
		changed.SetFinalizers([]string{"example.com/new"})
		changed, err := a.objects(k).Update(t.Context(), changed, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.free(t, k, owner.GetName())
		if out := a.markAs(t, a.client, k, owner, mark); !out.Stale {
			t.Errorf("gave %+v (%+v), want it stale", out, out.Problem)
		}
		if diff := cmp.Diff(changed, a.live(t, k, owner.GetName())); diff != "" {
			t.Errorf("it was changed (-before +after):\n%s", diff)
		}
	})
	t.Run("Replaced", func(t *testing.T) {
		owner := made(t)
		a.end(t, k, owner.GetName())
		other := a.make(t, k, k.object(t, a.namespace, owner.GetName(), k.other), "somebody")
		for _, resourceVersion := range []string{owner.GetResourceVersion(), other.GetResourceVersion()} {
			owner.SetResourceVersion(resourceVersion)
			if out := a.markAs(t, a.client, k, owner, mark); !out.Stale {
				t.Errorf("gave %+v (%+v), want it stale", out, out.Problem)
			}
		}
		if diff := cmp.Diff(other, a.live(t, k, owner.GetName())); diff != "" {
			t.Errorf("it was changed (-before +after):\n%s", diff)
		}
	})
	t.Run("Gone", func(t *testing.T) {
		owner := made(t)
		a.end(t, k, owner.GetName())
		if out := a.markAs(t, a.client, k, owner, mark); out != (apply.Outcome{}) || a.live(t, k, owner.GetName()) != nil {
			t.Errorf("gave %+v (%+v), want nothing", out, out.Problem)
		}
	})
	t.Run("LastFinalizer", func(t *testing.T) {
		owner := made(t, v1alpha1.FinalizerCleanup)
		a.end(t, k, owner.GetName())
		if out := a.markAs(t, a.client, k, a.live(t, k, owner.GetName()), plan.OwnerMetadata{}); out != (apply.Outcome{Deleted: true}) || a.live(t, k, owner.GetName()) != nil {
			t.Errorf("gave %+v (%+v), want it deleted", out, out.Problem)
		}
	})
	t.Run("NotTheLast", func(t *testing.T) {
		owner := made(t, v1alpha1.FinalizerCleanup, "example.com/held")
		a.end(t, k, owner.GetName())
		out := a.markAs(t, a.client, k, a.live(t, k, owner.GetName()), plan.OwnerMetadata{})
		if live := a.live(t, k, owner.GetName()); out.Object == nil || out.Deleted || len(live.GetFinalizers()) != 1 {
			t.Errorf("gave %+v (%+v), want it held by the other", out, out.Problem)
		}
		a.free(t, k, owner.GetName())
	})
	t.Run("TooLate", func(t *testing.T) {
		owner := made(t, "example.com/held")
		a.end(t, k, owner.GetName())
		out := a.markAs(t, a.client, k, a.live(t, k, owner.GetName()), plan.OwnerMetadata{Finalizer: true})
		if out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonInvalid {
			t.Errorf("gave %+v (%+v): an owner that is deleted gets no finalizer", out, out.Problem)
		}
		a.free(t, k, owner.GetName())
	})
}

// TestMarkForbidden: the problem names the right on the owner's resource.
func TestMarkForbidden(t *testing.T) {
	a := newArena(t)
	client, err := dynamic.NewForConfig(control.Cluster(t).User("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[kind]string{
		kinds[3]: "cannot patch namespaces as ambit",
		kinds[7]: `cannot patch widgets.apply.example.com in namespace "` + a.namespace + `" as ambit`,
	}
	for k, want := range cases {
		owner := a.make(t, k, k.object(t, a.namespace, a.name(), k.content), "somebody")
		out := a.markAs(t, client, k, owner, plan.OwnerMetadata{Finalizer: true})
		if out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonForbidden || !out.Problem.Terminal || out.Problem.Message != want {
			t.Errorf("gave %+v (%+v), want %q", out, out.Problem, want)
			continue
		}
		d := out.Problem.Denied[0]
		d.Message = ""
		denied := v1alpha1.DeniedAccess{Verb: "patch", Group: k.Group, Resource: k.resource, Namespace: owner.GetNamespace()}
		if diff := cmp.Diff(denied, d); diff != "" {
			t.Errorf("denied (-want +got):\n%s", diff)
		}
	}
}
