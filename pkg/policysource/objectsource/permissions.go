package objectsource

import (
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// allNamespaces is the namespace that stands for all.
const allNamespaces = ""

var (
	_ informer.EventHandler = (*permittedInformers)(nil)
	_ access.ChangeHandler  = accessHandler{}
)

// permittedInformers has informers of the objects of one kind: cluster-wide if that is permitted, else in each
// namespace where it is. isReviewed, isAllowed and informerKey are safe for concurrent use. All other methods
// belong to one goroutine.
type permittedInformers struct {
	kind objectKind
	o    Options

	reviewed      map[string]bool // namespaces of which reviews are required
	listers       map[string]informer.Lister
	retriedAt     map[string]uint64 // by namespace: the generation of permissions at the last retry of a refused informer
	reportedEpoch map[string]uint64 // by namespace: the epoch of the informer whose refusal was reported
	isDecided     bool              // it is known where to read
	problem       string            // why nothing can be read
	readScope     string            // where is read, if not everywhere; as it was logged last
}

func newPermittedInformers(kind objectKind, o Options) *permittedInformers {
	return &permittedInformers{
		kind: kind, o: o, reviewed: map[string]bool{}, listers: map[string]informer.Lister{},
		retriedAt: map[string]uint64{}, reportedEpoch: map[string]uint64{},
	}
}

// Changed implements informer.EventHandler.
func (p *permittedInformers) Changed(informer.Event) { p.o.Wake() }

// accessHandler is permittedInformers as a handler of changed permissions.
type accessHandler struct{ *permittedInformers }

// Changed implements access.ChangeHandler.
func (h accessHandler) Changed(access.Key) { h.o.Wake() }

// followPermissions finds out where objects may be read now, and has informers there.
func (p *permittedInformers) followPermissions() {
	p.requireReview(allNamespaces)
	read, decided := p.kind.readAccesses(), p.isReviewed(allNamespaces)
	var namespaces []string
	if p.isAllowed(allNamespaces, read...) {
		namespaces = []string{allNamespaces}
	} else if decided {
		for _, namespace := range p.candidateNamespaces() {
			p.requireReview(namespace)
			decided = decided && p.isReviewed(namespace)
			if p.isAllowed(namespace, read...) {
				namespaces = append(namespaces, namespace)
			}
		}
	}
	p.isDecided, p.problem = decided, ""
	if decided && len(namespaces) == 0 {
		p.problem = fmt.Sprintf("cannot list, watch %s in any namespace, nor in %q", p.kind.resource.GroupResource(), p.candidateNamespaces())
	}
	p.noteReadScope(namespaces)
	p.requireInformers(namespaces)
	p.requireWriteReviews(namespaces)
	p.retryRefused()
}

// noteReadScope records in which namespaces objects are read if not in all, and logs when that changes.
func (p *permittedInformers) noteReadScope(namespaces []string) {
	if !p.isDecided {
		return // as before, until more is known
	}
	before := p.readScope
	if p.readScope = ""; len(namespaces) > 0 && namespaces[0] != allNamespaces {
		p.readScope = fmt.Sprintf("policies in %s are read in %s only: to read more it takes list, watch on %s cluster-wide, or in namespaces that --namespaces names",
			p.kind.name, describeNamespaces(namespaces), p.kind.resource.GroupResource())
	}
	switch {
	case p.readScope == before:
	case p.readScope != "":
		p.o.Logger.Info(p.readScope)
	case len(namespaces) > 0:
		p.o.Logger.Info("policies in " + p.kind.name + " are read in all namespaces")
	}
}

// maxNamespacesNamed is how many namespaces a message names.
const maxNamespacesNamed = 10

func describeNamespaces(namespaces []string) string {
	if more := len(namespaces) - maxNamespacesNamed; more > 0 {
		return fmt.Sprintf("namespaces %q and %d more", namespaces[:maxNamespacesNamed], more)
	}
	if len(namespaces) == 1 {
		return fmt.Sprintf("namespace %q", namespaces[0])
	}
	return fmt.Sprintf("namespaces %q", namespaces)
}

// candidateNamespaces returns the namespaces to read in if all cannot be, sorted.
func (p *permittedInformers) candidateNamespaces() []string {
	list := append([]string{p.o.Namespace}, p.o.Namespaces...)
	slices.Sort(list)
	return slices.Compact(list)
}

// requireReview has it reviewed what may be done in a namespace.
func (p *permittedInformers) requireReview(namespace string) {
	if !p.reviewed[namespace] {
		p.reviewed[namespace] = true
		p.o.Access.Require(accessHandler{p}, access.Key{Namespace: namespace}, append(p.kind.readAccesses(), p.kind.writeAccesses()...), access.Payer{})
	}
}

func (p *permittedInformers) releaseReview(namespace string) {
	delete(p.reviewed, namespace)
	p.o.Access.Require(accessHandler{p}, access.Key{Namespace: namespace}, nil, access.Payer{})
}

// isReviewed reports whether it is known what may be done in a namespace.
func (p *permittedInformers) isReviewed(namespace string) bool {
	state := p.o.Access.State(access.Key{Namespace: namespace})
	return state.Reviewed || state.Refusal != nil
}

func (p *permittedInformers) isAllowed(namespace string, all ...access.Access) bool {
	return !slices.ContainsFunc(all, func(a access.Access) bool {
		return p.o.Access.Decide(access.Key{Namespace: namespace}, a) != access.Allowed
	})
}

// requireInformers has an informer in each of these namespaces, and nowhere else.
func (p *permittedInformers) requireInformers(namespaces []string) {
	interests := make([]informer.Interest, len(namespaces))
	for i, namespace := range namespaces {
		interests[i] = informer.Interest{Key: p.informerKey(namespace), Fields: p.kind.kept}
	}
	listers := p.o.Informers.Require(p, interests)
	clear(p.listers)
	for i, namespace := range namespaces {
		p.listers[namespace] = listers[i]
	}
}

func (p *permittedInformers) informerKey(namespace string) informer.Key {
	return informer.Key{GVR: p.kind.resource, Namespace: namespace, LabelSelector: p.kind.selector, Form: informer.Form{Fields: p.kind.kept.String()}}
}

// requireWriteReviews has the namespaces of objects reviewed if not all may be written, and releases the
// reviews that are of no use any more.
func (p *permittedInformers) requireWriteReviews(namespaces []string) {
	wanted := map[string]bool{allNamespaces: true}
	if !slices.Contains(namespaces, allNamespaces) {
		for _, namespace := range p.candidateNamespaces() {
			wanted[namespace] = true
		}
	} else if !p.isAllowed(allNamespaces, p.kind.writeAccesses()...) {
		for _, object := range p.listers[allNamespaces].List() {
			wanted[object.GetNamespace()] = true
		}
	}
	for namespace := range wanted {
		p.requireReview(namespace)
	}
	for namespace := range p.reviewed {
		if !wanted[namespace] {
			p.releaseReview(namespace)
		}
	}
}

// retryRefused reports informers that were refused, and retries them when permissions have changed since.
func (p *permittedInformers) retryRefused() {
	for namespace, lister := range p.listers {
		status := lister.Status()
		if status.State != informer.Forbidden && status.State != informer.Unauthenticated {
			continue
		}
		at := access.Key{Namespace: namespace}
		if p.reportedEpoch[namespace] != status.Epoch {
			p.reportedEpoch[namespace] = status.Epoch
			p.o.Access.ReportDenied(at, p.kind.readAccesses()[0])
		}
		if generation := p.o.Access.State(at).Generation; p.retriedAt[namespace] != generation {
			p.retriedAt[namespace] = generation
			p.o.Informers.Retry(p.informerKey(namespace))
		}
	}
}

// releaseAll gives back all informers and reviews.
func (p *permittedInformers) releaseAll() {
	p.o.Informers.Require(p, nil)
	for namespace := range p.reviewed {
		p.releaseReview(namespace)
	}
}

// noteFinalState records why an informer cannot read.
func (p *permittedInformers) noteFinalState(status informer.Status) {
	switch {
	case status.State == informer.Missing:
		p.problem = fmt.Sprintf("the API server does not serve %s: its CustomResourceDefinition is not installed", p.kind.resource.GroupResource())
	case status.State.Final():
		p.problem = status.Message
	}
}
