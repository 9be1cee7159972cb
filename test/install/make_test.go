package install

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestMake: the targets that act on a cluster do what they say, in a cluster of their
// own, and undeploy leaves nothing.
func TestMake(t *testing.T) {
	own, err := cluster.Start(t.Context(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := own.Kubeconfig(own.Admin(), kubeconfig); err != nil {
		t.Fatal(err)
	}
	target := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", root, "-o", "bin/kubectl", "KUBECTL=bin/kubectl --kubeconfig " + kubeconfig}, args...)
		must(t)(command(t, nil, "make", args...))
	}
	client := typedClient(t, own.Admin())
	target("install")
	eventually(t, "policies can be listed after make install", func() error {
		_, err := dynamicClient(t, own.Admin()).Resource(policies).List(t.Context(), metav1.ListOptions{})
		return err
	})
	image := "example.com/ambit:v9@sha256:" + strings.Repeat("0", 64)
	target("deploy", "IMG="+image, "OVERLAY=isolated")
	deployed, err := client.AppsV1().Deployments(home).Get(t.Context(), "ambit", metav1.GetOptions{})
	if err != nil || deployed.Spec.Template.Spec.Containers[0].Image != image {
		t.Errorf("after make deploy: %v, %+v", err, deployed.Spec.Template.Spec.Containers)
	}
	if _, err := client.NetworkingV1().NetworkPolicies(home).Get(t.Context(), "ambit", metav1.GetOptions{}); err != nil {
		t.Errorf("after make deploy OVERLAY=isolated: %v", err)
	}
	target("undeploy", "OVERLAY=isolated")
	eventually(t, "the namespace is gone", func() error {
		if _, err := client.CoreV1().Namespaces().Get(t.Context(), home, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	target("uninstall") // undeploy has done it already
}
