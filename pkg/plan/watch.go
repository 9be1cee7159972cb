package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// readWatches binds each watch to its list; one that has a problem is bound to
// the empty list, and taken out before anything is said of it.
func (p *planner) readWatches(ctx context.Context) {
	p.watchProblems = make([]*Problem, len(p.program.Watches))
	for i, w := range p.program.Watches {
		list, problem := p.readWatch(ctx, w)
		if list == nil {
			list = []any{}
		}
		p.scope.vars[w.ID], p.watchProblems[i] = list, problem
	}
	for _, v := range p.program.Variables {
		if len(v.Watches) > 0 {
			p.bindWatching(ctx, v)
		}
	}
}

// bindWatching binds a variable that reads watches. While one of these has a problem,
// the variable has no value.
func (p *planner) bindWatching(ctx context.Context, v policy.Variable) {
	if problem := p.watchProblem(v.Watches); problem != nil {
		p.scope.failVariable(v.Name, &failure{text: problem.Message, missing: true})
		return
	}
	p.scope.bindVariable(ctx, v)
}

// watchProblem returns why one of some watches has nothing to show; nil if all have.
func (p *planner) watchProblem(ids []string) *Problem {
	if len(ids) == 0 {
		return nil
	}
	for i, w := range p.program.Watches {
		if p.watchProblems[i] != nil && slices.Contains(ids, w.ID) {
			return p.watchProblems[i]
		}
	}
	return nil
}

// readWatch returns the objects of a watch, sorted by namespace and name.
func (p *planner) readWatch(ctx context.Context, w *policy.Watch) ([]any, *Problem) {
	in := inputOf(p.snapshot.Watches, w.ID, w.ID)
	if in.Blocked != nil {
		return nil, in.Blocked
	}
	selector, err := w.Selector.For(ctx, p.scope.vars)
	if err != nil {
		return nil, p.scope.selectorProblem(w, err)
	}
	filter := p.scope.watchFilter(ctx, w)
	list := make([]any, 0, len(in.Objects))
	for _, obj := range sorted(in.Objects) {
		if !selector.Matches(labelsOf(obj)) {
			continue
		}
		wanted, f := filter(obj)
		if f != nil {
			return nil, f.problem()
		}
		if wanted {
			list = append(list, obj.Object)
		}
	}
	return list, nil
}

// selectorProblem blames the variable that failed, if one did: the selector does
// not say which it reads.
func (s *scope) selectorProblem(w *policy.Watch, err error) *Problem {
	for _, v := range s.program.Variables {
		if f, ok := s.failed[v.Name]; ok {
			return f.problem()
		}
	}
	return s.fail("watches."+w.ID+".selector", err).problem()
}

// watchFilter returns the watch's filter as a function. An object that lacks a field
// which the filter reads is not selected.
func (s *scope) watchFilter(ctx context.Context, w *policy.Watch) func(*unstructured.Unstructured) (bool, *failure) {
	if w.Filter == nil {
		return func(*unstructured.Unstructured) (bool, *failure) { return true, nil }
	}
	vars := cel.Activation{"owner": s.vars["owner"]}
	return func(obj *unstructured.Unstructured) (bool, *failure) {
		vars["object"] = obj.Object
		wanted, err := w.Filter.EvalBool(ctx, vars)
		if err == nil {
			return wanted, nil
		}
		f := s.fail("watches."+w.ID+".filter", fmt.Errorf("for %s %q: %w", obj.GetKind(), obj.GetName(), err))
		if f.missing {
			return false, nil
		}
		return false, f
	}
}

// sorted returns the objects by namespace and name; the given slice if it is so
// already.
func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	byName := func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()),
			cmp.Compare(a.GetUID(), b.GetUID()))
	}
	if slices.IsSortedFunc(objects, byName) {
		return objects
	}
	objects = slices.Clone(objects)
	slices.SortFunc(objects, byName)
	return objects
}

// labelView reads the labels of an object where they are.
type labelView map[string]any

var _ labels.Labels = labelView(nil)

func labelsOf(obj *unstructured.Unstructured) labelView {
	m, _ := field(obj.Object, "metadata", "labels").(map[string]any)
	return m
}

// Has implements labels.Labels.
func (l labelView) Has(label string) bool { _, ok := l.Lookup(label); return ok }

// Get implements labels.Labels.
func (l labelView) Get(label string) string { s, _ := l.Lookup(label); return s }

// Lookup implements labels.Labels.
func (l labelView) Lookup(label string) (string, bool) { s, ok := l[label].(string); return s, ok }
