package life

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podOf is the Pod that a ConfigMap belongs to; empty if it belongs to none.
func podOf(found *corev1.ConfigMap) metav1.OwnerReference {
	for _, owner := range found.OwnerReferences {
		if owner.APIVersion == "v1" && owner.Kind == "Pod" {
			return owner
		}
	}
	return metav1.OwnerReference{}
}

// releaseFrom deletes the ConfigMap of a Pod that has ended for good and is kept. What
// belongs to a Pod that is gone is left to the garbage collector; what belongs to none,
// to who made it.
func (l *Lock) releaseFrom(ctx context.Context, found *corev1.ConfigMap, owner metav1.OwnerReference) error {
	if owner.Name == "" {
		return nil
	}
	pod, err := l.options.Client.Pods(l.options.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the leader's Pod: %w", err)
	}
	if pod.UID != owner.UID || pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		return nil
	}
	l.options.Logger.Info("the leader's Pod has ended: its ConfigMap goes", "leader", owner.Name, "phase", pod.Status.Phase)
	is := metav1.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}
	err = l.options.Client.ConfigMaps(l.options.Namespace).Delete(ctx, l.options.Name, metav1.DeleteOptions{Preconditions: &is})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting it: %w", err)
	}
	l.version = ""
	return nil
}
