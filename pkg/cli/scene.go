package cli

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// placeholderUID is the uid of an owner whose file has none.
const placeholderUID = "00000000-0000-0000-0000-000000000000"

// scene is what there is in the cluster: the owner and the observed objects, made
// complete.
type scene struct {
	program *policy.Program
	kinds   definedKinds
	owner   *unstructured.Unstructured
	byKind  map[schema.GroupVersionKind][]*unstructured.Unstructured
}

// newScene completes what the files of a pass leave out.
func newScene(p pass) *scene {
	s := &scene{
		program: p.program, kinds: p.kinds, owner: p.owner.DeepCopy(),
		byKind: map[schema.GroupVersionKind][]*unstructured.Unstructured{},
	}
	if s.owner.GetNamespace() == "" && s.kinds.isSurelyNamespaced(s.owner.GroupVersionKind()) {
		s.owner.SetNamespace("default")
	}
	tie := newTies(s)
	for number, object := range p.observed {
		object = object.DeepCopy()
		gvk := object.GroupVersionKind()
		switch {
		case !s.kinds.isNamespaced(gvk):
			object.SetNamespace("")
		case object.GetNamespace() == "":
			object.SetNamespace(s.owner.GetNamespace())
		}
		tie.complete(object, number)
		s.byKind[gvk] = append(s.byKind[gvk], object)
	}
	tie.record()
	return s
}

// completeOwner returns the owner as an API server would have it: with a uid, a
// generation, and the namespace if it has none of its own.
func completeOwner(owner *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	owner = owner.DeepCopy()
	if owner.GetUID() == "" {
		owner.SetUID(placeholderUID)
	}
	if owner.GetGeneration() == 0 {
		owner.SetGeneration(1)
	}
	if owner.GetNamespace() == "" {
		owner.SetNamespace(namespace)
	}
	return owner
}

// unserved says why the policy does not work on the owner, "" if it does, and then
// whether it removes what is there of it.
func (s *scene) unserved(ctx context.Context) (why string, retire bool) {
	held := slices.Contains(s.owner.GetFinalizers(), v1alpha1.FinalizerCleanup) && inventory.IsMarked(s.program.Name, s.owner)
	if held && s.owner.GetDeletionTimestamp() != nil && !s.program.Suspend {
		return "", false
	}
	if why = unserved(ctx, s.program, s.owner); why == "" {
		why = s.unselected()
	}
	return why, why != "" && (s.program.Retire || !s.program.Suspend) && !s.filterFails(ctx)
}

// unselected says why the labels of the owner's namespace keep it out of the scope; ""
// if they do not.
func (s *scene) unselected() string {
	namespace, selector := homeOf(s.owner), s.program.NamespaceSelector
	if namespace == "" || selector == nil || slices.Contains(s.program.Namespaces, namespace) {
		return ""
	}
	for _, object := range append(s.byKind[namespaceKind()], s.owner) {
		is := object.GroupVersionKind() == namespaceKind() && object.GetName() == namespace
		if is && selector.Matches(labels.Set(object.GetLabels())) {
			return ""
		}
	}
	return fmt.Sprintf("its scope does not have namespace %q: no Namespace of that name with %s is observed", namespace, selector)
}

// filterFails says whether it is not known what the filter thinks of the owner.
func (s *scene) filterFails(ctx context.Context) bool {
	if s.program.Owner.Filter == nil {
		return false
	}
	_, err := s.program.Owner.Filter.EvalBool(ctx, cel.Activation{"object": s.owner.Object})
	return err != nil && !cel.IsNoSuchKey(err)
}

func namespaceKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
}

// homeOf is the namespace by which an owner is in a scope: of a Namespace itself.
func homeOf(owner *unstructured.Unstructured) string {
	if owner.GroupVersionKind() == namespaceKind() {
		return owner.GetName()
	}
	return owner.GetNamespace()
}

// unserved says why the policy does not work on the owner, "" if it does, as far as
// owner and policy tell: the labels of its namespace are not looked at.
func unserved(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) string {
	namespace := homeOf(owner)
	unlisted := len(program.Namespaces) > 0 && program.NamespaceSelector == nil && !slices.Contains(program.Namespaces, namespace)
	switch {
	case program.Retire:
		return "it is retired"
	case program.Suspend:
		return "it is suspended"
	case namespace != "" && slices.Contains(program.Exclude, namespace):
		return fmt.Sprintf("it excludes namespace %q", namespace)
	case namespace != "" && unlisted:
		return fmt.Sprintf("its scope does not have namespace %q", namespace)
	case !program.Owner.Selector.Matches(labels.Set(owner.GetLabels())):
		return fmt.Sprintf("the owner's labels do not match %s", program.Owner.Selector)
	case program.Owner.Filter == nil:
		return ""
	}
	switch serves, err := program.Owner.Filter.EvalBool(ctx, cel.Activation{"object": owner.Object}); {
	case err != nil:
		return fmt.Sprintf("its filter fails: %v", err)
	case !serves:
		return "its filter is false"
	}
	return ""
}

// at returns what is observed in a place: the named objects, or all of the kind. The
// planner finds those that are the owner's.
func (s *scene) at(want plan.Query) plan.Input {
	var in plan.Input
	for _, object := range s.byKind[want.GVK] {
		named := slices.Contains(want.Names, object.GetName())
		if object.GetNamespace() == want.Namespace && (want.Names == nil || named) {
			in.Objects = append(in.Objects, object)
		}
	}
	return in
}

// ensure plans for the objects of the policy itself; nil if it has none.
func (s *scene) ensure(ctx context.Context) *plan.Plan {
	if len(s.program.Ensured) == 0 {
		return nil
	}
	snapshot := plan.Snapshot{Namespaced: s.namespaced(), Children: map[plan.Location]plan.Input{}, Claim: placeholderClaim, Unmanaged: true}
	var planned *plan.Plan
	for range maxRounds {
		planned = plan.Ensure(ctx, s.program, snapshot)
		news := false
		for _, want := range planned.Queries {
			if _, known := snapshot.Children[want.Location]; !known {
				snapshot.Children[want.Location], news = s.at(want), true
			}
		}
		if !news {
			break
		}
	}
	return planned
}

// byLabels are the labels of a child of the owner.
func (s *scene) byLabels() map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
		v1alpha1.LabelPolicy:    s.program.Name,
		v1alpha1.LabelOwnerUID:  string(s.owner.GetUID()),
	}
}
