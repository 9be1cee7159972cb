package install

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// served waits until the owner has its Deployment, all Pods of which are there, and says
// so with everything that its status has.
func (s *stage) served(namespace string, size int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the owner in %s is served with size %d", namespace, size), func() error {
		d, err := s.sees.AppsV1().Deployments(namespace).Get(s.t.Context(), cache, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if int(*d.Spec.Replicas) != size || int(d.Status.AvailableReplicas) != size {
			return fmt.Errorf("of %d replicas %d are available", *d.Spec.Replicas, d.Status.AvailableReplicas)
		}
		nodes, err := s.running(namespace)
		if err != nil {
			return err
		}
		return s.ownerSays(namespace, d, map[string]string{
			"Permitted":   "True Permitted: ",
			"Ready":       "True Ready: all children exist and are ready",
			"Reconciling": "",
			"Stalled":     "",
			"Available":   fmt.Sprintf("True MinimumReplicasAvailable: Deployment %s has %d of %d replicas available", cache, size, size),
			"Degraded":    "False AsExpected: ",
			"state":       fmt.Sprintf("Ready: %d of %d nodes available", size, size),
			"nodes":       strings.Join(nodes, " "),
			"observed":    "true",
		})
	})
}

// refused waits until the owner says exactly which rights are missing, in Ambit's
// conditions and in the policy's own words. The Deployment with that uid is as it was;
// without one there is none.
func (s *stage) refused(made types.UID, replicas int32) {
	s.t.Helper()
	user := "system:serviceaccount:" + s.home + ":ambit"
	const onDeployments = "get, list, watch, create, patch, delete deployments.apps"
	cannot := fmt.Sprintf(`cannot %s in namespace %q as %s; cannot list, watch pods in namespace %q as %s`, onDeployments, s.denied, user, s.denied, user)
	eventually(s.t, "the owner says what is missing", func() error {
		return s.ownerSays(s.denied, nil, map[string]string{
			"Permitted":   "False Forbidden: " + cannot,
			"Ready":       "False Forbidden: " + cannot,
			"Reconciling": "",
			"Stalled":     "True Forbidden: " + cannot,
			"Degraded":    "True Forbidden: what the Deployment needs is refused: see condition Permitted",
			"state":       fmt.Sprintf(`Failed: Not permitted to %s in namespace %q; list, watch pods in namespace %q`, onDeployments, s.denied, s.denied),
			"observed":    "true",
		})
	})
	d, err := s.sees.AppsV1().Deployments(s.denied).Get(s.t.Context(), cache, metav1.GetOptions{})
	if made == "" {
		if !apierrors.IsNotFound(err) {
			s.t.Errorf("there is a Deployment, without a right to make it: %v", err)
		}
		return
	}
	if err != nil || d.UID != made || d.DeletionTimestamp != nil || *d.Spec.Replicas != replicas {
		s.t.Errorf("the Deployment %s is not as it was, with %d replicas: %v, %v", made, replicas, err, d)
	}
}

// ownerSays compares parts of the owner's status with what is wanted; and that the
// Deployment is its own.
func (s *stage) ownerSays(namespace string, d *appsv1.Deployment, want map[string]string) error {
	owner, err := get(s.t, memcacheds, namespace, cache)
	if err != nil {
		return err
	}
	got := map[string]string{}
	for part := range want {
		got[part] = statusSays(owner, part)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("its status (-want +got):\n%s", diff)
	}
	if d != nil && !metav1.IsControlledBy(d, owner) {
		return fmt.Errorf("the Deployment is not controlled by it: %v", d.OwnerReferences)
	}
	return nil
}

// statusSays is a condition in one line, empty if it is not there; or another part of
// the status of a Memcached.
func statusSays(owner *unstructured.Unstructured, part string) string {
	switch part {
	case "state":
		state, _, _ := unstructured.NestedStringMap(owner.Object, "status", "state")
		return state["status"] + ": " + state["message"]
	case "nodes":
		nodes, _, _ := unstructured.NestedStringSlice(owner.Object, "status", "nodes")
		return strings.Join(nodes, " ")
	case "observed":
		seen, _, _ := unstructured.NestedInt64(owner.Object, "status", "observedGeneration")
		return fmt.Sprint(seen == owner.GetGeneration())
	}
	c := conditionOf(owner, part)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c["status"], c["reason"], c["message"])
}

// running are the names of the Pods of the owner that run.
func (s *stage) running(namespace string) ([]string, error) {
	list, err := s.sees.CoreV1().Pods(namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + cache})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, pod := range list.Items {
		if pod.Status.Phase == corev1.PodRunning {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
