// Package manager assembles Ambit from its parts and runs it, on controller-runtime's
// manager: leader election, probes, metrics, and the order of starting and stopping are
// that one's; clients, streams, reviews of permissions and the engine are made here. The
// cache of controller-runtime is not used: objects come from package watch.
//
// It decides nothing about policies, permissions or objects.
//
// # Order
//
//  1. Probes, metrics and profiles are served, and the API server is asked who we are.
//  2. Leadership is waited for, if it is elected.
//  3. Informers, reviews and the controller start.
//  4. At a stop the engine ends first, then what it uses, then the servers; leadership is
//     given up last, when nothing is written any more. When leadership is lost, all of that is cut off
//     at once.
package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Run runs the policies until ctx ends, and returns when all that it started
// has ended: nil after a clean stop, an error if it could not start or has lost its
// leadership.
func Run(ctx context.Context, o Options) error {
	if err := o.validateOptions(); err != nil {
		return err
	}
	p, err := newProcess(o)
	if err != nil {
		return err
	}
	defer p.own.http.CloseIdleConnections()
	if o.Metrics != nil {
		if err := o.Metrics.Register(p.collector); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
		defer o.Metrics.Unregister(p.collector)
	}
	return p.runProcess(ctx)
}

// runProcess starts controller-runtime's manager, and waits until it and all jobs have ended.
func (p *process) runProcess(ctx context.Context) error {
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	greeting := &leaderJob{run: p.learnIdentity, stop: stop, early: true}
	work := &leaderJob{run: p.runParts, stop: stop}
	m, err := p.newManager(base, cut)
	if err != nil {
		return err
	}
	returning := &leaderJob{run: p.returnMemory, stop: stop, early: true}
	if err := errors.Join(m.Add(greeting), m.Add(work), m.Add(returning)); err != nil {
		return fmt.Errorf("adding the parts: %w", err)
	}
	p.recorder = m.GetEventRecorder("ambit")
	err = m.Start(ctx)
	p.readiness.setStopped()
	cut(nil) // if leadership was lost, the jobs may not have been told yet
	err = errors.Join(greeting.waitForEnd(), work.waitForEnd(), returning.waitForEnd(), err)
	if lost := context.Cause(base); errors.Is(lost, errLeaseLost) {
		err = errors.Join(lost, err)
	}
	m.GetHTTPClient().CloseIdleConnections()
	p.log.Info("stopped")
	return err
}

// checkImpersonation refuses to be somebody else as somebody else: the API server
// would ask what the credentials may do, not what the impersonated user may.
// identity.impersonate does so for policies that are not known yet.
func checkImpersonation(o Options) error {
	for _, program := range slices.Concat(o.Programs, o.Retire) {
		if user := o.Config.Impersonate.UserName; user != "" && program.ServiceAccount != "" {
			return fmt.Errorf("policy %q acts as ServiceAccount %q, which cannot be done while impersonating %q: use the credentials of that user",
				program.Name, program.ServiceAccount, user)
		}
	}
	return nil
}
