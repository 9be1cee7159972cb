package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

const (
	flapWorkers   = 3   // namespaces that flap at the same time
	flapFirsts    = 10  // namespaces that flap while their first list is on its way
	flapStill     = 10  // owners in the namespace that is never touched
	flapSamples   = 600 // at least, of each sort
	flapPace      = 100 * time.Millisecond
	flapTolerance = 0.02
	flapSlower    = 2.0
)

// TestFlaps: the RoleBindings of namespaces are deleted and made again, in a random
// order with random pauses, in the first half while Ambit may watch RBAC objects, in
// the second half while it may not, some while the first list of a stream is on its
// way. Meanwhile owners are resized and their Deployments changed by somebody else. All
// of it is made up for, the streams are those of a process in peace, and nothing was
// deleted.
//
// AMBIT_FLAPS_SEED=N replays the choices of an earlier run.
func TestFlaps(t *testing.T) {
	t.Parallel()
	f := newFlaps(t, 12)
	f.seeRBAC("before")
	mark := f.w.control.Audit().Mark()

	f.flapAll(2, f.round)
	f.reopened(mark, 1) // before the rights to watch RBAC objects come back, which opens streams as well
	f.seeRBAC("after")

	f.sameStreams()
	f.nothingDeleted()
}

// TestFlapsLatency: the same with 50 namespaces that flap 10 times. Nothing of it is
// left in the process, and the owners in a namespace that nobody touches are hardly
// slower than in the quiet times between the rounds. It measures, and so runs alone,
// as part of `make bench`.
func TestFlapsLatency(t *testing.T) {
	const namespaces, rounds = 50, 10
	f := newFlaps(t, namespaces)
	f.look("before")
	before := f.measure()
	t.Logf("before the flaps: %s", before)
	mark, hits := f.w.control.Audit().Mark(), f.gates.hits()

	f.flapAll(rounds, f.sampledRound)
	f.reopened(mark, rounds*namespaces)
	if hits = f.gates.hits() - hits; hits < rounds {
		t.Errorf("only %d flaps fell into the first list of a stream", hits)
	}
	f.look("after")
	f.backAt(before)

	f.sameStreams()
	f.nothingDeleted()
	f.latencies()
}

// look brings Ambit to where what it keeps can be compared.
func (f *flaps) look(phase string) {
	f.w.t.Helper()
	f.seeRBAC(phase)
	f.level(phase)
}

// seeRBAC lets Ambit watch RBAC objects, which it notices when other rights change.
func (f *flaps) seeRBAC(phase string) {
	f.w.t.Helper()
	f.blind = f.w.flapSeeRBAC()
	nudge := flap{namespace: f.namespaces[0], away: 5 * time.Second, back: 10 * time.Second}
	if err := f.flap(f.w.t.Context(), nudge, 0); err != nil {
		f.w.t.Fatal(err)
	}
	began, n := time.Now(), 0
	err := wait.PollUntilContextTimeout(f.w.t.Context(), time.Second, 3*patience, true, func(context.Context) (bool, error) {
		n = 0
		for _, resource := range flapRBAC {
			n += f.l.live(resource + ".rbac.authorization.k8s.io")
		}
		return n == len(flapRBAC), nil
	})
	if err != nil {
		f.w.t.Fatalf("%d kinds of RBAC objects are watched, %s after the samples: %v", n, time.Since(began), err)
	}
	f.converged(phase + " the flaps, with RBAC objects watched")
}

// level brings all that Ambit watches to the same state, so that what it keeps can
// be compared: each owner has size 2, and its Deployment, which was made by a POST,
// was changed by a server-side apply, which adds an entry to its managedFields.
func (f *flaps) level(phase string) {
	f.w.t.Helper()
	f.sampled(flapLevel, func(taken int) bool { return taken >= 2*flapStill && f.turn%(2*flapStill) == flapStill })
	for _, size := range []int64{1, 2} {
		for _, namespace := range f.namespaces {
			f.sizes[namespace] = size
			f.w.resize(namespace, "cache", size)
		}
		f.converged(fmt.Sprintf("%s the flaps, with all of size %d", phase, size))
	}
}

// flapSeed is printed, so that a failure can be replayed.
func flapSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("AMBIT_FLAPS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("AMBIT_FLAPS_SEED: %v", err)
		}
	}
	t.Logf("seed: AMBIT_FLAPS_SEED=%d", seed)
	return seed
}

// flaps is the state of TestFlaps.
type flaps struct {
	w          *world
	l          *launched
	random     *rand.Rand // used by the test's goroutine only
	namespaces []string   // that flap
	still      string     // that does not
	untouched  []string   // the owners in it
	gates      *gates
	blind      func()
	sizes      map[string]int64                // wanted, by namespace; each has one flap at a time
	children   map[types.NamespacedName]string // uids of the Deployments
	samples    map[string][]flapSample         // by sort
	turn       int                             // of the owners in the still namespace
}

// newFlaps makes the namespaces, runs Ambit, takes the rights away in some of
// them while the first list is on its way, and lets each namespace flap once,
// while RBAC objects may not be watched: what a process keeps for good after its
// first flaps and reopened watches (pools, grown maps, connections, and the first
// watch of each stream, which a Reflector keeps until it is stopped) is there when
// the baseline is taken.
func newFlaps(t *testing.T, namespaces int) *flaps {
	w, random := newWorld(t, "flaps"), rand.New(rand.NewPCG(flapSeed(t), 0))
	f := &flaps{
		w: w, random: random, still: w.namespace(memcachedRights()...), gates: newGates(),
		sizes: map[string]int64{}, children: map[types.NamespacedName]string{},
		samples: map[string][]flapSample{flapQuiet: make([]flapSample, 0, 10_000), flapDuring: make([]flapSample, 0, 10_000), flapLevel: make([]flapSample, 0, 1000)},
	}
	for range namespaces {
		namespace := w.namespace(memcachedRights()...)
		f.namespaces, f.sizes[namespace] = append(f.namespaces, namespace), 1
		w.createOwner(namespace, "cache", 1)
	}
	for i := range flapStill {
		f.untouched = append(f.untouched, fmt.Sprintf("cache-%d", i))
		w.createOwner(f.still, f.untouched[i], 1)
	}
	firsts := slices.Clone(f.namespaces[:flapFirsts])
	for i, namespace := range firsts {
		f.gates.arm(namespace, flapListed[i%len(flapListed)])
	}
	config := w.control.User(w.user)
	config.Wrap(f.gates.wrap)
	f.l = w.launch(config, append([]string{f.still}, f.namespaces...), memcached(t))
	var group errgroup.Group
	for _, namespace := range firsts {
		group.Go(func() error { return f.duringFirstList(t.Context(), namespace, 100*time.Millisecond, patience) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if hits := f.gates.hits(); hits != len(firsts) {
		t.Errorf("%d of %d flaps fell into the first list of the process", hits, len(firsts))
	}
	f.converged("at first")
	f.round(true)
	f.converged("after the first flap of each")
	return f
}

// flap is what happens to one namespace.
type flap struct {
	namespace string
	away      time.Duration // how long the RoleBinding is gone
	back      time.Duration // how long it is there, at least, before the next namespace has its turn
	// list is the resource whose first list the next flap falls into; "": none.
	list          string
	resize, drift bool // while the RoleBinding is gone
}

var flapRBAC = []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}

var flapListed = []string{"memcacheds", "deployments", "pods"}

// flapAll flaps in rounds. From the half on Ambit may not watch RBAC objects.
func (f *flaps) flapAll(rounds int, round func(blind bool)) {
	f.w.t.Helper()
	began, before := time.Now(), f.gates.hits()
	for i := range rounds {
		if i == rounds/2 {
			f.blind()
		}
		round(i >= rounds/2)
		f.converged(fmt.Sprintf("after round %d", i+1))
	}
	f.w.t.Logf("%d flaps and %d more during the first list of a stream in %s", rounds*len(f.namespaces), f.gates.hits()-before, time.Since(began).Round(time.Second))
}

// round lets each namespace flap once, in random order.
func (f *flaps) round(blind bool) {
	var group errgroup.Group
	group.SetLimit(flapWorkers)
	for i, at := range f.random.Perm(len(f.namespaces)) {
		one := f.choose(f.namespaces[at], blind, i%10 == 0)
		if one.resize {
			f.sizes[one.namespace] = 3 - f.sizes[one.namespace] // 1 or 2
		}
		size := f.sizes[one.namespace]
		group.Go(func() error { return f.flap(f.w.t.Context(), one, size) })
	}
	if err := group.Wait(); err != nil {
		f.w.t.Fatal(err)
	}
}

// choose draws a flap. The pauses are about as long as the delays that Ambit has
// in that mode: some too short to be noticed, some in the midst, some noticed.
func (f *flaps) choose(namespace string, blind, duringList bool) flap {
	longest := []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second}
	if blind {
		longest = []time.Duration{50 * time.Millisecond, time.Second, 5 * time.Second}
	}
	one := flap{
		namespace: namespace, away: time.Duration(f.random.Int64N(int64(longest[f.random.IntN(len(longest))]))),
		back:   time.Duration(f.random.Int64N(int64(time.Second))),
		resize: f.random.IntN(5) == 0, drift: f.random.IntN(10) == 0,
	}
	if list := flapListed[f.random.IntN(len(flapListed))]; duringList {
		one.list, one.away = list, longest[len(longest)-1] // long enough to be noticed
	}
	return one
}

func (f *flaps) flap(ctx context.Context, one flap, size int64) error {
	if err := f.w.flapTake(ctx, one.namespace); err != nil {
		return err
	}
	if err := f.meanwhile(ctx, one, size); err != nil {
		return err
	}
	if err := flapWait(ctx, one.away); err != nil {
		return err
	}
	if one.list != "" {
		f.gates.arm(one.namespace, one.list)
	}
	if err := f.w.flapGive(ctx, one.namespace); err != nil {
		return err
	}
	if one.list != "" {
		if err := f.duringFirstList(ctx, one.namespace, one.away/10, 6*time.Second); err != nil {
			return err
		}
	}
	return flapWait(ctx, one.back)
}

// meanwhile changes what Ambit may not see.
func (f *flaps) meanwhile(ctx context.Context, one flap, size int64) error {
	var errs []error
	if one.resize {
		patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
		_, err := f.w.objects.Resource(memcacheds).Namespace(one.namespace).Patch(ctx, "cache", types.MergePatchType, patch, metav1.PatchOptions{})
		errs = append(errs, err)
	}
	if one.drift {
		patch := []byte(`{"spec":{"replicas":3}}`)
		_, err := f.w.typed.AppsV1().Deployments(one.namespace).Patch(ctx, "cache", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// duringFirstList takes the rights away and gives them back while the list of an
// armed gate is held, if there is one within some time: the first lists of the process
// come for sure, others only where the rights that were taken before were missed.
func (f *flaps) duringFirstList(ctx context.Context, namespace string, away, limit time.Duration) error {
	defer f.gates.open(namespace)
	if !f.gates.held(ctx, namespace, limit) {
		return ctx.Err()
	}
	if err := f.w.flapTake(ctx, namespace); err != nil {
		return err
	}
	if err := flapWait(ctx, away); err != nil {
		return err
	}
	return f.w.flapGive(ctx, namespace)
}

func flapWait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// converged waits until every owner is Ready for its latest spec and has one
// Deployment, the one that it always had, as wanted.
func (f *flaps) converged(when string) {
	f.w.t.Helper()
	began := time.Now()
	last := errors.New("it was never looked at")
	err := wait.PollUntilContextTimeout(f.w.t.Context(), 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if err := f.check(ctx); ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		f.w.t.Fatalf("%s the owners do not converge: %v", when, last)
	}
	f.w.t.Logf("converged %s after %s", when, time.Since(began).Round(time.Millisecond))
}

func (f *flaps) check(ctx context.Context) error {
	owners, err := f.w.objects.Resource(memcacheds).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	deployments, err := f.w.typed.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	children := map[types.NamespacedName]*appsv1.Deployment{}
	count := map[string]int{}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		children[types.NamespacedName{Namespace: d.Namespace, Name: d.Name}] = d
		count[d.Namespace]++
	}
	checked := 0
	for i := range owners.Items {
		owner := &owners.Items[i]
		want, ours := f.sizes[owner.GetNamespace()], 1
		if owner.GetNamespace() == f.still {
			want, ours = -1, flapStill
		} else if want == 0 {
			continue // of another story
		}
		checked++
		if n := count[owner.GetNamespace()]; n != ours {
			return fmt.Errorf("namespace %s has %d Deployments, want %d", owner.GetNamespace(), n, ours)
		}
		if err := f.checkOwner(owner, children[types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}], want); err != nil {
			return fmt.Errorf("%s/%s: %w", owner.GetNamespace(), owner.GetName(), err)
		}
	}
	if checked != len(f.namespaces)+flapStill {
		return fmt.Errorf("there are %d owners", checked)
	}
	return nil
}

// checkOwner checks one owner; a wanted size below 0 is the one that it has.
func (f *flaps) checkOwner(owner *unstructured.Unstructured, child *appsv1.Deployment, want int64) error {
	size, _, _ := unstructured.NestedInt64(owner.Object, "spec", "size")
	seen, _, _ := unstructured.NestedInt64(owner.Object, "status", "observedGeneration")
	ready, permitted := conditionOf(owner, v1alpha1.ConditionReady), conditionOf(owner, v1alpha1.ConditionPermitted)
	switch {
	case want >= 0 && size != want:
		return fmt.Errorf("its size is %d, want %d: the test is wrong", size, want)
	case child == nil:
		return errors.New("it has no Deployment")
	case int64(*child.Spec.Replicas) != size:
		return fmt.Errorf("its Deployment wants %d replicas, the owner %d", *child.Spec.Replicas, size)
	case seen != owner.GetGeneration() || ready == nil || ready["status"] != "True" || permitted == nil || permitted["status"] != "True":
		return fmt.Errorf("generation %d, status is %v", owner.GetGeneration(), owner.Object["status"])
	case conditionOf(owner, v1alpha1.ConditionStalled) != nil || conditionOf(owner, v1alpha1.ConditionReconciling) != nil:
		return fmt.Errorf("a condition is left: %v", owner.Object["status"])
	}
	if ref := metav1.GetControllerOf(child); ref == nil || ref.UID != owner.GetUID() {
		return fmt.Errorf("its Deployment is controlled by %v", ref)
	}
	name := types.NamespacedName{Namespace: child.Namespace, Name: child.Name}
	if f.children[name] == "" {
		f.children[name] = string(child.UID)
	}
	if f.children[name] != string(child.UID) {
		f.w.t.Errorf("Deployment %s is another one than it was", name)
		f.children[name] = string(child.UID)
	}
	return nil
}

// sameStreams waits until Ambit has just the watches open that it has with
// nothing denied: in each namespace one of owners, Deployments and Pods, and those
// of RBAC objects.
func (f *flaps) sameStreams() {
	f.w.t.Helper()
	want := map[string]int{}
	for _, resource := range flapRBAC {
		want[resource+" in "] = 1
	}
	for _, namespace := range append([]string{f.still}, f.namespaces...) {
		for _, resource := range flapListed {
			want[resource+" in "+namespace] = 1
		}
	}
	f.w.eventually("the open streams are those of a process in peace", func(context.Context) error {
		open, err := f.w.control.Audit().OpenWatches(f.w.user)
		if err != nil {
			return err
		}
		by := map[string]int{}
		for _, r := range open {
			by[r.Resource+" in "+r.Namespace]++
		}
		if diff := cmp.Diff(want, by); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	f.w.t.Logf("%d streams are open", len(want))
}

// nothingDeleted: no delete was asked for, granted or not, since Ambit began.
func (f *flaps) nothingDeleted() {
	f.w.t.Helper()
	f.w.noRequests(cluster.Mark{}, "to delete", func(r cluster.Request) bool { return r.Verb == "delete" || r.Verb == "deletecollection" })
}

// reopened checks that the flaps were felt: were the streams left as they were,
// all else would pass.
func (f *flaps) reopened(mark cluster.Mark, least int) {
	f.w.t.Helper()
	requests, err := f.w.control.Audit().Since(mark, f.w.user)
	if err != nil {
		f.w.t.Fatal(err)
	}
	by := map[string]int{}
	for _, r := range requests {
		switch {
		case r.IsWatchOpened():
			by["watch opened"]++
		case r.IsWatchClosed() && r.Code >= 300:
			by[fmt.Sprintf("watch refused with %d", r.Code)]++
		case !r.IsWatch():
			by[fmt.Sprintf("%s %s %d", r.Verb, r.Resource, r.Code)]++
		}
	}
	f.w.t.Logf("requests during the flaps: %v", by)
	if n := by["watch opened"]; n < least {
		f.w.t.Errorf("%d streams were opened, want at least %d", n, least)
	}
}
