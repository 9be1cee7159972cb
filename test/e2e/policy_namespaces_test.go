package e2e

import (
	"fmt"
	"testing"
)

// TestPolicyNamespaceDefaults: a Namespace with the label has a quota of that size
// and denies traffic; one without has nothing.
func TestPolicyNamespaceDefaults(t *testing.T) {
	t.Parallel()
	s := tellPolicy(t, "namespace-defaults")
	one, two, plain := s.namespace(), s.namespace(), s.namespace()
	label := func(s *policyStory, namespace, size string) {
		t.Helper()
		s.patch("Namespace", "", namespace, fmt.Sprintf(`{"metadata":{"labels":{"namespace-defaults.example.com/quota":%s}}}`, size))
	}
	label(s, one, `"small"`)
	label(s, two, `"medium"`)
	label(s, plain, `"enormous"`) // no such size
	s.shows("ResourceQuota", one, "namespace-defaults", `
{spec: {hard: {pods: "10", requests.cpu: "2", requests.memory: 4Gi}}, status: {hard: {pods: "10"}}}`)
	s.shows("ResourceQuota", two, "namespace-defaults", `spec: {hard: {pods: "50"}}`)
	s.shows("NetworkPolicy", one, "default-deny", `
{spec: {podSelector: {}, policyTypes: [Ingress, Egress]}, metadata: {ownerReferences: [{apiVersion: v1, kind: Namespace, name: %s, controller: true}]}}`, one)

	t.Run("TheSizeChanges", func(t *testing.T) {
		s := s.within(t)
		label(s, one, `"large"`)
		s.shows("ResourceQuota", one, "namespace-defaults", `spec: {hard: {pods: "200", requests.cpu: "40", requests.memory: 80Gi}}`)
	})
	t.Run("DriftIsMended", func(t *testing.T) {
		s := s.within(t)
		s.patch("NetworkPolicy", one, "default-deny", `{"spec":{"policyTypes":["Ingress"]}}`)
		s.shows("NetworkPolicy", one, "default-deny", `spec: {policyTypes: [Ingress, Egress]}`)
		s.delete("ResourceQuota", one, "namespace-defaults")
		s.shows("ResourceQuota", one, "namespace-defaults", `spec: {hard: {pods: "200"}}`)
	})
	s.steady()
	t.Run("GoneWithTheLabel", func(t *testing.T) {
		s := s.within(t)
		label(s, one, "null")
		s.only("ResourceQuota", one)
		s.only("NetworkPolicy", one)
		s.unmarked("Namespace", "", one)
		label(s, two, `"enormous"`)
		s.only("ResourceQuota", two)
	})
	t.Run("GoneWithTheNamespace", func(t *testing.T) {
		s := s.within(t)
		label(s, two, `"small"`)
		s.only("ResourceQuota", two, "namespace-defaults")
		s.only("NetworkPolicy", two, "default-deny")
		s.shows("Namespace", "", two, "metadata: {finalizers: null}") // the garbage collector does it
		s.delete("Namespace", "", two)
		s.absent("Namespace", "", two)
	})
	s.only("ResourceQuota", plain)
	s.ends()
}
