package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestLiveAtRandom: whatever a policy was in between, served, narrowed, suspended, retired
// or gone, and however fast, it ends as it is in the end: served, with nothing missing, or
// retired, with nothing left and no stream open.
func TestLiveAtRandom(t *testing.T) {
	t.Parallel()
	const owners, rounds, steps = 6, 3, 60
	w := newWorld(t, "live-random")
	home := w.namespace(chosenRights()...)
	w.decided(home, true, chosenRights()...)
	full := chosen(t, "")
	l := w.live([]string{home})
	for i := range owners {
		name := fmt.Sprintf("x-%d", i)
		w.createOwner(home, name, int64(1+i%3))
		if i%2 == 0 {
			w.patchOwner(home, name, pick)
		}
	}
	versions := []*policy.Program{full, chosen(t, "selector: {matchLabels: {pick: 'yes'}}"), chosen(t, `filter: "object.spec.size > 1"`)}
	suspended := *full
	suspended.Suspend, suspended.Hash = true, full.Hash+" suspended"
	versions = append(versions, &suspended)
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range rounds {
		for range steps {
			if random.IntN(2) == 0 {
				<-tick.C
			}
			p := versions[random.IntN(len(versions))]
			switch random.IntN(6) {
			case 0:
				l.set()
			case 1:
				l.retire(p)
			default:
				l.set(p)
			}
		}
		l.set(full)
		l.serves("ambit-system/chosen", owners)
		for i := range owners {
			w.copyHas(home, fmt.Sprintf("x-%d", i), fmt.Sprint(1+i%3))
		}
		w.streamsAre("memcacheds "+home, "configmaps "+home)
		l.retire(full)
		l.isRetired("ambit-system/chosen")
		for i := range owners {
			w.noCopy(home, fmt.Sprintf("x-%d", i))
		}
		l.set()
		w.streamsAre()
	}
	mark := w.settled()
	w.patchOwner(home, "x-0", unpick)
	w.settledSince(mark)
	w.none(mark, "made for a policy that is gone", func(r cluster.Request) bool { return r.Resource != "" && !isReview(r) })
}
