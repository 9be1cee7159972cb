package uninstall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Scan looks for what policies have left. It sends lists only, and reads nothing but the
// metadata of objects. Its fields are not changed while it is used.
type Scan struct {
	// Objects lists objects. Required.
	Objects metadata.Interface
	// Mapper finds the resource of a kind. Required.
	Mapper meta.RESTMapper
	// Discovery returns every kind that is served. Required for FindLeftovers.
	Discovery KindDiscovery
	// Namespaces are those to look in. Empty: all.
	Namespaces []string
	// Progress, if not nil, is told how many of how many kinds FindLeftovers has listed.
	Progress func(done, total int)
}

// KindDiscovery returns the kinds that an API server serves, each in its preferred
// version, as client-go's discovery does: also those that it has, beside an error.
type KindDiscovery interface {
	ServerPreferredResources() ([]*metav1.APIResourceList, error)
}

// listedKind is a kind whose objects can be listed.
type listedKind struct {
	gvk        schema.GroupVersionKind
	resource   string
	namespaced bool
}

func (k listedKind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.gvk.Group, Resource: k.resource}
}

// FindRemaining returns what a cleanup has still to remove of a policy: the owners that carry
// its finalizer or its record, then the objects that it has provably made, of kinds of
// which it leaves none behind. If owners cannot be listed, that is a finding; if other
// kinds cannot be, the controller that cleans up reports it.
func (s *Scan) FindRemaining(ctx context.Context, program *policy.Program) []Finding {
	found, failed := s.remainingOf(ctx, program, program.Owner.GVK, "")
	for _, err := range failed {
		found = append(found, Finding{Policy: program.Label, Why: err.Error()})
	}
	selector := labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelPolicy: program.Label}.String()
	for _, gvk := range removedKinds(program) {
		made, _ := s.remainingOf(ctx, program, gvk, selector)
		found = append(found, made...)
	}
	return found
}

// remainingOf is FindRemaining for the objects of one kind: for its owners if selector is
// empty, else for what it has made.
func (s *Scan) remainingOf(ctx context.Context, program *policy.Program, gvk schema.GroupVersionKind, selector string) (found []Finding, failed []error) {
	kind, served, err := s.lookUp(gvk)
	if err != nil {
		return nil, []error{err}
	}
	if !served {
		return nil, nil
	}
	failed = s.listObjects(ctx, kind, selector, func(object *metav1.PartialObjectMetadata) {
		for _, f := range findingsOf(gvk, object) {
			switch {
			case selector == "" && f.isMark() && (f.Policy == program.Label || f.Policy == ""):
				f.Policy, f.Why = program.Label, whyMarked(object)
			case selector != "" && f.isMade() && f.Policy == program.Label:
				f.Why = whyRemains(object)
			default:
				continue
			}
			found = append(found, f)
		}
	})
	for i, err := range failed {
		failed[i] = fmt.Errorf("listing %s: %w", kind.groupResource(), err)
	}
	return found, failed
}

// removedKinds returns the kinds of which nothing of the policy is to be left, sorted.
func removedKinds(program *policy.Program) []schema.GroupVersionKind {
	removed := map[schema.GroupVersionKind]bool{}
	for _, child := range slices.Concat(program.Children, program.Ensured) {
		before, known := removed[child.GVK]
		removed[child.GVK] = (before || !known) && child.OnDelete != v1alpha1.DeleteOrphan && child.Existing != v1alpha1.ExistingMerge
	}
	maps.DeleteFunc(removed, func(_ schema.GroupVersionKind, all bool) bool { return !all })
	return slices.SortedFunc(maps.Keys(removed), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
}

// lookUp returns how a kind is listed, in the version that the cluster prefers.
func (s *Scan) lookUp(gvk schema.GroupVersionKind) (kind listedKind, served bool, err error) {
	mapping, err := s.Mapper.RESTMapping(gvk.GroupKind())
	if meta.IsNoMatchError(err) {
		return listedKind{}, false, nil
	}
	if err != nil {
		return listedKind{}, false, fmt.Errorf("looking up kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), err)
	}
	return listedKind{mapping.GroupVersionKind, mapping.Resource.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}, true, nil
}

// listObjects calls do for each object of a kind that the selector matches, in the namespaces to
// look in; kinds that are in no namespace are listed whatever these are. failed has an
// error for each namespace that could not be listed. A kind that is not served, or that
// cannot be listed at all, has no objects.
func (s *Scan) listObjects(ctx context.Context, kind listedKind, selector string, do func(*metav1.PartialObjectMetadata)) (failed []error) {
	namespaces := s.Namespaces
	if len(namespaces) == 0 || !kind.namespaced {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		objects := s.Objects.Resource(kind.gvk.GroupVersion().WithResource(kind.resource)).Namespace(namespace)
		pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) })
		err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(object runtime.Object) error {
			if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
				do(partial)
			}
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
			failed = append(failed, err)
		}
	}
	return failed
}
