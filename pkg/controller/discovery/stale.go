package discovery

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// staleResource is a known resource that was answered not to be there.
type staleResource struct {
	retry
	since time.Time // the latest time since when it is missing
	asked time.Time // when its kind was asked about last; zero: not yet
	gone  bool      // no version of its kind was served then
}

// ConfirmGone reports whether the kind behind a resource is served in no version. since is when
// the resource was answered not to be there. It is false while there is no answer that is
// younger, and the kind is asked about. It is false as well for a resource that LookupKind has not
// returned.
func (c *Cache) ConfirmGone(resource schema.GroupVersionResource, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.kinds[resource]; !known {
		return false
	}
	s := c.stale[resource]
	if s == nil {
		s = &staleResource{}
		c.stale[resource] = s
	}
	if s.gone && !s.asked.Before(since) {
		return true
	}
	if s.asked.IsZero() || s.asked.Before(since) {
		s.retry = newRetry(c.currentTime())
		c.wakeUp()
	}
	if s.since.Before(since) {
		s.since = since
	}
	return false
}

// dropRecovered drops the stale resources that are not missing any more, except for those whose
// kind was seen gone: they are returned, since the kind may have been made again as another one.
func (c *Cache) dropRecovered() (recovered map[schema.GroupVersionResource]bool) {
	c.mu.Lock()
	none := len(c.stale) == 0
	c.mu.Unlock()
	if none {
		return nil
	}
	missing := map[schema.GroupVersionResource]bool{}
	if c.options.Missing != nil {
		for _, resource := range c.options.Missing() {
			missing[resource] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	recovered = map[schema.GroupVersionResource]bool{}
	for resource, s := range c.stale {
		switch {
		case missing[resource]:
		case s.gone:
			recovered[resource] = true
		default:
			delete(c.stale, resource)
		}
	}
	return recovered
}

// recheckLocked notes what a round that began at asked says of a stale resource, and reports
// whether that is news. The caller holds mu.
func (c *Cache) recheckLocked(q question, asked time.Time, found Resource, err error) (news bool) {
	s := q.stale
	s.postponeRetry(c.currentTime(), backoffMax)
	switch before := c.known[q.gvk]; {
	case err == nil && (q.recovered || found != before):
		delete(c.stale, q.resource)
		c.learnLocked(q.gvk, found)
		return found != before
	case otherVersion(err) != nil: // from now on the kind is not known in this version
		delete(c.stale, q.resource)
		delete(c.known, q.gvk)
		of := &search{retry: newRetry(c.currentTime())}
		c.wanted[q.gvk] = of
		c.failLocked(of, err)
		return true
	case q.recovered && err != nil && !IsUnserved(err):
		return false // what it is now is still to be found out
	}
	told := s.gone && !s.asked.Before(s.since)
	s.asked, s.gone = asked, meta.IsNoMatchError(err)
	return s.gone && !told
}
