// Package ownerreconcile takes one owner through observe, plan, write and status, once.
//
// A Reconciler is one run over one owner, or over what a policy itself ensures. The caller decides that
// there is something to do, and keeps the State of the owner from one run to the next:
//
//	p := ownerreconcile.New(options, owner, state, retire, measured)
//	planned, wait, err := p.PlanAndWrite(ctx, home)
//	if err != nil || wait > 0 || p.IsRefusalUnconfirmed() {
//	    return // there is no plan, or nothing to be said of it yet
//	}
//	p.RecordPlan(ctx, planned)
//	if !p.IsReleased() {
//	    err = p.ReportStatus(ctx, planned)
//	}
//	wait = p.RequeueAfter(planned)
//
// What a policy itself ensures has no status: there it ends with RecordPlan.
//
// These are its steps:
//
//  1. Observe (package ownerinputs): the streams that the owner needs are declared. While one of them has
//     not delivered its first list, PlanAndWrite says how long to wait for it, and its Synced event brings
//     the owner back. After syncGrace the run goes on without it, and the status says what it waits for.
//  2. Plan (package plan). A plan may want other places than those that are observed: they are declared, and
//     it is planned again before anything is written.
//  3. The owner's metadata is written first, so that a record of a child is there before the child. What it
//     drops from the record, or settles, is read by its name before (package recordcheck).
//  4. The actions of the plan are carried out (package apply), each at most once in a run. An answer enters
//     the cache at once (informer.Set.Observe). Then it is planned again, until there is nothing to do.
//  5. The status is written, if that makes a difference.
//
// What holds a write back: a right that is missing; the refusal of the same write (package refusedwrites);
// others who undo it (package writeconflict); an owner that is known to have changed since it was seen. Each
// has the owner looked at again in time: RequeueAfter.
//
// # Files
//
// They stand in layers, and what a file calls stands below it. Each stage is a type of its own around the
// Reconciler, which has what all of them share and calls none but in plan_and_write.go and status.go.
//
//   - plan_and_write.go: the turns. status.go, status_conflict.go and feedback.go: statusWriter.
//   - snapshot.go: snapshotReader. apply_action.go and labels.go: childWriter.
//   - owner_metadata.go and owner_metadata_conflict.go: ownerWriter. record.go: recordObjects.
//   - child_conflict.go, refusals.go, other_policy.go and actions.go: what holds writes back, and
//     how it is said.
//   - reconciler.go and state.go: one run, and what stays from one to the next.
package ownerreconcile
