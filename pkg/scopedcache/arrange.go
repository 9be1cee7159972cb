package scopedcache

import (
	"maps"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// arrangeDirty arranges what has changed, and tells of it.
func (e *engine) arrangeDirty() {
	dirty := e.takeDirty()
	if e.namespaces.kind != nil {
		if _, ok := dirty[e.namespaces.kind]; ok {
			delete(dirty, e.namespaces.kind)
			e.mu.Lock()
			e.tendAllLocked(e.namespaces.kind)
			e.mu.Unlock()
			e.followNamespaces()
		}
	}
	var changes []Change
	e.mu.Lock()
	for k := range dirty {
		if e.kinds[k.key] == k {
			e.arrangeLocked(k)
			changes = append(changes, e.changesLocked(k)...)
		}
	}
	e.mu.Unlock()
	e.tellChanges(changes)
}

// arrangeLocked makes the streams of a kind those that there are to be, and opens and closes them.
func (e *engine) arrangeLocked(k *kind) {
	wanted, decided := e.streamsWanted(k)
	for _, s := range k.allStreams() {
		if _, ok := wanted[s.namespace]; !ok {
			e.dropStream(k, s)
		}
	}
	reviewed := e.isByPermission(k)
	for _, namespace := range slices.Sorted(maps.Keys(wanted)) {
		if !k.hasStream(namespace) {
			k.addStream(k.newStream(namespace, wanted[namespace], reviewed))
		}
	}
	if len(k.needs) == 0 && k.everywhere != nil {
		e.forgetReview(k.everywhere)
	}
	e.tendAllLocked(k)
	if decided {
		k.setPlanned()
	}
}

// dropStream ends a stream that is not to be any more.
func (e *engine) dropStream(k *kind, s *stream) {
	e.informers.Require(storage{s}, nil)
	e.forgetReview(s)
	s.open = false
	k.removeStream(s)
}

// forgetReview gives back the review of a stream.
func (e *engine) forgetReview(s *stream) {
	e.reviews.Require(reviewHandler{e, s}, s.accessKey(), nil, access.Payer{})
}

// reportDenied has a refusal of the API server reviewed, if there was one since the last call: it was of a list or
// of a watch, and both are in doubt.
func (e *engine) reportDenied(s *stream) {
	if !s.takeDoubt() {
		return
	}
	for _, a := range s.readAccesses() {
		e.reviews.ReportDenied(s.accessKey(), a)
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
func (e *engine) reviewStream(s *stream) (access.Decision, []access.Access) {
	key, accesses := s.accessKey(), s.readAccesses()
	e.reviews.Require(reviewHandler{e, s}, key, accesses, access.Payer{})
	e.reportDenied(s)
	var missing []access.Access
	decision := access.Allowed
	for _, a := range accesses {
		switch e.reviews.Decide(key, a) {
		case access.Denied:
			missing = append(missing, a)
		case access.Unknown:
			decision = access.Unknown
		}
	}
	switch {
	case len(missing) > 0:
		return access.Denied, missing
	case e.reviews.State(key).Refusal != nil:
		return access.Allowed, nil
	}
	return decision, nil
}

// tendAllLocked opens and closes the streams of a kind.
func (e *engine) tendAllLocked(k *kind) {
	for _, s := range k.allStreams() {
		e.tendStream(s)
	}
}

// tendStream opens a stream, and closes it while a review denies it. A stream whose rights nobody asked about
// is opened without a review; one is asked for when the API server refuses it.
func (e *engine) tendStream(s *stream) {
	refused := s.currentRefusal()
	if !s.reviewed && !refused.isDenied() {
		e.forgetReview(s)
		e.openStream(s)
		return
	}
	decision, missing := e.reviewStream(s)
	switch decision {
	case access.Denied:
		e.informers.Require(storage{s}, nil)
		s.open = false
		s.denyReviewed(missing, time.Now())
	case access.Allowed:
		e.openStream(s)
		e.retryStream(s, refused)
	case access.Unknown: // what is open stays open, and is tried again after its own backoff
		if !s.reviewed {
			e.openStream(s)
		}
	}
}

func (e *engine) openStream(s *stream) {
	if s.open {
		return
	}
	s.open = true
	s.triedAt = e.generationOf(s)
	e.informers.Require(storage{s}, []informer.Interest{{Key: s.informerKey, Storage: storage{s}}})
}

// retryStream tries a refused stream again if rights have changed since.
func (e *engine) retryStream(s *stream, refused *refusal) {
	if generation := e.generationOf(s); refused.isDenied() && generation != s.triedAt {
		s.triedAt = generation
		e.informers.Retry(s.informerKey)
	}
}

func (e *engine) generationOf(s *stream) uint64 {
	return e.reviews.State(s.accessKey()).Generation
}

// accessKey is where its rights are reviewed.
func (s *stream) accessKey() access.Key { return access.Key{Namespace: s.requestNamespace} }

func (s *stream) currentRefusal() *refusal {
	s.kind.mu.RLock()
	defer s.kind.mu.RUnlock()
	return s.refusal
}

// reviewHandler has a kind arranged when what may be done in a namespace has changed.
type reviewHandler struct {
	engine *engine
	stream *stream
}

var _ access.ChangeHandler = reviewHandler{}

// Changed implements access.ChangeHandler.
func (h reviewHandler) Changed(access.Key) { h.engine.markDirty(h.stream.kind) }
