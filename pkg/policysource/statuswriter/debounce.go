package statuswriter

import (
	"maps"
	"time"

	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

const (
	// RestartDebounce is how long a text stays the same before it replaces what another Ambit
	// wrote. After a start much becomes known bit by bit, and mostly comes to the same.
	RestartDebounce = 3 * time.Second
	// transientDebounce is how long a policy must be on its way before that is written.
	// transientAgain is the same where a status of that version is written already: this
	// process may have been started again.
	transientDebounce = 2 * time.Second
	transientAgain    = 30 * time.Second
)

// debouncer holds back texts that may be different soon.
type debouncer struct {
	clock   clock.Clock
	pending map[manifest.Origin]pendingText
}

// pendingText is what is to be written on an object, and since when it is the same.
type pendingText struct {
	text  string
	since time.Time
	// isOurs: this process has written there, or has found what it would have written.
	isOurs bool
}

// dueAfter returns how long to wait before a text is written on an object; 0 for not at all. transient: it says
// only that a policy is on its way. reported: a status of the version that is there is written already.
func (b *debouncer) dueAfter(o manifest.Origin, text string, transient, reported bool) time.Duration {
	now := b.clock.Now()
	p := b.pending[o]
	if p.text != text || p.since.IsZero() {
		p.text, p.since = text, now
	}
	var wait time.Duration
	switch {
	case transient && reported:
		wait = transientAgain
	case transient:
		wait = transientDebounce
	case reported && !p.isOurs:
		wait = RestartDebounce
	}
	wait = max(0, p.since.Add(wait).Sub(now))
	p.isOurs = p.isOurs || wait == 0
	b.pending[o] = p
	return wait
}

// noteUpToDate records that an object has what would be written on it.
func (b *debouncer) noteUpToDate(o manifest.Origin) {
	b.pending[o] = pendingText{text: b.pending[o].text, isOurs: true}
}

// forgetGone drops the texts of objects that are gone.
func (b *debouncer) forgetGone(isGone func(manifest.Origin) bool) {
	maps.DeleteFunc(b.pending, func(o manifest.Origin, _ pendingText) bool { return isGone(o) })
}
