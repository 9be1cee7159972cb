package memcached

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The conditions of a Memcached.
const (
	// ConditionAvailable is that of the Deployment.
	ConditionAvailable = "Available"
	// ConditionDegraded is True when the Deployment does not get on.
	ConditionDegraded = "Degraded"
)

// SetStatus sets the status of m from its Deployment and those of pods that run,
// and says whether that changed it.
func SetStatus(m *Memcached, d *appsv1.Deployment, pods []corev1.Pod) bool {
	nodes := running(pods)
	state := State{
		Status:  "Progressing",
		Message: fmt.Sprintf("%d of %d nodes available", d.Status.AvailableReplicas, m.Spec.Size),
	}
	if d.Status.AvailableReplicas == m.Spec.Size {
		state.Status = "Ready"
	}
	changed := m.Status.State != state || !slices.Equal(m.Status.Nodes, nodes) || m.Status.Nodes == nil
	m.Status.Nodes, m.Status.State = nodes, state
	changed = meta.SetStatusCondition(&m.Status.Conditions, available(m, d)) || changed
	return meta.SetStatusCondition(&m.Status.Conditions, degraded(m, d)) || changed
}

// running returns the names of the Pods that run, sorted, never nil.
func running(pods []corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning {
			names = append(names, pods[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// available is condition Available.
func available(m *Memcached, d *appsv1.Deployment) metav1.Condition {
	c := metav1.Condition{
		Type: ConditionAvailable, Status: metav1.ConditionFalse, Reason: "MinimumReplicasUnavailable",
		ObservedGeneration: m.Generation,
		Message: fmt.Sprintf("Deployment %s has %d of %d replicas available",
			m.Name, d.Status.AvailableReplicas, m.Spec.Size),
	}
	if deploymentHas(d, appsv1.DeploymentAvailable, corev1.ConditionTrue) {
		c.Status, c.Reason = metav1.ConditionTrue, "MinimumReplicasAvailable"
	}
	return c
}

// degraded is condition Degraded.
func degraded(m *Memcached, d *appsv1.Deployment) metav1.Condition {
	c := metav1.Condition{
		Type: ConditionDegraded, Status: metav1.ConditionFalse, Reason: "AsExpected",
		ObservedGeneration: m.Generation,
	}
	switch {
	case deploymentHas(d, appsv1.DeploymentReplicaFailure, corev1.ConditionTrue):
		c.Status, c.Reason = metav1.ConditionTrue, "ReplicaFailure"
	case deploymentHas(d, appsv1.DeploymentProgressing, corev1.ConditionFalse):
		c.Status, c.Reason = metav1.ConditionTrue, "ProgressDeadlineExceeded"
	}
	return c
}

// deploymentHas says whether the Deployment has the condition with that status.
func deploymentHas(d *appsv1.Deployment, t appsv1.DeploymentConditionType, s corev1.ConditionStatus) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == t && c.Status == s
	})
}
