package access

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/backoff"
)

// The pace of probes.
const (
	defaultCeiling = 20
	// together is how many requests are under way at a time. See newCeiling.
	together = 4
	// answerTime is how long one request may take.
	answerTime = 10 * time.Second

	// quickly is when a denial that is new is looked at again.
	quickly = time.Second
	// routineMin and routineMax bound the wait between probes while denied; rareMin
	// and rareMax do where RBAC objects are watched.
	routineMin, routineMax = 3800 * time.Millisecond, 4500 * time.Millisecond
	rareMin, rareMax       = 55 * time.Second, 75 * time.Second
	// perMinute is how many requests of a key, of any kind, leave room for a routine
	// probe within a minute; rarePerMinute is that where RBAC objects are watched.
	perMinute, rarePerMinute = 16, 2
	// minute is wider than a minute, so that requests that are held up on their way, as on
	// a busy machine, do not arrive as more.
	minute = 60*time.Second + 500*time.Millisecond

	// retryFirst and retryLast bound the wait after a failed review.
	retryFirst, retryLast = time.Second, 15 * time.Second
	// confirmGap is the least time between two confirmations of refusals in one key
	// that both found the access allowed: such refusals have another reason, a quota
	// for example, and may come in any number.
	confirmGap = 500 * time.Millisecond
	// fresh is how old an answer may be to count as a denial of what was not kept
	// when it came.
	fresh = 5 * time.Second

	// hintMin is the least time between probes of one key that invalidations ask for, and
	// hintMax how long further invalidations may put off the first of them.
	hintMin, hintMax = 100 * time.Millisecond, 60 * time.Millisecond
)

// retryStages returns when a key is probed after an invalidation: the authorizer of the API
// server lags behind the watch that gave the invalidation.
func retryStages() [3]time.Duration {
	return [3]time.Duration{20 * time.Millisecond, 300 * time.Millisecond, 1500 * time.Millisecond}
}

// reviewGap is the wait before the next routine probe.
func (r *reviewPool) reviewGap() time.Duration {
	if r.triggered {
		return rareMin + r.options.Jitter(rareMax-rareMin)
	}
	return routineMin + r.options.Jitter(routineMax-routineMin)
}

// retryAfter is the wait after a number of failures in a row, from 1.
func (r *reviewPool) retryAfter(failures int) time.Duration {
	jitter := func(wait time.Duration) time.Duration { return wait + r.options.Jitter(wait/20) }
	return backoff.Exponential{First: retryFirst, Last: retryLast, Jitter: jitter}.WaitAfter(failures)
}

// laterOf returns the later of two moments.
func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
