package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestNamespaced: rights in one namespace are enough, for the namespace's own ServiceAccount and for
// a user who acts as it (TestOneRoleBindingIsEnough has the user alone). By the audit log
// nothing cluster-scoped is asked for but discovery and what one may do oneself,
// and nothing of any other namespace.
func TestNamespaced(t *testing.T) {
	t.Parallel()
	const file = "../../policies/memcached.yaml"
	binary := buildAmbit(t)
	w := newWorld(t, "namespaced")
	account, namespace, _ := w.operatorIn(w.namespace())
	w.grantAs("impersonator", namespace, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"operator"},
		Verbs: []string{"list", "watch", "impersonate"},
	})
	policy := filepath.Join(t.TempDir(), "memcached.yaml")
	text := strings.Replace(string(read(t, file)), "namespace: ambit-system}\nspec:\n", "namespace: "+namespace+"}\nspec:\n  serviceAccountName: operator\n", 1)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	mark := w.control.Audit().Mark()
	account.checkNamespaced(binary, policy, namespace, w.control.User(w.user))
	w.onlyIn(namespace, mark)
}

// operatorIn makes a ServiceAccount with the policy's rights in a namespace; the
// world is as that account sees it.
func (w *world) operatorIn(namespace string) (*world, string, *rest.Config) {
	w.t.Helper()
	config, err := w.control.ServiceAccount(w.t.Context(), namespace, "operator")
	if err != nil {
		w.t.Fatal(err)
	}
	account := w.in(w.t)
	account.user = "system:serviceaccount:" + namespace + ":operator"
	account.grant(namespace, memcachedRights()...)
	return account, namespace, config
}

func (w *world) checkNamespaced(binary, policy, namespace string, config *rest.Config) {
	w.decided(namespace, true, memcachedRights()...)
	mark := w.control.Audit().Mark()
	stop := w.runBinaryAs(binary, policy, config, namespace)
	w.memcachedStory(w.t, namespace, "cache")
	w.none(mark, "a refused request", isRefused)

	w.createOwner(namespace, "other", 1)
	w.ready(namespace, "other", 1)
	w.unbind(namespace)
	w.streamsAre()
	w.resize(namespace, "other", 2)
	w.bind(namespace)
	w.ready(namespace, "other", 2)
	w.streamsAre("memcacheds "+namespace, "deployments "+namespace, "pods "+namespace)
	w.deleteOwner(namespace, "other")
	w.gone(namespace, "other")
	w.streamsAre("memcacheds " + namespace)
	stop()
	w.streamsAre()
	if reviews := w.onlyIn(namespace, mark)["selfsubjectrulesreviews"]; reviews == 0 {
		w.t.Error("there was no review of rights")
	}
}

// onlyIn looks at every request of the story's user, and counts them.
func (w *world) onlyIn(namespace string, mark cluster.Mark) map[string]int {
	w.t.Helper()
	discovery := regexp.MustCompile(`^/(api|apis|version|openapi)([/?]|$)`)
	seen := map[string]int{}
	w.none(mark, "a request that a RoleBinding cannot allow", func(r cluster.Request) bool {
		switch {
		case r.Resource == "":
			seen["discovery"]++
			return !discovery.MatchString(r.URI)
		case r.Namespace == namespace:
			seen["namespaced"]++
			return false
		}
		seen[r.Resource]++
		self := r.Resource == "selfsubjectreviews" || r.Resource == "selfsubjectaccessreviews" || r.Resource == "selfsubjectrulesreviews"
		return !self || r.Verb != "create"
	})
	w.t.Logf("requests of %s: %v", w.user, seen)
	if seen["namespaced"] == 0 {
		w.t.Errorf("the requests of the story are not in the audit log: %v", seen)
	}
	return seen
}

// runBinaryAs runs a policy by a binary in one namespace, until stop
// is called or the test ends, and fails the test if it does not end well.
func (w *world) runBinaryAs(binary, policy string, config *rest.Config, namespace string) (stop func()) {
	w.t.Helper()
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := w.control.Kubeconfig(config, kubeconfig); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "-f", policy, "--namespaces", namespace, "--kubeconfig", kubeconfig)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatalf("starting ambit: %v", err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := interrupt(cmd); err != nil {
			w.t.Errorf("stopping ambit: %v", err)
		}
		if w.t.Failed() || strings.Contains(out.String(), "panic") {
			w.t.Errorf("ambit said:\n%s", out.String())
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// interrupt asks a process to end, as a terminal does, and waits until it has.
func interrupt(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("asking it to end: %w", err)
	}
	return cmd.Wait()
}
