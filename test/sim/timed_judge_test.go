package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/ambit-dev/ambit/pkg/simulate"
)

// judgeOfTime sees each owner and child that comes and goes, and notes what may never be.
type judgeOfTime struct {
	violations
	clock *setClock

	mu       sync.Mutex
	lastRun  map[string]int64 // by the uid of the owner: the run whose child was made last
	excused  map[string]int   // owners that users delete, by namespace
	runs     int
	expired  int
	ownersOf map[string]*unstructured.Unstructured // by uid
}

func newJudgeOfTime(clock *setClock) *judgeOfTime {
	return &judgeOfTime{clock: clock, lastRun: map[string]int64{}, excused: map[string]int{}, ownersOf: map[string]*unstructured.Unstructured{}}
}

// excuseOwner notes that a user is about to delete an owner.
func (j *judgeOfTime) excuseOwner(namespace string, isOwner bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if isOwner {
		j.excused[namespace]++
	}
}

// watch looks on until the function that it returns is called.
func (j *judgeOfTime) watch(s *stage) (end func()) {
	s.Helper()
	owners, children := s.lookOn(memcacheds, "", j.see), s.lookOn(resources()["configmaps"], "", j.see)
	return func() {
		owners()
		children()
	}
}

func (j *judgeOfTime) see(change apiwatch.EventType, object *unstructured.Unstructured) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case object.GetKind() == "Memcached" && change == apiwatch.Deleted:
		j.seeGone(object)
	case object.GetKind() == "Memcached":
		j.ownersOf[string(object.GetUID())] = object
	case change == apiwatch.Added:
		j.seeMade(object)
	}
}

// seeGone: nothing but a user, or the time, deletes an owner.
func (j *judgeOfTime) seeGone(owner *unstructured.Unstructured) {
	switch namespace := owner.GetNamespace(); {
	case !time.Now().Add(j.clock.mostAhead()).Before(owner.GetCreationTimestamp().Add(lifeOfOwner)):
		j.expired++
	case j.excused[namespace] > 0:
		j.excused[namespace]--
	default:
		j.violated("nothing is done before its time", "the owner in %s is deleted", namespace)
	}
}

// seeMade: no run comes before its time, nor again, nor after a later one.
func (j *judgeOfTime) seeMade(child *unstructured.Unstructured) {
	_, text, isRun := strings.Cut(child.GetName(), "-run-")
	if !isRun {
		return
	}
	run, err := strconv.ParseInt(text, 10, 64)
	controller := metav1.GetControllerOf(child)
	if err != nil || controller == nil {
		j.violated("no run is repeated", "the name of %s, or who made it, cannot be read: %v", child.GetName(), err)
		return
	}
	j.runs++
	uid := string(controller.UID)
	at := time.Unix(run, 0).UTC()
	if at.After(time.Now().Add(j.clock.mostAhead())) {
		j.violated("nothing is done before its time", "that of run %s", at)
	}
	if before := j.lastRun[uid]; run <= before {
		j.violated("no run is repeated", "in %s that of %s comes after that of %s", child.GetNamespace(), at, time.Unix(before, 0).UTC())
	}
	j.lastRun[uid] = max(run, j.lastRun[uid])
}

// What timedPlanPolicy says.
const (
	lifeOfOwner  = 40 * time.Hour
	betweenRuns  = 20 * time.Minute
	laterMinutes = 90
)

// timesOf are the times of an owner, as timedPlanPolicy has them, computed without it.
type timesOf struct {
	now, created, last, later, brief, expires time.Time
	size                                      int64
}

func newTimesOf(owner *unstructured.Unstructured, now time.Time) timesOf {
	size, _, _ := unstructured.NestedInt64(owner.Object, "spec", "size")
	t := timesOf{now: now.UTC().Truncate(time.Second), created: owner.GetCreationTimestamp().UTC(), size: size}
	t.last = t.now.Add(-time.Duration(size%20) * time.Minute).Truncate(betweenRuns).Add(time.Duration(size%20) * time.Minute)
	t.later = t.created.Add(time.Duration(laterMinutes+size) * time.Minute)
	t.brief = t.created.Add(time.Duration(10*size) * time.Minute)
	t.expires = t.created.Add(lifeOfOwner)
	return t
}

// children are the names of those that there should be, sorted.
func (t timesOf) children(noted time.Time, window time.Duration) (names []string) {
	if t.now.Before(t.brief) {
		names = append(names, "cache-brief")
	}
	if !t.now.Before(t.later) {
		names = append(names, "cache-later")
	}
	if !noted.Equal(t.created) {
		names = append(names, fmt.Sprintf("cache-run-%d", noted.Unix()))
	}
	if t.now.Sub(t.last) < window {
		names = append(names, "cache-window")
	}
	return names
}

// next is when something changes by itself.
func (t timesOf) next(window time.Duration) time.Time {
	next := t.last.Add(betweenRuns)
	for _, at := range []time.Time{t.later, t.brief, t.expires, t.last.Add(window)} {
		if at.After(t.now) && at.Before(next) {
			next = at
		}
	}
	return next
}

// notAtRest notes that something is not as it should be where all has come to rest.
func (p *timedPlan) notAtRest(format string, args ...any) {
	p.judge.violated("all is as its time says", format, args...)
}

// checkRest looks whether all is as it should be at the time of the clock, by arithmetic and by a fresh plan, and returns when that changes; zero: never.
func (p *timedPlan) checkRest() (next time.Time) {
	p.Helper()
	now := p.clock.Now()
	for _, namespace := range []string{"one", "two"} {
		list, err := p.admin.Resource(resources()["configmaps"]).Namespace(namespace).List(p.Context(), metav1.ListOptions{})
		if err != nil {
			p.Fatal(err)
		}
		owner := p.read(memcacheds, namespace, "cache")
		if owner == nil {
			if len(list.Items) > 0 {
				p.notAtRest("%d children in %s have no owner", len(list.Items), namespace)
			}
			continue
		}
		at := p.checkOwner(owner, list.Items, now)
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// checkOwner is checkRest for one owner.
func (p *timedPlan) checkOwner(owner *unstructured.Unstructured, children []unstructured.Unstructured, now time.Time) (next time.Time) {
	p.Helper()
	where := fmt.Sprintf("at %s in %s", now.UTC().Format(time.RFC3339), owner.GetNamespace())
	times := newTimesOf(owner, now)
	if !times.now.Before(times.expires) {
		p.notAtRest("%s: the owner of %s should be gone", where, times.created)
	}
	nodes, _, _ := unstructured.NestedStringSlice(owner.Object, "status", "nodes")
	noted, err := time.Parse(time.RFC3339, strings.Join(nodes, ""))
	if err != nil || times.last.After(times.created) && noted.Before(times.last) || noted.Before(times.created) {
		p.notAtRest("%s: noted is the run %v, the last one was at %s, and the owner was made at %s", where, nodes, times.last, times.created)
	}
	names := map[string]bool{}
	observed := make([]*unstructured.Unstructured, len(children))
	for i := range children {
		names[children[i].GetName()] = true
		observed[i] = &children[i]
	}
	if diff := cmp.Diff(times.children(noted, p.window), slices.Sorted(maps.Keys(names))); diff != "" {
		p.notAtRest("%s: children (-want +got):\n%s", where, diff)
	}
	result := simulate.Reconcile(p.Context(), simulate.Input{
		Program: p.programs[0], Owner: owner, Observed: observed, Now: now,
		IsNamespaced: func(schema.GroupVersionKind) bool { return true },
	})
	if len(result.Plan.Actions) > 0 || result.LeftAlone != "" {
		p.notAtRest("%s: a fresh plan says otherwise:\n%s", where, result.PlanText())
	}
	live, _, _ := unstructured.NestedMap(owner.Object, "status")
	if diff := cmp.Diff(withoutSince(live), withoutSince(result.OwnerStatus())); diff != "" {
		p.notAtRest("%s: the status that a fresh plan has (-live +fresh):\n%s", where, diff)
	}
	next = times.next(p.window)
	if wake := result.Plan.Wake; wake == nil || !wake.At.Equal(next) {
		p.notAtRest("%s: a fresh plan wakes at %v, want %s", where, wake, next)
	}
	return next
}

// withoutSince is a status without since when its conditions are as they are.
func withoutSince(status map[string]any) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	for _, c := range conditions {
		delete(c.(map[string]any), "lastTransitionTime")
	}
	stripped := maps.Clone(status)
	stripped["conditions"] = conditions
	return stripped
}
