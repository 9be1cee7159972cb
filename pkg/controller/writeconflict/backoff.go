// Package writeconflict remembers which writes do not stand, and decides how long the next one waits,
// so that Ambit and another writer, who want different things, do not answer each other without a
// pause. It does no I/O, reads no clock and logs nothing: what time it is, and how a wait grows, is
// given to it.
//
// A write is contested if what it wrote does not stand any more when the next one is due. Each kind
// of write has a type of its own, whose comment says what contested means for it:
//
//	Children  the objects of the children of an owner, each a Child
//	Metadata  the record and the finalizer of an owner
//	Feedback  a status that the policy itself reads, and so changes again
//	StaleVersion  an owner that has changed since it was seen
//	Backoff   the wait of all of them, and, alone, that of a status that others write over
//
// The calls for one write are, in this order: whether it is contested, how long it has to wait, and,
// once the API server has answered, that it was written. A conflict that has gone on for a while is
// reported once (NeedsReport, MarkReported); from then on it is a problem of the owner, until Over
// has passed since the last write (EndIfOver).
//
// All of it may be lost: what is contested then is found out again, after a few writes.
//
// Zero values are ready. Nothing here is safe for concurrent use: it belongs to the one worker that
// has the owner.
package writeconflict

import "time"

// Wait says how long to wait after so many failures before the last one, from 0. It returns at most
// MaxWait, and a fifth more of jitter.
type Wait func(failures int) time.Duration

const (
	// MaxWait is the longest wait between two contested writes, jitter aside.
	MaxWait = time.Minute
	// Over is how long our word has to stand until it was the last one. It is longer than a
	// contested write ever waits.
	Over = 2 * MaxWait
	// NewsWait is how long, after a contested write, one that says something else waits at most.
	NewsWait = 5 * time.Second
	// reportedAfter is after how many contested writes a conflict is reported: less is somebody
	// who tries something.
	reportedAfter = 3
)

// Backoff is the wait between contested writes. The zero value: none was.
//
// The first contested write is done at once. After each, the next one waits longer, whatever
// it has to say, so that there is no way round by wanting now this and now that; but what was
// not said yet never waits for more than NewsWait.
type Backoff struct {
	writes   int       // contested ones in a row
	what     string    // the last one: equal for writes that say the same
	at       time.Time // of the last one
	until    time.Time // the same is not written before
	reported bool      // who else writes was said
}

// WaitToWrite returns how long a contested write has to wait; 0: not at all. what is equal for writes
// that say the same.
func (b *Backoff) WaitToWrite(what string, now time.Time) time.Duration {
	if b.IsOver(now) {
		return 0
	}
	until := b.until
	if news := b.at.Add(NewsWait); b.what != what && news.Before(until) {
		until = news
	}
	return max(0, until.Sub(now))
}

// RecordWrite notes a contested write.
func (b *Backoff) RecordWrite(what string, wait Wait, now time.Time) {
	if b.IsOver(now) {
		*b = Backoff{}
	}
	b.writes++
	b.what, b.at, b.until = what, now, now.Add(wait(b.writes+1))
}

// RecordLostWrite notes a contested write that came too late, as the object had changed again. It
// counts as well, but what it was to say is still to be said.
func (b *Backoff) RecordLostWrite(wait Wait, now time.Time) { b.RecordWrite(b.what, wait, now) }

// IsOver reports whether the last contested write is so long ago that nobody undoes it any more.
func (b *Backoff) IsOver(now time.Time) bool { return now.Sub(b.at) >= Over }

// NeedsReport reports whether it is to be found out and said who else writes: once in a conflict,
// and also if the write need not wait, for of two who write in turn it may always be the other one
// who waits.
func (b *Backoff) NeedsReport(now time.Time) bool {
	return !b.reported && b.writes >= reportedAfter && !b.IsOver(now)
}

// MarkReported notes that it was said who else writes.
func (b *Backoff) MarkReported() { b.reported = true }

// IsReported reports whether it was said who else writes.
func (b *Backoff) IsReported() bool { return b.reported }

// EndIfOver forgets a conflict that was reported and is over. If it was reported and is not over,
// at is when it may be; else it is zero.
func (b *Backoff) EndIfOver(now time.Time) (ended bool, at time.Time) {
	switch {
	case !b.reported:
		return false, time.Time{}
	case b.IsOver(now):
		*b = Backoff{}
		return true, time.Time{}
	}
	return false, b.at.Add(Over)
}
