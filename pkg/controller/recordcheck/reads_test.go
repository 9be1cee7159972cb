package recordcheck

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// goneAt is an entry that nobody can make, of a uid.
func goneAt(i int, uid types.UID) goneEntry {
	return goneEntry{Entry: inventory.Entry{Child: "c", Name: fmt.Sprint(i), UID: uid}, secret: "s"}
}

// TestReadsArePaced: owners of a policy that have records of any length read one batch each,
// and then take turns, for a tenth of the time. One that has few is not held up.
func TestReadsArePaced(t *testing.T) {
	var turns fairqueue.Throttle
	const owners, span, took = 10, time.Minute, 5 * time.Millisecond
	reads := make([]Reads, owners)
	total, now := 0, time.Unix(1000, 0)
	for began := now; now.Sub(began) < span; now = now.Add(10 * time.Millisecond) {
		for i := range reads {
			may, end := reads[i].startBatch(&turns, testBackoff, now)
			done := now
			for k := range may {
				done = done.Add(took)
				reads[i].recordRead(goneAt(k, ""), false, done)
			}
			end(done)
			total += may
		}
		var few Reads
		if may, end := few.startBatch(&turns, testBackoff, now); may != BatchSize {
			t.Fatalf("an owner that has read nothing may read %d", may)
		} else {
			end(now)
		}
	}
	free, paced := owners*BatchSize, int(span/took)/10
	t.Logf("%d reads in %s, of which %d were at once", total, span, free)
	if total > free+paced+BatchSize || total < free+paced/2 {
		t.Errorf("%d reads, want %d at once and up to %d more", total, free, paced)
	}
	if len(reads[0].gone) > 0 {
		t.Errorf("objects that may still come are taken for gone: %v", reads[0].gone)
	}
	if may, _ := reads[0].startBatch(&turns, testBackoff, now.Add(calmTime)); may != BatchSize {
		t.Errorf("after a calm time it may read %d", may)
	}
}

// TestReadsRemember: what was gone is not read again for a while, as long as its entry and
// the secret are what they were; and only so much is remembered.
func TestReadsRemember(t *testing.T) {
	var r Reads
	now := time.Unix(1000, 0)
	r.recordRead(goneAt(0, "there"), true, now)
	r.recordRead(goneAt(1, ""), false, now)
	for i := range 1000 {
		r.recordRead(goneAt(i, "gone"), false, now)
	}
	if len(r.gone) != BatchSize {
		t.Errorf("%d are remembered", len(r.gone))
	}
	other := goneAt(0, "gone")
	other.secret = "other"
	for reason, tc := range map[string]struct {
		entry goneEntry
		later time.Duration
		want  bool
	}{
		"as it was read":             {goneAt(0, "gone"), 0, true},
		"it was there":               {goneAt(0, "there"), 0, false},
		"it may still be made":       {goneAt(1, ""), 0, false},
		"another secret proves more": {other, 0, false},
		"it was long ago":            {goneAt(0, "gone"), goneMemory, false},
	} {
		if got := r.isGone(tc.entry, now.Add(tc.later)); got != tc.want {
			t.Errorf("%s: isGone is %t", reason, got)
		}
	}
}
