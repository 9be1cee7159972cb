// Package streamgate opens and closes streams, as rights allow.
package streamgate

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
)

// Gate opens streams by informers, and has their rights reviewed. It is not safe for concurrent use.
type Gate struct {
	informers *informer.Set
	reviews   *access.Reviewer
	opened    map[*streamstore.Stream]uint64 // whose informer is needed, with the generation of rights at the last try
}

// New makes a gate. Whoever has the informers and the reviews starts them.
func New(informers *informer.Set, reviews *access.Reviewer) *Gate {
	return &Gate{informers: informers, reviews: reviews, opened: map[*streamstore.Stream]uint64{}}
}

// CloseStream closes a stream that is not to be any more.
func (g *Gate) CloseStream(s *streamstore.Stream) {
	g.closeInformer(s)
	g.ForgetReview(s)
}

func (g *Gate) closeInformer(s *streamstore.Stream) {
	g.informers.Require(s.InformerHandler(), nil)
	delete(g.opened, s)
}

// ForgetReview gives back the review of a stream.
func (g *Gate) ForgetReview(s *streamstore.Stream) {
	g.reviews.Require(reviewHandler{s}, accessKey(s), nil, access.Payer{})
}

// reportDenied has a refusal of the API server reviewed, if there was one since the last call: it was of a list or
// of a watch, and both are in doubt.
func (g *Gate) reportDenied(s *streamstore.Stream) {
	if !s.TakeDoubt() {
		return
	}
	for _, a := range s.ReadAccesses() {
		g.reviews.ReportDenied(accessKey(s), a)
	}
}

// DecideStream has the rights of a stream reviewed that is never opened, and says whether it might be. What reviews leave
// to the API server is denied.
func (g *Gate) DecideStream(s *streamstore.Stream) access.Decision {
	decision, _, state := g.reviewStream(s)
	if state.Refusal != nil || decision == access.Unknown && state.Reviewed {
		return access.Denied
	}
	return decision
}

// reviewStream asks what the identity may do in the namespace of a stream, and returns what is known: whether it
// may be watched, what is missing for that, and the state of the review that says so. A review that is itself refused
// leaves it to the API server.
func (g *Gate) reviewStream(s *streamstore.Stream) (access.Decision, []access.Access, access.State) {
	key, accesses := accessKey(s), s.ReadAccesses()
	g.reviews.Require(reviewHandler{s}, key, accesses, access.Payer{})
	g.reportDenied(s)
	decision, missing, state := g.reviews.DecideAll(key, accesses)
	if state.Refusal != nil {
		return access.Allowed, nil, state
	}
	return decision, missing, state
}

// TendStream opens a stream, and closes it while a review denies it. A stream whose rights nobody asked about
// is opened without a review; one is asked for when the API server refuses it.
func (g *Gate) TendStream(s *streamstore.Stream) {
	refused := s.CurrentRefusal()
	if !s.IsReviewed && !refused.IsDenied() {
		g.ForgetReview(s)
		g.openStream(s, g.reviews.State(accessKey(s)).Generation)
		return
	}
	decision, missing, state := g.reviewStream(s)
	switch decision {
	case access.Denied:
		g.closeInformer(s)
		s.DenyReviewed(missing, time.Now())
	case access.Allowed:
		g.openStream(s, state.Generation)
		g.retryStream(s, refused, state.Generation)
	case access.Unknown: // what is open stays open, and is tried again after its own backoff
		if !s.IsReviewed || state.Reviewed { // reviews are in and leave it to the API server, as with a rule that names objects
			g.openStream(s, state.Generation)
		}
	}
}

// openStream has the informer of a stream run, if it does not. The generation is that of the rights which allow it.
func (g *Gate) openStream(s *streamstore.Stream, generation uint64) {
	if _, ok := g.opened[s]; ok {
		return
	}
	g.opened[s] = generation
	g.informers.Require(s.InformerHandler(), []informer.Interest{s.InformerInterest()})
}

// retryStream tries a refused stream again if rights have changed since.
func (g *Gate) retryStream(s *streamstore.Stream, refused *streamstore.Refusal, generation uint64) {
	if refused.IsDenied() && generation != g.opened[s] {
		g.opened[s] = generation
		g.informers.Retry(s.InformerInterest().Key)
	}
}

// accessKey is where the rights of a stream are reviewed.
func accessKey(s *streamstore.Stream) access.Key {
	return access.Key{Namespace: s.RequestNamespace}
}

// reviewHandler has a kind arranged when what may be done in a namespace has changed.
type reviewHandler struct{ *streamstore.Stream }

var _ access.ChangeHandler = reviewHandler{}

// Changed implements access.ChangeHandler.
func (h reviewHandler) Changed(access.Key) { h.Stream.RightsChanged() }
