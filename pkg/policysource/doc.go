// Package policysource is where policies come from: files and folders, ConfigMaps and custom resources. It reads
// them as they change, compiles them, tells the controller which to run and which to clean up after, and reports on
// each how it fares.
//
// # What it promises
//
//   - A version that does not compile, or a file that cannot be read, leaves the last good version running, and is
//     reported. If there is none yet, what is legible of the policy cleans up after its owners.
//   - What cannot be seen is not gone: a folder that cannot be read, a watch that is denied or has not delivered its
//     list, change nothing.
//   - Which of two policies with one name, or for the same owners, is run depends on the manifests only, never on the
//     order in which they were seen (package registry).
//   - A policy that lives where its owners are, and serves no others, cannot be stopped by those who live elsewhere,
//     but for those who run Ambit.
//   - A policy that is deleted is retired: the controller cleans up after it as it says, also if another one has its
//     owners by then. One of its name that may have the same owners takes over what it has made.
//   - It is quiet: nothing is written where nothing has changed (package statuswriter).
//
// # What it refuses to know
//
// What a policy means. It compares programs, and passes them on. It knows only the permissions that it needs itself,
// to read policies and to write on them.
//
// # Protocol
//
//  1. Each source (the files, the custom resources, the ConfigMaps) holds the manifests that it has read, and says of
//     which locations it has everything. It wakes the goroutine of decisions when that changes.
//  2. A decision is one pass: the manifests of all sources go into the registry, which decides. What is new was compiled
//     by the compilers before; until then the older version stays in its place. The decision goes to the controller if
//     it differs from the last one. One that the controller refuses is offered again after a second, then less and less
//     often.
//  3. A custom resource is run only when its finalizer is there, or cannot be put there. What was deleted keeps its
//     finalizer until the controller says that all is cleaned up, or nobody can clean up.
//  4. Once a second, and after each decision, the status writer compares the status of each policy with what stands on
//     its object, and writes the difference: finalizers, statuses, annotations, events, the log. It is a goroutine of
//     its own, so that an API server that does not answer holds up no decision.
package policysource
