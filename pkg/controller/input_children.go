package controller

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// kindAt is a kind in a place: its children share a need.
type kindAt struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// openChildQueries needs the streams of children: one for those of a kind and place, or of
// a kind in all namespaces.
func (l *inputPlanner) openChildQueries() {
	shared := make(map[kindAt]inputSource, len(l.childQueries))
	for _, s := range l.childQueries {
		wide := s.wide && l.mayWatchAll(s.kind)
		namespace := s.Namespace
		if wide {
			namespace = allNamespaces
		}
		if problem := l.s.permissionsAt(namespace).own.ProblemFor(s.kind.GVR.GroupResource(), "", "list", "watch"); problem != nil {
			l.s.children[s.Location] = inputSource{problem: problem}
			continue
		}
		if s.Names != nil {
			l.s.children[s.Location] = l.openNames(s)
			continue
		}
		key := kindAt{s.GVK, namespace}
		at, ok := shared[key]
		if !ok {
			at = l.addInterest(l.childInterest(s, namespace))
			shared[key] = at
		}
		at.wide = wide
		l.s.children[s.Location] = at
	}
}

// childInterest needs the stream of all children that the policy has of a kind in a place,
// and of it this owner's; all of it for what is ensured.
func (l *inputPlanner) childInterest(s childQuery, namespace string) informer.Interest {
	p := l.projectionOf(s.GVK)
	need := informer.Interest{
		Key:    informer.Key{Identity: l.identity, GVR: s.kind.GVR, Namespace: namespace, LabelSelector: l.projections.ours, Form: p.form},
		Fields: p.fields,
	}
	if l.owner == nil {
		return need
	}
	if l.program.Informers == v1alpha1.InformersOwner {
		need.Key.LabelSelector = labels.Set{v1alpha1.LabelPolicy: l.program.Name, v1alpha1.LabelOwnerUID: string(l.owner.GetUID())}.String()
		return need
	}
	need.IndexLabel, need.IndexValue = v1alpha1.LabelOwnerUID, string(l.owner.GetUID())
	return need
}

// openNames needs objects by name: a few by a stream each, many by one that all who
// need such objects share.
func (l *inputPlanner) openNames(s childQuery) inputSource {
	p := l.projectionOf(s.GVK)
	need := informer.Interest{
		Key:    informer.Key{Identity: l.identity, GVR: s.kind.GVR, Namespace: s.Namespace, Form: p.form},
		Fields: p.fields,
	}
	if len(s.Names) > owners.ExactStreams || l.s.shared {
		need.Names = s.Names
		return l.addInterest(need)
	}
	from := len(l.s.needs)
	for _, name := range s.Names {
		one := need
		one.Key.FieldSelector = byName(name)
		l.s.needs = append(l.s.needs, one)
	}
	return inputSource{from: from, to: len(l.s.needs)}
}

// byName is a field selector.
func byName(name string) string { return "metadata.name=" + name }

func (l *inputPlanner) addInterest(need informer.Interest) inputSource {
	l.s.needs = append(l.s.needs, need)
	return inputSource{from: len(l.s.needs) - 1, to: len(l.s.needs)}
}

// projectionOf says what is kept of the objects of a kind. Of one that the policy does not
// have any more it is what proves whose they are.
func (op *policyController) projectionOf(gvk schema.GroupVersionKind) projection {
	if p, ok := op.projections.children[gvk]; ok {
		return p
	}
	p := newProjection(plan.ObservedFields(&policy.Child{GVK: gvk}))
	p.form.Manager = op.manager
	return p
}
