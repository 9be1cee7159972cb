package install

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// TestRoles: who may view a namespace may read policies in it; who may edit or
// administer one may not write them; the editor of policies may, and nothing else.
func TestRoles(t *testing.T) {
	apply(t, control.Admin(), kustomize(t, root+"/manifests/cluster"))
	writing := []string{"create", "update", "patch", "delete", "deletecollection"}
	for role, tc := range map[string]struct{ reads, writes bool }{
		"view": {true, false}, "edit": {true, false}, "admin": {true, false},
		"ambit-policy-viewer": {true, false}, "ambit-policy-editor": {true, true},
	} {
		namespace := control.Namespace(t.Context(), t, "roles")
		bind(t, namespace, tenant, "ClusterRole", role)
		eventually(t, role+" reads policies", func() error {
			if !may(t, control.User(tenant), policyAccess(namespace, "list", "")) {
				return fmt.Errorf("denied")
			}
			return nil
		})
		for _, verb := range writing {
			if got := may(t, control.User(tenant), policyAccess(namespace, verb, "")); got != tc.writes {
				t.Errorf("%s: %s is permitted: %t, want %t", role, verb, got, tc.writes)
			}
		}
		if may(t, control.User(tenant), policyAccess(namespace, "patch", "status")) {
			t.Errorf("%s may write the status of policies, which is Ambit's", role)
		}
		if role != "ambit-policy-viewer" && role != "ambit-policy-editor" {
			continue
		}
		for _, resource := range []string{"pods", "secrets", "configmaps", "serviceaccounts"} {
			if may(t, control.User(tenant), authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Resource: resource}) {
				t.Errorf("%s may get %s", role, resource)
			}
		}
	}
}

func policyAccess(namespace, verb, subresource string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: "ambit.dev", Resource: "reconcilepolicies", Subresource: subresource}
}
