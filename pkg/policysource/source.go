package policysource

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/policy"
)

const (
	// firstReading is how long the first decision waits for sources that have not been
	// read.
	firstReading = 10 * time.Second
	// schemasTime is how long a decision waits for schemas, and schemasRest how long
	// none are asked for after they did not come in that time.
	schemasTime = 2 * time.Second
	schemasRest = 30 * time.Second
	// retireTime is how often the engine is asked how far it is with cleaning up.
	retireTime = 250 * time.Millisecond
)

// Source is all sources of policies. Create it with New; Start may be called once. It
// is safe for concurrent use.
type Source struct {
	o         Options
	files     *fileShelf
	shelves   []*shelf
	book      *book
	secretary *secretary
	workshop  *workshop     // nil before Start: what is new is compiled by each pass itself
	wake      chan struct{} // holds one; of the goroutine of Start

	// Of the goroutine of Start.
	began    time.Time
	opened   bool            // the first decision was made
	compiled map[Origin]text // the texts that the book has, each with its reading
	programs []*policy.Program
	retire   []*policy.Program
	refusal  refusal              // of the last decision
	hopeless map[string]time.Time // by id, of those to be cleaned up after: since when nothing can be done
	asking   sync.WaitGroup
	asks     chan struct{} // holds one: guards patient
	patient  time.Time     // schemas are not asked for before

	mu       sync.Mutex // guards what is below
	last     decision
	settled  bool
	problems []string
	refused  error // by Controller.Set
}

// New checks the options and makes the sources. It starts nothing, and reads nothing but
// Options.In.
func New(o Options) (*Source, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	s := &Source{o: o, book: newBook(o.Namespace), wake: make(chan struct{}, 1), hopeless: map[string]time.Time{}, asks: make(chan struct{}, 1)}
	s.book.retireFiles = o.RetireRemovedFiles
	f, err := newFiles(o)
	if err != nil {
		return nil, err
	}
	if len(o.Files) > 0 {
		s.files = &fileShelf{files: f, wake: s.look, clock: o.Clock, logger: o.Logger}
	}
	if o.CustomResources {
		s.shelves = append(s.shelves, newShelf(customResources(), o, s.look))
	}
	if o.ConfigMaps {
		s.shelves = append(s.shelves, newShelf(configMaps(), o, s.look))
	}
	s.secretary = newSecretary(o, s.shelves)
	return s, nil
}

// newFiles reads Options.In if it is to be read.
func newFiles(o Options) (files, error) {
	f := files{isFresh: isJustWritten}
	for _, argument := range o.Files {
		if argument != "-" {
			f.arguments = append(f.arguments, argument)
			continue
		}
		if o.In == nil || f.stdin != nil {
			return files{}, fmt.Errorf("making the sources of policies: %q can be given once, and there must be an input", argument)
		}
		data, err := io.ReadAll(io.LimitReader(o.In, mostFile))
		if err != nil {
			return files{}, fmt.Errorf("reading the policies on stdin: %w", err)
		}
		t := text{origin: Origin{Kind: File, File: "<stdin>"}, data: data, steady: true}
		t.digest, t.size = digestOf(t)
		f.stdin = &t
	}
	return f, nil
}

// look makes the goroutine of Start look. It never blocks.
func (s *Source) look() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Start reads policies and has the engine run them, until ctx ends. It returns when all
// that it started has ended.
func (s *Source) Start(ctx context.Context) error {
	var running sync.WaitGroup
	if s.files != nil {
		running.Go(func() { s.files.run(ctx) })
	}
	running.Go(func() { s.secretary.run(ctx) })
	s.workshop = newWorkshop(s.o.Clock, s.read, s.look)
	running.Go(func() { s.workshop.run(ctx) })
	s.began = s.o.Clock.Now()
	for ctx.Err() == nil {
		s.sleep(ctx, s.pass(ctx))
	}
	running.Wait()
	s.asking.Wait()
	for _, shelf := range s.shelves {
		shelf.release()
	}
	return nil
}

// sleep waits until there is something to do; a wait of 0 has no end.
func (s *Source) sleep(ctx context.Context, wait time.Duration) {
	var over <-chan time.Time
	if wait > 0 {
		timer := s.o.Clock.NewTimer(wait)
		defer timer.Stop()
		over = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-over:
	}
}

// pass is one decision. It returns when to make the next one at the latest, 0 for when
// something happens.
func (s *Source) pass(ctx context.Context) time.Duration {
	now := s.o.Clock.Now()
	shown, settled := s.snapshot()
	s.useReadings(ctx, &shown)
	if ctx.Err() != nil {
		return 0
	}
	if !s.opened && (!settled || len(shown.awaited) > 0) { // which of two is run is decided when both are known
		if left := firstReading - now.Sub(s.began); left > 0 {
			return left
		}
	}
	s.opened = true
	s.book.read(shown, now)
	d := s.book.decide(now)
	s.noteOwned(d)
	s.apply(d, now)
	d = s.retired(d, now)
	s.publish(d, settled, s.refusal.err)
	return s.next(d, now)
}

// snapshot is what all shelves hold, and whether each has been read or says why not.
func (s *Source) snapshot() (snapshot, bool) {
	out, settled := snapshot{}, true
	var problems []string
	if s.files != nil {
		settled = s.files.snapshot(&out)
		problems = append(problems, s.files.problems()...)
	}
	for _, shelf := range s.shelves {
		shelf.follow()
		settled = shelf.snapshot(&out) && settled
		if shelf.problem != "" {
			problems = append(problems, shelf.problem)
		}
		if shelf.reach != "" {
			problems = append(problems, shelf.reach)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = problems
	return out, settled
}

// useReadings gives the texts of a snapshot their readings. Of one that is not compiled yet
// the version before is left in its place; one that has none is awaited.
func (s *Source) useReadings(ctx context.Context, shown *snapshot) {
	if s.workshop != nil {
		s.workshop.want(shown.texts)
	}
	before := s.compiled
	s.compiled = make(map[Origin]text, len(shown.texts))
	shown.awaited = map[Origin]bool{}
	var texts []text
	for _, t := range shown.texts {
		old, had := before[t.origin]
		switch {
		case had && old.digest == t.digest:
			t.reading = old.reading
		case s.workshop == nil:
			t.reading = s.read(ctx, t)
		default:
			t.reading = s.workshop.readingOf(t)
		}
		if t.reading == nil && !had {
			shown.awaited[t.origin] = true
			continue
		}
		if t.reading == nil {
			t = t.as(old)
		}
		s.compiled[t.origin] = t
		texts = append(texts, t)
	}
	shown.texts = texts
}

// read compiles a text, with the schemas that can be had soon.
func (s *Source) read(ctx context.Context, t text) *reading {
	return read(t, s.o.Namespace, func(kinds []schema.GroupVersionKind) policy.Schemas { return s.schemas(ctx, kinds) })
}

// schemas returns those of kinds that can be had soon; nil if there are none.
func (s *Source) schemas(ctx context.Context, kinds []schema.GroupVersionKind) policy.Schemas {
	if s.o.Schemas == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, schemasTime)
	defer cancel()
	select {
	case s.asks <- struct{}{}:
		defer func() { <-s.asks }()
	case <-ctx.Done():
		return nil
	}
	if s.o.Clock.Now().Before(s.patient) {
		return nil
	}
	answer := make(chan policy.Schemas, 1)
	s.asking.Go(func() { answer <- s.o.Schemas(ctx, kinds) })
	select {
	case schemas := <-answer:
		return schemas
	case <-ctx.Done():
		s.patient = s.o.Clock.Now().Add(schemasRest)
		s.o.Logger.Info("fields of kinds are not checked", "reason", "the API server did not publish them in time")
		return nil
	}
}

// publish makes a decision known.
func (s *Source) publish(d decision, settled bool, refused error) {
	s.mu.Lock()
	s.last, s.settled, s.refused = d, settled || s.settled, refused
	s.mu.Unlock()
	s.secretary.tell(d)
}

// next says how long a decision holds without news.
func (s *Source) next(d decision, now time.Time) time.Duration {
	var wait time.Duration
	if !d.next.IsZero() {
		wait = max(d.next.Sub(now), time.Millisecond)
	}
	if len(d.retire) > 0 && (wait == 0 || wait > retireTime) {
		wait = retireTime
	}
	if s.refusal.err != nil {
		again := max(s.refusal.next.Sub(now), time.Millisecond)
		wait = min(cmp.Or(wait, again), again)
	}
	return wait
}

// Ready says whether each source has been read once, or says why it cannot be, and what
// it has been given to the engine; the text is for people: what cannot be read, or what is
// still waited for.
func (s *Source) Ready() (bool, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.settled:
		return false, strings.Join(append([]string{"the policies have not been read yet"}, s.problems...), "\n")
	case s.refused != nil:
		return false, "the engine refuses the policies: " + s.refused.Error()
	}
	return true, strings.Join(s.problems, "\n")
}
