package memcached

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// owner returns a Memcached of size 2.
func owner() *Memcached {
	return &Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "cache", UID: "u", Generation: 3},
		Spec:       Spec{Size: 2},
	}
}

func TestSetDeploymentTwice(t *testing.T) {
	var d appsv1.Deployment
	SetDeployment(&d, owner())
	d.Spec.Template.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log"
	d.Labels["other"] = "kept"
	want := d.DeepCopy()
	SetDeployment(&d, owner())
	if diff := cmp.Diff(want, &d); diff != "" {
		t.Errorf("Setting it again must change nothing, or an operator writes for ever: -want +got:\n%s", diff)
	}
}

func TestSetStatus(t *testing.T) {
	m := owner()
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
	pods := []corev1.Pod{pod("b", corev1.PodRunning), pod("c", corev1.PodPending), pod("a", corev1.PodRunning)}

	if !SetStatus(m, d, pods) {
		t.Error("The first status is a change.")
	}
	want := Status{
		Nodes: []string{"a", "b"},
		State: State{Status: "Progressing", Message: "1 of 2 nodes available"},
	}
	got := m.Status.DeepCopy()
	got.Conditions = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if SetStatus(m, d, pods) {
		t.Error("The same again is no change.")
	}
	d.Status.AvailableReplicas = 2
	if !SetStatus(m, d, pods) {
		t.Error("Another replica is a change.")
	}
}

func TestDeepCopy(t *testing.T) {
	m := owner()
	SetStatus(m, &appsv1.Deployment{}, []corev1.Pod{pod("a", corev1.PodRunning)})
	cp := m.DeepCopy()
	if diff := cmp.Diff(m, cp); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	cp.Status.Nodes[0], cp.Status.Conditions[0].Reason = "changed", "Changed"
	if m.Status.Nodes[0] != "a" || m.Status.Conditions[0].Reason == "Changed" {
		t.Error("A copy shares its lists with the original.")
	}
}

// pod returns a Pod of that name in that phase.
func pod(name string, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: phase}}
}
