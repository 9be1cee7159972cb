package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// The four things that break the field's best cache, each in one story.

// TestDeletedKindEndsNothing: `ambit run` lives on when the kind of a watch, and
// the kind of the owners of another policy, are deleted while they are watched; it
// does its other work, and takes the kinds up again when they are back.
func TestDeletedKindEndsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "cache")
	namespace := w.namespace(append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"), rightsTo("cache-test.example.com", "leaves", "trees", "trees/status"))...)
	kinds := map[string]string{"leaves": "Leaf", "trees": "Tree"}
	for plural, kind := range kinds {
		w.makeKind("cache-test.example.com", plural, kind)
	}
	alive := w.cacheBinary(namespace)
	w.createOwner(namespace, "a", 1)
	w.configMapSays(namespace, "a", "size is 1")
	w.condition(namespace, "a", v1alpha1.ConditionReady, "True", "")
	w.plant(namespace, "Tree", "trees", "oak")
	w.configMapSays(namespace, "oak", "a tree")
	w.cacheStreams([]string{namespace}, map[string]int{"memcacheds": 1, "configmaps": 2, "leaves": 1, "trees": 1})

	for plural := range kinds {
		w.deleteKind("cache-test.example.com", plural)
	}
	message := w.condition(namespace, "a", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonKindMissing)
	w.names(message, "leaves")
	w.resize(namespace, "a", 2)
	w.configMapSays(namespace, "a", "size is 2")
	alive()

	for plural, kind := range kinds {
		w.makeKind("cache-test.example.com", plural, kind)
	}
	w.condition(namespace, "a", v1alpha1.ConditionReady, "True", "")
	w.plant(namespace, "Leaf", "leaves", "green")
	w.eventually("the owner sees the leaf", func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, "a")
		if err == nil && !strings.Contains(fmt.Sprint(owner.Object["status"]), "green") {
			err = fmt.Errorf("status is %v", owner.Object["status"])
		}
		return err
	})
	w.plant(namespace, "Tree", "trees", "elm")
	w.configMapSays(namespace, "elm", "a tree")
	alive()
}

const cachePolicies = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: leaves}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  watches:
    - {id: leaves, apiVersion: cache-test.example.com/v1, kind: Leaf}
  children:
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {text: "size is ${owner.spec.size}"}
  status:
    nodes: ${leaves.map(l, l.metadata.name).sort()}
---
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: trees}
spec:
  owner: {apiVersion: cache-test.example.com/v1, kind: Tree}
  children:
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {text: a tree}
`

// plant makes an object of a simple kind.
func (w *world) plant(namespace, kind, plural, name string) {
	w.t.Helper()
	if err := w.control.Apply(w.t.Context(), fmt.Appendf(nil, `{apiVersion: cache-test.example.com/v1, kind: %s, metadata: {name: %s, namespace: %s}}`, kind, name, namespace)); err != nil {
		w.t.Fatalf("making %s %s: %v", plural, name, err)
	}
}

// cacheBinary runs the policies by `ambit run`. The returned function fails the
// test if the process has ended, as the end of the test does.
func (w *world) cacheBinary(namespaces ...string) (alive func()) {
	w.t.Helper()
	file, kubeconfig := filepath.Join(w.t.TempDir(), "policies.yaml"), filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(cachePolicies), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := w.control.Kubeconfig(w.control.User(w.user), kubeconfig); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(buildAmbit(w.t), "run", "-f", file, "--namespaces", strings.Join(namespaces, ","), "--kubeconfig", kubeconfig)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatalf("starting ambit: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	alive = func() {
		w.t.Helper()
		select {
		case err := <-ended:
			ended <- err
			w.t.Fatalf("ambit has ended: %v; it said:\n%s", err, out.String())
		default:
		}
	}
	w.t.Cleanup(func() {
		alive()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			w.t.Errorf("stopping ambit: %v", err)
		}
		if err := <-ended; err != nil {
			w.t.Errorf("ambit was stopped and says %v:\n%s", err, out.String())
		}
	})
	return alive
}

// TestOneRoleBindingIsEnough: with a RoleBinding in one namespace and nothing else,
// not even in the other namespace that Ambit is told to serve, that namespace is
// served, and no request is made for all namespaces or for anything outside of
// them, but discovery and reviews of one's own rights.
func TestOneRoleBindingIsEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "cache")
	// An identity of its own, so that all requests of it can be looked at.
	home := w.namespace()
	config, err := w.control.ServiceAccount(t.Context(), home, "ambit")
	if err != nil {
		t.Fatal(err)
	}
	w.user = "system:serviceaccount:" + home + ":ambit"
	bound, other := home, w.control.Namespace(t.Context(), t, "cache")
	w.flapAllow(bound, "ambit", w.user, memcachedRights()...)
	w.createOwner(bound, "cache", 1)
	w.createOwner(other, "cache", 1)
	w.launch(config, []string{other, bound}, memcached(t))
	w.condition(bound, "cache", v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
	w.resize(bound, "cache", 2)
	w.deploymentHas(bound, "cache", 2)
	w.checkStatus(t, bound, "cache", 2)
	w.patchDeployment(t, bound, "cache", `{"spec":{"replicas":5}}`)
	w.deploymentHas(bound, "cache", 2)
	if owner, err := w.owner(t.Context(), other, "cache"); err != nil || owner.Object["status"] != nil {
		t.Errorf("an owner that may not be seen has the status %v (%v)", owner.Object["status"], err)
	}
	w.noRequests(cluster.Mark{}, "outside of the namespaces", func(r cluster.Request) bool {
		return r.Namespace != bound && r.Namespace != other && r.Resource != "" && !strings.HasPrefix(r.Resource, "selfsubject")
	})
}

// cacheStreams waits until the story's user has so many watches open in these
// namespaces, by resource, and no others.
func (w *world) cacheStreams(namespaces []string, want map[string]int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the open streams are %v", want), func(context.Context) error {
		open, err := w.control.Audit().OpenWatches(w.user)
		if err != nil {
			return err
		}
		got := map[string]int{}
		for _, r := range open {
			if slices.Contains(namespaces, r.Namespace) {
				got[r.Resource]++
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
}
