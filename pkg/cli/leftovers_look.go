package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// listed is a kind whose objects can be listed.
type listed struct {
	gvk        schema.GroupVersionKind
	resource   string
	namespaced bool
}

// unseen is what could not be looked at, as `ambit leftovers -o json` prints it. The
// shape is stable.
type unseen struct {
	// Group and Resource are those of the resource; an empty Resource stands for all of
	// the group, and the Resource * without a group for what a record of an owner names.
	Group    string `json:"group"`
	Resource string `json:"resource"`
	Why      string `json:"why"`

	denied bool
}

// leftoverSearch looks for what needs Ambit. It is used by one goroutine.
type leftoverSearch struct {
	cluster   *cluster
	objects   metadata.Interface
	namespace string
	// programs are the policies that it is about; nil: all.
	programs []*policy.Program
	seen     map[schema.GroupKind]bool
	uids     map[types.UID]bool
	ledger   leftoverRecords
	found    leftovers
}

// look finds what needs Ambit. The error is the cluster's; what only some kinds are
// refused for is in the result.
func (o *leftoversOptions) look(ctx context.Context, c *cluster, programs []*policy.Program) (leftovers, error) {
	config := rest.CopyConfig(c.config)
	config.WarningHandler = rest.NoWarnings{} // of kinds that are deprecated: it only looks at them
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return leftovers{}, fmt.Errorf("preparing the client for metadata: %w", err)
	}
	s := &leftoverSearch{
		cluster: c, objects: objects, namespace: o.Namespace, programs: programs,
		seen: map[schema.GroupKind]bool{}, uids: map[types.UID]bool{}, ledger: leftoverRecords{},
	}
	kinds, err := s.kinds()
	if err != nil {
		return leftovers{}, err
	}
	if err := s.lookAt(ctx, kinds, o); err != nil {
		return leftovers{}, err
	}
	recorded, err := s.recorded()
	if err != nil {
		return leftovers{}, err
	}
	if err := s.lookAt(ctx, recorded, o); err != nil {
		return leftovers{}, err
	}
	s.ledger.explain(s.found.Leftovers)
	s.found.sort()
	return s.found, nil
}

// lookAt lists the kinds, one after the other, and says how far it is.
func (s *leftoverSearch) lookAt(ctx context.Context, kinds []listed, o *leftoversOptions) error {
	var done atomic.Int64
	stop := progress(o.ErrOut, func() string { return fmt.Sprintf("%d of %s looked at", done.Load(), plural(len(kinds), "kind")) })
	defer stop()
	for _, kind := range kinds {
		if err := s.list(ctx, kind); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

// kinds are those of the policies, or all that the cluster serves.
func (s *leftoverSearch) kinds() ([]listed, error) {
	if s.programs == nil {
		return s.all(func(schema.GroupKind) bool { return true })
	}
	kinds := []schema.GroupVersionKind{v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)}
	for _, program := range s.programs {
		kinds = append(kinds, program.Owner.GVK)
		for _, child := range slices.Concat(program.Children, program.Ensured) {
			kinds = append(kinds, child.GVK)
		}
	}
	return s.served(kinds)
}

// served returns those of the kinds that the cluster serves, each once and none that
// was returned before.
func (s *leftoverSearch) served(kinds []schema.GroupVersionKind) ([]listed, error) {
	var found []listed
	for _, gvk := range kinds {
		if s.seen[gvk.GroupKind()] {
			continue
		}
		s.seen[gvk.GroupKind()] = true
		mapping, err := s.cluster.mapper.RESTMapping(gvk.GroupKind())
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking up kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), err)
		}
		found = append(found, listed{mapping.GroupVersionKind, mapping.Resource.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace})
	}
	return found, nil
}

// recorded returns the kinds that only records name, as far as they are served and not too
// many. What is left out is noted. The requests do not become more with the kinds.
func (s *leftoverSearch) recorded() ([]listed, error) {
	kinds, more := s.ledger.kinds(s.isSeen)
	if more > 0 {
		s.leaveOut(fmt.Sprintf("%d more kinds that only records of owners name are left out: %d are looked at", more, len(kinds)))
	}
	if len(kinds) == 0 || s.programs == nil { // all that is served was looked at
		return nil, nil
	}
	return s.all(func(kind schema.GroupKind) bool { return slices.Contains(kinds, kind) })
}

func (s *leftoverSearch) isSeen(kind schema.GroupKind) bool { return s.seen[kind] }

// leaveOut notes what is not looked at, because a record says too much.
func (s *leftoverSearch) leaveOut(why string) {
	s.found.Unseen = append(s.found.Unseen, unseen{Resource: "*", Why: why})
}

// all returns every kind of these that the cluster serves and lists.
func (s *leftoverSearch) all(these func(schema.GroupKind) bool) ([]listed, error) {
	lists, err := s.cluster.typed.Discovery().ServerPreferredResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return nil, fmt.Errorf("asking which kinds the cluster serves: %w", err)
	}
	if partly != nil {
		for version, reason := range partly.Groups {
			s.found.Unseen = append(s.found.Unseen, unseen{Group: version.Group, Why: reason.Error()})
		}
	}
	var found []listed
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("asking which kinds the cluster serves: %w", err)
		}
		for _, r := range list.APIResources {
			if gvk := version.WithKind(r.Kind); slices.Contains(r.Verbs, "list") && these(gvk.GroupKind()) && !s.seen[gvk.GroupKind()] {
				s.seen[gvk.GroupKind()] = true
				found = append(found, listed{gvk, r.Name, r.Namespaced})
			}
		}
	}
	return found, nil
}

// list takes each object of a kind. What cannot be listed is noted; the error is that
// of a context that has ended.
func (s *leftoverSearch) list(ctx context.Context, kind listed) error {
	if s.namespace != metav1.NamespaceAll && !kind.namespaced {
		return nil
	}
	resource := kind.gvk.GroupVersion().WithResource(kind.resource)
	objects := s.objects.Resource(resource).Namespace(s.namespace)
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) })
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
			s.take(kind.gvk, partial)
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("listing %s: %w", resource.GroupResource(), ctx.Err())
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err):
		return nil
	}
	s.found.Unseen = append(s.found.Unseen, unseen{Group: resource.Group, Resource: resource.Resource, Why: err.Error(), denied: apierrors.IsForbidden(err)})
	return nil
}

// take notes what is found of an object, once: some kinds are served by two groups.
func (s *leftoverSearch) take(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) {
	found := slices.DeleteFunc(needsOf(gvk, object), func(n needing) bool { return !s.isAbout(gvk.GroupKind(), n) })
	if len(found) == 0 || object.UID != "" && s.uids[object.UID] {
		return
	}
	s.uids[object.UID] = true
	s.found.Leftovers = append(s.found.Leftovers, found...)
	if why := s.ledger.read(gvk, object, s.isSeen); why != "" {
		s.leaveOut(why)
	}
}

// isAbout says whether a finding is about one of the policies. Of a mark that does not
// say whose it is only the kind tells.
func (s *leftoverSearch) isAbout(kind schema.GroupKind, n needing) bool {
	return s.programs == nil || slices.ContainsFunc(s.programs, func(p *policy.Program) bool {
		return p.Name == n.Policy || n.Policy == "" && p.Owner.GVK.GroupKind() == kind
	})
}

func (l *leftovers) sort() {
	slices.SortFunc(l.Leftovers, func(a, b needing) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Finding, b.Finding), cmp.Compare(a.Policy, b.Policy))
	})
	slices.SortFunc(l.Unseen, func(a, b unseen) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
}
