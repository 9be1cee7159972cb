// Package policysource is where policies come from: files and folders, ConfigMaps and custom
// resources. It reads them as they change, compiles them, tells the engine which to
// run and which to clean up after, and says on each how it fares.
//
// # What it promises
//
//   - A version that does not compile, or a text that cannot be read, leaves the last
//     good version running, and is reported. Where there is none yet, what is legible
//     of the policy cleans up after its owners.
//   - What cannot be seen is not gone: a folder that cannot be read, a watch that is
//     denied or has not delivered its list, change nothing.
//   - Which of two policies with one name, or for the same owners, is run depends on
//     the documents only, never on the order in which they were seen.
//   - A policy that lives where its owners are, and serves no others, cannot be stopped by
//     those who live elsewhere, but for those who run Ambit.
//   - A policy that is deleted is retired: the engine cleans up after it as it says, also if
//     another one has its owners by then. One of its name that may have the same owners
//     takes over what it has made.
//   - It is quiet: nothing is written where nothing has changed.
//
// # What it refuses to know
//
// What a policy means. It compares programs, and passes them on. It knows of rights
// only what it needs to read policies and to write on them.
//
// # Protocol
//
//  1. Each shelf (the files, the ConfigMaps, the custom resources) holds the texts that
//     it has seen, and says of which places it knows that there is nothing else. It
//     wakes the goroutine of decisions when that changes.
//  2. A decision is one pass: the texts of all shelves go into the book, which
//     compiles what is new, and chooses. The choice goes to the engine when it is
//     another one than before; one that the engine refuses goes there again after a
//     second, then less and less often.
//  3. A custom resource is run only when its finalizer is there, or cannot be put
//     there; what was deleted keeps its finalizer until the engine says that all is
//     cleaned up.
//  4. Once a second, and after each decision, the secretary compares what is to be said
//     of each policy with what stands there, and writes the difference: finalizers,
//     statuses, annotations, events, the log. It is a goroutine of its own, so that an
//     API server that does not answer holds up no decision.
package policysource
