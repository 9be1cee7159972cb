package policysource

import "time"

const (
	// steadyTime is how long what is said must be the same before it takes the place of
	// what another Ambit wrote: after a start much is known bit by bit, and mostly it
	// comes to the same.
	steadyTime = 3 * time.Second
	// passingTime is how long a policy must be on its way before that is written, and
	// passingAgain the same where it is written already how it fares: it may have been
	// this process that was started again.
	passingTime  = 2 * time.Second
	passingAgain = 30 * time.Second
)

// ripening is what is to be said on an object, and since when it is the same.
type ripening struct {
	text  string
	since time.Time
	// agreed: this process has written there, or found what it would have.
	agreed bool
}

// ripe says whether a text may be written on an object now. passing: it says no more
// than that a policy is on its way; known: something is written there already about the
// version that is there.
func (s *secretary) ripe(o Origin, text string, passing, known bool) bool {
	now := s.o.Clock.Now()
	r := s.ripening[o]
	if r.text != text || r.since.IsZero() {
		r.text, r.since = text, now
	}
	var wait time.Duration
	switch {
	case passing && known:
		wait = passingAgain
	case passing:
		wait = passingTime
	case known && !r.agreed:
		wait = steadyTime
	}
	due := r.since.Add(wait)
	if now.Before(due) {
		s.putOff(due)
	} else {
		r.agreed = true
	}
	s.ripening[o] = r
	return !now.Before(due)
}

// agree notes that what is written on an object is what would be.
func (s *secretary) agree(o Origin) {
	r := s.ripening[o]
	r.agreed, r.since = true, time.Time{}
	s.ripening[o] = r
}
