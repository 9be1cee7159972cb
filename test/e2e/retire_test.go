package e2e

import (
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// keptHere is one more child of the policy: a ConfigMap beside the owner.
const keptHere = `
    - id: here
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-here"}
        data: {size: "${string(owner.spec.size)}"}
`

// TestUnwanted: what the policy has made for an owner that it no longer wants goes,
// whether that is seen at once or after a restart; the owner stays, without a mark,
// and is served again when it is wanted again.
func TestUnwanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "unwanted")
	home, there := w.namespace(append(homeRights(), rightsTo("", "configmaps"))...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	stop := w.run([]string{home}, copies(t, keptHere))
	w.copiesTo(home, "x", there)
	w.copiesTo(home, "plain")
	w.copiesTo(home, "stays", there)
	made := func(w *world) {
		w.copyHas(there, "x", "1")
		w.copyHas(home, "x-here", "1")
		w.copyHas(home, "plain-here", "1")
		w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
	}
	unwanted := func(w *world) {
		for _, name := range []string{"x", "plain"} {
			w.patchOwner(home, name, `{"metadata":{"labels":{"unwanted":"yes"}}}`)
		}
	}
	gone := func(w *world) {
		w.noCopy(there, "x")
		w.noCopy(home, "x-here")
		w.noCopy(home, "plain-here")
		w.ownerUnmarked(home, "x")
		w.copyHas(there, "stays", "1")
		w.copyHas(home, "stays-here", "1")
	}
	made(w)
	t.Run("AtOnce", func(t *testing.T) {
		unwanted(w.in(t))
		gone(w.in(t))
	})
	t.Run("WantedAgain", func(t *testing.T) {
		for _, name := range []string{"x", "plain"} {
			w.in(t).patchOwner(home, name, `{"metadata":{"labels":{"unwanted":null}}}`)
		}
		made(w.in(t))
	})
	t.Run("WhileAmbitIsAway", func(t *testing.T) {
		stop()
		unwanted(w.in(t))
		stop = w.run([]string{home}, copies(t, keptHere))
		gone(w.in(t))
		w.in(t).streamsAre("memcacheds "+home, "configmaps "+home, "configmaps "+there)
		stop()
	})
}
