// Command tenants measures what a large tenant costs: bin/ambit with
// policies/capsule-tenant.yaml on a real control plane, and a Tenant with 100
// Namespaces. `make bench` builds what it needs and runs it; it works in the root of
// the repository.
//
// The account of Ambit has the rights that `ambit rbac` prints for the policy. The
// Namespaces are there, and Ambit runs. Then:
//
//  1. The Tenant is made. Time counts until everything is there that each Namespace is
//     to have, and the status says so.
//  2. Nothing happens for a minute.
//  3. One more Namespace of the Tenant is made.
//  4. The Tenant is deleted. Time counts until it is gone, and everything that was
//     made for it.
//
// Times count from just before the request to when this program sees the effect, which
// it looks for several times a second. The writes of each step are those of Ambit in
// the audit log, until there are no more for a while. Children are deleted by the
// garbage collector of Kubernetes, not by Ambit.
//
// What planning costs without an API server is BenchmarkTenant of package plan.
//
// It exits with 1 if something does not happen in time, with the end of what Ambit
// printed. Writes in the minute of peace are printed as such, and are no error.
package main
