package plan

import (
	"context"
	"slices"

	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
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
		p.scope.Vars[w.ID], p.watchProblems[i] = list, problem
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
		p.scope.FailVariable(v.Name, &bindings.Failure{Text: problem.Message, IsMissing: true})
		return
	}
	p.scope.BindVariable(ctx, v)
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
	selector, err := w.Selector.ForOwner(ctx, p.scope.Vars)
	if err != nil {
		return nil, p.scope.SelectorProblem(w, err)
	}
	filter := p.scope.WatchFilter(ctx, w)
	list := make([]any, 0, len(in.Objects))
	for _, obj := range objectmeta.SortedByName(in.Objects) {
		if !selector.Matches(objectmeta.LabelsOf(obj)) {
			continue
		}
		wanted, f := filter(obj)
		if f != nil {
			return nil, f.Problem()
		}
		if wanted {
			list = append(list, obj.Object)
		}
	}
	return list, nil
}
