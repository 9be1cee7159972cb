package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPolicyCRDRoles: a kind with the annotation has two ClusterRoles, which
// Kubernetes makes part of its own roles view and edit.
func TestPolicyCRDRoles(t *testing.T) {
	t.Parallel()
	const group, crd = "crdroles.example.com", "gears.crdroles.example.com"
	// What the two roles allow. Kubernetes lets nobody hand out what they do not have.
	gears := rightsTo(group, "gears")
	gears.Verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	s := tellPolicy(t, "crd-roles", gears)
	s.makeKind(group, "gears", "Gear")
	s.makeKind(group, "cogs", "Cog") // no annotation
	annotate := func(s *policyStory, value string) {
		t.Helper()
		s.patch("CustomResourceDefinition", "", crd, fmt.Sprintf(`{"metadata":{"annotations":{"crd-roles.example.com/aggregate":%s}}}`, value))
	}
	annotate(s, `"true"`)
	s.shows("ClusterRole", "", "crd:"+crd+":view", `
metadata: {labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [%s], resources: [gears], verbs: [get, list, watch]}]`, group)
	s.shows("ClusterRole", "", "crd:"+crd+":edit", `
metadata: {labels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
rules: [{apiGroups: [%s], resources: [gears], verbs: [create, update, patch, delete, deletecollection]}]`, group)
	s.aggregated("view", group, true)
	s.aggregated("edit", group, true)

	t.Run("DriftIsMended", func(t *testing.T) {
		s := s.within(t)
		s.patch("ClusterRole", "", "crd:"+crd+":view", `{"rules":[]}`)
		s.shows("ClusterRole", "", "crd:"+crd+":view", `rules: [{resources: [gears]}]`)
		s.delete("ClusterRole", "", "crd:"+crd+":edit")
		s.shows("ClusterRole", "", "crd:"+crd+":edit", `rules: [{resources: [gears]}]`)
	})
	s.steady()
	t.Run("GoneWithTheAnnotation", func(t *testing.T) {
		s := s.within(t)
		annotate(s, `"false"`)
		s.only("ClusterRole", "")
		s.aggregated("view", group, false)
		s.unmarked("CustomResourceDefinition", "", crd)
	})
	t.Run("GoneWhileAmbitWasAway", func(t *testing.T) {
		s := s.within(t)
		annotate(s, `"true"`)
		s.only("ClusterRole", "", "crd:"+crd+":edit", "crd:"+crd+":view")
		s.ambit.stop()
		annotate(s, "null")
		s.restart()
		s.only("ClusterRole", "")
	})
	t.Run("GoneWithTheKind", func(t *testing.T) {
		s := s.within(t)
		annotate(s, `"true"`)
		s.only("ClusterRole", "", "crd:"+crd+":edit", "crd:"+crd+":view")
		s.delete("CustomResourceDefinition", "", crd)
		s.only("ClusterRole", "")
	})
	s.delete("CustomResourceDefinition", "", "cogs."+group)
	s.ends()
}

// aggregated waits until one of Kubernetes' roles has rules on a group, or none.
func (s *policyStory) aggregated(role, group string, want bool) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("role %s knows group %s: %t", role, group, want), func(ctx context.Context) error {
		live, err := s.typed.RbacV1().ClusterRoles().Get(ctx, role, metav1.GetOptions{})
		if err != nil {
			return err
		}
		has := slices.ContainsFunc(live.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, group) })
		if has != want {
			return fmt.Errorf("has rules: %t", has)
		}
		return nil
	})
}
