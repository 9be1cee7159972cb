package permitted

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// Watch has the informers of one Query while they are permitted. Permission is safe for concurrent use;
// all other methods belong to one goroutine at a time.
type Watch struct {
	owner     *Informers
	query     Query
	key       access.Key
	accesses  []access.Access
	interests []informer.Interest
	changed   func(Event)

	listers []lister // nil: the informers are closed
	// triedAt is the generation of permissions when the informers were opened, were last seen
	// without a refusal, or were retried.
	triedAt uint64
}

// NewWatch returns a Watch, which asks for nothing before Require. changed is called from other
// goroutines, possibly from several at once, and perhaps once more after Release. It must not block,
// and calls no method of the Watch but Permission.
func (i *Informers) NewWatch(q Query, changed func(Event)) *Watch {
	return &Watch{
		owner: i, query: q, changed: changed, key: access.Key{Identity: q.Identity, Namespace: q.Namespace},
		accesses: q.requiredAccess(), interests: q.interestsOf(),
	}
}

// Namespace returns the namespace of the Query.
func (w *Watch) Namespace() string { return w.query.Namespace }

// Require has the permissions reviewed, and opens or closes the informers as doc.go says. It makes no request.
func (w *Watch) Require() Permission {
	w.owner.reviews.Require(accessHandler{w}, w.key, w.accesses, w.query.Payer)
	permission, generation := w.readPermission()
	switch {
	case permission.Decision == Allowed:
		w.openInformers(generation)
	case permission.Decision == Denied:
		w.closeInformers()
	case permission.Reviewed && w.query.TryUndecided:
		w.openInformers(generation)
	case permission.Decision == Refused:
		w.closeInformers()
	}
	return permission
}

// Permission returns what is known of the permissions, without asking. Before Require, and after Release,
// that may be nothing.
func (w *Watch) Permission() Permission {
	permission, _ := w.readPermission()
	return permission
}

// readPermission returns what is known of the permissions, and its generation.
func (w *Watch) readPermission() (Permission, uint64) {
	decision, missing, state := w.owner.reviews.DecideAll(w.key, w.accesses)
	if state.Refusal != nil {
		return Permission{Decision: Refused, Reviewed: true}, state.Generation
	}
	return Permission{Decision: Decision(decision), Reviewed: state.Reviewed, Missing: missing}, state.Generation
}

// InformerStatus returns that of the first informer that is refused or has no complete list, else of the first
// one. While they are closed it is Stopped.
func (w *Watch) InformerStatus() informer.Status {
	if w.listers == nil {
		return informer.Status{State: informer.Stopped}
	}
	for _, one := range w.listers {
		if status := one.Status(); status.State.IsFinal() || !status.Synced {
			return status
		}
	}
	return w.listers[0].Status()
}

// ReadObjects returns the objects and the status of the first resource, at one moment: with Synced the list is
// complete. The slice is the caller's, the objects are shared and never to be changed.
func (w *Watch) ReadObjects() ([]*unstructured.Unstructured, informer.Status) {
	if w.listers == nil {
		return nil, informer.Status{State: informer.Stopped}
	}
	return w.listers[0].Read()
}

// Release closes the informers and gives back the review.
func (w *Watch) Release() {
	w.closeInformers()
	w.owner.reviews.Require(accessHandler{w}, w.key, nil, access.Payer{})
}

// openInformers opens the informers, or retries those that were refused if permissions have changed since. The generation
// is that of the permissions which allow it.
func (w *Watch) openInformers(generation uint64) {
	wasOpen := w.listers != nil
	w.listers = w.owner.informers.Require(informerHandler{w}, w.interests)
	if wasOpen && generation != w.triedAt {
		for i, one := range w.listers {
			if isRefused(one.Status().State) {
				w.owner.informers.Retry(w.interests[i].Key)
			}
		}
	}
	w.triedAt = generation
}

func (w *Watch) closeInformers() {
	w.owner.informers.Require(informerHandler{w}, nil)
	w.listers = nil
}

// isRefused reports whether an informer was refused for want of a permission, or of an identity.
func isRefused(state informer.State) bool {
	return state == informer.Forbidden || state == informer.Unauthenticated
}

// accessHandler is a Watch as a handler of changed permissions.
type accessHandler struct{ *Watch }

// Changed implements access.ChangeHandler.
func (h accessHandler) Changed(access.Key) { h.changed(Event{Type: PermissionChanged}) }

// informerHandler is a Watch as a handler of what its informers tell.
type informerHandler struct{ *Watch }

// Changed implements informer.EventHandler. The refused request was a list or a watch: both are in doubt.
func (h informerHandler) Changed(event informer.Event) {
	if event.Type == informer.StateChanged && isRefused(event.State) {
		for _, a := range h.query.readAccess(event.Key.GVR) {
			h.owner.reviews.ReportDenied(h.key, a)
		}
	}
	h.changed(Event{Type: EventType(event.Type), Object: event.Object})
}

var (
	_ access.ChangeHandler  = accessHandler{}
	_ informer.EventHandler = informerHandler{}
)
