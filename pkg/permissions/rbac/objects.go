package rbac

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// The recommended labels of Kubernetes that all objects here have. The policy is
// the instance; what can belong to several, as a ServiceAccount can, has none.
const (
	labelName     = "app.kubernetes.io/name"
	labelInstance = "app.kubernetes.io/instance"
	nameAmbit     = "ambit"
)

// Present is what a Role and its binding hold already in the cluster. The zero
// value: nothing.
type Present struct {
	Rules    []rbacv1.PolicyRule
	Subjects []rbacv1.Subject
}

// GrantObjects returns the Role and RoleBinding of the grant, or ClusterRole and
// ClusterRoleBinding if it holds Everywhere. What is present stays in them, so
// that applying them takes nothing away; rules that it already has are not said
// twice. The caller owns the result.
func (g Grant) GrantObjects(present Present) []runtime.Object {
	rules, subjects := g.policyRules(present), g.bindingSubjects(present)
	group, roleMeta := rbacv1.SchemeGroupVersion.String(), g.objectMeta()
	if g.Namespace == Everywhere {
		return []runtime.Object{
			&rbacv1.ClusterRole{
				TypeMeta: metav1.TypeMeta{APIVersion: group, Kind: "ClusterRole"}, ObjectMeta: roleMeta, Rules: rules,
			},
			&rbacv1.ClusterRoleBinding{
				TypeMeta: metav1.TypeMeta{APIVersion: group, Kind: "ClusterRoleBinding"}, ObjectMeta: g.objectMeta(),
				RoleRef: g.roleRef("ClusterRole"), Subjects: subjects,
			},
		}
	}
	return []runtime.Object{
		&rbacv1.Role{
			TypeMeta: metav1.TypeMeta{APIVersion: group, Kind: "Role"}, ObjectMeta: roleMeta, Rules: rules,
		},
		&rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: group, Kind: "RoleBinding"}, ObjectMeta: g.objectMeta(),
			RoleRef: g.roleRef("Role"), Subjects: subjects,
		},
	}
}

// ExceedsGrant says whether what is present grants more than g, or grants it to others
// too.
func (g Grant) ExceedsGrant(present Present) bool {
	own := g.Subject.bindingSubject()
	return slices.ContainsFunc(present.Subjects, func(s rbacv1.Subject) bool { return s != own }) ||
		slices.ContainsFunc(present.Rules, g.exceedsRule)
}

// exceedsRule says whether a rule of a Role says more than the rules of g.
func (g Grant) exceedsRule(present rbacv1.PolicyRule) bool {
	var within rbacv1.PolicyRule
	for _, rule := range g.Rules {
		if slices.Contains(present.APIGroups, rule.Group) && slices.Contains(present.Resources, rule.resourcePath()) {
			within.APIGroups = append(within.APIGroups, rule.Group)
			within.Resources = append(within.Resources, rule.resourcePath())
			if g.exceedsOn(rule, present) {
				return true
			}
		}
	}
	return !isSubset(present.APIGroups, within.APIGroups) || !isSubset(present.Resources, within.Resources)
}

// exceedsOn says whether a rule of a Role says more of the resource of a rule of g.
func (g Grant) exceedsOn(rule Rule, present rbacv1.PolicyRule) bool {
	names := present.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, rule.Name = range names {
		if slices.ContainsFunc(present.Verbs, func(verb string) bool { return !rule.isGranted(verb, g.Rules) }) {
			return true
		}
	}
	return false
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func (g Grant) objectMeta() metav1.ObjectMeta {
	labels := map[string]string{labelName: nameAmbit, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}
	if g.Policy != "" {
		labels[labelInstance] = g.Policy
	}
	return metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace, Labels: labels}
}

func (g Grant) roleRef(kind string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: g.Name}
}

func (g Grant) policyRules(present Present) []rbacv1.PolicyRule {
	rules := slices.Clone(present.Rules)
	for _, rule := range g.Rules {
		if !slices.ContainsFunc(present.Rules, rule.isIn) {
			rules = append(rules, rule.policyRule())
		}
	}
	return rules
}

func (g Grant) bindingSubjects(present Present) []rbacv1.Subject {
	if slices.Contains(present.Subjects, g.Subject.bindingSubject()) {
		return slices.Clone(present.Subjects)
	}
	return append(slices.Clone(present.Subjects), g.Subject.bindingSubject())
}

// ServiceAccounts returns the ServiceAccounts among the subjects of the grants, each
// once, sorted.
func ServiceAccounts(grants []Grant) []Subject {
	var accounts []Subject
	for _, g := range grants {
		if g.Subject.Namespace != "" {
			accounts = append(accounts, g.Subject)
		}
	}
	slices.SortFunc(accounts, compareSubjects)
	return slices.Compact(accounts)
}

// ServiceAccount returns the ServiceAccount that the subject is; it must be one.
func (s Subject) ServiceAccount() runtime.Object {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.Name, Namespace: s.Namespace,
			Labels: map[string]string{labelName: nameAmbit, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
		},
	}
}
