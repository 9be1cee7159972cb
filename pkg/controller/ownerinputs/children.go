package ownerinputs

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// childQuery is a place to look for objects of a child in.
type childQuery struct {
	plan.Query
	kind      discovery.Resource
	elsewhere bool // not in the owner's own place, or not known to be
	merged    bool
	wide      bool // better watched in all namespaces together, if that is permitted
}

// IsElsewhere reports whether only a plan says where the objects of a child are.
func IsElsewhere(child *policy.Child) bool {
	return child.CrossNamespace || child.Existing == v1alpha1.ExistingMerge
}

// addChildQuery adds one place of a child, or of what is left of one that the policy does not have any
// more: nil.
func (l *layout) addChildQuery(query plan.Query, child *policy.Child) {
	if _, found := l.children[query.Location]; found {
		return
	}
	found, problem := l.resolveKind(query.GVK, l.cleans || child == nil)
	if problem != nil {
		l.children[query.Location] = source{problem: problem}
		return
	}
	l.kinds.namespaced[query.GVK] = found.Namespaced
	if l.subject.Owner != nil && found.Namespaced != (query.Namespace != "") {
		l.children[query.Location] = source{} // nothing can be there, whatever a record says
		return
	}
	q := childQuery{Query: query, kind: found, merged: query.Names != nil && l.subject.Owner != nil}
	q.elsewhere = child == nil || l.subject.Owner == nil || child.CrossNamespace || l.isOtherNamespace(query.Namespace, found)
	l.childQueries = append(l.childQueries, q)
	l.children[query.Location] = source{} // until its streams are opened
	switch {
	case !q.elsewhere:
	case child == nil:
		l.uses.AddUse(query.Namespace, placeuses.Use{Kind: query.GVK, Released: q.merged})
	default:
		l.uses.AddUse(query.Namespace, placeuses.Use{Part: child.ID})
	}
}

// isOtherNamespace reports whether objects of a kind in a namespace are not in the owner's own place. A
// child that may only be there can be elsewhere by the owner's record.
func (l *layout) isOtherNamespace(namespace string, found discovery.Resource) bool {
	if l.IsClusterScoped() {
		return false
	}
	return !found.Namespaced || namespace != l.subject.ownNamespace()
}

// findSpreadChildren finds the children that are better watched in all namespaces together.
func (l *layout) findSpreadChildren() {
	if l.subject.Owner == nil || l.Program.Informers == v1alpha1.InformersNamespace || l.Program.Informers == v1alpha1.InformersOwner {
		return
	}
	places := map[string]int{} // of this owner, by child
	for _, q := range l.childQueries {
		places[q.Child]++
	}
	together := l.watchesTogether()
	for i := range l.childQueries {
		q := &l.childQueries[i]
		if !q.kind.Namespaced || q.merged {
			continue
		}
		if together && !q.elsewhere {
			q.wide = true // it is asked about already
			continue
		}
		child := policy.FindChild(l.plannedChildren(), q.Child)
		if !l.isSpread(child, places[q.Child]) {
			continue
		}
		q.wide = true
		if child == nil {
			l.uses.AddUse(allNamespaces, placeuses.Use{Kind: q.GVK, Optional: true})
		} else {
			l.uses.AddUse(allNamespaces, placeuses.Use{Part: child.ID, Optional: true})
		}
	}
}

// watchesTogether reports whether children in their owners' own namespaces are watched in all namespaces together:
// there are many, and all that the policy needs is permitted in all of them.
func (l *layout) watchesTogether() bool {
	if l.Program.Informers == v1alpha1.InformersCluster || !l.subject.IsSpread {
		return false
	}
	everything, ok := l.Permissions.HaveEverything()
	return ok && everything == l.subject.Home
}

// isSpread reports whether the objects of a child, of which this owner has so many places, are in many
// namespaces; nil: of one that the policy does not have any more. What is only in this owner's record
// says nothing about the other owners.
func (l *layout) isSpread(child *policy.Child, places int) bool {
	switch {
	case child != nil && l.Program.Informers == v1alpha1.InformersCluster:
		return true
	case child == nil || !child.CrossNamespace || places > owners.WideSpread:
		return places > owners.WideSpread
	}
	return l.Permissions.UsesIndex().CountPlaces(child.ID) > owners.WideSpread
}

// kindAt is a kind in a place: its children share an interest.
type kindAt struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// openChildQueries adds the streams of children: one for those of a kind and place, or of a kind in all
// namespaces.
func (l *layout) openChildQueries() {
	shared := make(map[kindAt]source, len(l.childQueries))
	for _, q := range l.childQueries {
		wide := q.wide && l.mayWatchAll(q.kind)
		namespace := q.Namespace
		if wide {
			namespace = allNamespaces
		}
		if problem := l.inputs.PermissionsAt(namespace).Own.ProblemFor(q.kind.GVR.GroupResource(), "", "list", "watch"); problem != nil {
			l.children[q.Location] = source{problem: problem}
			continue
		}
		if q.Names != nil {
			l.children[q.Location] = l.openNames(q)
			continue
		}
		key := kindAt{q.GVK, namespace}
		from, ok := shared[key]
		if !ok {
			from = l.addInterest(l.childInterest(q, namespace))
			shared[key] = from
		}
		from.wide = wide
		l.children[q.Location] = from
	}
}

// childInterest is the stream of all children that the policy has of a kind in a place, and of it this
// owner's; all of it for what is ensured.
func (l *layout) childInterest(q childQuery, namespace string) informer.Interest {
	interest := l.interestIn(q, namespace)
	interest.Key.LabelSelector = l.projections.ours
	if l.subject.Owner == nil {
		return interest
	}
	uid := string(l.subject.Owner.GetUID())
	if l.Program.Informers == v1alpha1.InformersOwner {
		interest.Key.LabelSelector = labels.Set{v1alpha1.LabelPolicy: l.Program.Label, v1alpha1.LabelOwnerUID: uid}.String()
		return interest
	}
	interest.IndexLabel, interest.IndexValue = v1alpha1.LabelOwnerUID, uid
	return interest
}

// interestIn is the stream of all objects of a child's kind in a namespace.
func (l *layout) interestIn(q childQuery, namespace string) informer.Interest {
	p := l.projections.childProjection(q.GVK)
	return informer.Interest{
		Key:    informer.Key{Identity: l.Identity, GVR: q.kind.GVR, Namespace: namespace, Form: p.Form},
		Fields: p.Fields,
	}
}

// openNames adds objects by name: a few by a stream each, many by one that all who need such objects
// share.
func (l *layout) openNames(q childQuery) source {
	interest := l.interestIn(q, q.Namespace)
	if len(q.Names) > owners.ExactStreams || l.subject.SharesStreams {
		interest.Names = q.Names
		return l.addInterest(interest)
	}
	from := l.countInterests()
	for _, name := range q.Names {
		one := interest
		one.Key.FieldSelector = ByName(name)
		l.inputs.interests = append(l.inputs.interests, one)
	}
	return source{from: from, to: l.countInterests()}
}

// ByName returns the field selector of one object.
func ByName(name string) string { return "metadata.name=" + name }

func (l *layout) addInterest(interest informer.Interest) source {
	l.inputs.interests = append(l.inputs.interests, interest)
	return source{from: l.countInterests() - 1, to: l.countInterests()}
}

func (l *layout) countInterests() int32 { return int32(len(l.inputs.interests)) }

// Probe is how to look for children of an owner that is not wanted.
type Probe struct {
	Interests []informer.Interest
	// Wait is how long to wait until it is known what is permitted; 0: it is known.
	Wait time.Duration
	// Blind are the permissions under which not all of it may be looked at; nil: all may.
	Blind *permissionset.Set
}

// PlanProbe returns the streams to look at for children that an ownerReference ties to an owner, in its
// own place: where they are permitted, and those of all namespaces where everything is.
func (p *Planner) PlanProbe(ctx context.Context, subject Subject) (probe Probe) {
	_, all := p.Permissions.HaveEverything()
	l := p.newLayout(subject)
	l.cleans = true
	l.findQueries(ctx, plan.Snapshot{Owner: subject.Owner, Retire: true})
	for _, q := range l.childQueries {
		if !q.elsewhere {
			l.uses.AddUse(q.Namespace, placeuses.Use{Part: q.Child, Optional: true})
		}
	}
	if !all {
		p.Permissions.SetUses(subject.Name, l.uses)
	}
	for _, q := range l.childQueries {
		place := q.Namespace
		if all {
			place = allNamespaces
		}
		answer, pending := p.Permissions.ForUse(q.Namespace)
		switch {
		case q.elsewhere:
		case pending > 0:
			probe.Wait = max(probe.Wait, pending)
		case answer.MayWatch(q.kind.GVR.GroupResource()):
			probe.Interests = append(probe.Interests, l.childInterest(q, place))
		default:
			probe.Blind = answer
		}
	}
	return probe
}
