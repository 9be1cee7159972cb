// Command bench-handwritten is a Memcached operator on controller-runtime the way
// a good engineer writes it: typed objects, reads from the cache, CreateOrUpdate
// for the Deployment, Owns, one status patch a pass with meta.SetStatusCondition,
// ten workers, no client-side rate limit. With -frugal it also leaves out what
// needs thought to leave out: status patches that change nothing, and passes for
// its own status writes. `make bench` runs it beside Ambit.
package main
