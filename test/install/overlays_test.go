package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// apply applies manifests by kubectl as config says, server-side. A warning, such as
// that of Pod Security, is a failure.
func apply(t *testing.T, config *rest.Config, manifests []byte) {
	t.Helper()
	output := must(t)(kubectl(t, config, manifests, "apply", "--server-side", "--force-conflicts", "-f", "-"))
	if strings.Contains(output, "Warning") {
		t.Errorf("kubectl warns:\n%s", output)
	}
}

// TestCluster: the default overlay is applied at once, to a namespace that enforces
// the restricted level, and its Pods run there.
func TestCluster(t *testing.T) {
	manifests := kustomize(t, root+"/manifests/cluster")
	if string(manifests) != string(read(t, root+"/manifests/install.yaml")) {
		t.Error("install.yaml is not what manifests/cluster renders: run make manifests")
	}
	apply(t, control.Admin(), manifests)
	available(t, "ambit-system", 2)
	refusesOthers(t, "ambit-system")
	apply(t, control.Admin(), manifests) // an upgrade to the same
	must(t)(kubectl(t, control.Admin(), nil, "get", "reconcilepolicies", "-A"))
}

// refusesOthers says that the namespace does enforce the restricted level.
func refusesOthers(t *testing.T, namespace string) {
	t.Helper()
	pod := object(t, []byte(`{apiVersion: v1, kind: Pod, metadata: {name: root}, spec: {containers: [{name: a, image: a}]}}`))
	_, err := dynamicClient(t, control.Admin()).Resource(pods).Namespace(namespace).Create(t.Context(), unstruct(pod), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "restricted`) {
		t.Errorf("a Pod that runs as root: %v; want that Pod Security refuses it", err)
	}
}

// TestNamespaced: the overlay is applied by a user with rights in one namespace only,
// that of the role admin, and its Pods run.
func TestNamespaced(t *testing.T) {
	namespace := restricted(t, "team")
	bind(t, namespace, operator, "ClusterRole", "admin")
	manifests := kustomize(t, moved(t, namespace))
	for _, object := range objects(t, manifests) {
		if object.GetNamespace() != namespace {
			t.Errorf("%s %q is in namespace %q: the overlay has namespaced objects only", object.GetKind(), object.GetName(), object.GetNamespace())
		}
	}
	config := control.User(operator)
	allowed(t, config, namespace)
	apply(t, config, manifests)
	available(t, namespace, 2)
	if output, err := kubectl(t, config, read(t, root+"/manifests/install.yaml"), "apply", "--server-side", "-f", "-"); err == nil {
		t.Errorf("the user may apply the cluster overlay as well, so this test shows nothing:\n%s", output)
	}
}

// moved returns a copy of the overlay for another namespace, as `kustomize edit set
// namespace` makes it.
func moved(t *testing.T, namespace string) string {
	t.Helper()
	folder := t.TempDir()
	for _, part := range []string{"base", "namespaced"} {
		if err := os.CopyFS(filepath.Join(folder, part), os.DirFS(root+"/manifests/"+part)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "namespaced", "kustomization.yaml")
	text := strings.Replace(string(read(t, file)), "\nnamespace: ambit-system\n", "\nnamespace: "+namespace+"\n", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "namespaced")
}

// TestDemo: one apply is enough, and the policy lacks no right.
func TestDemo(t *testing.T) {
	apply(t, control.Admin(), kustomize(t, root+"/manifests/demo"))
	available(t, "ambit-system", 2)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := control.Kubeconfig(control.Admin(), kubeconfig); err != nil {
		t.Fatal(err)
	}
	ambit := build(t)
	// Grants are known to the API server's authorizer a moment after they are made.
	eventually(t, "the policy lacks no right", func() error {
		output, err := command(t, nil, ambit, "rbac", "-f", root+"/policies/memcached.yaml",
			"--namespaces", "allowed-one,allowed-two", "--service-account", "ambit-system/ambit", "--missing", "--kubeconfig", kubeconfig)
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	})
}

// TestPod: what is not for Pod Security to say.
func TestPod(t *testing.T) {
	for _, overlay := range []string{"cluster", "namespaced", "demo"} {
		for _, deployment := range only[appsv1.Deployment](t, objects(t, kustomize(t, root+"/manifests/"+overlay)), "Deployment") {
			checkPod(t, overlay, deployment.Spec.Template.Spec)
		}
	}
}

// TestBounded: the default installation has no right to everything, none that makes
// others, and none to a Secret.
func TestBounded(t *testing.T) {
	for _, overlay := range []string{"cluster", "namespaced"} {
		all := objects(t, kustomize(t, root+"/manifests/"+overlay))
		for _, role := range only[rbacv1.Role](t, all, "Role") {
			checkRules(t, role.Name, role.Rules)
		}
		if overlay == "namespaced" {
			continue
		}
		for _, role := range only[rbacv1.ClusterRole](t, all, "ClusterRole") {
			checkRules(t, role.Name, role.Rules)
		}
	}
}
