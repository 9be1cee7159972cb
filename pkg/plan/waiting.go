package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// waitingViewer lets status and conditions see what is there of children that wait.
type waitingViewer struct{ *planner }

// showWaitingChildren shows each child that waits, after those it depends on.
func (p *waitingViewer) showWaitingChildren(ctx context.Context) {
	for i := range p.children {
		if c := &p.children[i]; c.state.State == Waiting {
			p.showWaiting(ctx, c)
		}
	}
}

// showWaiting lets status and conditions see what is there of a child that waits, as far as the others that
// are there say how it is named: that one is rolled out takes nothing out of the owner's status. It comes
// last, so that no other child sees it.
func (p *waitingViewer) showWaiting(ctx context.Context, waiting *child) {
	if !p.isSeen(waiting.Child) {
		return
	}
	defer func(before renderedSize) { p.rendered = before }(p.rendered)
	c := &child{Child: waiting.Child}
	if c.When != nil {
		if wanted, err := c.When.EvalBool(ctx, p.scope.Vars); err != nil || !wanted {
			return
		}
	}
	if !p.listElements(ctx, c) {
		return
	}
	for i := range c.instances {
		it := &c.instances[i]
		if !p.renderInstance(ctx, c, it) {
			continue
		}
		if p.findLive(c, it); it.live != nil {
			p.expected.addObject(it.live)
		}
		if in, isObserved := p.snapshot.Children[it.at]; isObserved && in.Blocked != nil {
			waiting.unseen = in.Blocked
		}
	}
	p.bindLive(c)
}

// isSeen reports whether there is, or may be, an object in the places of a child that were looked at.
func (p *waitingViewer) isSeen(c *policy.Child) bool {
	for at, in := range p.snapshot.Children {
		if at.Child == c.ID && (len(in.Objects) > 0 || in.Blocked != nil) {
			return true
		}
	}
	return false
}

// objectSet are objects, by uid. The zero value is empty.
type objectSet map[types.UID]bool

func (s *objectSet) addObject(obj *unstructured.Unstructured) {
	if *s == nil {
		*s = objectSet{}
	}
	(*s)[obj.GetUID()] = true
}
