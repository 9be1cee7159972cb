package policysource

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/filesource"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/objectsource"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/pkg/policysource/statuswriter"
)

const (
	// firstReadTimeout is how long the first decision waits for sources that have not been read.
	firstReadTimeout = 10 * time.Second
	// cleanupPollInterval is how often the controller is asked how far it is with cleaning up.
	cleanupPollInterval = 250 * time.Millisecond
)

// manifestSource holds the manifests of files, or of one kind of objects.
type manifestSource interface {
	// AddTo adds what the source holds to a snapshot, and where it has read everything. It returns
	// false if the source has not been read yet, and may be soon.
	AddTo(*manifest.Snapshot) bool
	// ReadProblems returns what cannot be read.
	ReadProblems() []string
}

// Source is all sources of policies. Create it with New; Start may be called once. It is safe for
// concurrent use.
type Source struct {
	o        Options
	sources  []manifestSource
	start    []func(context.Context) // what Start runs beside the goroutine of decisions
	release  []func()                // called when Start ends
	schemas  schemaReader
	registry *registry.Registry
	handover handover
	writer   *statuswriter.Writer
	wake     chan struct{} // holds one; of the goroutine of Start

	// The fields below belong to the goroutine of Start.
	compilers    *compilers // nil before Start: each decision compiles what is new itself
	startedAt    time.Time
	firstDecided bool                                  // the first decision was made
	compiled     map[manifest.Origin]manifest.Manifest // the manifests that the registry has, each with its contents
	blockedSince map[string]time.Time                  // by id: since when nobody can clean up after it

	mu       sync.Mutex // guards what is below
	last     registry.Decision
	isRead   bool // all sources have been read once
	problems []string
	refused  error // by Controller.Set
}

// New checks the options and makes the sources. It starts nothing, and reads nothing but Options.In.
func New(o Options) (*Source, error) {
	if err := o.checkSources(); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	s := &Source{
		o: o, registry: registry.New(o.Namespace, o.RetireRemovedFiles), handover: handover{controller: o.Controller, logger: o.Logger},
		schemas: schemaReader{read: o.Schemas, clock: o.Clock, logger: o.Logger, turn: make(chan struct{}, 1)},
		wake:    make(chan struct{}, 1), blockedSince: map[string]time.Time{},
	}
	if len(o.Files) > 0 {
		files, err := filesource.New(filesource.Options{Arguments: o.Files, In: o.In, Logger: o.Logger, Clock: o.Clock, Wake: s.wakeUp})
		if err != nil {
			return nil, err
		}
		s.sources, s.start = append(s.sources, files), append(s.start, files.Start)
	}
	objects, written := objectsource.Options{
		Namespace: o.Namespace, Namespaces: o.Namespaces, Informers: permitted.New(o.Informers, o.Access), Access: o.Access, Client: o.Client,
		Recorder: o.Recorder, Logger: o.Logger, Wake: s.wakeUp,
	}, map[manifest.Kind]statuswriter.Objects{}
	add := func(kind manifest.Kind, source *objectsource.Source) {
		s.sources, s.release, written[kind] = append(s.sources, source), append(s.release, source.ReleaseAll), source
	}
	if o.CustomResources {
		add(manifest.CustomResource, objectsource.ForCustomResources(objects))
	}
	if o.ConfigMaps {
		add(manifest.ConfigMap, objectsource.ForConfigMaps(objects))
	}
	s.writer = statuswriter.New(statuswriter.Options{Reporter: o.Controller, Objects: written, Logger: o.Logger, Clock: o.Clock})
	s.start = append(s.start, s.writer.Start)
	return s, nil
}

// wakeUp has another decision made. It never blocks.
func (s *Source) wakeUp() {
	wakeup.SendWake(s.wake)
}

// Start reads policies and has the controller run them, until ctx ends. It returns when all that it
// started has ended.
func (s *Source) Start(ctx context.Context) error {
	s.compilers = newCompilers(s.o.Clock, s.compileManifest, s.wakeUp)
	s.startedAt = s.o.Clock.Now()
	var running sync.WaitGroup
	for _, start := range append(s.start, s.compilers.startAll) {
		running.Go(func() { start(ctx) })
	}
	for ctx.Err() == nil {
		s.waitForNews(ctx, s.decideOnce(ctx))
	}
	running.Wait()
	s.schemas.running.Wait()
	for _, release := range s.release {
		release()
	}
	return nil
}

// waitForNews waits until there is something to decide; a wait of 0 has no end.
func (s *Source) waitForNews(ctx context.Context, wait time.Duration) {
	wakeup.WaitFor(ctx, s.o.Clock, cmp.Or(wait, wakeup.NoEnd), s.wake)
}

// decideOnce reads the sources, decides, and gives the decision to the controller and to the writer. It
// returns after which time to decide again without news, 0 for never.
func (s *Source) decideOnce(ctx context.Context) time.Duration {
	now := s.o.Clock.Now()
	shown, isRead := s.readSources()
	s.useContents(ctx, &shown)
	if ctx.Err() != nil {
		return 0
	}
	if !s.firstDecided && (!isRead || len(shown.Awaited) > 0) { // which of two is run is decided when both are known
		if left := firstReadTimeout - now.Sub(s.startedAt); left > 0 {
			return left
		}
	}
	s.firstDecided = true
	s.registry.TakeSnapshot(shown, now)
	d := s.registry.DecidePolicies(now)
	s.noteOwners(d)
	s.handover.applyDecision(d, now)
	d = s.checkCleanups(d, now)
	s.publishDecision(d, isRead)
	return s.nextDecision(d, now)
}

// readSources returns what all sources hold, and whether each has been read or says why not.
func (s *Source) readSources() (manifest.Snapshot, bool) {
	out, isRead := manifest.Snapshot{}, true
	var problems []string
	for _, source := range s.sources {
		isRead = source.AddTo(&out) && isRead
		problems = append(problems, source.ReadProblems()...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = problems
	return out, isRead
}

// useContents gives the manifests of a snapshot their contents. Of a manifest that is not compiled yet the
// version before is left in its place. One that has none is awaited.
func (s *Source) useContents(ctx context.Context, shown *manifest.Snapshot) {
	if s.compilers != nil {
		s.compilers.setManifests(shown.Manifests)
	}
	before := s.compiled
	s.compiled = make(map[manifest.Origin]manifest.Manifest, len(shown.Manifests))
	shown.Awaited = map[manifest.Origin]bool{}
	var list []manifest.Manifest
	for _, m := range shown.Manifests {
		old, had := before[m.Origin]
		switch {
		case had && old.Digest == m.Digest:
			m.Contents = old.Contents
		case s.compilers == nil:
			m.Contents = s.compileManifest(ctx, m)
		default:
			m.Contents = s.compilers.queue.ContentsOf(m)
		}
		if m.Contents == nil && !had {
			shown.Awaited[m.Origin] = true
			continue
		}
		if m.Contents == nil {
			m = m.WithContentsOf(old)
		}
		s.compiled[m.Origin] = m
		list = append(list, m)
	}
	shown.Manifests = list
}

// compileManifest compiles a manifest, with the schemas that can be had soon.
func (s *Source) compileManifest(ctx context.Context, m manifest.Manifest) *manifest.Contents {
	if s.o.Compiled != nil && m.Origin.Kind == manifest.File {
		if c := manifest.ReuseCompiled(m, s.o.Namespace, s.o.Compiled(m.Origin.File, m.Data)); c != nil {
			return c
		}
	}
	return manifest.CompileManifest(m, s.o.Namespace, s.o.Functions, func(kinds []schema.GroupVersionKind) policy.Schemas { return s.schemas.readSoon(ctx, kinds) })
}

// publishDecision makes a decision known.
func (s *Source) publishDecision(d registry.Decision, isRead bool) {
	s.mu.Lock()
	s.last, s.isRead, s.refused = d, isRead || s.isRead, s.handover.refusal.err
	s.mu.Unlock()
	s.writer.TakeDecision(d)
}

// nextDecision returns how long a decision holds without news, 0 for ever.
func (s *Source) nextDecision(d registry.Decision, now time.Time) time.Duration {
	var wait time.Duration
	if !d.Next.IsZero() {
		wait = max(d.Next.Sub(now), time.Millisecond)
	}
	if len(d.Retire) > 0 && (wait == 0 || wait > cleanupPollInterval) {
		wait = cleanupPollInterval
	}
	if refusal := s.handover.refusal; refusal.err != nil {
		again := max(refusal.next.Sub(now), time.Millisecond)
		wait = min(cmp.Or(wait, again), again)
	}
	return wait
}

// Ready reports whether each source has been read once, or says why it cannot be, and the controller has
// taken the policies. The text is for people: what cannot be read, or what is still waited for.
func (s *Source) Ready() (bool, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.isRead:
		return false, strings.Join(append([]string{"the policies have not been read yet"}, s.problems...), "\n")
	case s.refused != nil:
		return false, "the engine refuses the policies: " + s.refused.Error()
	}
	return true, strings.Join(s.problems, "\n")
}

// Policies returns each policy that is known. Of two that want one name the one that has it comes first,
// unless their namespaces decide. The list is shared: nobody changes it.
func (s *Source) Policies() []registry.PolicyState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Policies
}

// NotReady is a policy that is not ready, or that lacks permissions for some of its work.
type NotReady struct {
	Origin manifest.Origin
	// Name is empty where it is not legible.
	Name string
	// Ready: only a part of its work is not done.
	Ready bool
	// Reason is one of v1alpha1.Reason*.
	Reason string
}

// NotReadyPolicies returns the policies that do not do all of their work now, in the order of Policies.
func (s *Source) NotReadyPolicies() []NotReady {
	policies := s.Policies()
	if len(policies) == 0 {
		return nil
	}
	var list []NotReady
	for i, status := range s.writer.ReportStatuses(policies) {
		isReady, reason := status.Ready.Status == policystatus.True, status.Ready.Reason
		if isReady && status.Permitted.Status != policystatus.False {
			continue
		}
		if isReady {
			reason = status.Permitted.Reason
		}
		list = append(list, NotReady{Origin: policies[i].Origin, Name: policies[i].Name, Ready: isReady, Reason: reason})
	}
	return list
}
