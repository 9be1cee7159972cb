package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestVerbs: owners are Ready; then one verb is taken away, in a namespace for
// each. What is said names exactly that verb: the owner's status, and the metrics,
// which tell it alone where the status cannot. Given back, all is well again.
// Nobody touches anything in between.
func TestVerbs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "verbs")
	w.grantEverywhere("triggers", rightsToWatchRBAC())
	w.verbByVerb(t, lostVerbs(memcachedRights()), func(lost, string) (says string) { return "" })
}

// TestVerbsBlind is the same where Ambit cannot see RBAC objects. It asks for
// nothing while nothing is refused, so each verb is missed when it is needed: a
// watch when it is opened again, the others for what happens here. `list` alone
// is not in the list: a watch that is open never needs it again.
func TestVerbsBlind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "verbs-blind")
	verbs := slices.DeleteFunc(lostVerbs(memcachedRights()), func(l lost) bool { return l.verb == "list" })
	w.verbByVerb(t, verbs, func(l lost, namespace string) (says string) {
		switch l.verb {
		case "get":
			w.loseLabel(namespace, "cache")
			return fmt.Sprintf("Deployment %s/cache exists, and whose it is cannot be seen: cannot get deployments.apps in namespace %q as %s; ", namespace, namespace, w.user)
		case "create":
			w.loseDeployment(namespace, "cache")
		case "patch":
			w.resize(namespace, "cache", 2)
		case "delete":
			w.leaveOver(namespace, "cache", "leftover")
		}
		return ""
	})
}

// verbByVerb takes all verbs away at once, one in each namespace, and gives all
// back at once: the namespaces do not wait for each other. provoke makes Ambit
// miss the verb; it returns what the status then says beside it.
func (w *world) verbByVerb(t *testing.T, verbs []lost, provoke func(l lost, namespace string) (says string)) {
	namespaces := make([]string, len(verbs))
	for i := range verbs {
		namespaces[i] = w.namespace(memcachedRights()...)
		w.decided(namespaces[i], true, memcachedRights()...)
	}
	a := w.runMeasured(namespaces, memcached(t))
	for _, namespace := range namespaces {
		w.createOwner(namespace, "cache", 1)
	}
	for _, namespace := range namespaces {
		w.ready(namespace, "cache", 1)
		w.streamsIn(namespace, "memcacheds", "deployments", "pods")
	}
	each := func(what string, do func(w *world, i int)) {
		for i, l := range verbs {
			t.Run(what+"/"+l.verb+"-"+strings.ReplaceAll(l.resource, "/", "-"), func(t *testing.T) { do(w.in(t), i) })
		}
	}
	says := make([]string, len(verbs))
	for i, l := range verbs {
		w.setRules(namespaces[i], without(memcachedRights(), l.resource, l.verb)...)
		w.decided(namespaces[i], false, l.rule())
		says[i] = provoke(l, namespaces[i])
	}
	each("Lost", func(w *world, i int) { w.checkLost(a, verbs[i], namespaces[i], says[i]) })
	for _, namespace := range namespaces {
		w.setRules(namespace, memcachedRights()...)
	}
	each("Regained", func(w *world, i int) { w.checkRegained(a, namespaces[i]) })
}

func (w *world) checkLost(a *ambit, l lost, namespace, says string) {
	w.t.Helper()
	w.deniesOnly(a, namespace, "ambit-system/memcached: "+l.verb+" "+l.what())
	switch {
	case !l.ofOwners():
		l.told(w, namespace, "cache", says)
		w.streamsIn(namespace, slices.DeleteFunc([]string{"memcacheds", "deployments", "pods"}, func(resource string) bool {
			return l.ends() && resource == l.resource
		})...)
	case l.ends():
		w.streamsIn(namespace) // who sees no owners needs nothing
	default:
		w.streamsIn(namespace, "memcacheds", "deployments", "pods")
	}
}

func (w *world) checkRegained(a *ambit, namespace string) {
	w.t.Helper()
	w.deniesOnly(a, namespace)
	owner, err := w.owner(w.t.Context(), namespace, "cache")
	if err != nil {
		w.t.Fatal(err)
	}
	size, _, _ := unstructured.NestedInt64(owner.Object, "spec", "size")
	w.ready(namespace, "cache", int(size))
	w.labelled(namespace, "cache")
	w.gone(namespace, "leftover")
	w.streamsIn(namespace, "memcacheds", "deployments", "pods")
	w.resize(namespace, "cache", 3)
	w.ready(namespace, "cache", 3)
}
