package recordcheck

import (
	"maps"
	"time"

	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

const (
	// BatchSize is how many objects of a record are read by name for one owner in a row: what
	// a policy's edit drops is mostly fewer, and so many take a worker a fraction of a second.
	BatchSize = 32
	// BatchPause is the least time between two batches of one owner: 1000 entries take half a
	// minute.
	BatchPause = time.Second
	// calmTime is how long nothing has to be read, or wanted to be, until an owner has another
	// batch without waiting for its turn. It is longer than a contested mark ever waits.
	calmTime = writeconflict.Over
	// goneMemory is for how long an object that was gone is not read again.
	goneMemory = 10 * time.Second
	// maxTries bounds the wait of an owner whose turn it is not, because others of its policy
	// have batches read: to about 6 s.
	maxTries = 5
)

// Reads is what is remembered of the objects of one owner's record that were read by their names,
// between reconciles. Who writes the owner chooses these names. The zero value: none was. Not safe for
// concurrent use.
type Reads struct {
	last  time.Time // when one was read, or was to be
	count int       // so many were read with less than calmTime between any two
	next  time.Time // no other batch is read before
	tries int       // to have one read, in a row
	// gone are objects that were gone, with the time of reading; at most BatchSize. They have a
	// uid: an object without one may still come, and is read each time.
	gone map[goneEntry]time.Time
}

// goneEntry is an entry, and the secret that its object was proven with.
type goneEntry struct {
	inventory.Entry
	secret string
}

// Turns are the turns that the owners of a policy take to have batches read. It is what is used of a
// fairqueue.Throttle.
type Turns interface {
	TryEnter(now time.Time) (wait time.Duration)
	ChargeTime(used time.Duration)
	LeaveAndPause(now time.Time)
}

// startBatch returns how many objects may be read now. Beyond the first batch, the owners of a
// policy take turns, for a part of the time; end is then called when they are read. later is how long
// to wait after so many failures before the last one.
func (r *Reads) startBatch(turns Turns, later func(failures int) time.Duration, now time.Time) (may int, end func(time.Time)) {
	if now.Sub(r.last) >= calmTime {
		r.count, r.tries = 0, 0
	}
	switch {
	case r.count < BatchSize:
		return BatchSize - r.count, func(time.Time) {}
	case now.Before(r.next):
		return 0, func(time.Time) {}
	}
	if wait := turns.TryEnter(now); wait > 0 {
		r.last, r.next = now, now.Add(max(wait, later(min(r.tries, maxTries))))
		r.tries++
		return 0, func(time.Time) {}
	}
	r.tries = 0
	return BatchSize, func(done time.Time) {
		turns.ChargeTime(done.Sub(now))
		turns.LeaveAndPause(done)
	}
}

// recordRead notes that an object was read, and whether it was there.
func (r *Reads) recordRead(e goneEntry, there bool, now time.Time) {
	r.last, r.next = now, now.Add(BatchPause)
	r.count++
	maps.DeleteFunc(r.gone, func(_ goneEntry, at time.Time) bool { return now.Sub(at) >= goneMemory })
	if there || e.UID == "" || len(r.gone) >= BatchSize {
		return
	}
	if r.gone == nil {
		r.gone = map[goneEntry]time.Time{}
	}
	r.gone[e] = now
}

// isGone reports whether the object was gone a short while ago: one of that uid does not come back.
func (r *Reads) isGone(e goneEntry, now time.Time) bool {
	at, known := r.gone[e]
	return known && now.Sub(at) < goneMemory
}
