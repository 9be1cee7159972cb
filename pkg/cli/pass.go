package cli

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// pass is what `ambit run` does with an owner until something is to be written to a
// child, where the observed objects are all that there is.
type pass struct {
	program *policy.Program
	// owner is complete. It is not changed, nor is what is observed.
	owner    *unstructured.Unstructured
	observed []*unstructured.Unstructured
	// kinds say which kinds have namespaces.
	kinds definedKinds
}

// rendering is what came of a pass.
type rendering struct {
	program *policy.Program
	// snapshot is what the plan was made of, with what mark says in its owner.
	snapshot plan.Snapshot
	plan     *plan.Plan
	// mark is what was written to the owner's metadata before; nil for nothing. bare is
	// the owner without.
	mark *plan.OwnerMetadata
	bare *unstructured.Unstructured
	// ensured is the plan for the objects of the policy itself; nil if it has none.
	ensured *plan.Plan
	// alone says why the policy does not work on the owner; "" if it does. The plan
	// is empty then.
	alone string
}

// placeholderClaim is the claim of an owner that has none.
const placeholderClaim = "00000000000000000000000000000000"

// maxRounds is how often a pass plans at most. Each round but the last comes to
// know of a place or writes to the owner, in the order of the children.
const maxRounds = 100

// run is the pass.
func (p pass) run(ctx context.Context) rendering {
	s := newScene(p)
	r := rendering{program: p.program, snapshot: plan.Snapshot{Owner: s.owner}, bare: s.owner, plan: &plan.Plan{}}
	alone, retire := s.unserved(ctx)
	if alone != "" && !retire {
		r.alone = alone
		return r
	}
	r.snapshot = plan.Snapshot{
		Owner: s.owner, Namespaced: s.namespaced(), Children: map[plan.Location]plan.Input{}, Watches: s.watches(ctx),
		Retire: retire, Claim: placeholderClaim, Unmanaged: true,
	}
	for range maxRounds {
		r.plan = plan.Make(ctx, p.program, r.snapshot)
		if !r.goOn(s) {
			break
		}
	}
	if retire && len(r.plan.Actions) == 0 && r.mark == nil {
		r.alone, r.plan = alone, &plan.Plan{}
		return r
	}
	r.ensured = s.ensure(ctx)
	return r
}

// goOn brings to the snapshot what the plan asks for; false if it has all of it.
func (r *rendering) goOn(s *scene) bool {
	news := false
	for _, want := range r.plan.Queries {
		if _, known := r.snapshot.Children[want.Location]; !known || want.Names != nil {
			next := s.at(want)
			news = news || !known || len(next.Objects) != len(r.snapshot.Children[want.Location].Objects)
			r.snapshot.Children[want.Location] = next
		}
	}
	if r.plan.OwnerMetadata != nil && (r.mark == nil || *r.mark != *r.plan.OwnerMetadata) {
		r.mark, news = r.plan.OwnerMetadata, true
		r.snapshot.Owner = marked(r.snapshot.Owner, *r.mark)
	}
	return news
}

// marked returns the owner with what the mark says.
func marked(owner *unstructured.Unstructured, mark plan.OwnerMetadata) *unstructured.Unstructured {
	owner = owner.DeepCopy()
	finalizers := slices.DeleteFunc(owner.GetFinalizers(), func(f string) bool { return f == v1alpha1.FinalizerCleanup })
	if mark.Finalizer {
		finalizers = append(finalizers, v1alpha1.FinalizerCleanup)
	}
	owner.SetFinalizers(finalizers)
	annotate(owner, v1alpha1.AnnotationChildren, mark.Children)
	return owner
}

// annotate sets an annotation; "" takes it away.
func annotate(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	object.SetAnnotations(annotations)
}

// namespaced says of the kinds of children whether they have namespaces.
func (s *scene) namespaced() map[schema.GroupVersionKind]bool {
	found := map[schema.GroupVersionKind]bool{}
	for _, child := range slices.Concat(s.program.Children, s.program.Ensured) {
		found[child.GVK] = s.kinds.isNamespaced(child.GVK)
	}
	return found
}
