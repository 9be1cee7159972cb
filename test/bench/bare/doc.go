// Command bench-bare is no operator: it sends the two writes that a Memcached
// needs, a Deployment and a status, as fast as ten workers can, and knows from a
// plain watch which Memcacheds there are. It neither reads nor checks anything,
// so it is the limit of what any operator can reach. `make bench` runs it beside
// Ambit.
package main
