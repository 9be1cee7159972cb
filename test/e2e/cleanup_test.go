package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/poll"
)

// cleanupSoon is how long it may take to go on when a right is there again: the
// reviews of what is denied, and the work itself on a busy machine.
const cleanupSoon = 15 * time.Second

// TestCleanupBroken: the policy does not compile any more. `ambit run --allow-invalid`
// leaves its owner alone as long as it lives, and cleans up when it is deleted. It fails
// if a policy that does not compile prunes, or if the finalizer stays, or goes before
// what is recorded has gone.
func TestCleanupBroken(t *testing.T) {
	t.Parallel()
	p := newPruning(t, "")
	p.run()
	a, b := p.all("a"), p.all("b")
	p.isReady()
	p.settled() // nothing of the first run is on its way when the second one is looked at
	p.stop()
	mark := p.control.Audit().Mark()
	p.runInvalid(bytes.Replace(p.text(""), []byte("dependsOn: [far]"), []byte("dependsOn: [nobody]"), 1))
	p.items("a")
	p.eventually("the owners are watched", func(context.Context) error {
		if n := len(p.since(mark, func(r cluster.Request) bool { return r.IsWatchOpened() && r.Resource == "memcacheds" })); n == 0 {
			return fmt.Errorf("they are not")
		}
		return nil
	})
	p.patiently(pruneWindow)
	p.none(mark, "a write of a broken policy", isStoryWrite)
	p.has("b", "with a broken policy", b)

	p.deleteOwner(p.home, "one")
	p.isGone()
	p.leaves(a, b)
	p.settledSince(mark) // the audit log may be behind
	var deleted []string
	for _, r := range p.since(mark, isPruneDeletion) {
		deleted = append(deleted, r.Resource+" "+r.Name)
	}
	slices.Sort(deleted)
	want := []string{"boxes box-a", "boxes box-b", "clusterroles " + p.name + "-a", "clusterroles " + p.name + "-b", "configmaps far-a", "configmaps far-b"}
	if diff := cmp.Diff(want, deleted); diff != "" {
		t.Errorf("what was deleted, beside what garbage collection deletes (-want +got):\n%s", diff)
	}
}

// runInvalid runs the binary with a policy that does not compile.
func (p *pruning) runInvalid(text []byte) {
	p.t.Helper()
	file, kubeconfig := filepath.Join(p.t.TempDir(), "policy.yaml"), filepath.Join(p.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := p.control.Kubeconfig(p.config, kubeconfig); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(buildAmbit(p.t), "run", "-f", file, "--allow-invalid", "--namespaces", p.home, "--kubeconfig", kubeconfig)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that the process was killed, as it should be
		if p.t.Failed() {
			p.t.Logf("ambit said:\n%s", out.String())
		}
		if !strings.Contains(out.String(), "nobody") {
			p.t.Errorf("the mistake in the policy is not named:\n%s", out.String())
		}
	})
}

// leaves waits until there is nothing but what is Orphan.
func (p *pruning) leaves(a, b map[string]string) {
	p.t.Helper()
	p.comesTo("a", map[string]string{"left": a["left"]})
	p.comesTo("b", map[string]string{"left": b["left"]})
}

// TestCleanupRightMissing: the owner is deleted while a right is missing. The owner says
// so and stays, with its finalizer, and goes soon after the right is there. It fails if
// the finalizer goes before the objects, or if a grant is not noticed.
func TestCleanupRightMissing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, right string
		away          bool
		says, stay    []string // stay are the children whose objects stay meanwhile
	}{
		"Delete": {"the objects in the other namespace may not be deleted", "delete-far", true, []string{"delete configmaps"}, []string{"far", "near", "left"}},
		"See":    {"the objects in the other namespace may not be seen", "boxes", true, []string{"list, watch", "boxes"}, []string{"boxes", "near", "left"}},
		"Patch":  {"the owner may not be written", "marks", false, []string{"patch memcacheds"}, []string{"near", "left"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPruning(t, "")
			p.run()
			a, b := p.all("a"), p.all("b")
			p.isReady()
			namespace := p.home
			if tc.away {
				namespace = p.away
			}
			p.takers[tc.right]()
			p.decided(namespace, false, p.rulesOf(namespace, tc.right)...)
			p.deleteOwner(p.home, "one")
			p.says(append(tc.says, v1alpha1.ReasonForbidden, namespace)...)
			p.comesTo("a", pruneOnly(a, tc.stay...))
			p.comesTo("b", pruneOnly(b, tc.stay...))
			p.patiently(pruneWindow)
			owner, err := p.owner(t.Context(), p.home, "one")
			if err != nil || !slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup) {
				t.Fatalf("the owner has not kept its finalizer: %v %s", err, p.ownerText(t.Context()))
			}
			p.give(namespace, tc.right)
			if took := p.isGone(); took > cleanupSoon {
				t.Errorf("%s: the owner went %s after the grant, want at most %s", tc.reason, took, cleanupSoon)
			}
			p.leaves(a, b)
		})
	}
}

// pruneOnly is a copy of some keys.
func pruneOnly(from map[string]string, keys ...string) map[string]string {
	to := maps.Clone(from)
	maps.DeleteFunc(to, func(key, _ string) bool { return !slices.Contains(keys, key) })
	return to
}

// TestCleanupOrdered: with `deletion: Ordered` each child goes when all that depend on
// it are gone, also those that garbage collection would take. It fails if deletions are
// sent all at once, or in another order.
func TestCleanupOrdered(t *testing.T) {
	t.Parallel()
	p := newPruning(t, "\n  deletion: Ordered")
	p.run()
	a, b := p.all("a"), p.all("b")
	p.isReady()
	release := p.hold(p.object("b", "boxes"))
	p.deleteOwner(p.home, "one")
	p.comesTo("a", pruneOnly(a, "near", "far", "roles", "left"))
	p.says(v1alpha1.ReasonDeleting, "box-b")
	p.patiently(pruneWindow)
	p.has("a", "while a box is held", pruneOnly(a, "near", "far", "roles", "left"))
	p.has("b", "while a box is held", pruneOnly(b, "near", "far", "roles", "left", "boxes"))
	release()
	p.isGone()
	p.leaves(a, b)
	var order []string
	for _, one := range p.sent.done() {
		kind, _, _ := strings.Cut(one.path, "/")
		order = append(order, kind)
	}
	want := []string{"release namespaces", "release namespaces", "boxes", "boxes", "clusterroles", "clusterroles",
		"configmaps", "configmaps", "configmaps", "secrets", "secrets", "configmaps"}
	for i := range order {
		order[i] = strings.TrimSpace(strings.NewReplacer(p.home, "", p.away, "", "-a", "", "-b", "").Replace(order[i]))
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("what was removed, in this order (-want +got):\n%s", diff)
	}
}

// TestCleanupRetired: the policy goes. Its owner stays, with nothing of Ambit on it; its
// children go as onDelete says, each by its uid, and what the policy has ensured. It
// fails if anything is left, or if Retired says that all is done before it is.
func TestCleanupRetired(t *testing.T) {
	t.Parallel()
	p := newPruning(t, `
  ensure:
    - {id: shared, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared}}}`)
	p.run()
	a, b := p.all("a"), p.all("b")
	p.isReady()
	owner, err := p.owner(t.Context(), p.home, "one")
	if err != nil || !slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup) {
		t.Fatalf("the owner has no finalizer: the test is wrong: %v", err)
	}
	// That is made on the policy's own turn, which may come after the owner's.
	p.eventually("what the policy ensures is there", func(ctx context.Context) error {
		_, err := p.typed.CoreV1().ConfigMaps(p.away).Get(ctx, "shared", metav1.GetOptions{})
		return err
	})
	p.stop()
	ended := make(chan error, 1)
	p.run(func(o *manager.Options) {
		o.Programs, o.Retire = nil, []*policy.Program{p.program}
		o.While = func(ctx context.Context, e *controller.Controller) {
			ended <- poll.Until(ctx, patience, func(context.Context) (bool, error) {
				_, done := e.Retired()
				return done, nil
			})
		}
	})
	if err := <-ended; err != nil {
		t.Errorf("waiting until all is retired: %v", err)
	}
	p.stop()
	// Nothing is waited for from here on: it has been said that all is done.
	p.has("a", "after the policy has gone", pruneOnly(a, "left"))
	p.has("b", "after the policy has gone", pruneOnly(b, "left"))
	for name, namespace := range map[string]string{"first": p.home, "asked": p.home, "shared": p.away} {
		if _, err := p.typed.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("ConfigMap %s is there: %v", name, err)
		}
	}
	now, err := p.owner(t.Context(), p.home, "one")
	if err != nil || now.GetUID() != owner.GetUID() || now.GetDeletionTimestamp() != nil {
		t.Fatalf("the owner is not what it was: %v", err)
	}
	if len(now.GetFinalizers()) > 0 || now.GetAnnotations()[v1alpha1.AnnotationChildren] != "" {
		t.Errorf("marks are left on the owner: %s", p.ownerText(t.Context()))
	}
	for _, one := range p.sent.done() {
		if one.uid == "" && !strings.HasPrefix(one.path, "release") {
			t.Errorf("deleted without a uid: %s", one.path)
		}
	}
}
