// Command bench-webhook is the Memcached operator as metacontroller wants it: a web server that is
// sent an owner with its children and its Pods, and answers with the Deployment and the status
// that there should be. They are those of package memcached, so that it does the work of the
// operators written by hand. It talks to no cluster. `make bench-peers` runs it beside
// metacontroller.
package main
