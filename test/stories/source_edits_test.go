package stories

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
)

// TestSourceEdits: a policy is edited 200 times in half a minute, and each third version
// does not compile. The last one that does always runs, no stream is opened again, and
// the process has in the end what it had.
func TestSourceEdits(t *testing.T) {
	const edits, owners = 200, 5
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
	goroutines, heap := s.goroutines("before the edits", 0), flapHeap()
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
		if edit%60 == 59 { // versions that follow each other fast may be passed over; this one is not
			s.versionIs(s.own, edit, owners)
		}
		if edit%60 == 0 { // the one before goes on
			s.resize(s.own, "cache-0", int64(1+edit/60%2))
			s.ready(s.own, "cache-0", 1+edit/60%2)
			s.versionIs(s.own, edit-1, owners)
			s.policyFares("Valid", "False", v1alpha1.ReasonInvalid)
		}
	}
	s.versionIs(s.own, edits, owners)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	s.goroutines("after the edits", goroutines)
	s.eventually("the heap is what it was", func(context.Context) error {
		if now := flapHeap(); float64(now) > 1.1*float64(heap)+1<<20 {
			return fmt.Errorf("%d bytes are alive, before it were %d", now, heap)
		}
		return nil
	})
	s.streamsAre(want...)
	s.none(mark, "opened while the policy was edited", isOpening)
	s.none(mark, "refused", isRefused)
}
