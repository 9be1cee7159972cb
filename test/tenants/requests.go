package main

import (
	"fmt"
	"strings"

	"github.com/ambit-dev/ambit/test/cluster"
)

// request is a sort of request; failed is the HTTP status of an error, else 0.
type request struct {
	verb, resource string
	failed         int
}

// String is as in "create limitranges" or "patch tenants/status (404)".
func (r request) String() string {
	if r.failed == 0 {
		return r.verb + " " + r.resource
	}
	return fmt.Sprintf("%s %s (%d)", r.verb, r.resource, r.failed)
}

// requests are what Ambit asked for.
type requests struct {
	// writes are those that change something, or were to, by sort.
	writes map[request]int
	// reads are all others but watches: lists, gets, discovery and access reviews.
	reads int
}

// count sorts the requests of a log.
func count(log []cluster.Request) requests {
	got := requests{writes: map[request]int{}}
	for _, r := range log {
		switch {
		case r.IsWatch():
		case r.IsWrite() && !strings.HasSuffix(r.Resource, "reviews"):
			got.writes[sortOf(r)]++
		default:
			got.reads++
		}
	}
	return got
}

func sortOf(r cluster.Request) request {
	sort := request{verb: r.Verb, resource: r.Resource}
	if r.Subresource != "" {
		sort.resource += "/" + r.Subresource
	}
	if r.Code >= 400 {
		sort.failed = r.Code
	}
	return sort
}

// all is how many writes there are.
func (r requests) all() int {
	n := 0
	for _, of := range r.writes {
		n += of
	}
	return n
}

// failed is how many of them were answered with an error.
func (r requests) failed() int {
	n := 0
	for sort, of := range r.writes {
		if sort.failed > 0 {
			n += of
		}
	}
	return n
}
