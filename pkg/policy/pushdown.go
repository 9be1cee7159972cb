package policy

import (
	"slices"
	"strings"

	k8sfields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// pushed is what the API server can do of a filter. It never selects fewer
// objects than the filter, which still decides.
type pushed struct {
	labels []labels.Requirement
	fields string
}

// pushDown returns the terms of filter over `object` that are equalities of labels,
// or of fields that the API server has a label for. filter may be nil.
func pushDown(filter *cel.Expr, gvk schema.GroupVersionKind) pushed {
	var out pushed
	if filter == nil {
		return out
	}
	var terms []string
	for _, t := range filter.EqualityPredicates("object") {
		if r := labelTerm(t); r != nil {
			out.labels = append(out.labels, *r)
			continue
		}
		if path := strings.Join(t.Path, "."); isFieldLabel(gvk.GroupKind(), path) {
			terms = append(terms, k8sfields.OneTermEqualSelector(path, t.Value).String())
		}
	}
	slices.Sort(terms)
	out.fields = strings.Join(slices.Compact(terms), ",")
	return out
}

// labelTerm returns an equality of a label; nil if t is none that the API server
// would accept.
func labelTerm(t cel.EqualityPredicate) *labels.Requirement {
	if len(t.Path) != 3 || t.Path[0] != "metadata" || t.Path[1] != "labels" {
		return nil
	}
	r, err := labels.NewRequirement(t.Path[2], selection.Equals, []string{t.Value})
	if err != nil {
		return nil
	}
	return r
}

// isFieldLabel says whether the API server selects objects of a kind by a field:
// metadata.name and metadata.namespace of every kind, and of some built-in kinds
// the fields below (kubernetes/pkg/apis/*/v1/conversion.go; only those that are
// strings and mean the same as the field of the object).
func isFieldLabel(kind schema.GroupKind, path string) bool {
	if path == "metadata.name" || path == "metadata.namespace" {
		return true
	}
	return slices.Contains(fieldLabels(kind), path)
}

func fieldLabels(kind schema.GroupKind) []string {
	switch kind {
	case schema.GroupKind{Kind: "Pod"}:
		return []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
			"status.phase", "status.podIP", "status.nominatedNodeName"}
	case schema.GroupKind{Kind: "Event"}:
		return []string{"involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.kind", "involvedObject.name",
			"involvedObject.namespace", "involvedObject.uid", "reason", "type"}
	case schema.GroupKind{Kind: "Namespace"}:
		return []string{"status.phase"}
	case schema.GroupKind{Kind: "Secret"}:
		return []string{"type"}
	case schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:
		return []string{"spec.signerName"}
	default:
		return nil
	}
}
