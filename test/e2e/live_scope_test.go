package e2e

import (
	"fmt"
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestLiveScope: where a policy that is edited does not look for owners any more, what it
// has made goes, the owners stay, and nothing is watched any longer; and back.
func TestLiveScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "live-scope")
	a, b := w.namespace(chosenRights()...), w.namespace(chosenRights()...)
	w.narrowed(a, b, []string{a, b}, []string{fmt.Sprintf("{namespaces: [%s, %s], exclude: [%s]}", a, b, b)})
}

// narrowed runs a policy that serves two namespaces, of which scopes leave out the second.
func (w *world) narrowed(a, b string, limit, scopes []string) {
	t := w.t
	for _, namespace := range []string{a, b} {
		w.decided(namespace, true, chosenRights()...)
		w.createOwner(namespace, "x", 1)
	}
	l := w.live(limit, scoped(t, ""))
	for _, scope := range scopes {
		w.copyHas(a, "x", "1")
		w.copyHas(b, "x", "1")
		l.set(scoped(t, scope))
		w.noCopy(b, "x")
		w.copyHas(a, "x", "1")
		w.ownerUnmarked(b, "x")
		w.streamsIn(b)
		w.streamsIn(a, "memcacheds", "configmaps")
		l.set(scoped(t, ""))
	}
	w.copyHas(b, "x", "1")
}

// scoped is the policy of chosen with a scope.
func scoped(t *testing.T, scope string) *policy.Program {
	t.Helper()
	if scope == "" {
		return chosen(t, "")
	}
	return chosen(t, "filter: 'true'\n  scope: "+scope)
}
