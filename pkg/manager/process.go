package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource"
	"github.com/ambit-dev/ambit/pkg/policysource/objectsource"
)

// discoveryTimeout bounds a discovery request, which knows no context: it is how
// long a stop may take while the API server does not answer.
const discoveryTimeout = 10 * time.Second

// process is one run. Its fields do not change once its parts work, but for user.
type process struct {
	options   Options
	log       logr.Logger
	clients   *clients
	own       *identity
	readiness *readiness
	meters    *meters
	collector *collector
	recorder  objectsource.Recorder
	lease     *lease // nil where there is no Lease
	pace      cleanupPace
	greeted   chan struct{} // closed when user is known
	user      string        // who we are
}

func newProcess(o Options) (*process, error) {
	if o.Reads == nil {
		made, err := NewReads(o.Config, o.loggerOrDiscard())
		if err != nil {
			return nil, err
		}
		o.Reads = made
	}
	clients := o.Reads.clients
	own, err := clients.identityFor("")
	if err != nil {
		return nil, err
	}
	p := &process{
		options: o, log: o.loggerOrDiscard(), clients: clients, own: own, greeted: make(chan struct{}),
		readiness: newReadiness(o.Election), meters: newMeters(), pace: cleanupPace{tidy: tidyTime, idle: idleTime},
	}
	p.collector = newCollector(p.meters, p.readiness, o)
	return p, nil
}

// learnIdentity asks the API server who we are.
func (p *process) learnIdentity(ctx context.Context) error {
	user, err := whoAmI(ctx, p.own)
	if err != nil {
		return err
	}
	p.user = user
	p.readiness.setConnected()
	close(p.greeted)
	return nil
}

// parts are what works while this process leads.
type parts struct {
	streams    *informer.Set
	reviewer   *access.Reviewer
	controller *controller.Controller
	source     *policysource.Source // nil: there is none
}

// runParts is done while this process leads.
func (p *process) runParts(ctx context.Context) error {
	select {
	case <-p.greeted:
	case <-ctx.Done():
		return nil
	}
	hold, err := p.becomeLeader(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	made, err := p.assembleParts()
	if err != nil {
		return err
	}
	p.collector.setParts(made)
	defer p.collector.setParts(nil)
	p.readiness.setLeading(made)
	p.sayRunning()
	used := []func(context.Context) error{made.streams.Start, made.reviewer.Start, hold, p.collectUnused(made)}
	if p.options.While != nil {
		ctx, used = runBeside(ctx, used, func(ctx context.Context) { p.options.While(ctx, made.controller) })
	}
	return made.runAll(ctx, used...)
}

// sayRunning logs that this process works. How many policies there are is not known yet
// where they come from sources.
func (p *process) sayRunning() {
	log := p.log.WithValues("identity", p.user)
	if p.options.Sources == nil {
		log = log.WithValues("policies", len(p.options.Programs))
	}
	log.Info("running")
}

// assembleParts makes the parts. It starts nothing.
func (p *process) assembleParts() (*parts, error) {
	o := p.options
	made := &parts{}
	var err error
	made.streams, made.reviewer, err = o.Reads.ShareReads(o.Config, informer.UserOptions{OnWatchError: o.OnWatchError})
	if err != nil {
		return nil, err
	}
	kinds, err := newServedKinds(p.own.config, p.discoveryClient())
	if err != nil {
		return nil, fmt.Errorf("preparing discovery: %w", err)
	}
	running, retired := divideRetired(o.Programs)
	made.controller, err = controller.New(controller.Options{
		Programs: running, Retire: slices.Concat(o.Retire, retired), Informers: made.streams, Access: made.reviewer, Clients: p.writerFor, Served: kinds.findKinds, Identity: p.user,
		Namespaces: o.Namespaces, Concurrency: o.Concurrency, Metrics: p.meters, Tracer: o.Tracer, Recorder: p.recorder, Logger: p.log.WithName("engine"),
	})
	if err != nil {
		return nil, err
	}
	made.source, err = p.newSource(made)
	return made, err
}

// divideRetired returns the programs that are to be run, and those that say that they are to be
// cleaned up after.
func divideRetired(programs []*policy.Program) (running, retired []*policy.Program) {
	for _, program := range programs {
		if program.Retire {
			retired = append(retired, program)
			continue
		}
		running = append(running, program)
	}
	return running, retired
}

// writerFor is what the engine writes with as an identity. It asks for it before each write.
func (p *process) writerFor(user string) (dynamic.Interface, error) {
	if p.lease != nil {
		if err := p.lease.isOver(); err != nil {
			return nil, err
		}
	}
	return p.clients.writerFor(user)
}

// policyWriter is what the sources write with on policies.
func (p *process) policyWriter() (dynamic.Interface, error) {
	if p.lease == nil {
		return p.own.objects, nil
	}
	return dynamic.NewForConfigAndClient(p.own.config, p.own.clientOver(func(t http.RoundTripper) http.RoundTripper { return guarded{t, p.lease} }))
}

// discoveryClient is the client of discovery requests.
func (p *process) discoveryClient() *http.Client {
	client := *p.own.http
	client.Timeout = discoveryTimeout
	return &client
}

// runBeside adds a part that ends the whole when it ends, by ending the context, and
// that ends when the context or the other parts do.
func runBeside(ctx context.Context, used []func(context.Context) error, part func(context.Context)) (context.Context, []func(context.Context) error) {
	ctx, stop := context.WithCancel(ctx)
	return ctx, append(used, func(used context.Context) error {
		defer stop()
		defer context.AfterFunc(used, stop)()
		part(ctx)
		return nil
	})
}

// runAll runs the engine with the sources of its policies, and what they use, and stops the
// engine and the sources first. When a part fails the rest stops.
func (made *parts) runAll(ctx context.Context, used ...func(context.Context) error) error {
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	usedCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var background sync.WaitGroup
	errs := make([]error, len(used), len(used)+1)
	for i, start := range used {
		background.Go(func() {
			if errs[i] = start(usedCtx); errs[i] != nil {
				fail()
			}
		})
	}
	err := made.serveSources(ctx)
	stop()
	background.Wait()
	return errors.Join(append(errs, err)...)
}

// serveSources runs the engine, and beside it the sources of its policies.
func (made *parts) serveSources(ctx context.Context) error {
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	var reading sync.WaitGroup
	var unread error
	if made.source != nil {
		reading.Go(func() {
			defer fail() // before ctx ends it does not return, unless it failed
			unread = made.source.Start(ctx)
		})
	}
	err := made.controller.Start(ctx)
	fail()
	reading.Wait()
	if err != nil {
		err = fmt.Errorf("running the engine: %w", err)
	}
	if unread != nil {
		unread = fmt.Errorf("reading policies: %w", unread)
	}
	return errors.Join(err, unread)
}

// What nobody needs any more is looked for every tidyTime. Clients that were not needed for
// idleTime are dropped: a policy that is taken away and put back finds them.
const (
	tidyTime = time.Minute
	idleTime = 5 * time.Minute
)

// cleanupPace is how often process.tidying looks, and how long what is idle stays.
type cleanupPace struct{ tidy, idle time.Duration }

// collectUnused drops, until its context ends, what policies have left behind that are gone.
func (p *process) collectUnused(made *parts) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(p.pace.tidy)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				p.clients.dropUnused(made.identitiesInUse(), time.Now().Add(-p.pace.idle))
				p.meters.retainPolicies(made.policiesInUse()) // perhaps nobody asks for metrics
			}
		}
	}
}

// identitiesInUse are those that policies act as now, or that streams are open as: one that was
// replaced goes on for a while. What reviews and writes are made as is asked for each time.
func (made *parts) identitiesInUse() map[string]bool {
	found := map[string]bool{}
	for _, program := range made.controller.Programs() {
		found[program.Identity()] = true
	}
	for _, stream := range made.streams.States() {
		found[stream.Key.Identity] = true
	}
	return found
}

// policiesInUse are those that the engine has, by id.
func (made *parts) policiesInUse() map[string]bool {
	there := map[string]bool{}
	for _, o := range made.controller.Owners() {
		there[o.Policy] = true
	}
	return there
}
