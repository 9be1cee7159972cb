package cli

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
)

// isNamespaced says whether objects of a kind live in namespaces: as definitions in
// files say, else as it is for Kubernetes' own kinds and most others. k may be nil.
func (k *kindFinder) isNamespaced(gvk schema.GroupVersionKind) bool {
	if k != nil {
		if kind, defined := k.defined[gvk.GroupKind()]; defined {
			return kind.Namespaced
		}
	}
	return rbac.Guess(gvk).Namespaced
}

// isSurelyNamespaced is isNamespaced without the guess for kinds of others.
func (k *kindFinder) isSurelyNamespaced(gvk schema.GroupVersionKind) bool {
	known := scheme.Scheme.Recognizes(gvk)
	if k != nil {
		_, defined := k.defined[gvk.GroupKind()]
		known = known || defined
	}
	return known && k.isNamespaced(gvk)
}
