// Package sim is a Kubernetes cluster in memory: an API server behind the interfaces
// that Ambit's clients stand behind (dynamic.Interface, metadata.Interface,
// access.Reviews, meta.RESTMapper), and the controllers that decide whether an object
// lives. Under testing/synctest its time is virtual: an hour costs what happens in it.
//
//	server := sim.New(sim.Options{Seed: 1})
//	admin := server.As(sim.Admin).Dynamic()
//	ambit := server.As("ambit") // may do what RBAC objects grant
//	go server.Run(ctx)          // or call server.Collect yourself
//
// # What it simulates
//
//   - One store with one resourceVersion; uids, generations, creation and deletion
//     times, generated names, finalizers. A write that changes nothing writes nothing.
//   - create, update, merge, JSON and strategic merge patch, status subresources, delete
//     with preconditions and propagation, delete of collections, dry runs.
//   - Server-side apply and managedFields, by the API server's own library (apimachinery's
//     managedfields) and the schemas of client-go and of the definitions.
//   - Lists with label and field selectors and pages; watches with a first list,
//     bookmarks, timeouts, 410 after Compact or Options.History changes; objects that
//     begin or cease to match a selector; metadata only. A watch that does not read is
//     ended after Options.WatchBuffer events.
//   - CustomResourceDefinitions with pruning, defaults, validation, several versions, and
//     their deletion. One that is made or edited has a new storage: watches from before end,
//     and are answered 410. Built-in kinds go through their Go types.
//   - Namespaces that terminate, the garbage collector, the deletion of definitions: see
//     Server.Collect. Server.Run does it some time after each change.
//   - With Options.Workloads, in Server.Run: Deployments, ReplicaSets, StatefulSets, Jobs and
//     their Pods, with the statuses that the controllers and KWOK write.
//   - RBAC by Roles, ClusterRoles and bindings, decided by an authorizer that may be behind
//     (Options.AuthorizerLag), for every request; open watches go on. Impersonation; the
//     escalation check; reviews of a user's own rights.
//   - Options.Admission, which refuses and changes what users write as an admission webhook
//     does.
//   - Refusals with the code, reason, details and text of the real server.
//
// # What it does not
//
//   - Workloads unless Options.Workloads is set, and then no DaemonSets, CronJobs, claims of
//     StatefulSets, steps of a rolling update, deadlines, histories and suspended Jobs. No
//     claim gets a volume.
//   - Defaults only of the kinds that policies make, and not of all their fields
//     (defaults.go); little validation of built-in kinds; no admission but of namespaces and
//     escalation, and Options.Admission in the place of webhooks: no quotas, no
//     ServiceAccount for a Pod.
//   - CEL rules, scale and conversion webhooks of definitions; a definition in the way of
//     another one's names; the constrained impersonation of Kubernetes 1.36 but for its
//     refusals.
//   - Lists at an exact old resourceVersion; a list or a watch that asks for a
//     resourceVersion to come is refused at once, not after three seconds.
//   - Authentication: whoever asks is who they say. Discovery is never behind.
//   - Flow control, sizes and rates.
//
// # Faults
//
// Options.Faults is asked before each request and before its answer, and for each event
// of a stream: it may refuse, delay, lose the answer of a write that was done, hold up
// or end a stream, or have it answer 410. Uids, names, and how long a watch lasts whose
// client names no timeout come from Options.Seed. What Ambit draws is an option of its own
// (Jitter and Random of informer, access and controller). Not decided by a seed: how
// goroutines take turns where there is more than one processor, which of two timers of one
// moment is first, and which of several channels a select takes.
//
// # Fidelity
//
// testdata/fidelity holds scripts of operations with the answers of a real API server.
// TestFidelityReal plays them on one, TestFidelitySimulated here; answers are compared
// in full, but for uids, times and resourceVersions, of which the order counts. What is
// answered otherwise is in testdata/differences.txt, with the reason. A new operation
// gets its answer by
//
//	go test ./test/sim -run TestFidelityReal -rewrite
//
// and what the simulated server then answers otherwise is mended, or listed.
package sim
