package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func (c *cleaned) resources() dynamic.ResourceInterface {
	c.Helper()
	client, err := dynamic.NewForConfig(c.plane.Admin())
	if err != nil {
		c.Fatal(err)
	}
	return client.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)).Namespace(c.home)
}

// resource is the policy as a custom resource; nil if there is none.
func (c *cleaned) resource() *unstructured.Unstructured {
	c.Helper()
	object, err := c.resources().Get(c.Context(), c.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.Fatal(err)
	}
	return object
}

// runResource makes the policy a custom resource, and runs it until it has a finalizer.
func (c *cleaned) runResource() {
	c.Helper()
	c.apply(c.text)
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, "ambit", "run", "--policies-from", "crd", "-n", c.home, "--kubeconfig", c.kubeconfig)
	cmd.Stderr = &log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	guarded := c.await(func() bool { return slices.Contains(c.resource().GetFinalizers(), v1alpha1.FinalizerCleanup) })
	stop()
	if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) || !guarded {
		c.Fatalf("ambit run: %v; the policy has its finalizer: %t\n%s", err, guarded, &log)
	}
}

// TestRemovalByFiles goes through the steps of docs/operations.md, Removal, without a
// running Ambit, for a policy that is a custom resource.
func TestRemovalByFiles(t *testing.T) {
	c := newCleaned(t)
	c.runResource()
	published, err := yaml.Marshal(c.resource().Object) // as `kubectl get -o yaml` says it
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"near", "away", "kept", "annotation", "ensured", "finalizer", "record"}

	r := c.ambit(published, "cleanup")
	want := fmt.Sprintf("policy %[1]q is in the cluster, in the ReconcilePolicy %[1]s/%[1]s: kubectl delete reconcilepolicy %[1]s -n %[1]s --wait=false\n", c.name)
	if r.Code != 1 || !strings.Contains(r.Stderr, want) || !strings.Contains(r.Stderr, "error: nothing was cleaned up: ") {
		t.Errorf("A policy that may be served is refused: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	c.expect("Nothing is removed.", all...)
	if r := c.ambit(c.text, "leftovers"); !strings.Contains(r.Stderr, "delete the ReconcilePolicies first, ") {
		t.Errorf("It says what to do first: %s", r.Stderr)
	}

	if err := c.resources().Delete(t.Context(), c.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r = c.ambit(published, "cleanup", "--namespaces", c.near, "--timeout", "1m")
	if want := "it keeps its finalizer ambit.dev/cleanup: only some namespaces were cleaned up"; r.Code != 1 || !strings.Contains(r.Stdout, want) {
		t.Errorf("There may be owners elsewhere: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	r = c.ambit(published, "cleanup", "--timeout", "1m")
	if r.Code != 0 || !strings.Contains(r.Stderr, "1 policy cleaned up: nothing is left\n") {
		t.Errorf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	c.expect("All goes.", "kept")
	if object := c.resource(); object != nil {
		t.Errorf("The custom resource is there still, with %v", object.GetFinalizers())
	}
	kept := "Child Secret near/kept: no ownerReference ties it to its owner: it would stay; no owner that was seen has it on record\n"
	if r := c.ambit(c.text, "leftovers", "-o", "json"); c.findings(r) != kept {
		t.Errorf("What is left: %s", c.findings(r))
	}
}

// TestCleanupConfigMap: a policy in a ConfigMap that Ambit reads is refused, unless one
// insists.
func TestCleanupConfigMap(t *testing.T) {
	c := newCleaned(t)
	object, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"notes.txt": "{", "bad.yaml": "{", "some.yml": string(c.text)},
		"metadata": map[string]any{"name": "policies", "namespace": c.home, "labels": map[string]any{v1alpha1.LabelPolicySource: "true"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.apply(object)
	r := c.ambit(c.text, "cleanup")
	want := fmt.Sprintf("policy %[1]q is in the cluster, in the ConfigMap %[1]s/policies: kubectl delete configmap policies -n %[1]s\n", c.name)
	if r.Code != 1 || !strings.Contains(r.Stderr, want) {
		t.Errorf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	c.expect("Nothing is removed.", "near", "away", "kept", "annotation", "ensured", "finalizer", "record")
	if r := c.ambit(c.text, "cleanup", "--force", "--timeout", "1m"); r.Code != 0 {
		t.Errorf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	c.expect("By force all goes.", "kept")
}

// TestCleanupNoAccount: that the account of a policy is gone is said at once, with what
// to do, and nothing is waited for.
func TestCleanupNoAccount(t *testing.T) {
	c := newCleaned(t)
	with := []byte(strings.Replace(string(c.text), "spec:\n", "spec:\n  serviceAccountName: ghost\n", 1))
	start := time.Now()
	r := c.ambit(with, "cleanup", "--timeout", "5m")
	if took := time.Since(start); took > time.Minute {
		t.Errorf("It took %s to see that nothing comes of waiting", took)
	}
	want := fmt.Sprintf("policy %q: ServiceAccountMissing: ServiceAccount \"ghost\" does not exist in namespace %q; "+
		"create it, or use --as-caller: `ambit cleanup` then acts as you\n", v1alpha1.PolicyLabel(c.home, c.name), c.home)
	if r.Code != 1 || !strings.Contains(r.Stdout, want) {
		t.Errorf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if strings.Contains(r.Stderr, "ServiceAccount") || strings.Contains(r.Stderr, "0 left") {
		t.Errorf("It says why once, and counts nothing: %s", r.Stderr)
	}
	if r := c.ambit(with, "cleanup", "--as-caller", "--timeout", "1m"); r.Code != 0 {
		t.Errorf("As the caller all goes: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestCleanupBlind: whoever may see nothing is not told that nothing is left.
func TestCleanupBlind(t *testing.T) {
	c := newCleaned(t)
	c.kubeconfig = newStage(t, "").kubeconfig
	r := c.ambit(c.text, "cleanup", "--timeout", "10s")
	if r.Code != 1 || strings.Contains(r.Stderr, "nothing is left") || !strings.Contains(r.Stdout, "cannot list, watch memcacheds") && !strings.Contains(r.Stdout, "cannot list memcacheds") {
		t.Errorf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if want := fmt.Sprintf("warning: it is not known whether the cluster has policy %q, as you may not list reconcilepolicies: ", c.name); !strings.Contains(r.Stderr, want) {
		t.Errorf("no %q in\n%s", want, r.Stderr)
	}
}
