package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
)

const (
	// pollInterval is how often the controller is asked whether it is done.
	pollInterval = 100 * time.Millisecond
	// hopelessTime is how long a cleanup waits while nobody may act for what is left.
	hopelessTime = 3 * time.Second
)

// Cleanup removes what policies have made. Its fields are not changed while it is used.
type Cleanup struct {
	// Scan looks for what is left. Its Namespaces are also those to clean up in. Its
	// Discovery is not needed.
	Scan Scan
	// Config says how the controller reaches the API server. Its Timeout is not used,
	// for streams have no end. Required for Run.
	Config *rest.Config
	// CoreV1 reads ConfigMaps. Required for ConfigMaps.
	CoreV1 corev1client.ConfigMapsGetter
	// Programs are the policies, at least one.
	Programs []*policy.Program
	// Timeout is how long to try. 0: until it is done.
	Timeout time.Duration
	// Progress is told how far Run is. Required for Run.
	Progress func(Progress)
}

// Progress is how far a cleanup is.
type Progress struct {
	// Left is how many owners and policies have something left, as far as they are counted.
	Left int
	// Blocked is what keeps policies as a whole from being cleaned up.
	Blocked []Finding
	// Final reports whether nothing more is waited for: what is Blocked is about to be
	// returned.
	Final bool
}

// retirement is what a cleanup asks a controller that retires policies.
type retirement interface {
	Retired() (left int, done bool)
	RetiredOf(policy string) (left int, done bool)
	PolicyErrors() []controller.PolicyError
	Reports() []controller.Report
	CleanupBlockers() []controller.CleanupBlocker
}

var _ retirement = (*controller.Controller)(nil)

// Run removes what the policies have made, until nothing is left, until nobody may act
// for what is left (unless Timeout is 0), until Timeout is over, or until ctx ends. It
// returns what is left and what is in the way, the latter first; nothing if all is cleaned
// up. The error is that of running the controller.
func (c *Cleanup) Run(ctx context.Context) ([]Finding, error) {
	done, blockers, err := c.retirePolicies(ctx)
	switch {
	case err != nil:
		return nil, err
	case !done:
		return c.whatIsLeft(context.WithoutCancel(ctx), blockers), nil
	}
	return c.releasePolicies(ctx), nil
}

// retirePolicies runs the controller. blockers is what it reports at the end.
func (c *Cleanup) retirePolicies(ctx context.Context) (done bool, blockers []Finding, err error) {
	if c.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.Timeout, errors.New("the time is over"))
		defer stop()
	}
	config := rest.CopyConfig(c.Config)
	config.Timeout = 0
	err = manager.Run(ctx, manager.Options{
		Config: config, Retire: c.Programs, Namespaces: c.Scan.Namespaces,
		While: func(ctx context.Context, r *controller.Controller) {
			done = c.awaitEnd(ctx, r)
			blockers = c.blockersOf(r)
		},
	})
	c.Progress(Progress{Final: true})
	return done, blockers, err
}

// awaitEnd returns true when nothing is left. It returns false when ctx ends before, or when
// nobody may act for what is left and there is a Timeout.
func (c *Cleanup) awaitEnd(ctx context.Context, r retirement) bool {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var since time.Time
	for {
		left, done := r.Retired()
		if done && !seesNothing(r) {
			return true
		}
		hopeless := c.isHopeless(r)
		c.Progress(Progress{Left: left, Blocked: policyBlockers(r), Final: hopeless && c.Timeout > 0})
		switch {
		case !hopeless:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case c.Timeout > 0 && time.Since(since) >= hopelessTime:
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// seesNothing reports whether the owners of a policy may be watched nowhere: that none is
// left says nothing then.
func seesNothing(r retirement) bool {
	return slices.ContainsFunc(r.Reports(), func(report controller.Report) bool { return report.Nowhere })
}

// isHopeless reports whether each policy that has something left acts as an account that
// is not there, or that the caller may not act as: nothing comes of waiting.
//
// A source of policies gives up policies for the same reasons, but one by one and for good,
// where this ends one command that may be called again.
func (c *Cleanup) isHopeless(r retirement) bool {
	lacksAccount := map[string]bool{}
	for _, e := range r.PolicyErrors() {
		lacksAccount[e.Policy] = v1alpha1.IsAccountReason(e.Reason)
	}
	unfinished := 0
	for _, program := range c.Programs {
		id := idOf(program)
		if _, done := r.RetiredOf(id); done {
			continue
		}
		if !lacksAccount[id] {
			return false
		}
		unfinished++
	}
	return unfinished > 0
}

// policyBlockers returns what is in the way of policies as a whole, and what to do about
// it.
func policyBlockers(r retirement) []Finding {
	var found []Finding
	for _, e := range r.PolicyErrors() {
		why := e.Reason + ": " + e.Message
		switch e.Reason {
		case v1alpha1.ReasonServiceAccountMissing:
			why += "; create it, or use --as-caller: `ambit cleanup` then acts as you"
		case v1alpha1.ReasonImpersonationRefused:
			why += "; grant that, or use --as-caller: `ambit cleanup` then acts as you"
		}
		found = append(found, Finding{Policy: labelOf(e.Policy), Why: why})
	}
	return found
}

// blockersOf returns what is in the way of policies and of owners, and which permissions
// are missing. Nothing is created, so that the one to create is not missing.
func (c *Cleanup) blockersOf(r retirement) []Finding {
	kinds := map[string]string{}
	for _, program := range c.Programs {
		kinds[idOf(program)] = program.Owner.GVK.Kind
	}
	found := policyBlockers(r)
	for _, b := range r.CleanupBlockers() {
		found = append(found, Finding{
			Policy: labelOf(b.Policy), Kind: kinds[b.Policy], Namespace: b.Namespace, Name: b.Name, Why: b.Reason + ": " + b.Message,
		})
	}
	for _, report := range r.Reports() {
		for _, d := range report.Denied {
			if d.Verb == "create" {
				continue
			}
			where := ""
			if d.Namespace != "" {
				where = fmt.Sprintf(" in namespace %q", d.Namespace)
			}
			found = append(found, Finding{Policy: labelOf(d.Policy), Why: fmt.Sprintf("Forbidden: cannot %s %s%s", d.Verb, d.Kind(), where)})
		}
	}
	return found
}

// whatIsLeft adds to what is in the way what the scan finds of other objects.
func (c *Cleanup) whatIsLeft(ctx context.Context, blockers []Finding) []Finding {
	found := blockers
	for _, program := range c.Programs {
		for _, f := range c.Scan.FindRemaining(ctx, program) {
			if !slices.ContainsFunc(found, f.isSameObject) {
				found = append(found, f)
			}
		}
	}
	if len(found) == 0 {
		found = append(found, Finding{Policy: c.Programs[0].Label, Why: "it is not known whether something is left: it could not be read in time"})
	}
	return found
}

// idOf returns the policy's namespace, if it has one, and name, joined by a slash: as
// controller.Denial has it.
func idOf(program *policy.Program) string {
	return v1alpha1.PolicyID(program.Namespace, program.Name)
}
