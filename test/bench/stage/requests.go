package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/test/cluster"
)

// Requests counts the requests of a user in the audit log.
type Requests struct{ log *cluster.Audit }

// Counted is what a user asked of the API server.
type Counted struct {
	// Writes are those that change something; Reads are all others, those of
	// discovery and access reviews too, but for watches.
	Writes, Reads int
	// Failed are the writes and reads whose answer was an error.
	Failed int
	// Watches are those opened.
	Watches int
}

// Now returns the place in the log where the requests to come will stand.
func (r Requests) Now() cluster.Mark { return r.log.Mark() }

// Count returns what the user has asked for since the mark.
func (r Requests) Count(user string, since cluster.Mark) (Counted, error) {
	all, err := r.log.Since(since, user)
	if err != nil {
		return Counted{}, fmt.Errorf("reading the requests of %q: %w", user, err)
	}
	return count(all), nil
}

// Requests are quiet when there was none for quietFor, looked at every pollEvery.
// Watches do not count: some sides reopen theirs all the time.
const (
	quietFor  = 2 * time.Second
	pollEvery = 200 * time.Millisecond
)

// Quiet waits until the user has sent that many requests since the mark and none
// for quietFor, and returns what it asked for since the mark.
func (r Requests) Quiet(ctx context.Context, user string, since cluster.Mark, least int) (Counted, error) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for seen, last := -1, time.Now(); ; {
		c, err := r.Count(user, since)
		if err != nil {
			return Counted{}, err
		}
		if n := c.Writes + c.Reads; n != seen {
			seen, last = n, time.Now()
		}
		if seen >= least && time.Since(last) >= quietFor {
			return c, nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return Counted{}, fmt.Errorf("waiting until %q is quiet, after %d requests: %w", user, seen, context.Cause(ctx))
		}
	}
}

// count sorts requests.
func count(all []cluster.Request) Counted {
	var c Counted
	for _, r := range all {
		switch {
		case r.IsWatchOpened():
			c.Watches++
			continue
		case r.IsWatch():
			continue
		case r.IsWrite() && !isReview(r.Resource):
			c.Writes++
		default:
			c.Reads++
		}
		if r.Code >= 400 {
			c.Failed++
		}
	}
	return c
}

// isReview says whether a resource is created only to be answered, which changes
// nothing.
func isReview(resource string) bool { return strings.HasSuffix(resource, "reviews") }
