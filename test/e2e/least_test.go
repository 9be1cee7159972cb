package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestLeast: what `ambit rbac` prints is enough for all that the Memcached policy does, and is no more
// than memcachedRights, of which TestVerbs takes one verb after the other away.
func TestLeast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "least")
	binary := buildAmbit(t)
	namespace := w.namespace()
	printed := w.printedRights(binary, namespace)
	if diff := cmp.Diff(lostVerbs(memcachedRights()), lostVerbs(printed.rules(t)), cmp.AllowUnexported(lost{}), cmpopts.SortSlices(func(a, b lost) bool { return a.resource+a.verb < b.resource+b.verb })); diff != "" {
		t.Errorf("it is not what the policy needs (-want +got):\n%s", diff)
	}
	w.applyRights(printed)
	w.decided(namespace, true, printed.rules(t)...)
	mark := w.control.Audit().Mark()
	a := w.runMeasured([]string{namespace}, memcached(t))
	w.memcachedStory(t, namespace, "cache")
	w.deniesOnly(a, namespace)
	a.stop()
	w.streamsIn(namespace)
	w.none(mark, "a refused request", isRefused)
	if n := len(w.since(mark, func(r cluster.Request) bool { return r.Namespace == namespace })); n == 0 {
		t.Error("the story is not in the audit log")
	}
}

// rights are the documents that `ambit rbac` prints, a Role among them.
type rights []map[string]any

// printedRights are those for the story's user in one namespace.
func (w *world) printedRights(binary, namespace string) rights {
	w.t.Helper()
	cmd := exec.Command(binary, "rbac", "-f", "../../policies/memcached.yaml", "--crds", "../../examples/memcached",
		"--namespaces", namespace, "--user", w.user)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("ambit rbac: %v\n%s", err, stderr.String())
	}
	var documents rights
	for _, text := range strings.Split(out.String(), "\n---\n") {
		document := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			w.t.Fatalf("reading what ambit rbac printed: %v\n%s", err, text)
		}
		if len(document) > 0 {
			documents = append(documents, document)
		}
	}
	kinds := []string{}
	for _, document := range documents {
		kinds = append(kinds, fmt.Sprint(document["kind"]))
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]string{"Role", "RoleBinding"}, kinds); diff != "" {
		w.t.Fatalf("ambit rbac prints (-want +got):\n%s", diff)
	}
	return documents
}

func (r rights) role() map[string]any {
	return r[slices.IndexFunc(r, func(d map[string]any) bool { return d["kind"] == "Role" })]
}

// rules are those of the Role.
func (r rights) rules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	data, err := yaml.Marshal(r.role())
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

func (w *world) applyRights(r rights) {
	w.t.Helper()
	for _, document := range r {
		data, err := yaml.Marshal(document)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.control.Apply(w.t.Context(), data); err != nil {
			w.t.Fatal(err)
		}
	}
}
