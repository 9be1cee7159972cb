package cli_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/poll"
)

// cleaned is a stage with one owner, for which a policy has made something of each
// kind of tie.
type cleaned struct {
	*stage
	name       string // of the policy
	near, away string // namespaces: of the owner, of a child
	text       []byte
}

// newCleaned makes the owner, and runs the policy until all is there.
func newCleaned(t *testing.T) *cleaned {
	t.Helper()
	c := &cleaned{stage: newStage(t, "cluster-admin")}
	c.name, c.near, c.away = c.home, c.namespace("near"), c.namespace("away")
	c.text = fmt.Appendf(nil, `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached, selector: {matchLabels: {stage: %[1]s}}}
  children:
    - {id: near, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: near}}}
    - {id: away, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: away, namespace: %[2]s}}}
    - {id: kept, onDelete: Orphan, template: {apiVersion: v1, kind: Secret, metadata: {name: kept}}}
    - {id: lent, existing: Merge, template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: lent, annotations: {a: b}}}}
  ensure:
    - {id: role, template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "%[1]s-made"}, rules: []}}
`, c.name, c.away)
	c.apply(fmt.Appendf(nil, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: lent, namespace: %s}}", c.near))
	c.owner(c.near, 1)
	c.run(c.text)
	return c
}

// run runs the policy until all that it makes is there.
func (c *cleaned) run(policy []byte) {
	c.Helper()
	ctx, stop := context.WithCancel(c.Context())
	ended := make(chan result, 1)
	go func() { ended <- c.ambitWith(ctx, policy, "run") }()
	converged := c.await(func() bool { return !slices.Contains(slices.Collect(maps.Values(c.there())), false) })
	stop()
	if r := <-ended; r.Code != 0 || !converged {
		c.Fatalf("ambit run: exit code %d, there is %v\n%s", r.Code, c.there(), r.Stderr)
	}
}

// there says of all that the policy leaves in the cluster whether it is there.
func (c *cleaned) there() map[string]bool {
	c.Helper()
	ctx, core := c.Context(), c.typed.CoreV1()
	found := map[string]bool{}
	note := func(what string, err error) {
		if err != nil && !apierrors.IsNotFound(err) {
			c.Fatalf("looking for %s: %v", what, err)
		}
		found[what] = err == nil
	}
	_, err := core.ConfigMaps(c.near).Get(ctx, "near", metav1.GetOptions{})
	note("near", err)
	_, err = core.ConfigMaps(c.away).Get(ctx, "away", metav1.GetOptions{})
	note("away", err)
	_, err = core.Secrets(c.near).Get(ctx, "kept", metav1.GetOptions{})
	note("kept", err)
	_, err = c.typed.RbacV1().ClusterRoles().Get(ctx, c.name+"-made", metav1.GetOptions{})
	note("ensured", err)
	lent, err := core.ServiceAccounts(c.near).Get(ctx, "lent", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	found["annotation"] = lent.Annotations["a"] == "b"
	owner, err := c.owners().Namespace(c.near).Get(ctx, "cache", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	found["finalizer"] = len(owner.GetFinalizers()) > 0
	found["record"] = owner.GetAnnotations()[v1alpha1.AnnotationChildren] != ""
	return found
}

func (c *cleaned) owners() dynamic.NamespaceableResourceInterface {
	c.Helper()
	client, err := dynamic.NewForConfig(c.plane.Admin())
	if err != nil {
		c.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"})
}

// expect compares what is there with the words in left.
func (c *cleaned) expect(reason string, left ...string) {
	c.Helper()
	want := map[string]bool{}
	for _, what := range left {
		want[what] = true
	}
	for what, there := range c.there() {
		if there != want[what] {
			c.Errorf("%s %s: there is %t, want %t", reason, what, there, want[what])
		}
	}
}

// await says whether it came to that, within patience.
func (c *cleaned) await(done func() bool) bool {
	c.Helper()
	err := poll.Until(c.Context(), patience, func(context.Context) (bool, error) { return done(), nil })
	return err == nil
}

// TestCleanup: what a policy has made goes, and nothing else.
func TestCleanup(t *testing.T) {
	c := newCleaned(t)

	r := c.ambit(c.text, "cleanup", "--timeout", "1m")
	if r.Code != 0 || !strings.Contains(r.Stderr, "1 policy cleaned up: nothing is left") {
		t.Fatalf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	c.expect("onDelete: Orphan is left behind.", "kept")

	r = c.ambit(c.text, "cleanup", "--timeout", "1m")
	if r.Code != 0 {
		t.Errorf("Cleaning up again has nothing to do: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestCleanupBroken: of a policy that does not compile what is on record goes.
func TestCleanupBroken(t *testing.T) {
	c := newCleaned(t)
	broken := []byte(strings.Replace(string(c.text), "spec:\n", "spec:\n  status: {size: \"${onwer.spec.size}\"}\n", 1))

	r := c.ambit(broken, "cleanup", "--timeout", "1m")
	if r.Code != 0 || !strings.Contains(r.Stderr, "onwer") || !strings.Contains(r.Stderr, "has mistakes: only what owners have on record is removed") {
		t.Fatalf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	c.expect("An ownerReference is left to garbage collection, ensured objects to a policy that compiles.", "kept", "near", "ensured")
}

// TestCleanupDenied: a right that is missing is named, and when it is there the rest
// is done.
func TestCleanupDenied(t *testing.T) {
	c := newCleaned(t)
	limited := newStage(t, "", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "patch"}})
	c.kubeconfig = limited.kubeconfig

	// Until it says what is left, and why: on a busy machine there is nothing to say yet after 10 seconds.
	c.until(func(r result) bool {
		return r.Code == 1 &&
			strings.Contains(r.Stdout, "Memcached "+c.near+"/cache: Forbidden: cannot create, delete configmaps in namespace \""+c.away+"\"") &&
			strings.Contains(r.Stdout, "ConfigMap "+c.away+"/away: it is still there\n")
	}, c.text, "cleanup", "--timeout", "10s")
	if there := c.there(); !there["away"] || !there["finalizer"] {
		t.Errorf("What could not be deleted is still on record: %v", there)
	}

	limited.bind("cluster-admin")
	c.until(func(r result) bool { return r.Code == 0 }, c.text, "cleanup", "--timeout", "30s")
	c.expect("With the right all goes.", "kept")
}
