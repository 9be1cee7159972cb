package install

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAuthorsOfChanges: what changes a policy of somebody else is looked at, what
// leaves it as it is is not.
func TestAuthorsOfChanges(t *testing.T) {
	apply(t, control.Admin(), kustomize(t, root+"/manifests/cluster"))
	namespace := control.Namespace(t.Context(), t, "changes")
	edits(t, namespace, author)
	awaitChecks(t, namespace)
	admin, config := dynamicClient(t, control.Admin()), control.User(author)
	if _, err := admin.Resource(policies).Namespace(namespace).Create(t.Context(), unstruct(policyAs(t, "strong")), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Resource(configMaps).Namespace(namespace).Create(t.Context(), unstruct(policyMap()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const written, other = "policies", "other"
	plain := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": other}, "data": map[string]any{"whole.yaml": whole}}
	if _, err := dynamicClient(t, config).Resource(configMaps).Namespace(namespace).Create(t.Context(), unstruct(plain), metav1.CreateOptions{}); err != nil {
		t.Fatalf("a ConfigMap that is no policy: %v", err)
	}
	for reason, tc := range map[string]struct {
		patch   string
		refused bool
	}{
		"a label":                    {`{"metadata": {"labels": {"a": "b"}}}`, false},
		"a finalizer":                {`{"metadata": {"finalizers": ["ambit.dev/cleanup"]}}`, false},
		"no finalizer":               {`{"metadata": {"finalizers": null}}`, false},
		"suspended":                  {`{"spec": {"suspend": true}}`, true},
		"another account":            {`{"spec": {"serviceAccountName": "weak"}}`, true},
		"deep in a template":         {`{"spec": {"ensure": [{"id": "six", "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"new": "one"}}}]}}`, true},
		"a template in its metadata": {`{"spec": {"ensure": [{"id": "six", "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "annotations": {"a": "b"}}}}]}}`, true},
	} {
		checkChange(t, reason, change(t, config, policies, namespace, "whole", tc.patch), tc.refused)
	}
	for reason, tc := range map[string]struct {
		name, patch string
		refused     bool
	}{
		"an annotation of a ConfigMap":       {written, `{"metadata": {"annotations": {"a": "b"}}}`, false},
		"the text in a ConfigMap":            {written, `{"data": {"whole.yaml": "a: b"}}`, true},
		"another text in a ConfigMap":        {written, `{"data": {"more.yaml": "a: b"}}`, true},
		"a label that may hide a ConfigMap":  {written, `{"metadata": {"labels": {"app.kubernetes.io/managed-by": "ambit"}}}`, true},
		"a ConfigMap that becomes a policy":  {other, `{"metadata": {"labels": {"ambit.dev/policy-source": "true"}}}`, true},
		"a ConfigMap that stays without one": {other, `{"metadata": {"labels": {"ambit.dev/policy-source": "false"}}, "data": {"a": "b"}}`, false},
	} {
		checkChange(t, reason, change(t, config, configMaps, namespace, tc.name, tc.patch), tc.refused)
	}
}

func checkChange(t *testing.T, reason string, err error, refused bool) {
	t.Helper()
	if !refused && err != nil {
		t.Errorf("%s: %v; want it accepted", reason, err)
	}
	if refused && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "must be allowed to create pods")) {
		t.Errorf("%s: %v; want it refused", reason, err)
	}
}

// TestAuthorsOfFiles: the ConfigMap that a Deployment has its policies from is changed only
// by somebody who may run a Pod in Ambit's namespace, whatever its labels.
func TestAuthorsOfFiles(t *testing.T) {
	const files, others = "ambit-files", "others"
	apply(t, control.Admin(), kustomize(t, root+"/manifests/cluster"))
	create(t, configMaps, map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": files, "namespace": home}, "data": map[string]any{"one.yaml": "a: b"}})
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update", "patch", "delete"}}
	grant(t, home, author, rule)
	awaitRight(t, control.User(author), authorizationv1.ResourceAttributes{Namespace: home, Verb: "update", Resource: "configmaps"})
	config, namespace := control.User(author), control.Namespace(t.Context(), t, "files")
	grant(t, namespace, author, rule)
	awaitRight(t, config, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "update", Resource: "configmaps"})
	tries := 0
	eventually(t, "the check of who writes files is enforced", func() error {
		tries++ // what changes nothing is not looked at
		if err := change(t, config, configMaps, home, files, fmt.Sprintf(`{"data": {"two.yaml": "c: %d"}}`, tries)); !apierrors.IsForbidden(err) {
			return fmt.Errorf("who may only change ConfigMaps: %v", err)
		}
		return nil
	})
	checkChange(t, "other text", change(t, config, configMaps, home, files, `{"data": {"one.yaml": "c: d"}}`), true)
	checkChange(t, "no text", change(t, config, configMaps, home, files, `{"data": null}`), true)
	checkChange(t, "a label", change(t, config, configMaps, home, files, `{"metadata": {"labels": {"a": "b"}}}`), false)
	checkChange(t, "the administrator", change(t, control.Admin(), configMaps, home, files, `{"data": {"two.yaml": "c: e"}}`), false)
	removeAs(t, config, configMaps, home, files)
	for reason, tc := range map[string]struct {
		namespace, name string
		refused         bool
	}{
		"made anew":                      {home, files, true},
		"another ConfigMap":              {home, others, false},
		"that name in another namespace": {namespace, files, false},
	} {
		made := unstruct(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": tc.name}, "data": map[string]any{"one.yaml": "a: b"}})
		_, err := dynamicClient(t, config).Resource(configMaps).Namespace(tc.namespace).Create(t.Context(), made, metav1.CreateOptions{})
		checkChange(t, reason, err, tc.refused)
	}
	remove(t, configMaps, home, others)
}
