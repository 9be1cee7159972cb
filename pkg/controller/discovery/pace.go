package discovery

import "time"

const (
	backoffMin     = time.Second     // from the first answer to the next question
	backoffMax     = 4 * time.Second // between two questions about a kind
	lazyBackoffMax = 5 * time.Minute // the same, for one that is looked up lazily and not served
	roundEvery     = 600 * time.Millisecond
	roundBurst     = 10
	lazyApart      = time.Second // from the last round to the first about a kind that is looked up lazily
	// lazyKinds is how many kinds that are looked up lazily a round asks about: whoever names
	// such kinds names any number, and what a round costs is not up to them. Where more are
	// due, the next ones have their turn after lazyTurn.
	lazyKinds = 1000
	lazyTurn  = backoffMax
)

// retry says when something is asked about, and how long it waits after that.
type retry struct {
	due  time.Time
	wait time.Duration
}

func newRetry(due time.Time) retry { return retry{due: due, wait: backoffMin} }

// postponeRetry notes an answer. The wait grows, up to most, if the answer was due.
func (r *retry) postponeRetry(now time.Time, most time.Duration) {
	early := now.Before(r.due)
	r.due = now.Add(r.wait)
	if !early {
		r.wait = min(2*r.wait, most)
	}
}

// roundPace bounds the rounds, whoever asks for them: roundBurst at once, then one every
// roundEvery. The zero value is ready.
type roundPace struct {
	full time.Time // when all of the burst is there again
	last time.Time // when the last round began
}

// beginRound notes that a round begins.
func (p *roundPace) beginRound(now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full, p.last = p.full.Add(roundEvery), now
}

// nextRound returns when there may be another round.
func (p *roundPace) nextRound() time.Time { return p.full.Add(-(roundBurst - 1) * roundEvery) }

// firstDue returns when a kind is asked about first: at once, unless it is looked up lazily
// shortly after a round.
func (p *roundPace) firstDue(now time.Time, lazy bool) time.Time {
	if apart := p.last.Add(lazyApart); lazy && apart.After(now) {
		return apart
	}
	return now
}
