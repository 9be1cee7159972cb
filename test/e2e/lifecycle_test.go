package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestLifecycle: create, no-op, drift mended, foreign fields kept, change one,
// delete.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "lifecycle")
	namespace := w.namespace(memcachedRights()...)
	stop := w.run([]string{namespace}, memcached(t))

	owner := w.createOwner(namespace, "cache", 2)
	w.deploymentHas(namespace, "cache", 2)
	w.condition(namespace, "cache", v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)

	t.Run("TheChildIsMarked", func(t *testing.T) {
		d := w.deployment(namespace, "cache")
		if ref := metav1.GetControllerOf(d); ref == nil || ref.UID != owner.GetUID() {
			t.Errorf("controller is %v, want the owner", ref)
		}
		for label, want := range map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelPolicy: "ambit-system.memcached", v1alpha1.LabelOwnerUID: string(owner.GetUID()),
		} {
			if got := d.Labels[label]; got != want {
				t.Errorf("label %s is %q, want %q", label, got, want)
			}
		}
		if !slices.ContainsFunc(d.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "ambit/ambit-system.memcached" }) {
			t.Errorf("no fields are managed by ambit/ambit-system.memcached: %v", d.ManagedFields)
		}
	})
	t.Run("TheStatusIsThatOfTheTutorials", func(t *testing.T) { w.checkStatus(t, namespace, "cache", 2) })
	t.Run("DriftIsMended", func(t *testing.T) {
		w.patchDeployment(t, namespace, "cache", `{"spec":{"replicas":5}}`)
		w.deploymentHas(namespace, "cache", 2)
	})
	t.Run("WhatOthersOwnStays", func(t *testing.T) {
		w.patchDeployment(t, namespace, "cache", `{"metadata":{"annotations":{"team":"a"}},"spec":{"minReadySeconds":1,"replicas":4}}`)
		w.deploymentHas(namespace, "cache", 2)
		if d := w.deployment(namespace, "cache"); d.Annotations["team"] != "a" || d.Spec.MinReadySeconds != 1 {
			t.Errorf("foreign fields are gone: %v, minReadySeconds %d", d.Annotations, d.Spec.MinReadySeconds)
		}
	})
	t.Run("ADeletedChildIsMadeAgain", func(t *testing.T) {
		before := w.deployment(namespace, "cache").UID
		if err := w.typed.AppsV1().Deployments(namespace).Delete(t.Context(), "cache", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.eventually("the Deployment is a new one", func(ctx context.Context) error {
			d, err := w.typed.AppsV1().Deployments(namespace).Get(ctx, "cache", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if d.UID == before {
				return fmt.Errorf("it is the old one")
			}
			return nil
		})
	})
	t.Run("ChangeOne", func(t *testing.T) {
		w.resize(namespace, "cache", 3)
		w.deploymentHas(namespace, "cache", 3)
		w.condition(namespace, "cache", v1alpha1.ConditionReady, "True", "")
		w.checkStatus(t, namespace, "cache", 3)
	})
	t.Run("SizeZero", func(t *testing.T) {
		w.resize(namespace, "cache", 0)
		w.deploymentHas(namespace, "cache", 0)
		w.condition(namespace, "cache", v1alpha1.ConditionReady, "True", "")
		w.checkStatus(t, namespace, "cache", 0)
	})
	t.Run("Delete", func(t *testing.T) {
		w.deleteOwner(namespace, "cache")
		w.gone(namespace, "cache")
	})
	stop()
}

func (w *world) patchDeployment(t *testing.T, namespace, name, patch string) {
	t.Helper()
	_, err := w.typed.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatalf("patching Deployment %s/%s: %v", namespace, name, err)
	}
}

// checkStatus compares the owner's status with the Pods that are there.
func (w *world) checkStatus(t *testing.T, namespace, name string, size int) {
	t.Helper()
	w.eventually("the status says all three tutorials' fields", func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		pods, err := w.typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + name})
		if err != nil {
			return err
		}
		want := []string{}
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodRunning {
				want = append(want, pod.Name)
			}
		}
		slices.Sort(want)
		nodes, _, _ := unstructured.NestedStringSlice(owner.Object, "status", "nodes")
		if diff := cmp.Diff(want, append([]string{}, nodes...)); diff != "" || len(nodes) != size {
			return fmt.Errorf("status.nodes, want %d (-pods +status):\n%s", size, diff)
		}
		state, _, _ := unstructured.NestedStringMap(owner.Object, "status", "state")
		if state["status"] != "Ready" || state["message"] != fmt.Sprintf("%d of %d nodes available", size, size) {
			return fmt.Errorf("status.state is %v", state)
		}
		for kind, want := range map[string]string{"Available": "True", "Degraded": "False", "Permitted": "True"} {
			if c := conditionOf(owner, kind); c == nil || c["status"] != want {
				return fmt.Errorf("condition %s is %v, want %s", kind, c, want)
			}
		}
		for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
			if c := conditionOf(owner, kind); c != nil {
				return fmt.Errorf("condition %s is left: %v", kind, c)
			}
		}
		if observed, _, _ := unstructured.NestedInt64(owner.Object, "status", "observedGeneration"); observed != owner.GetGeneration() {
			return fmt.Errorf("observedGeneration %d, generation %d", observed, owner.GetGeneration())
		}
		return nil
	})
}
