package ownerviews

import (
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// NamespacesQuery is what has to be permitted and watched for a NamespaceList, as an identity sees it; the
// reviews are sent on a payer's account.
func NamespacesQuery(identity string, payer access.Payer) permitted.Query {
	return permitted.Query{Identity: identity, Resources: []schema.GroupVersionResource{namespaceResource}, Payer: payer}
}

// NamespaceWatch is what is used of a permitted.Watch on NamespacesQuery.
type NamespaceWatch interface {
	Require() permitted.Permission
	Permission() permitted.Permission
	ReadObjects() ([]*unstructured.Unstructured, informer.Status)
	Release()
}

// NamespaceList is the list of namespaces, which is watched as long as somebody asks for it on each turn
// of the policy. FollowedList, InheritList, IsDenied and MissingAccess are safe for concurrent use;
// all else belongs to the policy's own turn.
type NamespaceList struct {
	watch NamespaceWatch
	// isAsked: the list was asked for on this turn.
	isAsked bool
	// followed is the list that owners go by; nil while nobody asks, or it is not known.
	followed atomic.Pointer[ownerscope.Namespaces]
}

// NewNamespaceList returns a list that is not watched yet.
func NewNamespaceList(watch NamespaceWatch) *NamespaceList { return &NamespaceList{watch: watch} }

// StartTurn begins a turn of the policy: nobody has asked for the list on it.
func (l *NamespaceList) StartTurn() { l.isAsked = false }

// ListNamespaces returns the namespaces that there are; nil if they may not be listed and watched; false
// while that is not known. They are watched from then on.
func (l *NamespaceList) ListNamespaces() (list *ownerscope.Namespaces, known bool) {
	l.isAsked = true
	switch l.watch.Require().Decision {
	case permitted.Denied:
		return nil, true
	case permitted.Unknown, permitted.Refused:
		return nil, false
	}
	listed, status := l.watch.ReadObjects()
	if !status.Synced {
		return nil, false
	}
	found := make(ownerscope.Namespaces, len(listed))
	for _, namespace := range listed {
		found[namespace.GetName()] = namespace.GetLabels()
	}
	return &found, true
}

// FollowList takes over the list for owners that look for objects in each namespace, if it is wanted for
// them, and ends the turn: if nobody has asked for the list on it, it is watched no more. It reports whether
// the list has changed, of which only the namespaces for which inScope is true count.
func (l *NamespaceList) FollowList(wanted bool, inScope func(namespace string) bool) (changed bool) {
	var now *ownerscope.Namespaces
	if wanted {
		now, _ = l.ListNamespaces()
	}
	if !l.isAsked {
		l.watch.Release()
	}
	before := l.followed.Load()
	if before == now || before != nil && now != nil && slices.Equal(before.NamesWhere(inScope), now.NamesWhere(inScope)) {
		return false
	}
	l.followed.Store(now)
	return true
}

// FollowedList returns the list that FollowList has taken over last, as the same pointer until it changes;
// nil: there is none. It is not to be changed.
func (l *NamespaceList) FollowedList() *ownerscope.Namespaces { return l.followed.Load() }

// InheritList takes over the list that an earlier revision followed, until FollowList.
func (l *NamespaceList) InheritList(before *NamespaceList) { l.followed.Store(before.followed.Load()) }

// IsDenied reports whether the namespaces are known not to be permitted to be listed and watched.
func (l *NamespaceList) IsDenied() bool { return l.watch.Permission().Decision == permitted.Denied }

// MissingAccess returns what is not permitted of listing and watching namespaces.
func (l *NamespaceList) MissingAccess() permissionset.Missing {
	return permissionset.Missing{Resource: namespaceResource.GroupResource(), Verbs: access.VerbsOf(l.watch.Permission().Missing)}
}

// ReleaseList watches the namespaces no more.
func (l *NamespaceList) ReleaseList() { l.watch.Release() }
