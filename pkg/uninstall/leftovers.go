package uninstall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Leftovers is what Scan.FindLeftovers has found, sorted. Its JSON is what
// `ambit leftovers -o json` prints, and is stable.
type Leftovers struct {
	Findings []Finding `json:"leftovers"`
	Unseen   []Unseen  `json:"unseen"`
}

// Unseen is something that could not be looked at.
type Unseen struct {
	// Group and Resource are those of the resource. An empty Resource stands for the whole
	// group, and the Resource * without a group for what the record of an owner names.
	Group    string `json:"group"`
	Resource string `json:"resource"`
	Why      string `json:"why"`

	// Denied reports whether the caller may not list it.
	Denied bool `json:"-"`
}

// FindLeftovers returns what would be stuck or left behind if Ambit were gone: of the given
// policies, or of every policy if programs is nil. With Namespaces it leaves out what is in
// no namespace. What cannot be listed is Unseen; the error is that of ctx, of discovery,
// or of the mapper.
func (s *Scan) FindLeftovers(ctx context.Context, programs []*policy.Program) (Leftovers, error) {
	l := &leftoverSearch{Scan: s, programs: programs, listed: map[schema.GroupKind]bool{}, uids: map[types.UID]bool{}, records: ownerRecords{}}
	for _, kindsOf := range []func() ([]listedKind, error){l.policyKinds, l.recordedKinds} {
		kinds, err := kindsOf()
		if err != nil {
			return Leftovers{}, err
		}
		if err := l.listAll(ctx, kinds); err != nil {
			return Leftovers{}, err
		}
	}
	l.records.explainChildren(l.found.Findings)
	l.found.sortFindings()
	return l.found, nil
}

func (l *Leftovers) sortFindings() {
	slices.SortFunc(l.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Policy, b.Policy))
	})
	slices.SortFunc(l.Unseen, func(a, b Unseen) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
}

// leftoverSearch is one call of Scan.FindLeftovers.
type leftoverSearch struct {
	*Scan
	programs []*policy.Program
	listed   map[schema.GroupKind]bool
	uids     map[types.UID]bool
	records  ownerRecords
	found    Leftovers
}

func (l *leftoverSearch) isListed(kind schema.GroupKind) bool { return l.listed[kind] }

// policyKinds returns the kinds of the policies, or all that the cluster serves.
func (l *leftoverSearch) policyKinds() ([]listedKind, error) {
	if l.programs == nil {
		return l.servedKinds(func(schema.GroupKind) bool { return true })
	}
	kinds := []schema.GroupVersionKind{v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)}
	for _, program := range l.programs {
		kinds = append(kinds, program.Owner.GVK)
		for _, child := range slices.Concat(program.Children, program.Ensured) {
			kinds = append(kinds, child.GVK)
		}
	}
	var found []listedKind
	for _, gvk := range kinds {
		if l.listed[gvk.GroupKind()] {
			continue
		}
		l.listed[gvk.GroupKind()] = true
		kind, served, err := l.lookUp(gvk)
		if err != nil {
			return nil, err
		}
		if served {
			found = append(found, kind)
		}
	}
	return found, nil
}

// recordedKinds returns the kinds that only records name, as far as they are served and
// not too many; what is left out is noted. It takes one discovery, however many they are.
func (l *leftoverSearch) recordedKinds() ([]listedKind, error) {
	kinds, more := l.records.unlistedKinds(l.isListed)
	if more > 0 {
		l.leaveOut(fmt.Sprintf("%d more kinds that only records of owners name are left out: %d are looked at", more, len(kinds)))
	}
	if len(kinds) == 0 || l.programs == nil { // without policies every served kind is listed
		return nil, nil
	}
	return l.servedKinds(func(kind schema.GroupKind) bool { return slices.Contains(kinds, kind) })
}

// leaveOut notes what is not looked at, because a record says too much.
func (l *leftoverSearch) leaveOut(why string) {
	l.found.Unseen = append(l.found.Unseen, Unseen{Resource: "*", Why: why})
}

// servedKinds returns the wanted kinds that the cluster serves and lists, but for those
// that are listed already.
func (l *leftoverSearch) servedKinds(isWanted func(schema.GroupKind) bool) ([]listedKind, error) {
	lists, err := l.Discovery.ServerPreferredResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return nil, fmt.Errorf("asking which kinds the cluster serves: %w", err)
	}
	if partly != nil {
		for version, reason := range partly.Groups {
			l.found.Unseen = append(l.found.Unseen, Unseen{Group: version.Group, Why: reason.Error()})
		}
	}
	var found []listedKind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("asking which kinds the cluster serves: %w", err)
		}
		for _, r := range list.APIResources {
			if gvk := version.WithKind(r.Kind); slices.Contains(r.Verbs, "list") && isWanted(gvk.GroupKind()) && !l.listed[gvk.GroupKind()] {
				l.listed[gvk.GroupKind()] = true
				found = append(found, listedKind{gvk, r.Name, r.Namespaced})
			}
		}
	}
	return found, nil
}

// listAll takes each object of the kinds, one kind after the other. What cannot be listed
// is noted; the error is that of a context that has ended.
func (l *leftoverSearch) listAll(ctx context.Context, kinds []listedKind) error {
	for i, kind := range kinds {
		if l.Progress != nil {
			l.Progress(i, len(kinds))
		}
		if len(l.Namespaces) > 0 && !kind.namespaced {
			continue
		}
		failed := l.listObjects(ctx, kind, "", func(object *metav1.PartialObjectMetadata) { l.takeObject(kind.gvk, object) })
		if ctx.Err() != nil {
			return fmt.Errorf("listing %s: %w", kind.groupResource(), ctx.Err())
		}
		for _, err := range failed {
			l.found.Unseen = append(l.found.Unseen, Unseen{Group: kind.gvk.Group, Resource: kind.resource, Why: err.Error(), Denied: apierrors.IsForbidden(err)})
		}
	}
	return nil
}

// takeObject notes what is found of an object, once: some kinds are served by two groups.
func (l *leftoverSearch) takeObject(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) {
	found := slices.DeleteFunc(findingsOf(gvk, object), func(f Finding) bool { return f.Type == typeOwned || !l.isAbout(gvk.GroupKind(), f) })
	if len(found) == 0 || object.UID != "" && l.uids[object.UID] {
		return
	}
	l.uids[object.UID] = true
	l.found.Findings = append(l.found.Findings, found...)
	if why := l.records.addRecord(gvk, object, l.isListed); why != "" {
		l.leaveOut(why)
	}
}

// isAbout reports whether a finding is about one of the policies. If it does not say whose
// it is, only the kind tells.
func (l *leftoverSearch) isAbout(kind schema.GroupKind, f Finding) bool {
	return l.programs == nil || slices.ContainsFunc(l.programs, func(p *policy.Program) bool {
		return p.Label == f.Policy || f.Policy == "" && p.Owner.GVK.GroupKind() == kind
	})
}
