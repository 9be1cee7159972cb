// Package controller runs policies: it turns events into owner keys and takes
// each owner through observe, plan, apply, status.
//
// # One reconcile
//
// reconcileOwner names the stages, in order.
//
//  1. A stream tells a subscriber that something changed; the subscriber puts
//     the owner's Key into the one queue. Nothing else happens on the stream's
//     goroutine.
//  2. A worker takes the key, fair between policies, and reads the owner from
//     the cache of its stream, and says what the reconcile is for (intentFor): to serve
//     the owner; to retire it, if the policy does not want it any more and there
//     is something of ours for it; or nothing. An owner that is gone gives back
//     all it needed.
//  3. Observe: the reconcile lays out which streams this owner needs, place by place
//     (package ownerinputs), and declares them (informer.Require). While one of them has not delivered
//     its first list, the reconcile ends; the stream's Synced event brings the owner back.
//     After syncGrace the reconcile goes on and says in the status what it waits for.
//  4. A plan (package plan, pure) may want other places than those that are
//     observed: they are laid out, and it is planned again, before anything is
//     written. What it says of the owner's metadata, its OwnerMetadata, is written first:
//     a record of a child is there before the child. Before it drops a record, or gives it
//     the uid of a child that this reconcile has not made, the child is read by its name
//     (package recordcheck): a stream does not show one that has lost its labels, and may be behind.
//     Plan and apply (package apply) take turns until
//     there is nothing left to do: an answer of the API server enters the cache
//     at once (informer.Observe), so the next plan sees it. An action is tried at
//     most once in a reconcile.
//  5. Status: one patch, if there is a difference. If somebody else overwrites what was
//     written, again and again, that waits longer each time (package writeconflict), as any
//     write does that others undo.
//
// A reconcile holds no lock over a request and waits for nothing but its own
// requests. A write that was refused is tried again after its backoff (package refusedwrites), whatever
// events come before; another write for the same child is tried at once, and any
// write when the rights in its namespace have changed.
//
// What the policy itself ensures takes the same way, on the policy's own key and
// without an owner.
//
// Steps 3 to 5 are package ownerreconcile.
//
// # Files
//
// They stand in layers: what a file calls stands below it, or beside it in the same line.
//
//   - start.go, set.go, policy_setup.go and revision_succession.go: the workers, and the revisions of
//     policies. report.go, health.go and retire.go (policyReport): what is said of policies.
//   - reconcile.go: the turn of a key, and that of an owner (ownerTurn). policy_reconcile.go and ensure.go
//     (policyTurn): the turn of a policy. intent.go, deselected.go, child_probe.go,
//     orphan_scan.go and forget_owner.go: owners that come and go.
//   - owner_views.go, owner.go and limits.go: what is known of owners. permission_changes.go
//     (permissionEvents): what package placepermissions asks and tells.
//   - policy_events.go: what events lead to. controller.go and policy_controller.go: the types, the queue
//     and the clock.
//
// # Places
//
// A place is a namespace, or none: all namespaces, and what is in none. An owner uses
// its own place and others (package placeuses): those that a plan wants, those of watches, and all
// namespaces for what is watched together. Each place is asked about for exactly what
// is used there, and an owner is told of what is missing in the places that it uses. A
// use may be optional: what may not be watched is then left out, and missed by nobody.
// Children in more than a few namespaces are watched in all of them together where that
// is permitted.
//
// How many places an owner may use is bounded (package placeuses), and how many kinds are looked
// up because its record names them is, too (package recordedkinds). An owner that wants more is
// told so, and does the rest.
//
// # Streams of owners
//
// Where owners are watched, and which of them the streams have shown, is kept by package ownerviews.
// The streams are replaced on the policy's own turn, in one step with the look at what is known of
// owners (installViews): an owner that comes before it is queued by it, one that comes after it is
// queued by its event. mu of the policy controller is held over that step, and is taken before the
// lock of the ownerviews.Views.
//
// # Owners that are not wanted
//
// Package owners keeps what is known of each owner, and draws its life.
//
// An owner that was worked on, or carries our finalizer or record, is retired when it
// stops matching. Of others it is looked at once in each run whether an earlier one has
// left children (inspectChildren). A filter that fails says nothing.
//
// Where the API server selects the owners, one that stops matching leaves their stream as
// one that is deleted does. It is then looked for by its name, once (findDeselected): if it is there
// it is retired. Owners that went while Ambit was away are known by their children in the
// streams of other owners (scanForOrphans).
//
// # Policies that change
//
// There is a policy controller for each version of a policy; package revisions counts the workers that
// are in them. Set puts another in its place; one whose policy says what it said before stays, with all
// that it has.
//
//  1. A worker enters the version that there is when it takes a key, and leaves it when it
//     has done. The queue gives a key to one worker at a time, and the key names the
//     policy, not the version: two versions never work on one owner at a time. Who left a
//     version that was replaced in between queues the owner for the new one. A key of a
//     policy that is gone is dropped.
//  2. The new version takes over (succeedRevision) what spares it requests: what was known of
//     rights, of namespaces, and of owners that are not wanted; and which owners were
//     worked on (inherited): it looks at each, and retires those that it does not want.
//     Owners that exceeded limits have a fresh start, throttled. All else is found out
//     again, as after a restart.
//  3. The old version stays subscribed, and does no more than to queue keys and to close
//     streams whose right is gone. So streams and places that both need are never closed.
//     It is released when the new one is settled, that is, has looked where it may watch,
//     has the first list of each stream of owners, and has declared what it needs for
//     each owner that it inherited; after revisions.KeepOlder at the latest, but never while a
//     worker is in it.
//     Versions between the two are released with it; one that never had a worker has
//     nothing to give back.
//  4. A policy that is gone is released at once, or by the last worker that is in it.
//
// To retire a policy, or to suspend it, is another version of it, too.
//
// # Limits
//
// Package fairqueue divides workers and time between policies (limits.go calls it). An
// owner whose plan or filter exceeds a limit waits (Quarantine); with many of them the
// policy waits as a whole. Until a while after the last limit, owners of the policy are
// expensive: they are reconciled one at a time, together with those of other policies, and
// with pauses (Throttle), so that the machine is left to the rest. So is, for a while, an
// owner whose expressions were slow twice, though within the limits. Nothing else waits.
//
// # Rights
//
//  1. Package ownerviews finds out where a policy's owners may be watched: cluster-wide, or in
//     each namespace of its scope (package ownerscope). A policy with a ServiceAccount first has to be able to act
//     as it (package impersonation). That ServiceAccount, the namespaces, RBAC objects and
//     CustomResourceDefinitions are watched where that is permitted (package permitted).
//  2. In each namespace with owners the policy asks package access for all that its
//     program needs there (placepermissions.Tracker.ForOwners). The answer is one value, a permissionset.Set, which is
//     the same pointer until the answer changes: what was planned under other rights is
//     planned again.
//  3. What may not be listed and watched is not watched; what may not be written is
//     not tried. Both are problems in the plan, which name every missing verb.
//  4. When the answer changes (permissionsChanged), streams that are no longer permitted
//     are closed, in that call; then the owners there are queued.
//  5. What makes access look again: changes of RBAC objects where they may be watched
//     (package clusterwatch), streams that are refused when they are opened anew, own writes that
//     are refused. A refusal is told to nobody before a review has confirmed it, or
//     placepermissions.ConfirmGrace is over.
//
// Suspended policies, owners being deleted without our finalizer, and owners whose
// stream is not live are left as they are.
package controller
