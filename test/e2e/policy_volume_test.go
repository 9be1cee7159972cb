package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestPolicyProtectedVolume: a deleted Volume and its claim stay as long as a Pod
// uses the claim, and the Volume says so.
func TestPolicyProtectedVolume(t *testing.T) {
	t.Parallel()
	s := tellPolicy(t, "protected-volume")
	namespace := s.namespace()
	volume := "{apiVersion: storage.example.com/v1alpha1, kind: Volume, metadata: {name: photos, namespace: %s}, spec: {size: 1Gi, storageClassName: fast}}"
	s.apply(volume, namespace)
	s.bind(namespace, "1Gi")
	s.shows("Volume", namespace, "photos", `
metadata: {finalizers: [%s]}
status: {phase: Bound, capacity: 1Gi, usedBy: [], conditions: {Ready: {status: "True"}, InUse: {status: "False"}}}`, v1alpha1.FinalizerCleanup)
	s.usedBy(namespace, "album", "photos")
	s.usedBy(namespace, "bystander", "other-claim")
	s.shows("Volume", namespace, "photos", `status: {usedBy: [album], conditions: {InUse: {status: "True", message: used by Pods album}}}`)
	s.steady()

	t.Run("StaysWhileItIsUsed", func(t *testing.T) {
		s := s.within(t)
		s.delete("Volume", namespace, "photos")
		s.isProtected(namespace, "album")
		s.usedBy(namespace, "second", "photos")
		s.isProtected(namespace, "album, second")
		s.delete("Pod", namespace, "album")
		s.isProtected(namespace, "second")
		mark := s.settled()
		s.patiently(5 * time.Second)
		s.noRequests(mark, "while the volume is protected", isStoryWrite)
		s.isProtected(namespace, "second")
	})
	t.Run("StaysWhileAmbitIsAway", func(t *testing.T) {
		s := s.within(t)
		s.ambit.stop()
		s.shows("Volume", namespace, "photos", "metadata: {finalizers: [%s]}", v1alpha1.FinalizerCleanup)
		s.restart()
		s.isProtected(namespace, "second")
	})
	t.Run("GoesWhenItIsFree", func(t *testing.T) {
		s := s.within(t)
		s.delete("Pod", namespace, "second")
		s.absent("Volume", namespace, "photos")
		s.absent("PersistentVolumeClaim", namespace, "photos")
	})
	t.Run("GoesAtOnceWhenNobodyUsesIt", func(t *testing.T) {
		s := s.within(t)
		s.apply(volume, namespace)
		s.shows("Volume", namespace, "photos", `status: {conditions: {Ready: {status: "True"}}}`)
		s.delete("Volume", namespace, "photos")
		s.absent("Volume", namespace, "photos")
		s.absent("PersistentVolumeClaim", namespace, "photos")
	})
	s.ends()
}

// isProtected waits until the deleted Volume says by which Pods it is used; its claim
// is not even asked to go.
func (s *policyStory) isProtected(namespace, pods string) {
	s.t.Helper()
	s.shows("Volume", namespace, "photos", `
status: {conditions: {Ready: {status: "False", reason: Protected, message: "claim photos is used by Pods %s"}}}`, pods)
	s.shows("PersistentVolumeClaim", namespace, "photos", "metadata: {deletionTimestamp: null}")
}

// bind says of the claim what the controller of volumes would, which does not run in
// this control plane.
func (s *policyStory) bind(namespace, capacity string) {
	s.t.Helper()
	s.shows("PersistentVolumeClaim", namespace, "photos", `spec: {resources: {requests: {storage: 1Gi}}, accessModes: [ReadWriteOnce], storageClassName: fast}`)
	patch := fmt.Appendf(nil, `{"status":{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":%q}}}`, capacity)
	_, err := s.resource("PersistentVolumeClaim", namespace).Patch(s.t.Context(), "photos", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		s.t.Fatalf("binding the claim: %v", err)
	}
}

// usedBy makes a Pod that uses a claim, and waits until it runs.
func (s *policyStory) usedBy(namespace, pod, claim string) {
	s.t.Helper()
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  nodeName: node-0
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: main, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]`, pod, namespace, claim)
	s.shows("Pod", namespace, pod, "status: {phase: Running}")
}
