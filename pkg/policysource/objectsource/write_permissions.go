package objectsource

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/access"
)

// writePermissions is what may be written on objects of one kind. isReviewed, isAllowed, generationOf and
// reportDenied are safe for concurrent use. All other methods belong to one goroutine.
type writePermissions struct {
	kind     objectKind
	o        Options
	reviewed map[string]bool // namespaces of which reviews are required
}

var _ access.ChangeHandler = (*writePermissions)(nil)

// Changed implements access.ChangeHandler.
func (p *writePermissions) Changed(access.Key) { p.o.Wake() }

// followScope has the namespaces of objects reviewed if not all may be written, and releases the reviews that are of
// no use any more.
func (p *writePermissions) followScope(r *readScope) {
	p.requireReview(allNamespaces)
	wanted := map[string]bool{allNamespaces: true}
	if !r.isEverywhere() {
		for _, namespace := range r.candidateNamespaces() {
			wanted[namespace] = true
		}
	} else if !p.isAllowed(allNamespaces, p.kind.writeAccesses()...) {
		objects, _ := r.watches[0].ReadObjects()
		for _, namespace := range namespacesOf(objects) {
			wanted[namespace] = true
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

func namespacesOf(objects []*unstructured.Unstructured) (list []string) {
	for _, object := range objects {
		list = append(list, object.GetNamespace())
	}
	return list
}

// requireReview has it reviewed what may be written in a namespace.
func (p *writePermissions) requireReview(namespace string) {
	if !p.reviewed[namespace] {
		p.reviewed[namespace] = true
		p.o.Access.Require(p, access.Key{Namespace: namespace}, p.kind.writeAccesses(), access.Payer{})
	}
}

func (p *writePermissions) releaseReview(namespace string) {
	delete(p.reviewed, namespace)
	p.o.Access.Require(p, access.Key{Namespace: namespace}, nil, access.Payer{})
}

// releaseReviews gives back all reviews.
func (p *writePermissions) releaseReviews() {
	for namespace := range p.reviewed {
		p.releaseReview(namespace)
	}
}

// isReviewed reports whether it is known what may be done in a namespace.
func (p *writePermissions) isReviewed(namespace string) bool {
	state := p.o.Access.State(access.Key{Namespace: namespace})
	return state.Reviewed || state.Refusal != nil
}

func (p *writePermissions) isAllowed(namespace string, all ...access.Access) bool {
	decision, _, _ := p.o.Access.DecideAll(access.Key{Namespace: namespace}, all)
	return decision == access.Allowed
}

// generationOf grows when what is known of permissions in a namespace changes.
func (p *writePermissions) generationOf(namespace string) uint64 {
	return p.o.Access.State(access.Key{}).Generation + p.o.Access.State(access.Key{Namespace: namespace}).Generation
}

// reportDenied reports that a write in a namespace was refused.
func (p *writePermissions) reportDenied(namespace string, a access.Access) {
	for _, in := range []string{allNamespaces, namespace} {
		p.o.Access.ReportDenied(access.Key{Namespace: in}, a)
	}
}
