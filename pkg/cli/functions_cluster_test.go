package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/poll"
)

// TestRunWithFunctions: a program of somebody's own runs a policy that stands in the cluster as a ConfigMap, and calls
// functions that only this program has.
func TestRunWithFunctions(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	s.apply(fmt.Appendf(nil, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ambit, namespace: %[1]s}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ambit, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ambit}
subjects: [{kind: ServiceAccount, name: caller, namespace: %[1]s}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: policies, namespace: %[1]s, labels: {ambit.dev/policy-source: "true"}}
data:
  settings.yaml: |
    apiVersion: ambit.dev/v1alpha1
    kind: ReconcilePolicy
    metadata: {name: settings}
    spec:
      scope: {namespaces: [%[1]s]}
      owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
      children:
        - id: settings
          template:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: "${acme.slug('Size_of_' + owner.metadata.name)}"}
            data: {size: "${string(owner.spec.size)}"}
`, s.home))
	s.owner(s.home, 3)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, "acme", "run", "--policies-from", "configmap", "-n", s.home, "--namespaces", s.home, "--kubeconfig", s.kubeconfig)
	cmd.Stderr = &log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	missing := poll.Until(ctx, patience, func(ctx context.Context) (bool, error) {
		made, err := s.typed.CoreV1().ConfigMaps(s.home).Get(ctx, "size-of-cache", metav1.GetOptions{})
		return err == nil && made.Data["size"] == "3", nil
	})
	stop()
	if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) || missing != nil {
		t.Fatalf("acme run: %v; the ConfigMap: %v\n%s", err, missing, &log)
	}
}
