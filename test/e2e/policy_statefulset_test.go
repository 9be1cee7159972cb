package e2e

import "testing"

// TestPolicyServicePerPod: a Service for each replica, as long as the StatefulSet has
// the annotation.
func TestPolicyServicePerPod(t *testing.T) {
	t.Parallel()
	s := tellPolicy(t, "service-per-pod")
	namespace := s.namespace()
	set := `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: 2
  serviceName: store
  selector: {matchLabels: {app: %[2]s}}
  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: store, image: store}]}}`
	s.apply(set, namespace, "plain") // no annotation: nothing of it is touched
	s.apply(set, namespace, "store")
	s.patch("StatefulSet", namespace, "store", `{"metadata":{"annotations":{"service-per-pod.example.com/port":"80:8080"}}}`)
	s.only("Service", namespace, "store-0", "store-1")
	s.shows("Service", namespace, "store-1", `
spec: {selector: {statefulset.kubernetes.io/pod-name: store-1}, ports: [{name: port-80, port: 80, targetPort: 8080}]}`)

	t.Run("ServicesFollowReplicas", func(t *testing.T) {
		s := s.within(t)
		s.patch("StatefulSet", namespace, "store", `{"spec":{"replicas":4}}`)
		s.only("Service", namespace, "store-0", "store-1", "store-2", "store-3")
		s.patch("StatefulSet", namespace, "store", `{"spec":{"replicas":1}}`)
		s.only("Service", namespace, "store-0")
		s.patch("StatefulSet", namespace, "store", `{"spec":{"replicas":0}}`)
		s.only("Service", namespace)
		s.patch("StatefulSet", namespace, "store", `{"spec":{"replicas":3,"ordinals":{"start":1}}}`)
		s.only("Service", namespace, "store-1", "store-2", "store-3")
	})
	t.Run("PortsFollowTheAnnotation", func(t *testing.T) {
		s := s.within(t)
		s.patch("StatefulSet", namespace, "store", `{"metadata":{"annotations":{"service-per-pod.example.com/port":"81, 443:8443"}}}`)
		s.shows("Service", namespace, "store-2", `
spec: {ports: [{name: port-81, port: 81, targetPort: 81}, {name: port-443, port: 443, targetPort: 8443}]}`)
	})
	t.Run("ADeletedServiceIsMadeAgain", func(t *testing.T) {
		s := s.within(t)
		s.delete("Service", namespace, "store-2")
		s.only("Service", namespace, "store-1", "store-2", "store-3")
	})
	s.steady()
	t.Run("GoneWithTheAnnotation", func(t *testing.T) {
		s := s.within(t)
		s.patch("StatefulSet", namespace, "store", `{"metadata":{"annotations":{"service-per-pod.example.com/port":null}}}`)
		s.only("Service", namespace)
		s.unmarked("StatefulSet", namespace, "store")
	})
	t.Run("GoneWhileAmbitWasAway", func(t *testing.T) {
		s := s.within(t)
		s.patch("StatefulSet", namespace, "store", `{"metadata":{"annotations":{"service-per-pod.example.com/port":"80"}}}`)
		s.only("Service", namespace, "store-1", "store-2", "store-3")
		s.ambit.stop()
		s.patch("StatefulSet", namespace, "store", `{"metadata":{"annotations":{"service-per-pod.example.com/port":null}}}`)
		s.restart()
		s.only("Service", namespace)
	})
	t.Run("GoneWithTheStatefulSet", func(t *testing.T) {
		s := s.within(t)
		s.patch("StatefulSet", namespace, "store", `{"metadata":{"annotations":{"service-per-pod.example.com/port":"80"}}}`)
		s.only("Service", namespace, "store-1", "store-2", "store-3")
		s.delete("StatefulSet", namespace, "store")
		s.only("Service", namespace)
	})
	s.ends()
}
