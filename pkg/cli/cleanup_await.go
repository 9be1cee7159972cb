package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/policy"
)

const (
	// pollEvery is how often the engine is asked whether it is done.
	pollEvery = 100 * time.Millisecond
	// hopelessTime is how long policies are waited for that nobody may act for.
	hopelessTime = 3 * time.Second
)

// cleanupState is how far cleaning up is. It may be used concurrently; its zero value says
// that nothing is known.
type cleanupState struct {
	mu    sync.Mutex // guards what is below
	left  int
	halts []leftover
	ends  bool
	said  map[leftover]bool
}

// set takes how many objects are left as far as they are counted, and what is in the
// way of policies as a whole. ends: nothing is waited for any more, and what is in the way
// is about to be said as the result.
func (s *cleanupState) set(left int, halts []leftover, ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.halts, s.ends = left, halts, ends
}

// next is what to tell the user now, empty for nothing: what is in the way is told once.
func (s *cleanupState) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends {
		return ""
	}
	var lines []string
	if s.left > 0 {
		lines = append(lines, fmt.Sprintf("%d left to clean up", s.left))
	}
	for _, halt := range s.halts {
		if !s.said[halt] {
			lines = append(lines, "cannot clean up: "+halt.String())
		}
	}
	s.said = map[leftover]bool{}
	for _, halt := range s.halts {
		s.said[halt] = true
	}
	if s.left == 0 && len(s.halts) == 0 {
		return "looking for what is left to clean up"
	}
	return strings.Join(lines, "\n")
}

// awaitRetired returns true when nothing is left, false when ctx ends before, or when
// nobody may act for what is left and o.Timeout is some time.
func (o *cleanupOptions) awaitRetired(ctx context.Context, e *controller.Controller, programs []*policy.Program, state *cleanupState) bool {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var since time.Time
	for {
		left, done := e.Retired()
		if done && !seesNothing(e) {
			return true
		}
		hopeless := isHopeless(e, programs)
		state.set(left, halts(e), hopeless && o.Timeout > 0)
		switch {
		case !hopeless:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case o.Timeout > 0 && time.Since(since) >= hopelessTime:
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// seesNothing says whether the owners of a policy may be watched nowhere: that none is
// left says nothing then.
func seesNothing(e *controller.Controller) bool {
	return slices.ContainsFunc(e.Reports(), func(r controller.Report) bool { return r.Nowhere })
}

// isHopeless says whether each policy that has something left acts as an account that is
// not there, or that the caller may not act as: nothing comes of waiting.
func isHopeless(e *controller.Controller, programs []*policy.Program) bool {
	without := map[string]bool{}
	for _, h := range e.PolicyErrors() {
		without[nameIn(h.Policy)] = isAboutAccount(h.Reason)
	}
	unfinished := 0
	for _, program := range programs {
		if _, done := e.RetiredOf(strings.TrimPrefix(program.Namespace+"/"+program.Name, "/")); done {
			continue
		}
		if !without[program.Name] {
			return false
		}
		unfinished++
	}
	return unfinished > 0
}

func isAboutAccount(reason string) bool {
	return reason == v1alpha1.ReasonServiceAccountMissing || reason == v1alpha1.ReasonImpersonationRefused
}

// halts are what is in the way of policies as a whole, and what to do about it.
func halts(e *controller.Controller) []leftover {
	var found []leftover
	for _, h := range e.PolicyErrors() {
		why := h.Reason + ": " + h.Message
		switch h.Reason {
		case v1alpha1.ReasonServiceAccountMissing:
			why += "; create it, or use --as-caller: `ambit cleanup` then acts as you"
		case v1alpha1.ReasonImpersonationRefused:
			why += "; grant that, or use --as-caller: `ambit cleanup` then acts as you"
		}
		found = append(found, leftover{Policy: nameIn(h.Policy), Why: why})
	}
	return found
}
