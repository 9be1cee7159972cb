// Package placepermissions keeps what one policy may do, place by place: a place is a namespace, or all
// of them. It has reviews asked for (package access), and says when an answer changes.
//
// # What it promises
//
//   - About a place no more is asked than somebody needs there: the owners that are in it or are looked
//     for in it (Scope), and the owners elsewhere that make use of it (SetUses).
//   - What may be done in a place is the same pointer, a permissionset.Set, until it changes.
//   - Where everything is permitted in all namespaces, nothing is asked about single ones.
//   - Whoever takes over from an earlier revision of the policy (InheritFrom) takes what that knew for the
//     answer until there is one, so that nothing is said or done twice.
//
// # What it refuses to know
//
// Owners, streams, and what a missing permission means to them: Options.Changed says so, and the
// controller acts.
//
// # Locks
//
// A Tracker is safe for concurrent use. Options.Changed is called under no lock. Each other function of
// Options may be called while what is asked about a place changes, under a lock of the Tracker's: it must
// call no method of the Tracker's, and nobody may call one under a lock that such a function takes. The
// methods of Uses call nobody, and may be called anywhere.
package placepermissions

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// allNamespaces is the place that stands for all namespaces.
const allNamespaces = ""

// Options are the inputs of a Tracker. All functions have to be safe for concurrent use.
type Options struct {
	// Policy is the policy's id, and the group on whose account reviews are sent.
	Policy string
	// Identity is whose permissions count, as in access.Key; User is who that is, for messages.
	Identity, User string
	// Reviewer is what is used of an access.Reviewer.
	Reviewer Reviewer
	// Needs returns what the policy needs, of the kinds that are known by now, and whether that is all.
	Needs func() (list []Need, complete bool)
	// ResourceOf finds the resource of a kind; false: it is not known.
	ResourceOf func(schema.GroupVersionKind) (schema.GroupResource, bool)
	// IsClusterScoped reports whether the owners are of a cluster-scoped kind.
	IsClusterScoped func() bool
	// ScopeOf returns how much is to be asked about a namespace now, for the sake of owners: AtHome
	// if some are worked on there, ToSee if they are looked for there, else AsUsed.
	ScopeOf func(namespace string) Scope
	// IsServed reports whether somebody wants to know what is missing in a namespace, though no owner
	// is worked on there.
	IsServed func(namespace string) bool
	// IsReplaced reports whether the policy is at work in a later revision.
	IsReplaced func() bool
	// WantsClusterWide: a policy that may not watch in all namespaces together is to say so.
	WantsClusterWide bool
	// Refused returns the problem of an identity for which reviews are refused, with this error; nil: what may be done
	// is found out by doing it.
	Refused func(error) *plan.Problem
	// Changed is called when there is something to act upon, under no lock.
	Changed func(Change)
	// Now is the time. Logger is for people.
	Now    func() time.Time
	Logger logr.Logger
}

// Reviewer is what is used of an access.Reviewer.
type Reviewer interface {
	Require(handler access.ChangeHandler, at access.Key, accesses []access.Access, payer access.Payer)
	DecideAll(at access.Key, accesses []access.Access) (decision access.Decision, denied []access.Access, state access.State)
	State(at access.Key) access.State
	ReportDenied(at access.Key, a access.Access)
}

// Change is what has become of the permissions at a place.
type Change struct {
	Place string
	Now   *permissionset.Set
	// Before is what was acted upon last, or was known before other things were asked; it may be Now.
	// Nil: nothing was.
	Before *permissionset.Set
	// IsNew: Now was not acted upon yet.
	IsNew bool
	// IsConfirmed: somebody reported a refusal against the permissions, and there is an answer.
	IsConfirmed bool
}

// Tracker keeps what one policy may do in each place. Safe for concurrent use.
type Tracker struct {
	options Options
	uses    Uses

	// requesting is held while what is asked is changed together with what package access knows of
	// it. It is taken before mu.
	requesting sync.Mutex

	mu       sync.Mutex // guards what is below; held over no call but Reviewer.Require, which makes no request, and of uses
	requests map[string]*request
	// inherited are what earlier revisions knew of places, until this one has settled.
	inherited map[string]inherited
	// loggedNarrow is what was logged last to be missing for cluster-wide watches.
	loggedNarrow string
}

// request is what was asked about a place, and the answer. It is guarded by mu of its Tracker, but for
// accesses and required, which do not change.
type request struct {
	accesses  []access.Access
	required  int // of accesses: the first ones; the rest is of use only
	scope     Scope
	payer     access.Payer
	complete  bool // every kind was known, so that there is no more to ask
	since     time.Time
	state     access.State       // as of current
	current   *permissionset.Set // nil: not looked at yet
	before    *permissionset.Set // of what was asked about the place before this; may be nil
	handled   *permissionset.Set // what was acted upon last
	logged    string             // what was logged to be missing
	isDoubted bool               // a request was refused against the permissions
}

// lastAnswer is the last one there was about the place, or nil.
func (a *request) lastAnswer() *permissionset.Set {
	if a.current != nil {
		return a.current
	}
	return a.before
}

// New returns a Tracker, which asks for nothing yet.
func New(o Options) *Tracker {
	return &Tracker{options: o, requests: map[string]*request{}, uses: Uses{index: placeuses.New()}}
}

func (t *Tracker) keyOf(place string) access.Key {
	return access.Key{Identity: t.options.Identity, Namespace: place}
}

// placeFor is a place, for messages.
func (t *Tracker) placeFor(place string) permissionset.Place {
	return permissionset.Place{Namespace: place, User: t.options.User}
}

// RequireScope has reviewed what may be done in a place, as far as the scope says at least. What was
// asked before stays so until it is dropped.
func (t *Tracker) RequireScope(place string, scope Scope) {
	t.mu.Lock()
	before, ok := t.requests[place]
	enough := ok && before.complete && before.scope >= scope
	t.mu.Unlock()
	if enough {
		return
	}
	t.requesting.Lock()
	defer t.requesting.Unlock()
	t.mu.Lock()
	if before, ok := t.requests[place]; ok { // perhaps by another worker, in between
		scope = max(scope, before.scope)
	}
	t.mu.Unlock()
	t.putRequestLocked(place, scope)
}

// SetScope has reviewed what may be done in a place, as far as the scope says and no more.
func (t *Tracker) SetScope(place string, scope Scope) {
	t.requesting.Lock()
	defer t.requesting.Unlock()
	t.putRequestLocked(place, scope)
}

// RefreshAll declares anew what is asked about each place: a kind may have another resource than it had.
func (t *Tracker) RefreshAll() {
	t.requesting.Lock()
	defer t.requesting.Unlock()
	t.mu.Lock()
	scopes := make(map[string]Scope, len(t.requests))
	for place, a := range t.requests {
		scopes[place] = a.scope
	}
	t.mu.Unlock()
	for _, place := range slices.Sorted(maps.Keys(scopes)) {
		t.putRequestLocked(place, scopes[place])
	}
}

// accessesAt returns what to ask about a place.
func (t *Tracker) accessesAt(needs []Need, place string, scope Scope, used []placeuses.Use) (list []access.Access, required int) {
	return question{
		needs: needs, scope: scope, used: used, resourceOf: t.options.ResourceOf,
		searching: place == allNamespaces && !t.options.IsClusterScoped(),
	}.accessesToAsk()
}

// putRequestLocked declares what is asked about a place, unless that is what was asked before. The
// caller holds requesting.
func (t *Tracker) putRequestLocked(place string, scope Scope) {
	needs, complete := t.options.Needs()
	next := &request{scope: scope, complete: complete, since: t.options.Now()}
	next.accesses, next.required = t.accessesAt(needs, place, scope, t.uses.UsesIn(place))
	t.mu.Lock()
	defer t.mu.Unlock()
	next.payer = t.payerLocked(place, scope)
	before, ok := t.requests[place]
	if ok && slices.Equal(before.accesses, next.accesses) && before.required == next.required {
		before.scope, before.complete = scope, complete
		if before.payer != next.payer {
			before.payer = next.payer
			t.options.Reviewer.Require(changeHandler{t, place}, t.keyOf(place), before.accesses, before.payer)
		}
		return
	}
	if ok {
		next.since, next.logged, next.before = before.since, before.logged, before.lastAnswer()
	} else if known, ok := t.inherited[place]; ok {
		next.logged, next.before, next.handled = known.logged, known.answer, known.handled
	}
	t.requests[place] = next
	// In one step, which makes no request: what is known of accesses that are not kept may
	// be hours old, and nobody is to take it for the answer.
	t.options.Reviewer.Require(changeHandler{t, place}, t.keyOf(place), next.accesses, next.payer)
}

// payerLocked is on whose account a place is asked about: the policy's own where owners are, or are
// looked for, else that of an owner that makes use of it. The caller holds mu.
func (t *Tracker) payerLocked(place string, scope Scope) access.Payer {
	payer, used := t.uses.payerOf(place)
	if scope > AsUsed || place == allNamespaces || !used {
		return access.Payer{Group: t.options.Policy}
	}
	return access.Payer{Group: t.options.Policy, Tenant: placeuses.TenantOf(payer), Name: payer.Name}
}

// UsesIndex returns the places that owners make use of, which SetUses changes.
func (t *Tracker) UsesIndex() *Uses { return &t.uses }

// SetUses notes what an owner makes use of from now on, and asks about the places.
func (t *Tracker) SetUses(owner types.NamespacedName, next placeuses.ByPlace) {
	for _, place := range t.uses.setOwner(owner, next) {
		t.updateRequest(place)
	}
}

// updateRequest declares anew what is asked about a place because of its uses, and takes the
// answer in: that less is asked is no news to anybody, nor is what is known already, and
// what others lack there is reported all the same.
func (t *Tracker) updateRequest(place string) {
	t.requesting.Lock()
	defer t.requesting.Unlock()
	defer t.CurrentAt(place)
	t.mu.Lock()
	before, asked := t.requests[place]
	scope := AsUsed
	if asked {
		scope = before.scope
	}
	t.mu.Unlock()
	if scope > AsUsed || t.uses.isUsed(place) {
		t.putRequestLocked(place, scope)
		return
	}
	t.dropRequestLocked(place)
}

// ReleaseOwners is called when the last owner in a namespace is gone: nothing more is asked about it
// than ScopeOf says, and what owners elsewhere make use of there.
func (t *Tracker) ReleaseOwners(namespace string) {
	t.requesting.Lock()
	defer t.requesting.Unlock()
	t.releaseOwnersLocked(namespace)
}

// releaseOwnersLocked is ReleaseOwners; the caller holds requesting. It also takes the answer in: that
// less is asked is no news to anybody, and what is still missing is reported all the same.
func (t *Tracker) releaseOwnersLocked(namespace string) {
	defer t.CurrentAt(namespace)
	scope := t.options.ScopeOf(namespace)
	switch {
	case scope >= AtHome: // another one has come
	case namespace == allNamespaces: // it is asked about for all
	case scope == ToSee:
		t.putRequestLocked(namespace, ToSee)
	case t.uses.isUsed(namespace):
		t.putRequestLocked(namespace, AsUsed)
	default:
		t.dropRequestLocked(namespace)
	}
}

// ReleaseUnsought is ReleaseOwners for all namespaces in which, as ScopeOf says, no owners are, or are
// looked for, any more.
func (t *Tracker) ReleaseUnsought() {
	t.requesting.Lock()
	defer t.requesting.Unlock()
	t.mu.Lock()
	var asked []string
	for place, a := range t.requests {
		if place != allNamespaces && a.scope > AsUsed {
			asked = append(asked, place)
		}
	}
	t.mu.Unlock()
	slices.Sort(asked)
	for _, place := range asked {
		if t.options.ScopeOf(place) == AsUsed {
			t.releaseOwnersLocked(place)
		}
	}
}

// ReleasePlace forgets a place, but for what owners make use of there.
func (t *Tracker) ReleasePlace(place string) {
	t.requesting.Lock()
	defer t.requesting.Unlock()
	if t.uses.isUsed(place) {
		defer t.CurrentAt(place) // as in releaseOwnersLocked
		t.putRequestLocked(place, AsUsed)
		return
	}
	t.dropRequestLocked(place)
}

// dropRequestLocked asks nothing about a place any more; the caller holds requesting.
func (t *Tracker) dropRequestLocked(place string) {
	t.mu.Lock()
	_, ok := t.requests[place]
	delete(t.requests, place)
	t.mu.Unlock()
	if ok {
		t.options.Reviewer.Require(changeHandler{t, place}, t.keyOf(place), nil, access.Payer{})
	}
}
