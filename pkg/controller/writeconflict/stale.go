package writeconflict

import "time"

// StaleVersion is a resourceVersion as of which a write was answered that the object has changed since.
// Whatever is written as of it is answered so again, until the stream shows a newer one: what happens
// to the children meanwhile is no reason to ask. The zero value: there is none.
//
// The answer may have been wrong (a webhook, a proxy), so that it is asked again after a wait that grows.
type StaleVersion struct {
	version  string
	failures int       // in a row, as of that version
	until    time.Time // nothing is written as of it before
}

// RecordConflict notes that a write as of a version was answered so.
func (s *StaleVersion) RecordConflict(version string, wait Wait, now time.Time) {
	if s.version != version {
		*s = StaleVersion{version: version}
	}
	s.until = now.Add(wait(s.failures))
	s.failures++
}

// HoldsBack reports whether nothing is to be written as of a version now.
func (s *StaleVersion) HoldsBack(version string, now time.Time) bool {
	return s.failures > 0 && s.version == version && now.Before(s.until)
}
