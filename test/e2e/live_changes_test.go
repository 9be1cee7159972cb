package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestLiveSecond: a second policy is added and taken away again while the first goes on.
func TestLiveSecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "live-add")
	w.grantEverywhere("triggers", rightsToWatchRBAC())
	w.decided("", true, rightsToWatchRBAC())
	rules := append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"))
	home := w.namespace(rules...)
	w.decided(home, true, rules...)
	first, second := livePolicy(t, "first", liveChild("ConfigMap", "-first", liveHome, "1")), livePolicy(t, "second", liveChild("ConfigMap", "-second", liveHome, "1"))
	l := w.live([]string{home}, first)
	w.member(home, "a", "first")
	w.member(home, "b", "second")
	l.serves("ambit-system/first", 1)
	alone := []string{"memcacheds " + home, "configmaps " + home, "roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *"}
	w.streamsLast(alone...)
	mark := w.control.Audit().Mark()
	for range 3 {
		l.set(first, second)
		l.serves("ambit-system/second", 1)
		w.streamsAre(append([]string{"memcacheds " + home, "configmaps " + home}, alone...)...)
		l.set(first)
		w.streamsAre(alone...)
		w.marked("configmaps", home, "second", "1", 1)
	}
	w.none(mark, "opened for a policy that did not change", func(r cluster.Request) bool {
		return isOpening(r) && !strings.Contains(r.URI, "second")
	})
	if err := l.engine.Set([]*policy.Program{first, livePolicy(t, "second", liveChild("Secret", "", liveHome, "1")), second}, nil); err == nil {
		t.Error("two policies of one name are accepted")
	}
	l.serves("ambit-system/first", 1)
}

// TestLiveRetire: a policy that serves its owners is retired, and comes back, and is
// retired while it makes something.
func TestLiveRetire(t *testing.T) {
	t.Parallel()
	const owners = 6
	w := newWorld(t, "live-retire")
	home, there := w.namespace(append(homeRights(), rightsTo("", "configmaps"))...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	p := livePolicy(t, "goes", liveChild("ConfigMap", "", there, "1"))
	l := w.live([]string{home}, withMarks(t, p))
	for i := range owners {
		w.member(home, fmt.Sprintf("x-%d", i), "goes")
	}
	const id = "ambit-system/goes"
	gone := func() {
		l.isRetired(id)
		for i := range owners {
			w.ownerUnmarked(home, fmt.Sprintf("x-%d", i))
		}
		// From here on nothing is waited for: it was said that all is done.
		list, err := w.typed.CoreV1().ConfigMaps(there).List(t.Context(), metav1.ListOptions{LabelSelector: "ambit.dev/policy=ambit-system.goes"})
		if err != nil || len(list.Items) > 0 {
			t.Errorf("%d copies are left (%v)", len(list.Items), err)
		}
	}
	l.serves(id, owners)
	if left, done := l.engine.RetiredOf(id); done {
		t.Errorf("a policy that serves is retired, with %d left", left)
	}
	l.retire(p)
	gone()
	l.set(p)
	l.serves(id, owners)
	w.marked("configmaps", there, "goes", "1", owners)
	for range 3 { // while owners are worked on
		l.retire(p)
		l.set(p)
	}
	l.retire(p)
	gone()
	l.set()
	w.streamsAre()
}

// withMarks says that the program is one whose owners carry marks.
func withMarks(t *testing.T, p *policy.Program) *policy.Program {
	t.Helper()
	if !p.NeedsFinalizer() {
		t.Fatal("the policy marks no owners: the test is wrong")
	}
	return p
}

// TestLiveKind: the kind of a child is changed. The streams of the old kind are closed and
// those of the new one opened; the old child goes, on record or beside its owner.
func TestLiveKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "live-kind")
	w.grantEverywhere("triggers", rightsToWatchRBAC())
	w.decided("", true, rightsToWatchRBAC())
	both := rightsTo("", "configmaps", "secrets")
	home, there := w.namespace(append(homeRights(), both)...), w.namespace(both)
	w.decided(home, true, both)
	w.decided(there, true, both)
	at := func(kind, namespace, mark string) *policy.Program {
		return livePolicy(t, "kind", liveChild(kind, "", namespace, mark))
	}
	rbac := []string{"memcacheds " + home, "roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *"}
	l := w.live([]string{home}, at("ConfigMap", there, "1"))
	w.member(home, "x", "kind")
	w.marked("configmaps", there, "kind", "1", 1)
	w.streamsAre(append(rbac, "configmaps "+there)...)
	l.set(at("Secret", there, "2"))
	w.marked("secrets", there, "kind", "2", 1)
	w.marked("configmaps", there, "kind", "", 0) // the record has it
	w.streamsAre(append(rbac, "secrets "+there)...)
	l.set(at("ConfigMap", liveHome, "3"))
	w.marked("configmaps", home, "kind", "3", 1)
	w.marked("secrets", there, "kind", "", 0)
	w.ownerUnmarked(home, "x")
	w.streamsAre(append(rbac, "configmaps "+home)...)
	l.set(at("Secret", liveHome, "4"))
	w.marked("secrets", home, "kind", "4", 1)
	w.streamsAre(append(rbac, "secrets "+home)...)
	w.marked("configmaps", home, "kind", "", 0) // no record has it, but it is beside its owner
}

// TestLiveHalted: a policy is suspended, names a ServiceAccount that does not exist, does
// not compile, and is well again: owners are left alone in between, and served after that.
func TestLiveHalted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "live-halted")
	home := w.namespace(append(chosenRights(), accountRule("nobody", "impersonate", "list", "watch"))...)
	w.decided(home, true, chosenRights()...)
	text := func(spec string) []byte {
		return fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: halted, namespace: %s}
spec:
  %s
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: here
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}, data: {size: "${string(owner.spec.size)}"}}
`, home, spec)
	}
	good := program(t, "good.yaml", text(""))
	id := home + "/halted"
	l := w.live([]string{home}, good)
	size := int64(1)
	w.createOwner(home, "x", size)
	served := func() {
		w.copyHas(home, "x", fmt.Sprint(size))
		l.serves(id, 1)
		w.streamsAre("memcacheds "+home, "configmaps "+home)
		w.observed(home, "x") // the status comes after what serves says
		w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
	}
	idle := func(streams ...string) {
		w.streamsAre(streams...)
		mark := w.control.Audit().Mark()
		size++
		w.resize(home, "x", size)
		w.settledSince(mark)
		w.copyHas(home, "x", fmt.Sprint(size-1))
		w.none(mark, "written by a policy that does nothing", func(r cluster.Request) bool { return r.IsWrite() && !isReview(r) })
	}
	served()
	for name, p := range map[string]*policy.Program{
		"Suspended": program(t, "suspended.yaml", text("suspend: true")),
		"NoAccount": program(t, "account.yaml", text("serviceAccountName: nobody")),
		"Broken":    salvaged(t, text("children: [{id: 'wrong'}]")),
	} {
		l.set(p)
		switch name {
		case "NoAccount":
			l.eventually("it is said what is missing", func(context.Context) error {
				r := l.engine.Reports()[0]
				if r.Serving || r.PolicyError == nil || r.PolicyError.Reason != v1alpha1.ReasonServiceAccountMissing {
					return fmt.Errorf("the report is %+v", r)
				}
				return nil
			})
			idle("serviceaccounts " + home)
		case "Broken":
			idle("memcacheds " + home)
		default:
			idle()
		}
		l.set(good)
		served()
	}
}

// salvaged is what is left of a policy that does not compile.
func salvaged(t *testing.T, data []byte) *policy.Program {
	t.Helper()
	documents, err := syntax.Parse("broken.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Salvage(documents[0])
	if err != nil || p.CleanupOnly == nil {
		t.Fatalf("salvaging: %v; broken: %v", err, p.CleanupOnly)
	}
	return p
}

// TestLiveGrows: an edit reads a field of Pods that nobody has read before: another stream
// takes the place of the one there was, and no other is touched; while it is not in, nothing
// is concluded. A kind that only the new version has is looked up, and missed where it is
// not served.
func TestLiveGrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "live-grows")
	w.grantEverywhere("triggers", rightsToWatchRBAC())
	w.decided("", true, rightsToWatchRBAC())
	home := w.namespace(append(memcachedRights(), rightsTo("", "configmaps"))...)
	w.decided(home, true, rightsTo("", "configmaps"))
	text := string(read(t, "../../policies/memcached.yaml"))
	grown := strings.Replace(text, "object.status.phase == 'Running'", "object.status.phase == 'Running' && object.spec.nodeName != ''", 1)
	if grown == text {
		t.Fatal("the policy does not say what it said: the test is wrong")
	}
	l := w.live([]string{home}, program(t, "memcached.yaml", []byte(text)))
	w.createOwner(home, "x", 1)
	l.serves("ambit-system/memcached", 1)
	mark := w.settled()
	l.set(program(t, "memcached.yaml", []byte(grown)))
	w.eventually("the new stream is there", func(context.Context) error {
		if opened := w.since(mark, cluster.Request.IsWatchOpened); len(opened) == 0 {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	l.serves("ambit-system/memcached", 1)
	streams := []string{"memcacheds " + home, "deployments " + home, "pods " + home, "roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *"}
	w.streamsAre(streams...)
	w.none(mark, "opened, though its fields have not grown", func(r cluster.Request) bool { return isOpening(r) && r.Resource != "pods" })
	w.none(mark, "a status that the edit does not change", func(r cluster.Request) bool { return r.IsWrite() && !isReview(r) })

	lacking := strings.Replace(grown, "  watches:\n", `    - id: odd
      template: {apiVersion: odd.example.com/v1, kind: Odd, metadata: {name: "${owner.metadata.name}"}}

  watches:
`, 1)
	l.set(program(t, "memcached.yaml", []byte(lacking)))
	w.condition(home, "x", v1alpha1.ConditionReady, "False", v1alpha1.ReasonKindMissing)
	l.set(program(t, "memcached.yaml", []byte(grown)))
	w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
	w.streamsAre(streams...)
}
