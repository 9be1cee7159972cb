package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ambit-dev/ambit/test/cluster"
)

// streams knows how many watches a user has open in each namespace, by the audit
// log, a moment late. Safe for concurrent use.
type streams struct {
	log  *cluster.Audit
	user string

	mu sync.Mutex // guards all below
	// open are by namespace; "" is all namespaces.
	open map[string]int
	// looked is closed, and replaced, when open is new.
	looked chan struct{}
	// err is why the log cannot be read; nil while it can.
	err error
}

// lookEvery is how often the audit log is looked at: it is a file, and does not
// say when it changes.
const lookEvery = 100 * time.Millisecond

func newStreams(log *cluster.Audit, user string) *streams {
	return &streams{log: log, user: user, looked: make(chan struct{})}
}

// follow looks at the log until ctx ends. It blocks.
func (s *streams) follow(ctx context.Context) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		s.look()
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *streams) look() {
	watches, err := s.log.OpenWatches(s.user)
	open := map[string]int{}
	for _, w := range watches {
		open[w.Namespace]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.err = open, err
	close(s.looked)
	s.looked = make(chan struct{})
}

// until waits until that many watches are open in a namespace.
func (s *streams) until(ctx context.Context, namespace string, n int) error {
	for {
		s.mu.Lock()
		open, looked, err := s.open[namespace], s.looked, s.err
		s.mu.Unlock()
		if err != nil || open == n {
			return err
		}
		select {
		case <-looked:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %d watches are open in namespace %q, now %d: %w", n, namespace, open, context.Cause(ctx))
		}
	}
}

// total is how many watches are open in all.
func (s *streams) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for _, n := range s.open {
		sum += n
	}
	return sum
}

// closing returns when the last watch that was accepted in a namespace ended
// between two moments; if none did, it had ended before: the first moment.
func closing(log []cluster.Request, namespace string, from, to time.Time) time.Time {
	last := from
	for _, r := range log {
		inside := r.Logged.After(from) && r.Logged.Before(to)
		if inside && r.IsWatchClosed() && r.Code < 300 && r.Namespace == namespace && r.Logged.After(last) {
			last = r.Logged
		}
	}
	return last
}

// traffic is what a user asked of the API server.
type traffic struct {
	// watches are those opened, lists the lists, reviews the access and rules reviews.
	watches, lists, reviews int
}

// count counts what is in a log.
func count(log []cluster.Request) traffic {
	var t traffic
	for _, r := range log {
		switch {
		case r.IsWatchOpened():
			t.watches++
		case r.Verb == "list":
			t.lists++
		case strings.HasPrefix(r.Resource, "selfsubject"):
			t.reviews++
		}
	}
	return t
}
