package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
)

// TestSourceEdits: a policy is edited 31 times in five seconds, and each third version
// does not compile. The last one that does always runs, and no stream is opened again. What
// the process has after many edits is looked at by TestLiveEdits.
func TestSourceEdits(t *testing.T) {
	t.Parallel()
	const edits, owners = 31, 5
	s := newSourced(t, "source-edits", sourceRights()...)
	s.grantEverywhere("triggers", rightsToWatchRBAC())
	s.start(manager.Sources{CustomResources: true})
	s.putResource(memcachedText(t, s.own, 1000))
	for i := range owners {
		s.createOwner(s.own, fmt.Sprintf("cache-%d", i), 1)
	}
	s.versionIs(s.own, 1000, owners)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	want := []string{"memcacheds " + s.own, "deployments " + s.own, "pods " + s.own, "reconcilepolicies " + s.own,
		"roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *"}
	s.streamsAre(want...)
	s.settled()
	mark := s.control.Audit().Mark()

	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for edit := 1; edit <= edits; edit++ {
		<-tick.C
		version := edit
		if edit%3 == 0 {
			version = 0
		}
		s.putResource(memcachedText(t, s.own, version))
		if edit%15 == 14 { // versions that follow each other fast may be passed over; this one is not
			s.versionIs(s.own, edit, owners)
		}
		if edit%15 == 0 { // the one before goes on
			s.resize(s.own, "cache-0", int64(1+edit/15%2))
			s.ready(s.own, "cache-0", 1+edit/15%2)
			s.versionIs(s.own, edit-1, owners)
			s.policyFares("Valid", "False", v1alpha1.ReasonInvalid)
		}
	}
	s.versionIs(s.own, edits, owners)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	s.streamsAre(want...)
	s.none(mark, "opened while the policy was edited", isOpening)
	s.none(mark, "refused", isRefused)
}
