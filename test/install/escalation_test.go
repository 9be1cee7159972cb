package install

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The policies of somebody who wants more than they have. The owners are ConfigMaps that
// they may make themselves.
const (
	wantsEverything = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: wants-everything}
spec:
  scope: {namespaces: [NAMESPACE]}
  owner: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {for: everything}}}
  children:
    - id: binding
      template:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: stolen}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
        subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: author}]
`
	wantsElsewhere = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: wants-elsewhere}
spec:
  scope: {namespaces: [NAMESPACE]}
  owner: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {for: elsewhere}}}
  children:
    - id: there
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: stolen, namespace: ambit-system}, data: {a: b}}
`
)

// TestNoNewRight: writing policies gives who may do that, and nothing else, no right:
// not where the check of authors stops them, and not where there is no such check.
func TestNoNewRight(t *testing.T) {
	program, manifests := build(t), kustomize(t, root+"/manifests/cluster")
	apply(t, control.Admin(), manifests)
	available(t, home, 2)
	namespace := control.Namespace(t.Context(), t, "greedy")
	edits(t, namespace, author)
	account(t, namespace, "strong")
	makeStrong(t, namespace)
	awaitChecks(t, namespace)
	before, may := rights(t, namespace), reviews(t, control.User(author), namespace)
	run(t, program, manifests)

	for _, name := range []string{"everything", "elsewhere", "strong"} {
		create(t, configMaps, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"for": name}},
		})
	}
	wishes := map[string]string{
		"a policy that renders a ClusterRoleBinding":          wantsEverything,
		"a policy that names another namespace":               wantsElsewhere,
		"a policy that names a stronger ServiceAccount":       wantsStrong,
		"a policy in another namespace, that acts as Ambit":   strings.Replace(wantsElsewhere, "{name: wants-elsewhere}", "{name: wants-elsewhere, namespace: ambit-system}", 1),
		"a policy in another namespace, renders a binding":    strings.Replace(wantsEverything, "{name: wants-everything}", "{name: wants-everything, namespace: ambit-system}", 1),
		"a policy that acts as the default account, by name ": strings.Replace(wantsEverything, "spec:\n", "spec:\n  serviceAccountName: default\n", 1),
	}
	for reason, text := range wishes {
		output, err := kubectl(t, control.User(author), []byte(strings.ReplaceAll(text, "NAMESPACE", namespace)), "apply", "--server-side", "-n", namespace, "-f", "-")
		if err == nil || !strings.Contains(output, "orbidden") && !strings.Contains(output, "does not match the namespace") {
			t.Errorf("%s: %v\n%s", reason, err, output)
		}
	}
	uncheck(t, namespace)
	defer apply(t, control.Admin(), manifests)
	for name, text := range map[string]string{"wants-everything": wantsEverything, "wants-elsewhere": wantsElsewhere} {
		past(t, namespace, text)
		awaitStatus(t, namespace, name, "ImpersonationRefused")
		awaitEvent(t, namespace, name, "ImpersonationRefused")
	}
	past(t, namespace, wantsStrong)
	strongIsRefused(t, namespace)
	nothingStolen(t)
	// And where Ambit may act as the default account, which may read the owners.
	letImpersonate(t, namespace, "default")
	awaitStatus(t, namespace, "wants-everything", "resource:clusterrolebindings verb:create")
	awaitStatus(t, namespace, "wants-elsewhere", "namespace:ambit-system resource:configmaps verb:create")
	nothingStolen(t)
	strongIsRefused(t, namespace) // a right to act as one account is none to act as another
	if diff := cmp.Diff(before, rights(t, namespace)); diff != "" {
		t.Errorf("rights before and after (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(may, reviews(t, control.User(author), namespace)); diff != "" {
		t.Errorf("what the author is permitted, before and after (-before +after):\n%s", diff)
	}
	strongTakesAGrant(t, namespace)
}

// nothingStolen says that what the policies want is not there.
func nothingStolen(t *testing.T) {
	t.Helper()
	if _, err := dynamicClient(t, control.Admin()).Resource(clusterRoleBindings).Get(t.Context(), "stolen", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("ClusterRoleBinding: %v; want none", err)
	}
	if _, err := get(t, configMaps, home, "stolen"); !apierrors.IsNotFound(err) {
		t.Errorf("ConfigMap in another namespace: %v; want none", err)
	}
}

func account(t *testing.T, namespace, name string) {
	t.Helper()
	create(t, serviceAccounts,
		map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": name, "namespace": namespace}})
}

// makeStrong lets the account strong do everything, and the default one read the owners,
// and waits until that one may: what is compared later begins with it.
func makeStrong(t *testing.T, namespace string) {
	t.Helper()
	if err := control.Apply(t.Context(), []byte(strings.ReplaceAll(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: strong}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
  subjects: [{kind: ServiceAccount, name: strong, namespace: NAMESPACE}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reads, namespace: NAMESPACE}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reads, namespace: NAMESPACE}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reads},
  subjects: [{kind: ServiceAccount, name: default, namespace: NAMESPACE}]}
`, "NAMESPACE", namespace))); err != nil {
		t.Fatal(err)
	}
	reader, err := control.ServiceAccount(t.Context(), namespace, "default")
	if err != nil {
		t.Fatal(err)
	}
	awaitRight(t, reader, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Resource: "configmaps"})
}

// letImpersonate lets Ambit act as an account, as `ambit rbac` prints it.
func letImpersonate(t *testing.T, namespace, name string) {
	t.Helper()
	if err := control.Apply(t.Context(), []byte(strings.NewReplacer("NAMESPACE", namespace, "ACCOUNT", name).Replace(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: acts-as-ACCOUNT, namespace: NAMESPACE},
  rules: [{apiGroups: [""], resources: [serviceaccounts], resourceNames: [ACCOUNT], verbs: [impersonate, list, watch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: acts-as-ACCOUNT, namespace: NAMESPACE}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: acts-as-ACCOUNT},
  subjects: [{kind: ServiceAccount, name: ambit, namespace: ambit-system}]}
`))); err != nil {
		t.Fatal(err)
	}
}

// awaitStatus waits until the status of a policy holds a text: it was looked at.
func awaitStatus(t *testing.T, namespace, name, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("policy %s says %s", name, want), func() error {
		found, err := get(t, policies, namespace, name)
		if err != nil {
			return err
		}
		if status := fmt.Sprint(found.Object["status"]); !strings.Contains(status, want) {
			return fmt.Errorf("%s", status)
		}
		return nil
	})
}

// awaitEvent waits until there is an event of a policy: Ambit's own rights are enough to
// make it.
func awaitEvent(t *testing.T, namespace, name, reason string) {
	t.Helper()
	eventually(t, fmt.Sprintf("policy %s has an event %s", name, reason), func() error {
		list, err := typedClient(t, control.Admin()).EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Name == name && e.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("it is not among %d", len(list.Items))
	})
}
