// Package owners keeps what one revision of a policy knows of each of its owners, and says
// with it what there is to do for an owner. It does no I/O, reads no clock and holds no lock.
//
// An Index has one record an owner. Groups have which owners are in a namespace together, and so
// share streams, and whether owners are in many namespaces.
//
// # The life of an owner
//
// What is known of an owner are a few facts, each of which an event adds or takes away. Its
// Phase follows from the facts, and only from them:
//
//	         InheritOwner                    StartWork
//	Unknown ──────────────▶ Inherited ──────────────────▶ Served
//	   │                        │                         │    │
//	   │ MarkUnwanted           │ MarkUnwanted            │    │ MarkMissing
//	   ▼        inspected: ours ▼        MarkUnwanted     │    ▼
//	Inspected ────────────▶ CleaningUp ◀──────────────────┘  Missing
//	   │  ▲                     │                              │
//	   │  │ other rights        │ RecordCleanedUp, StopWork    │ RecordFound
//	   │  ▼                     ▼                              ▼
//	   │ Blind ──────────────▶ Clean                       Deselected ──▶ Unknown
//	   └──────────────────────▶                      StopWork, MarkVisible
//	       inspected: nothing ours
//
// From every phase: MarkWanted takes the owner back, to Served if it is worked on, to Inherited
// if an older revision did so, else to Unknown. MarkVisible says that the stream of owners shows
// it, so that it is neither Missing nor Deselected. What is Inherited can become Missing as well,
// and so does, by MarkParentMissing, an owner of which nothing is known but a child.
// testdata/transitions.txt has every phase with every event.
//
//	phase       what it is                                       what there is to do
//	Unknown     nothing is known, or the owner is gone           nothing
//	Inherited   an older revision worked on it                   look at it
//	Served      this revision works on it                        reconcile
//	Inspected   not wanted; is something of ours there?          look for children
//	Blind       the same, but not all of it may be looked at     wait for other rights
//	CleaningUp  not wanted, and worked on, or has children       remove what is ours
//	Clean       not wanted, and nothing is ours                  nothing
//	Missing     worked on, and gone from the stream of owners    look for it by its name
//	Deselected  found by its name: it is there and not wanted    remove what is ours
package owners
