// Package memcached holds what the operators written by hand share: the Go types
// of examples/memcached/crd.yaml, the Deployment of a Memcached and its status.
// It says the same in Go as policies/memcached.yaml does for Ambit, so that all
// sides of the comparison do the same work. It talks to no cluster.
package memcached
