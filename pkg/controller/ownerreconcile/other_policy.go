package ownerreconcile

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// otherPolicy is another policy whose record of children is on the owner, so that this one waits.
// The zero value: there is none.
type otherPolicy struct {
	name  string
	since time.Time // when it was first seen
	told  bool      // an Event was made of it
}

// otherGrace is how long another policy may take to clean up after an owner that changes hands,
// before somebody is asked to act.
const otherGrace = 5 * time.Second

// recordOtherPolicy keeps whose record is on the owner, and makes an Event when that does not end by
// itself.
func (p *Reconciler) recordOtherPolicy(planned *plan.Plan) {
	other, now := &p.state.other, p.Now()
	switch {
	case planned.Foreign == "":
		*other = otherPolicy{}
		return
	case other.name != planned.Foreign:
		*other = otherPolicy{name: planned.Foreign, since: now}
	}
	switch {
	case now.Sub(other.since) < otherGrace:
		p.requeueAt(other.since.Add(otherGrace))
	case !other.told && len(planned.Blockers) > 0 && planned.Blockers[0].Terminal:
		other.told = true
		p.makeEvent(planned.Blockers[0].Reason, planned.Blockers[0].Message)
	}
}

// otherStays reports whether the other policy does not clean up after the owner, as far as is
// known here: it has had the time, and is not one that this controller is retiring.
func (r snapshotReader) otherStays() bool {
	other := r.state.other
	return other.name != "" && r.Now().Sub(other.since) >= otherGrace &&
		!r.IsRetired(other.name)
}
