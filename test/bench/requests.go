package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/test/cluster"
)

// requests counts the requests of a user in the audit log.
type requests struct{ log *cluster.Audit }

// counted is what a user asked of the API server.
type counted struct {
	// writes are those that change something; reads are all others, those of
	// discovery and access reviews too, but for watches.
	writes, reads int
	// failed are the writes and reads whose answer was an error.
	failed int
	// watches are those opened.
	watches int
}

// now returns the place in the log where the requests to come will stand.
func (r requests) now() cluster.Mark { return r.log.Mark() }

// Requests are quiet when there was none for quietFor, looked at every pollEvery.
// Watches do not count: some sides reopen theirs all the time.
const (
	quietFor  = 2 * time.Second
	pollEvery = 200 * time.Millisecond
)

// quiet waits until the user has sent that many requests since the mark and none
// for quietFor, and returns what it asked for since the mark.
func (r requests) quiet(ctx context.Context, user string, since cluster.Mark, least int) (counted, error) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for seen, last := -1, time.Now(); ; {
		all, err := r.log.Since(since, user)
		if err != nil {
			return counted{}, fmt.Errorf("reading the requests of %q: %w", user, err)
		}
		c := count(all)
		if n := c.writes + c.reads; n != seen {
			seen, last = n, time.Now()
		}
		if seen >= least && time.Since(last) >= quietFor {
			return c, nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return counted{}, fmt.Errorf("waiting until %q is quiet, after %d requests: %w", user, seen, context.Cause(ctx))
		}
	}
}

// count sorts requests.
func count(all []cluster.Request) counted {
	var c counted
	for _, r := range all {
		switch {
		case r.IsWatchOpened():
			c.watches++
			continue
		case r.IsWatch():
			continue
		case r.IsWrite() && !isReview(r.Resource):
			c.writes++
		default:
			c.reads++
		}
		if r.Code >= 400 {
			c.failed++
		}
	}
	return c
}

// isReview says whether a resource is created only to be answered, which changes
// nothing.
func isReview(resource string) bool { return strings.HasSuffix(resource, "reviews") }
