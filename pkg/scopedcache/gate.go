package scopedcache

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// streamGate opens and closes streams, as rights allow. The engine's mu is held over each call: it has no state but what
// that guards in a stream.
type streamGate struct {
	informers *informer.Set
	reviews   *access.Reviewer
}

// dropStream ends a stream that is not to be any more.
func (g *streamGate) dropStream(s *stream) {
	g.informers.Require(storage{s}, nil)
	g.forgetReview(s)
	s.open = false
	s.kind.removeStream(s)
}

// forgetReview gives back the review of a stream.
func (g *streamGate) forgetReview(s *stream) {
	g.reviews.Require(reviewHandler{s}, s.accessKey(), nil, access.Payer{})
}

// reportDenied has a refusal of the API server reviewed, if there was one since the last call: it was of a list or
// of a watch, and both are in doubt.
func (g *streamGate) reportDenied(s *stream) {
	if !s.takeDoubt() {
		return
	}
	for _, a := range s.readAccesses() {
		g.reviews.ReportDenied(s.accessKey(), a)
	}
}

func (s *stream) takeDoubt() bool {
	s.kind.mu.Lock()
	defer s.kind.mu.Unlock()
	doubted := s.doubted
	s.doubted = false
	return doubted
}

func (k *kind) hasStream(namespace string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.streams[namespace]
	return ok
}

// reviewStream asks what the identity may do in the namespace of a stream, and returns what is known: whether it
// may be watched, and what is missing for that. A review that is itself refused leaves it to the API server.
func (g *streamGate) reviewStream(s *stream) (access.Decision, []access.Access) {
	key, accesses := s.accessKey(), s.readAccesses()
	g.reviews.Require(reviewHandler{s}, key, accesses, access.Payer{})
	g.reportDenied(s)
	for {
		before := g.generationOf(s)
		decision, missing := g.decideAll(key, accesses)
		if g.generationOf(s) == before { // else some are of one answer, some of the next
			return decision, missing
		}
	}
}

// decideAll returns what is known of some accesses: that all are allowed, or which are denied.
func (g *streamGate) decideAll(key access.Key, accesses []access.Access) (decision access.Decision, missing []access.Access) {
	decision = access.Allowed
	for _, a := range accesses {
		switch g.reviews.Decide(key, a) {
		case access.Denied:
			missing = append(missing, a)
		case access.Unknown:
			decision = access.Unknown
		}
	}
	switch {
	case len(missing) > 0:
		return access.Denied, missing
	case g.reviews.State(key).Refusal != nil:
		return access.Allowed, nil
	}
	return decision, nil
}

// tendStreams opens and closes the streams of a kind.
func (g *streamGate) tendStreams(k *kind) {
	for _, s := range k.allStreams() {
		g.tendStream(s)
	}
}

// tendStream opens a stream, and closes it while a review denies it. A stream whose rights nobody asked about
// is opened without a review; one is asked for when the API server refuses it.
func (g *streamGate) tendStream(s *stream) {
	refused := s.currentRefusal()
	if !s.reviewed && !refused.isDenied() {
		g.forgetReview(s)
		g.openStream(s)
		return
	}
	decision, missing := g.reviewStream(s)
	switch decision {
	case access.Denied:
		g.informers.Require(storage{s}, nil)
		s.open = false
		s.denyReviewed(missing, time.Now())
	case access.Allowed:
		g.openStream(s)
		g.retryStream(s, refused)
	case access.Unknown: // what is open stays open, and is tried again after its own backoff
		if !s.reviewed || g.isUndecidable(s) {
			g.openStream(s)
		}
	}
}

// isUndecidable reports whether reviews are in and leave it to the API server, as with a rule that names objects.
func (g *streamGate) isUndecidable(s *stream) bool { return g.reviews.State(s.accessKey()).Reviewed }

func (g *streamGate) openStream(s *stream) {
	if s.open {
		return
	}
	s.open = true
	s.triedAt = g.generationOf(s)
	g.informers.Require(storage{s}, []informer.Interest{{Key: s.informerKey, Storage: storage{s}}})
}

// retryStream tries a refused stream again if rights have changed since.
func (g *streamGate) retryStream(s *stream, refused *refusal) {
	if generation := g.generationOf(s); refused.isDenied() && generation != s.triedAt {
		s.triedAt = generation
		g.informers.Retry(s.informerKey)
	}
}

func (g *streamGate) generationOf(s *stream) uint64 {
	return g.reviews.State(s.accessKey()).Generation
}

// accessKey is where its rights are reviewed.
func (s *stream) accessKey() access.Key { return access.Key{Namespace: s.requestNamespace} }

func (s *stream) currentRefusal() *refusal {
	s.kind.mu.RLock()
	defer s.kind.mu.RUnlock()
	return s.refusal
}

// reviewHandler has a kind arranged when what may be done in a namespace has changed.
type reviewHandler struct{ stream *stream }

var _ access.ChangeHandler = reviewHandler{}

// Changed implements access.ChangeHandler.
func (h reviewHandler) Changed(access.Key) { h.stream.kind.changed(h.stream.kind) }
