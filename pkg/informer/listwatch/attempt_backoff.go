package listwatch

import (
	"sync"
	"time"
)

// attemptBackoff says how long the next attempt waits after failures in a row. It is safe
// for concurrent use.
type attemptBackoff struct {
	after func(failures int) time.Duration // called without the lock: it is not ours

	mu       sync.Mutex // guards what is below
	failures int        // in a row
	delay    time.Duration
	skipOnce bool // the next attempt need not wait
}

// addFailure counts a failure and decides how long the next attempt waits. With
// mayBeFree it does not wait if this is the first failure.
func (b *attemptBackoff) addFailure(mayBeFree bool) {
	b.mu.Lock()
	b.failures++
	failures := b.failures
	b.skipOnce = mayBeFree && failures == 1
	b.mu.Unlock()
	delay := b.after(failures)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures == failures { // else another failure decides, or there is none to wait for
		b.delay = delay
	}
}

// nextDelay returns how long the next attempt waits.
func (b *attemptBackoff) nextDelay() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures == 0 || b.skipOnce {
		return 0
	}
	return b.delay
}

// beginAttempt returns how long an attempt that begins waits, and whether it does.
func (b *attemptBackoff) beginAttempt() (delay time.Duration, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waits = b.failures > 0 && !b.skipOnce
	b.skipOnce = false
	return b.delay, waits
}

func (b *attemptBackoff) forgetFailures() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}

func (b *attemptBackoff) failureCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures
}
