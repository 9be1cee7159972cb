package apply_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	configMap  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

const (
	ownerUID = types.UID("11111111-1111-4111-8111-111111111111")
	otherUID = types.UID("22222222-2222-4222-8222-222222222222")
	manager  = "ambit/test"
)

// bench is one test's namespace and an applier in it.
type bench struct {
	t         *testing.T
	namespace string
	applier   apply.Applier
	objects   dynamic.ResourceInterface // as admin
}

func newBench(t *testing.T, as *rest.Config, user string) *bench {
	t.Helper()
	client, err := dynamic.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := dynamic.NewForConfig(control.Cluster(t).Admin())
	if err != nil {
		t.Fatal(err)
	}
	namespace := control.Cluster(t).Namespace(t.Context(), t, "apply")
	return &bench{
		t: t, namespace: namespace,
		applier: apply.Applier{Client: client, Manager: manager, Identity: user},
		objects: admin.Resource(configMaps).Namespace(namespace),
	}
}

func (b *bench) do(action plan.Action) apply.Outcome {
	b.t.Helper()
	action.GVK, action.Namespace, action.Child = configMap, b.namespace, "config"
	outcome, err := b.applier.CarryOut(b.t.Context(), action, apply.Target{Resource: configMaps, OwnerUID: ownerUID})
	if err != nil {
		b.t.Fatalf("%s %s: %v", action.Verb, action.Name, err)
	}
	return outcome
}

func (b *bench) create(name string, data map[string]any) apply.Outcome {
	b.t.Helper()
	return b.do(plan.Action{Verb: plan.Create, Name: name, Object: b.desired(name, data)})
}

func (b *bench) apply(name string, uid types.UID, migrate bool, data map[string]any) apply.Outcome {
	b.t.Helper()
	return b.do(plan.Action{Verb: plan.Apply, Name: name, UID: uid, Migrate: migrate, Object: b.desired(name, data)})
}

func (b *bench) desired(name string, data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": name, "namespace": b.namespace,
			"ownerReferences": []any{map[string]any{
				"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "name": "owner", "uid": string(ownerUID), "controller": true,
			}},
		},
		"data": data,
	}}
}

// live reads an object as admin; nil if it is not there.
func (b *bench) live(name string) *unstructured.Unstructured {
	b.t.Helper()
	obj, err := b.objects.Get(b.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return obj
}

func (b *bench) data(name string) map[string]string {
	data, _, _ := unstructured.NestedStringMap(b.live(name).Object, "data")
	return data
}

// finalizers sets those of an object, in JSON.
func (b *bench) finalizers(name, list string) {
	b.t.Helper()
	patch := []byte(`{"metadata":{"finalizers":` + list + `}}`)
	if _, err := b.objects.Patch(b.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func TestStory(t *testing.T) {
	b := newBench(t, control.Cluster(t).Admin(), "admin")
	created := b.create("a", map[string]any{"k": "1", "gone": "x"})
	if created.Object == nil || created.Object.GetUID() == "" {
		t.Fatalf("create gave %+v, want the live object", created)
	}
	uid := created.Object.GetUID()

	t.Run("CreateAgainFindsItsOwn", func(t *testing.T) {
		again := b.create("a", map[string]any{"k": "2"})
		if again.Object == nil || !again.Met || again.Object.GetUID() != uid || b.data("a")["k"] != "1" {
			t.Errorf("a second create gave %+v and left %v, want the first object unchanged", again, b.data("a"))
		}
	})
	t.Run("ApplyChanges", func(t *testing.T) {
		if out := b.apply("a", uid, false, map[string]any{"k": "2", "gone": "x"}); out.Object == nil {
			t.Fatalf("apply gave %+v", out)
		}
		if got := b.data("a"); got["k"] != "2" {
			t.Errorf("data is %v", got)
		}
	})
	t.Run("ApplyRemovesAfterMigration", func(t *testing.T) {
		if out := b.apply("a", uid, true, map[string]any{"k": "2"}); out.Object == nil {
			t.Fatalf("apply gave %+v", out)
		}
		if got := b.data("a"); len(got) != 1 {
			t.Errorf("data is %v, want only k", got)
		}
	})
	t.Run("ApplyKeepsWhatOthersOwn", func(t *testing.T) {
		if _, err := b.objects.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"theirs":"y","k":"theirs"}}`), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
			t.Fatal(err)
		}
		b.apply("a", uid, false, map[string]any{"k": "3"})
		if got := b.data("a"); got["theirs"] != "y" || got["k"] != "3" {
			t.Errorf("data is %v, want theirs kept and ours forced", got)
		}
	})
	t.Run("ApplyToAnotherUID", func(t *testing.T) {
		if out := b.apply("a", otherUID, false, map[string]any{"k": "4"}); !out.Stale || b.data("a")["k"] != "3" {
			t.Errorf("gave %+v (%+v) and left %v, want it stale and unchanged", out, out.Problem, b.data("a"))
		}
	})
	t.Run("DeleteAnotherUID", func(t *testing.T) {
		live := b.live("a")
		if out := b.do(plan.Action{Verb: plan.Delete, Name: "a", UID: otherUID, ResourceVersion: live.GetResourceVersion()}); !out.Stale || b.live("a") == nil {
			t.Errorf("gave %+v; the object must be there", out)
		}
	})
	t.Run("DeleteWhatHasChanged", func(t *testing.T) {
		if out := b.do(plan.Action{Verb: plan.Delete, Name: "a", UID: uid, ResourceVersion: created.Object.GetResourceVersion()}); !out.Stale || b.live("a") == nil {
			t.Errorf("gave %+v; the object must be there", out)
		}
	})
	t.Run("DeleteWhatLingers", func(t *testing.T) {
		held := b.create("held", nil).Object
		b.finalizers("held", `["example.com/held"]`)
		out := b.do(plan.Action{Verb: plan.Delete, Name: "held", UID: held.GetUID()})
		if out.Deleted || out.Object == nil || out.Object.GetDeletionTimestamp() == nil {
			t.Errorf("gave %+v; the object is on its way out, and not gone", out)
		}
		b.finalizers("held", "null")
	})
	t.Run("Delete", func(t *testing.T) {
		if out := b.do(plan.Action{Verb: plan.Delete, Name: "a", UID: uid, ResourceVersion: b.live("a").GetResourceVersion()}); !out.Deleted || b.live("a") != nil {
			t.Errorf("gave %+v; the object must be gone", out)
		}
	})
	t.Run("DeleteWhatIsGone", func(t *testing.T) {
		if out := b.do(plan.Action{Verb: plan.Delete, Name: "a", UID: uid, ResourceVersion: "1"}); out != (apply.Outcome{}) {
			t.Errorf("gave %+v, want nothing", out)
		}
	})
	t.Run("ApplyDoesNotResurrect", func(t *testing.T) {
		if out := b.apply("a", uid, false, map[string]any{"k": "5"}); !out.Stale || b.live("a") != nil {
			t.Errorf("gave %+v; the object must stay gone", out)
		}
	})
}

func TestCreateMeetsForeign(t *testing.T) {
	b := newBench(t, control.Cluster(t).Admin(), "admin")
	foreign := b.desired("b", map[string]any{"theirs": "1"})
	foreign.SetOwnerReferences(nil)
	before, err := b.objects.Create(t.Context(), foreign, metav1.CreateOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	out := b.create("b", map[string]any{"k": "1"})
	if out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonNameConflict || !out.Problem.Terminal {
		t.Errorf("gave %+v, want NameConflict", out)
	}
	if after := b.live("b"); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the foreign object was written")
	}
}

// TestCreateMeetsAnotherPolicys: what another policy made for the same owner is
// not ours to change.
func TestCreateMeetsAnotherPolicys(t *testing.T) {
	b := newBench(t, control.Cluster(t).Admin(), "admin")
	theirs := b.desired("c", map[string]any{"theirs": "1"})
	theirs.SetLabels(map[string]string{v1alpha1.LabelPolicy: "another"})
	if _, err := b.objects.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.wantProblem(b.create("c", map[string]any{"k": "1"}), v1alpha1.ReasonNameConflict, `by policy "another"`)
}

// TestRefused: each cause of a refusal has its own reason, and a message that
// names what was refused.
func TestRefused(t *testing.T) {
	admin, err := kubernetes.NewForConfig(control.Cluster(t).Admin())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Forbidden", func(t *testing.T) {
		b := newBench(t, control.Cluster(t).User("nobody"), "nobody")
		b.wantProblem(b.create("a", nil), v1alpha1.ReasonForbidden, `cannot create configmaps in namespace "`+b.namespace+`" as nobody`)
		b.wantProblem(b.apply("a", ownerUID, false, nil), v1alpha1.ReasonForbidden, "cannot patch configmaps")
		out := b.do(plan.Action{Verb: plan.Delete, Name: "a", UID: ownerUID})
		b.wantProblem(out, v1alpha1.ReasonForbidden, "cannot delete configmaps")
		if d := out.Problem.Denied; len(d) != 1 || d[0].Verb != "delete" || d[0].Resource != "configmaps" || d[0].Namespace != b.namespace {
			t.Errorf("denied is %+v", d)
		}
	})
	t.Run("Quota", func(t *testing.T) {
		b := newBench(t, control.Cluster(t).Admin(), "admin")
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")},
		}, Status: corev1.ResourceQuotaStatus{}}
		made, err := admin.CoreV1().ResourceQuotas(b.namespace).Create(t.Context(), quota, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// In place of the quota controller, which does not run here.
		made.Status = corev1.ResourceQuotaStatus{Hard: made.Spec.Hard, Used: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}}
		if _, err := admin.CoreV1().ResourceQuotas(b.namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		// Admission learns of the quota by a watch: it lets some objects through first.
		var out apply.Outcome
		for i := range 1000 {
			if out = b.create(fmt.Sprintf("a-%d", i), nil); out.Problem != nil {
				break
			}
		}
		b.wantProblem(out, v1alpha1.ReasonQuotaExceeded, "exceeded quota")
	})
	t.Run("Invalid", func(t *testing.T) {
		b := newBench(t, control.Cluster(t).Admin(), "admin")
		b.wantProblem(b.create("a", map[string]any{"not a key": "1"}), v1alpha1.ReasonInvalid, "not a key")
	})
	t.Run("UnknownField", func(t *testing.T) {
		b := newBench(t, control.Cluster(t).Admin(), "admin")
		misspelt := b.desired("a", nil)
		misspelt.Object["dta"] = map[string]any{"k": "1"}
		b.wantProblem(b.do(plan.Action{Verb: plan.Create, Name: "a", Object: misspelt}), v1alpha1.ReasonInvalid, `unknown field "dta"`)
		uid := b.create("a", map[string]any{"k": "1"}).Object.GetUID()
		b.wantProblem(b.do(plan.Action{Verb: plan.Apply, Name: "a", UID: uid, Object: misspelt}), v1alpha1.ReasonInvalid, "dta")
	})
	t.Run("NamespaceTerminating", func(t *testing.T) {
		b := newBench(t, control.Cluster(t).Admin(), "admin")
		// Without a namespace controller it stays in that state.
		if err := admin.CoreV1().Namespaces().Delete(t.Context(), b.namespace, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		out := b.create("a", nil)
		if out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonNamespaceTerminating || out.Problem.Terminal {
			t.Errorf("gave %+v, want %s, not terminal", out.Problem, v1alpha1.ReasonNamespaceTerminating)
		}
	})
}

func (b *bench) wantProblem(out apply.Outcome, reason, text string) {
	b.t.Helper()
	if out.Problem == nil || out.Problem.Reason != reason || !out.Problem.Terminal || !strings.Contains(out.Problem.Message, text) {
		b.t.Errorf("gave %+v, want a terminal %s that says %q", out.Problem, reason, text)
	}
}
