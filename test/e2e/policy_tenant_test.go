package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// tenant is the story of a Tenant and its Namespaces.
type tenant struct {
	*policyStory
	name       string
	namespaces []string // the oldest first
}

// TestPolicyCapsuleTenant: the oldest Namespaces of a Tenant, as many as it may have,
// get what it says and share one quota; the others get nothing.
func TestPolicyCapsuleTenant(t *testing.T) {
	t.Parallel()
	s := &tenant{policyStory: tellPolicy(t, "capsule-tenant")}
	for range 3 {
		s.namespaces = append(s.namespaces, s.namespace())
	}
	s.sortByAge()
	s.name = "oil-" + s.namespaces[0]
	for _, namespace := range s.namespaces {
		s.join(namespace, s.name)
	}
	s.patch("Namespace", "", s.namespaces[0], `{"metadata":{"annotations":{"whose":"somebody"}}}`)
	s.make(2)
	s.step("TheOldestAreServed", (*tenant).served)
	s.step("TheQuotaIsShared", (*tenant).shared)
	s.steady()
	s.step("MoreNamespaces", (*tenant).more)
	s.step("ANamespaceLeaves", (*tenant).leaves)
	s.step("TheTenantChanges", (*tenant).changes)
	s.step("ANamespaceIsDeleted", (*tenant).namespaceGone)
	s.step("TheTenantIsDeleted", (*tenant).gone)
	s.ends()
}

func (s *tenant) step(name string, do func(*tenant)) {
	s.t.Helper()
	s.t.Run(name, func(t *testing.T) {
		sub := *s
		sub.policyStory = s.within(t)
		do(&sub)
	})
}

// make makes the Tenant.
func (s *tenant) make(quota int) {
	s.t.Helper()
	s.apply(`
apiVersion: tenancy.example.com/v1alpha1
kind: Tenant
metadata: {name: %[1]s}
spec:
  owners: [%[1]s-admins]
  namespaceQuota: %d
  nodeSelector: {pool: oil, disk: ssd}
  resourceQuota: {hard: {count/secrets: "6", requests.cpu: "2", requests.memory: 4Gi}}
  limitRange: {limits: [{type: Container, default: {cpu: 200m}, defaultRequest: {cpu: 100m, memory: 64Mi}}]}
  networkPolicies:
    - {name: default-deny, spec: {podSelector: {}, policyTypes: [Ingress]}}
    - {name: same-tenant, spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {tenancy.example.com/tenant: %[1]s}}}]}]}}`,
		s.name, quota)
}

// sortByAge puts the namespaces in the order in which they count.
func (s *tenant) sortByAge() {
	s.t.Helper()
	ages := map[string]string{}
	for _, namespace := range s.namespaces {
		live, err := s.typed.CoreV1().Namespaces().Get(s.t.Context(), namespace, metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		ages[namespace] = live.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z")
	}
	slices.SortFunc(s.namespaces, func(a, b string) int { return cmp.Or(cmp.Compare(ages[a], ages[b]), cmp.Compare(a, b)) })
}

func (s *tenant) join(namespace, name string) {
	s.t.Helper()
	s.patch("Namespace", "", namespace, fmt.Sprintf(`{"metadata":{"labels":{"tenancy.example.com/tenant":%q}}}`, name))
}

// has waits until a namespace has all that it is to have.
func (s *tenant) has(namespace string) {
	s.t.Helper()
	s.only("NetworkPolicy", namespace, "tenant-default-deny", "tenant-same-tenant")
	s.only("LimitRange", namespace, "tenant")
	s.only("ResourceQuota", namespace, "tenant")
	s.only("RoleBinding", namespace, "tenant-owners-tenant-owner")
	s.shows("NetworkPolicy", namespace, "tenant-same-tenant", `
spec: {ingress: [{from: [{namespaceSelector: {matchLabels: {tenancy.example.com/tenant: %s}}}]}]}`, s.name)
	s.shows("LimitRange", namespace, "tenant", `spec: {limits: [{type: Container, defaultRequest: {cpu: 100m, memory: 64Mi}}]}`)
	s.shows("RoleBinding", namespace, "tenant-owners-tenant-owner", `
{roleRef: {kind: ClusterRole, name: tenant-owner}, subjects: [{kind: Group, name: %s-admins}]}`, s.name)
	s.shows("Namespace", "", namespace, `metadata: {annotations: {scheduler.alpha.kubernetes.io/node-selector: "disk=ssd,pool=oil"}}`)
}

// hasNothing waits until there is nothing of the tenant in a namespace, and nothing of
// Ambit on it.
func (s *tenant) hasNothing(namespace string) {
	s.t.Helper()
	for _, kind := range []string{"NetworkPolicy", "LimitRange", "ResourceQuota", "RoleBinding"} {
		s.only(kind, namespace)
	}
	s.shows("Namespace", "", namespace, `
metadata: {annotations: {scheduler.alpha.kubernetes.io/node-selector: null, %s: null}, finalizers: null, ownerReferences: null}`, v1alpha1.AnnotationFields)
}

// says waits until the status has exactly these namespaces.
func (s *tenant) says(within string, names ...string) {
	s.t.Helper()
	names = slices.Sorted(slices.Values(names)) // a copy: the story's own list is by age
	s.shows("Tenant", "", s.name, `
status: {size: %d, namespaces: [%s], conditions: {Ready: {status: "True"}, NamespacesWithinQuota: {status: %q}, Permitted: {status: "True"}}}`,
		len(names), strings.Join(names, ","), within)
}

func (s *tenant) served() {
	one, two, three := s.namespaces[0], s.namespaces[1], s.namespaces[2]
	s.has(one)
	s.has(two)
	s.hasNothing(three)
	s.says("False", one, two)
	s.shows("Tenant", "", s.name, `
status: {overQuota: [%[1]s], conditions: {NamespacesWithinQuota: {reason: TooManyNamespaces, message: "3 namespaces, and the tenant may have 2: these get nothing: %[1]s"}}}`, three)
	s.shows("Namespace", "", one, "metadata: {annotations: {whose: somebody}}")
	s.shows("ClusterRole", "", "tenant-owner", "metadata: {annotations: {%s: ambit-system/capsule-tenant}}", v1alpha1.AnnotationEnsuredBy)
	s.may(one, true)
	s.may(three, false)
}

// may waits until the owners' group may see NetworkPolicies in a namespace, or not.
func (s *tenant) may(namespace string, want bool) {
	s.t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "ann", Groups: []string{s.name + "-admins"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Group: "networking.k8s.io", Resource: "networkpolicies"},
	}}
	s.eventually(fmt.Sprintf("the owners may see NetworkPolicies in %q: %t", namespace, want), func(ctx context.Context) error {
		answer, err := s.typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && answer.Status.Allowed != want {
			err = fmt.Errorf("allowed is %t", answer.Status.Allowed)
		}
		return err
	})
}

// hard waits until a namespace's quota allows so many Secrets.
func (s *tenant) hard(namespace string, secrets int) {
	s.t.Helper()
	s.shows("ResourceQuota", namespace, "tenant", `{spec: {hard: {count/secrets: "%[1]d"}}, status: {hard: {count/secrets: "%[1]d"}}}`, secrets)
}

func (s *tenant) used(secrets int, within string) {
	s.t.Helper()
	s.shows("Tenant", "", s.name, `
status: {resources: [{name: count/secrets, hard: "6", used: "%d"}, {name: requests.cpu}, {name: requests.memory}], conditions: {ResourcesWithinQuota: {status: %q}}}`,
		secrets, within)
}

func (s *tenant) secret(namespace, name string) error {
	_, err := s.typed.CoreV1().Secrets(namespace).Create(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

func (s *tenant) secrets(namespace string, names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := s.secret(namespace, name); err != nil {
			s.t.Fatalf("making Secret %s/%s: %v", namespace, name, err)
		}
	}
}

// shared: what one namespace uses the others may no longer use.
func (s *tenant) shared() {
	one, two := s.namespaces[0], s.namespaces[1]
	s.hard(one, 6)
	s.hard(two, 6)
	s.secrets(one, "a", "b")
	s.hard(two, 4)
	s.hard(one, 6)
	s.secrets(two, "c", "d", "e")
	s.hard(one, 3)
	s.hard(two, 4)
	s.used(5, "True")
	s.secrets(one, "f")
	s.hard(one, 3)
	s.hard(two, 3) // all is used
	s.used(6, "True")
	if err := s.secret(two, "g"); !apierrors.IsForbidden(err) {
		s.t.Errorf("one more Secret than the tenant may have: %v", err)
	}
	s.pod(one)
	s.shows("ResourceQuota", two, "tenant", `spec: {hard: {requests.cpu: 1250m, requests.memory: 4032Mi}}`)
	s.shows("ResourceQuota", one, "tenant", `spec: {hard: {requests.cpu: "2", requests.memory: 4Gi}}`)
	s.shows("Tenant", "", s.name, `
status: {resources: [{name: count/secrets, used: "6"}, {name: requests.cpu, hard: "2", used: 750m}, {name: requests.memory, hard: 4Gi, used: 64Mi}]}`)
	s.delete("Secret", two, "e")
	s.hard(one, 4)
	s.hard(two, 3)
	s.used(5, "True")
}

func (s *tenant) pod(namespace string) {
	s.t.Helper()
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: rig, namespace: %s}
spec: {containers: [{name: rig, image: rig, resources: {requests: {cpu: 750m}, limits: {cpu: "1"}}}]}`, namespace)
}

// more: the third namespace is served, too, and what all use is more than they may
// since the quota is lowered: nobody may have more than they use.
func (s *tenant) more() {
	s.patch("Tenant", "", s.name, `{"spec":{"namespaceQuota":3}}`)
	s.has(s.namespaces[2])
	s.says("True", s.namespaces...)
	s.shows("Tenant", "", s.name, "status: {overQuota: null}")
	s.hard(s.namespaces[2], 1)
	s.patch("Tenant", "", s.name, `{"spec":{"resourceQuota":{"hard":{"count/secrets":"4"}}}}`)
	s.hard(s.namespaces[0], 3)
	s.hard(s.namespaces[1], 2)
	s.hard(s.namespaces[2], 0)
	s.shows("Tenant", "", s.name, `
status: {conditions: {ResourcesWithinQuota: {status: "False", reason: QuotaExceeded, message: more count/secrets is used than the tenant may have}}}`)
	s.patch("Tenant", "", s.name, `{"spec":{"resourceQuota":{"hard":{"count/secrets":"6"}}}}`)
	s.hard(s.namespaces[2], 1)
}

func (s *tenant) leaves() {
	s.join(s.namespaces[1], "")
	s.hasNothing(s.namespaces[1])
	s.says("True", s.namespaces[0], s.namespaces[2])
	s.hard(s.namespaces[2], 3) // its Secrets count no more
	s.join(s.namespaces[1], s.name)
	s.has(s.namespaces[1])
	s.says("True", s.namespaces...)
	s.hard(s.namespaces[2], 1)
}

func (s *tenant) changes() {
	one := s.namespaces[0]
	s.patch("Tenant", "", s.name, `{"spec":{"nodeSelector":{"disk":null},"owners":["others"],"networkPolicies":[{"name":"only","spec":{"podSelector":{}}}]}}`)
	for _, namespace := range s.namespaces {
		s.shows("Namespace", "", namespace, `metadata: {annotations: {scheduler.alpha.kubernetes.io/node-selector: pool=oil}}`)
		s.only("NetworkPolicy", namespace, "tenant-only")
		s.shows("RoleBinding", namespace, "tenant-owners-tenant-owner", `subjects: [{name: others}]`)
	}
	s.patch("Namespace", "", one, `{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/other":"x"}}}`)
	s.delete("RoleBinding", one, "tenant-owners-tenant-owner")
	s.only("RoleBinding", one, "tenant-owners-tenant-owner")
	s.patch("Tenant", "", s.name, `{"spec":{"nodeSelector":null,"limitRange":null}}`)
	for _, namespace := range s.namespaces {
		s.shows("Namespace", "", namespace, `metadata: {annotations: {scheduler.alpha.kubernetes.io/node-selector: null}}`)
		s.only("LimitRange", namespace)
	}
	// What is left the garbage collector can remove.
	s.shows("Tenant", "", s.name, "metadata: {finalizers: null}")
	s.patch("Tenant", "", s.name, `{"spec":{"nodeSelector":{"pool":"oil"}}}`)
	s.shows("Namespace", "", one, `metadata: {annotations: {scheduler.alpha.kubernetes.io/node-selector: pool=oil}}`)
}

func (s *tenant) namespaceGone() {
	s.delete("Namespace", "", s.namespaces[2])
	s.absent("Namespace", "", s.namespaces[2])
	s.says("True", s.namespaces[:2]...)
}

// gone: the namespaces stay, and what somebody else has put into them.
func (s *tenant) gone() {
	s.delete("Tenant", "", s.name)
	s.absent("Tenant", "", s.name)
	for _, namespace := range s.namespaces[:2] {
		s.hasNothing(namespace)
	}
	s.shows("Namespace", "", s.namespaces[0], `metadata: {annotations: {whose: somebody, scheduler.alpha.kubernetes.io/other: x}, deletionTimestamp: null}`)
	s.shows("Secret", s.namespaces[0], "a", "{kind: Secret}")
}
