package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/plan/prune"
)

// pruneUnwanted plans the deletion of what is ours and no child wants: in reverse order of
// the graph, and never as long as some child may want it. Objects of a kind are
// safe as long as the name that some child of that kind wants is not known.
func (p *pruner) pruneUnwanted(ctx context.Context) {
	p.listQueries()
	(&inventoryPlanner{planner: p.planner}).enterAll()
	if p.inventory.Err != nil {
		p.blockers.Add(*p.inventoryProblem())
		p.suspended.NoteReason("the annotation "+v1alpha1.AnnotationChildren+" cannot be read", 0)
		return
	}
	p.reviewEntries()
	for _, w := range p.queries {
		if w.Names == nil {
			p.pruneLocation(w)
		}
	}
	p.candidates = prune.DropDuplicates(p.candidates)
	p.keepCandidates(ctx)
	p.addHiddenWaves()
	p.removeCandidates(p.graph.DependsFirst)
}

// keepCandidates takes out what its child keeps.
func (p *pruner) keepCandidates(ctx context.Context) {
	for _, c := range p.specs {
		if c.KeepWhen == nil {
			p.candidates = prune.KeepNewest(p.candidates, c)
			continue
		}
		why, asked := "", false
		left, uncertain := prune.KeepAsked(p.candidates, c, func(obj *unstructured.Unstructured) (stays, known bool) {
			if !asked {
				why, asked = p.unknownIn(c.KeepWhen), true
			}
			if why != "" {
				return true, false
			}
			stays, f := p.scope.AskKeepWhen(ctx, c, obj)
			if f != nil {
				why = fmt.Sprintf("keepWhen of child %q fails", c.ID)
				p.blockers.Add(*f.Problem())
			}
			return stays, f == nil
		})
		p.candidates = left
		if uncertain > 0 {
			p.suspended.NoteReason(why, uncertain)
			p.hidden = append(p.hidden, prune.Wave{Child: c, Rank: p.graph.RankOf(c.ID), Name: fmt.Sprintf("objects of child %q, which may be unwanted,", c.ID), Suspends: why})
		}
	}
}

// unknownIn says why something that an expression reads is not known; empty if all is.
func (p *pruner) unknownIn(x bindings.Expression) string {
	for _, name := range slices.Concat(x.FreeVariables(), x.AskedReady()) {
		if problem := p.watchProblem([]string{name}); problem != nil {
			return problem.Message
		}
		for _, v := range p.program.Variables {
			if problem := p.watchProblem(v.Watches); problem != nil && v.Name == name {
				return problem.Message
			}
		}
		if c := p.findChild(name); c != nil {
			switch problem := cmp.Or(p.blockedPlace(c), c.unseen); {
			case problem != nil:
				return unseenText(c.GVK, problem)
			case !c.hasKnownNames():
				return undecidedText(c)
			}
		}
	}
	return ""
}

// addHiddenWaves notes the children that may have unwanted objects of which nothing is known:
// what those depend on stays as long.
func (p *pruner) addHiddenWaves() {
	for i := range p.children {
		c := &p.children[i]
		w := prune.Wave{Child: c.Child, Rank: p.graph.RankOf(c.ID)}
		problem := p.blockedPlace(c)
		switch {
		case len(p.candidates) == 0:
			return
		case problem != nil:
			w.Name = fmt.Sprintf("objects of kind %s, which cannot be seen,", c.GVK.Kind)
			w.Suspends = unseenText(c.GVK, problem)
		case !c.hasKnownNames() && p.suspended.SuspendsKind(c.GVK):
			w.Name = fmt.Sprintf("objects of child %q, which may be unwanted,", c.ID)
			w.Suspends = undecidedText(c)
		default:
			continue
		}
		p.hidden = append(p.hidden, w)
	}
}

// pruneLocation finds what is left over in one place.
func (p *pruner) pruneLocation(w Query) {
	in := p.inputAt(w.Location, w.GVK)
	if in.Blocked != nil {
		return
	}
	waits := p.undecidedChild(w.GVK.GroupKind())
	for _, obj := range p.indexes.ObjectsIn(in.Objects, w.Namespace) {
		if obj.GetNamespace() != w.Namespace || p.isWanted(w.GVK, obj) || !p.isPrunable(w.GVK, obj) {
			continue
		}
		if waits != nil {
			p.suspendObject(w.GVK, obj, waits)
			continue
		}
		p.addCandidate(w.GVK, obj, nil)
	}
}

// suspendObject keeps an object because a child may want it, and says so once.
func (p *pruner) suspendObject(gvk schema.GroupVersionKind, obj *unstructured.Unstructured, waits *child) {
	if p.expected[obj.GetUID()] {
		p.suspended.SuspendUnseen(gvk)
		return
	}
	p.expected.addObject(obj)
	p.suspended.SuspendKind(waits.GVK, undecidedText(waits))
}

// checkProtection says why the deletion of the owner is held back; nil if it is not. The
// children are resolved for what expressions see of them.
func (p *reporter) checkProtection(ctx context.Context) *Problem {
	protect := p.program.Protect
	switch {
	case protect == nil:
		return nil
	case protect.While == nil:
		return &Problem{Reason: v1alpha1.ReasonProtected, Terminal: true,
			Message: "the policy does not compile, so that it cannot be said whether it still protects the owner: mend the policy, or run `ambit cleanup` with it"}
	}
	p.looks = true
	p.resolveChildren(ctx)
	p.forgetBlocked()
	p.forgetUnnamed()
	holds, f := bindings.Evaluate(&p.scope, "protect.while", protect.While, func() (bool, error) { return protect.While.EvalBool(ctx, p.scope.Vars) })
	switch unseen := p.evaluation.UnseenBy(protect.While); {
	case f != nil && unseen != nil:
		return &Problem{Reason: unseen.Reason, Denied: unseen.Denied, Terminal: unseen.Terminal,
			Message: "whether the owner is protected is not known: " + unseen.Message}
	case f != nil:
		return &Problem{Reason: v1alpha1.ReasonProtected, Message: "whether the owner is protected cannot be said: " + f.Text}
	case !holds:
		p.looks = false
		return nil
	}
	return &Problem{Reason: v1alpha1.ReasonProtected, Message: p.protectMessage(ctx)}
}

func (p *reporter) protectMessage(ctx context.Context) string {
	message := "the owner is protected as long as " + problems.OneLine(p.program.Protect.While.Source())
	if f := p.evaluation.EvaluateText(ctx, "protect.message", p.program.Protect.Message, &message); f != nil {
		return message + " (" + f.Text + ")"
	}
	return message
}

// protectedPlan leaves everything as it is, and says why.
func (p *reporter) protectedPlan(ctx context.Context, problem *Problem) *Plan {
	p.listQueries()
	p.blockers.Add(*problem)
	return p.sayCleanup(ctx, &Plan{Partial: true, Queries: p.queries, Children: p.childStates()})
}
