package permitted

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Query is what one user wants to watch, and as whom. It must not change any more.
type Query struct {
	// Identity is whose permissions count. Empty is Ambit's own.
	Identity string
	// Namespace is the only one to watch in. Empty is all of them, or a cluster-scoped resource.
	Namespace string
	// Resources are watched together, or none of them is.
	Resources []schema.GroupVersionResource
	// Name is that of the only object to watch. Empty is all objects that LabelSelector selects;
	// an empty selector selects all.
	Name, LabelSelector string
	// Fields is what is kept of each object. Nil is metadata only.
	Fields *fields.Set
	// Versions: each change of an object counts, also of what is not kept of it.
	Versions bool
	// Verbs have to be allowed as well as list and watch.
	Verbs []string
	// TryUndecided: see the package.
	TryUndecided bool
	// Payer is on whose account reviews are sent.
	Payer access.Payer
}

// requiredAccess returns what has to be allowed.
func (q Query) requiredAccess() (list []access.Access) {
	for _, resource := range q.Resources {
		for _, verb := range q.Verbs {
			list = append(list, q.accessTo(resource, verb))
		}
		list = append(list, q.readAccess(resource)...)
	}
	return list
}

// readAccess returns what it takes to watch one of the resources.
func (q Query) readAccess(resource schema.GroupVersionResource) []access.Access {
	return []access.Access{q.accessTo(resource, "list"), q.accessTo(resource, "watch")}
}

func (q Query) accessTo(resource schema.GroupVersionResource, verb string) access.Access {
	return access.Access{Verb: verb, Group: resource.Group, Resource: resource.Resource, Name: q.Name}
}

// interestsOf returns the informers of the query, in the order of Resources.
func (q Query) interestsOf() []informer.Interest {
	list := make([]informer.Interest, len(q.Resources))
	for i, resource := range q.Resources {
		list[i] = informer.Interest{Fields: q.Fields, Key: informer.Key{
			Identity: q.Identity, GVR: resource, Namespace: q.Namespace, LabelSelector: q.LabelSelector,
			Form: informer.Form{Metadata: q.Fields == nil, Versions: q.Versions},
		}}
		if q.Fields != nil {
			list[i].Key.Form.Fields = q.Fields.String()
		}
		if q.Name != "" {
			list[i].Key.FieldSelector = "metadata.name=" + q.Name
		}
	}
	return list
}

// Decision is what is known of the permission to watch.
type Decision string

// The decisions, Refused and those of package access; doc.go says what becomes of the informers. Unknown is
// the zero value.
const (
	Unknown Decision = Decision(access.Unknown)
	Refused Decision = "Refused"
	Denied  Decision = Decision(access.Denied)
	Allowed Decision = Decision(access.Allowed)
)

// Permission is what is known of the permissions of a Query.
type Permission struct {
	Decision Decision
	// Reviewed: all that anybody asks for this identity and namespace has an answer, or it was refused to
	// ask. Decision may be known before.
	Reviewed bool
	// Missing is what is denied: by resource, and there in the order of Query.Verbs, list, watch.
	Missing []access.Access
}

// EventType is what an Event is about.
type EventType string

// The types of events: PermissionChanged, and those of package informer.
const (
	// PermissionChanged: permissions may have changed, or the refusal of an informer was reviewed.
	PermissionChanged EventType = "PermissionChanged"
	Added             EventType = EventType(informer.Added)
	Updated           EventType = EventType(informer.Updated)
	Deleted           EventType = EventType(informer.Deleted)
	Synced            EventType = EventType(informer.Synced)
	StateChanged      EventType = EventType(informer.StateChanged)
)

// Event is what the user of a Watch is told.
type Event struct {
	Type EventType
	// Object is set for Added, Updated and Deleted. It is shared, and never to be changed.
	Object *unstructured.Unstructured
}

// Informers makes Watches on shared informers and reviews. It is safe for concurrent use.
type Informers struct {
	informers informerSet
	reviews   reviewer
}

// New returns Informers on a Set and a Reviewer, which the caller starts and stops.
func New(informers *informer.Set, reviews *access.Reviewer) *Informers {
	return &Informers{informers: sharedSet{informers}, reviews: reviews}
}

// informerSet is what is used of an informer.Set.
type informerSet interface {
	Require(informer.EventHandler, []informer.Interest) []lister
	Retry(informer.Key)
	Observe(informer.Key, *unstructured.Unstructured, ...informer.EventHandler)
}

// lister is what is used of an informer.Lister.
type lister interface {
	Read() ([]*unstructured.Unstructured, informer.Status)
	Status() informer.Status
}

// reviewer is what is used of an access.Reviewer.
type reviewer interface {
	Require(access.ChangeHandler, access.Key, []access.Access, access.Payer)
	DecideAll(access.Key, []access.Access) (access.Decision, []access.Access, access.State)
	ReportDenied(access.Key, access.Access)
}

// sharedSet is an informer.Set as an informerSet.
type sharedSet struct{ *informer.Set }

func (s sharedSet) Require(handler informer.EventHandler, interests []informer.Interest) []lister {
	var listers []lister
	for _, one := range s.Set.Require(handler, interests) {
		listers = append(listers, one)
	}
	return listers
}
