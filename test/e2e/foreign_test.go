package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestForeignObjectsAreSafe: a Deployment of the wanted name that is not ours
// keeps its bytes and its life through create, change and delete of the owner.
// It runs without kube-controller-manager, whose garbage collector would delete
// some of these objects by itself.
func TestForeignObjectsAreSafe(t *testing.T) {
	t.Parallel()
	c, err := cluster.Start(t.Context(), cluster.Options{
		Audit: true, Users: map[string][]string{"foreign": nil},
		Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := newWorldOn(t, c, "foreign")
	namespace := w.namespace(memcachedRights()...)
	other := w.createOwner(namespace, "zz-other", 0)
	w.run([]string{namespace}, memcached(t))
	mark := c.Audit().Mark()
	for name, tc := range foreignCases(other.GetUID()) {
		t.Run(name, func(t *testing.T) { w.checkForeign(t, namespace, name, tc) })
	}
	t.Run("forged-labels-of-the-owner", func(t *testing.T) { w.checkForgedLabels(t, namespace) })

	requests, err := c.Audit().Since(mark, w.user)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		refused := r.Verb == "create" && r.Code == 409
		if r.IsWrite() && r.Resource == "deployments" && !refused && !ours(r.Name) {
			t.Errorf("Ambit did %s (%d) on the foreign Deployment %q", r.Verb, r.Code, r.Name)
		}
	}
}

type foreignCase struct {
	reason string
	labels map[string]string
	owners []metav1.OwnerReference
}

// ours says whether Ambit made the Deployment of that name in this test.
func ours(name string) bool {
	return name == "zz-other" || name == "forged-labels-of-the-owner" || strings.HasSuffix(name, "-next")
}

func foreignCases(other types.UID) map[string]foreignCase {
	return map[string]foreignCase{
		"no-owner":      {reason: "an object without any owner is somebody's"},
		"other-owner":   {reason: "an object of another controller is that controller's", owners: controllerRef("zz-other", other)},
		"other-uid":     {reason: "an owner of the same name and another uid is another owner", owners: controllerRef("other-uid", "3b1e1b3e-0000-4000-8000-000000000000")},
		"forged-labels": {reason: "labels prove nothing", labels: ambitLabels("forged")},
		"both-forged": {
			reason: "labels and an ownerReference of the right name with another uid prove nothing",
			labels: ambitLabels("forged"), owners: controllerRef("both-forged", "3b1e1b3e-0000-4000-8000-000000000001"),
		},
	}
}

func (w *world) checkForeign(t *testing.T, namespace, name string, tc foreignCase) {
	before := w.foreignDeployment(t, namespace, name, tc)
	w.createOwner(namespace, name, 1)
	message := w.condition(namespace, name, v1alpha1.ConditionReady, "False", v1alpha1.ReasonNameConflict)
	if !strings.Contains(message, "Deployment") || !strings.Contains(message, name) {
		t.Errorf("message %q does not name the object that is in the way", message)
	}
	w.resize(namespace, name, 3)
	w.observed(namespace, name)
	w.condition(namespace, name, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNameConflict)
	w.deleteOwner(namespace, name)
	w.createOwner(namespace, name+"-next", 0) // Ambit has seen the deletion when it has seen this
	w.observed(namespace, name+"-next")
	if diff := cmp.Diff(before, spoken(t, w.deployment(namespace, name))); diff != "" {
		t.Errorf("%s: the object has changed (-before +after):\n%s", tc.reason, diff)
	}
}

// checkForgedLabels: an object that carries the labels of a living owner, and
// that the policy does not want, is not taken for a leftover.
func (w *world) checkForgedLabels(t *testing.T, namespace string) {
	owner := w.createOwner(namespace, "forged-labels-of-the-owner", 0)
	w.observed(namespace, owner.GetName())
	before := w.foreignDeployment(t, namespace, "leftover", foreignCase{labels: ambitLabels(string(owner.GetUID()))})
	w.resize(namespace, owner.GetName(), 1)
	w.observed(namespace, owner.GetName())
	if diff := cmp.Diff(before, spoken(t, w.deployment(namespace, "leftover"))); diff != "" {
		t.Errorf("the object has changed (-before +after):\n%s", diff)
	}
}

func ambitLabels(uid string) map[string]string {
	return map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelPolicy: "ambit-system.memcached", v1alpha1.LabelOwnerUID: uid}
}

func controllerRef(name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: name, UID: uid, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

func (w *world) foreignDeployment(t *testing.T, namespace, name string, tc foreignCase) string {
	t.Helper()
	zero := int32(0)
	app := map[string]string{"app": name}
	made, err := w.typed.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tc.labels, OwnerReferences: tc.owners},
		Spec: appsv1.DeploymentSpec{
			Replicas: &zero,
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs:1"}}},
			},
		},
	}, metav1.CreateOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatalf("making the foreign Deployment: %v", err)
	}
	return spoken(t, made)
}

// spoken is the whole object. The TypeMeta is left out: clients differ in it.
func spoken(t *testing.T, d *appsv1.Deployment) string {
	t.Helper()
	d = d.DeepCopy()
	d.TypeMeta = metav1.TypeMeta{}
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
