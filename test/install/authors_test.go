package install

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const home = "ambit-system"

// TestAuthors: a policy is accepted only of somebody who may run a Pod as the account
// that it acts as, or impersonate that one. All of them may edit policies.
func TestAuthors(t *testing.T) {
	apply(t, control.Admin(), kustomize(t, root+"/manifests/cluster"))
	namespace := control.Namespace(t.Context(), t, "authors")
	for _, user := range []string{author, runner, actor} {
		for _, place := range []string{namespace, home} {
			edits(t, place, user)
		}
	}
	grant(t, namespace, runner, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	grant(t, namespace, actor, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"weak"}, Verbs: []string{"impersonate"}})
	grant(t, home, actor, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"ambit"}, Verbs: []string{"impersonate"}})
	awaitRight(t, control.User(actor), authorizationv1.ResourceAttributes{Namespace: home, Verb: "impersonate", Resource: "serviceaccounts", Name: "ambit"})
	awaitRight(t, control.User(runner), authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "pods"})
	awaitChecks(t, namespace)
	for reason, tc := range map[string]struct {
		user, namespace, account string
		refused                  string
	}{
		"no right, a named account":          {author, namespace, "strong", namespace + "/strong"},
		"no right, the default account":      {author, namespace, "", namespace + "/default"},
		"no right, as Ambit":                 {author, home, "", home + "/ambit"},
		"no right, another account of Ambit": {author, home, "other", home + "/other"},
		"who runs Pods":                      {runner, namespace, "strong", ""},
		"who runs Pods, the default account": {runner, namespace, "", ""},
		"who runs Pods elsewhere":            {runner, home, "", home + "/ambit"},
		"who acts as the account":            {actor, namespace, "weak", ""},
		"who acts as another account":        {actor, namespace, "strong", namespace + "/strong"},
		"who acts as another, by default":    {actor, namespace, "", namespace + "/default"},
		"who acts as Ambit":                  {actor, home, "", ""},
		"who acts as Ambit, another account": {actor, home, "other", home + "/other"},
	} {
		decides(t, reason, propose(t, control.User(tc.user), tc.namespace, policyAs(t, tc.account)), tc.refused)
		if tc.account == "weak" || tc.user == actor {
			continue // a ConfigMap takes the right to act as any account
		}
		decides(t, reason+", in a ConfigMap", proposeMap(t, control.User(tc.user), tc.namespace), tc.refused)
	}
}

// edits lets a user edit policies, in ConfigMaps too.
func edits(t *testing.T, namespace, user string) {
	t.Helper()
	bind(t, namespace, user, "ClusterRole", "ambit-policy-editor")
	grant(t, namespace, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "get", "patch"}})
	awaitRight(t, control.User(user), authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "configmaps"})
	awaitRight(t, control.User(user), authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: "ambit.dev", Resource: "reconcilepolicies"})
}

// awaitChecks waits until the API server enforces both checks, which takes it a moment.
func awaitChecks(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the check of authors is enforced", func() error {
		for _, err := range []error{propose(t, control.User(author), namespace, policyAs(t, "")), proposeMap(t, control.User(author), namespace)} {
			// Another error, as of a kind that is not served yet, is none of the checks.
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "must be allowed to create pods") {
				return fmt.Errorf("a policy of who has no right: %v", err)
			}
		}
		return nil
	})
}

// decides compares a decision with what is wanted: refused is the account in the
// message, empty for a policy that is to be accepted.
func decides(t *testing.T, reason string, err error, refused string) {
	t.Helper()
	if refused == "" {
		if err != nil {
			t.Errorf("%s: %v; want it accepted", reason, err)
		}
		return
	}
	namespace, _, _ := strings.Cut(refused, "/")
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), fmt.Sprintf("must be allowed to create pods in namespace %q", namespace)) {
		t.Errorf("%s: %v; want it refused", reason, err)
	} else if strings.Contains(err.Error(), "this policy acts as") && !strings.Contains(err.Error(), fmt.Sprintf("%q", refused)) {
		t.Errorf("%s: %v; want the account %q in it", reason, err, refused)
	}
}

func policyAs(t *testing.T, account string) map[string]any {
	t.Helper()
	policy := object(t, []byte(whole))
	if account != "" {
		policy["spec"].(map[string]any)["serviceAccountName"] = account
	}
	return policy
}

func policyMap() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "policies", "labels": map[string]any{"ambit.dev/policy-source": "true"}},
		"data":     map[string]any{"whole.yaml": whole},
	}
}

func proposeMap(t *testing.T, config *rest.Config, namespace string) error {
	t.Helper()
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := dynamicClient(t, config).Resource(configMaps).Namespace(namespace).Create(t.Context(), unstruct(policyMap()), options)
	return err
}

// grant gives a user one rule in a namespace.
func grant(t *testing.T, namespace, user string, rule rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"}, Rules: []rbacv1.PolicyRule{rule}}
	made, err := typedClient(t, control.Admin()).RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bind(t, namespace, user, "Role", made.Name)
}

// change patches an object as somebody.
func change(t *testing.T, config *rest.Config, of schema.GroupVersionResource, namespace, name, patch string) error {
	t.Helper()
	_, err := dynamicClient(t, config).Resource(of).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
