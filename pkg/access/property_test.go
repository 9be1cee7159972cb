package access

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/test/raced"
)

var seed = flag.Uint64("seed", 0, "run the property test with this seed only")

// viewer is a Subscriber that knows only what it has looked up when it was told.
type viewer struct {
	reviewer *Reviewer
	kept     map[Key][]Access

	mu         sync.Mutex // guards what is below
	seen       map[Key]map[Access]Decision
	generation map[Key]uint64
	problem    string
}

func (v *viewer) Changed(at Key) { v.look(at) }

func (v *viewer) look(at Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	state := v.reviewer.State(at)
	if state.Generation != 0 && state.Generation < v.generation[at] {
		v.problem = fmt.Sprintf("generation of %v: %d after %d", at, state.Generation, v.generation[at])
	}
	v.generation[at] = state.Generation
	v.seen[at] = map[Access]Decision{}
	for _, a := range universe() {
		v.seen[at][a] = v.reviewer.Decide(at, a)
	}
}

func universe() []Access {
	return append([]Access{{Verb: "get", Resource: "pods", Subresource: "log"}, {Verb: "patch", Resource: "pods", Name: "a"}}, all...)
}

func universePlaces() []Key {
	return []Key{team, everywhere, {Identity: "x", Namespace: "team"}, {Identity: "x"}, {Namespace: "other"}}
}

// TestDecisionsEndEqualToTheTruth: whatever is granted, revoked, kept and failing in
// whatever order, and however late the authorizer is, decisions end equal to what an
// access review says, subscribers have seen that, and it is quiet then.
func TestDecisionsEndEqualToTheTruth(t *testing.T) {
	from, to := uint64(1), uint64(raced.Few(20, 150))
	if *seed != 0 {
		from, to = *seed, *seed
	}
	for s := from; s <= to; s++ {
		t.Run(fmt.Sprintf("seed=%d", s), func(t *testing.T) {
			inBubble(t, Options{}, func(b *bench) { newFlapping(b, s).run() })
		})
	}
}

// flapping is one run of the property test.
type flapping struct {
	*bench
	rand *rand.Rand
	subs []*viewer
}

func newFlapping(b *bench, seed uint64) *flapping {
	f := &flapping{bench: b, rand: rand.New(rand.NewPCG(seed, 0))}
	delays := rand.New(rand.NewPCG(seed, 1)) // under the server's lock
	b.server.delay = func(Key) time.Duration { return time.Duration(delays.IntN(30)) * time.Millisecond }
	for range 3 {
		f.subs = append(f.subs, &viewer{
			reviewer: b.reviewer, kept: map[Key][]Access{},
			seen: map[Key]map[Access]Decision{}, generation: map[Key]uint64{},
		})
	}
	return f
}

func (f *flapping) run() {
	for range 20 + f.rand.IntN(200) {
		f.step()
		if f.rand.IntN(3) > 0 {
			f.pass(time.Duration(f.rand.ExpFloat64() * float64(300*time.Millisecond)))
		}
	}
	f.server.set(func() { f.server.err = nil })
	f.pass(10 * time.Minute) // accesses that rules do not show take turns
	f.work()
	f.pass(2 * time.Minute)
	f.check()
}

// work is what anybody does who relies on decisions: a request that is denied against
// the rules is refused.
func (f *flapping) work() {
	for _, v := range f.subs {
		for at, accesses := range v.kept {
			for _, a := range accesses {
				f.server.mu.Lock()
				forbidden := f.server.forbidden[at][a]
				f.server.mu.Unlock()
				if forbidden && f.reviewer.Decide(at, a) != Denied {
					f.reviewer.ReportDenied(at, a)
				}
			}
		}
	}
}

// pick returns one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (f *flapping) step() {
	at, a := pick(f.rand, universePlaces()), pick(f.rand, universe())
	switch f.rand.IntN(12) {
	case 0, 1, 2:
		f.server.grant(at, a)
	case 3, 4:
		f.server.revoke(at, a)
		f.hintAt(at, a)
	case 5:
		f.server.set(func() { put(f.server.hidden, at, []Access{a}, true); f.server.incomplete[at] = true })
		f.hintAt(at, a)
	case 6:
		f.server.set(func() { put(f.server.hidden, at, []Access{a}, false) })
		f.hintAt(at, a)
	case 7:
		f.server.set(func() { put(f.server.forbidden, at, []Access{a}, f.rand.IntN(2) == 0) })
		f.reviewer.ReportDenied(at, a) // no rules tell of that
	case 8, 9:
		f.keep(pick(f.rand, f.subs), at)
	case 10:
		f.server.set(func() { f.server.err = pick(f.rand, []error{nil, nil, errBusy, errNobody}) })
	case 11:
		f.reviewer.SetEventDriven(f.rand.IntN(2) == 0)
	}
}

// hintAt tells the Reviewer of a change, in one of the ways.
func (f *flapping) hintAt(at Key, a Access) {
	f.pass(time.Duration(f.rand.IntN(10)) * time.Millisecond)
	switch f.rand.IntN(3) {
	case 0:
		f.reviewer.Invalidate("")
	case 1:
		f.reviewer.Invalidate(at.Namespace)
	case 2:
		f.reviewer.Invalidate(at.Namespace)
		f.reviewer.ReportDenied(at, a)
	}
}

func (f *flapping) keep(v *viewer, at Key) {
	var accesses []Access
	for _, a := range universe() {
		if f.rand.IntN(3) > 0 {
			accesses = append(accesses, a)
		}
	}
	if f.rand.IntN(4) == 0 {
		accesses = nil
	}
	if v.kept[at] = accesses; len(accesses) == 0 {
		delete(v.kept, at)
	}
	f.reviewer.Require(v, at, accesses, Payer{})
	v.look(at)
}

func (f *flapping) check() {
	denied := false
	for i, v := range f.subs {
		if v.problem != "" {
			f.Error(v.problem)
		}
		for at, accesses := range v.kept {
			for _, a := range accesses {
				f.server.mu.Lock()
				want := decisionOf(f.server.truth(at, a))
				f.server.mu.Unlock()
				denied = denied || want == Denied
				expect(f, fmt.Sprintf("decision %v %v", at, a), want, f.reviewer.Decide(at, a))
				expect(f, fmt.Sprintf("seen by %d: %v %v", i, at, a), want, v.seen[at][a])
			}
			expect(f, "reviewed", true, f.reviewer.State(at).Reviewed)
		}
	}
	n, rest := f.server.count(), 10*time.Minute
	if denied {
		rest = time.Minute // it is probed, at a pace that other tests look at
	}
	f.pass(rest)
	if got := f.server.count(); !denied && got != n {
		f.Errorf("%d requests while all is allowed", got-n)
	}
	if got := most(f.server.since(0), time.Second); got > 20 {
		f.Errorf("%d requests in a second", got)
	}
	for _, at := range universePlaces() {
		for _, v := range f.subs {
			f.reviewer.Require(v, at, nil, Payer{})
		}
	}
	expect(f, "places", 0, len(f.reviewer.places))
}
