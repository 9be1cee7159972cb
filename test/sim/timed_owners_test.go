package sim_test

import (
	"flag"
	"fmt"
	"maps"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/test/raced"
)

// timedOwners is how many owners with schedules TestTimedOwners has.
var timedOwners = flag.Int("timed-owners", raced.Few(100, 1000), "how many owners with schedules TestTimedOwners has")

// minutesPolicy gives each owner a schedule of its own, at the minute after three that its size says, and every fourth of
// them a child that is made once, a day and that many minutes after it.
const minutesPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: minutes, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  variables:
    - {name: minute, expression: string(owner.spec.size)}
  children:
    - id: run
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-run"}
        data: {run: "${string(schedule(minute + ' 3 * * *', 'UTC').last())}"}
    - id: later
      when: owner.spec.size % 4 == 0 && reached(timestamp(owner.metadata.creationTimestamp) + duration('24h') + duration(minute + 'm'))
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-later"}
`

// passCounter counts reconciles. It is safe for concurrent use.
type passCounter struct {
	mu     sync.Mutex
	passes int
}

// ObserveReconcile implements telemetry.Metrics.
func (c *passCounter) ObserveReconcile(telemetry.ReconcileSample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passes++
}

// ObserveWrite implements telemetry.Metrics.
func (c *passCounter) ObserveWrite(telemetry.WriteSample) {}

// ObserveLatency implements telemetry.Metrics.
func (c *passCounter) ObserveLatency(telemetry.LatencySample) {}

func (c *passCounter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passes
}

// timedCrowd is a cluster with many owners whose plans change with time.
type timedCrowd struct {
	*stage
	controller *controller.Controller
	passes     *passCounter
	// perMinute is how many owners have the same minute.
	perMinute int
}

// minutes is how many minutes there are to which owners are spread.
const minutes = 20

// work is what was done for owners so far.
type work struct {
	requests, passes, woken, waiting int
}

func (c *timedCrowd) sinceBegin() work {
	synctest.Wait()
	waiting, woken := c.controller.CountWakes()
	requests := c.counts.of("") - c.counts.of("watch") - c.counts.of("create selfsubject")
	return work{requests: requests, passes: c.passes.total(), woken: int(woken), waiting: waiting}
}

// during is what is done for owners until a time.
func (c *timedCrowd) during(until time.Time) work {
	before := c.sinceBegin()
	time.Sleep(time.Until(until))
	after := c.sinceBegin()
	return work{after.requests - before.requests, after.passes - before.passes, after.woken - before.woken, after.waiting}
}

// expect fails if what was done is not what is wanted. An event of an own write that comes just as the write ends may have its owner looked at
// once more, without a request: that is rare.
func (c *timedCrowd) expect(what string, got, want work) {
	c.Helper()
	if more := got.passes - want.passes; want.passes > 0 && more > 0 && more <= 2+want.passes/100 {
		got.passes = want.passes
	}
	if got != want {
		c.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// TestTimedOwners: while many owners wait for their times, nothing is sent and nobody is worked on. When the time of some comes, these and no others
// are worked on, once, with one request each. One heap has all of them.
func TestTimedOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := processorTime(t)
		c := newTimedCrowd(t, *timedOwners/minutes)
		all := c.perMinute * minutes
		midnight := time.Now().UTC().Truncate(24 * time.Hour)
		time.Sleep(5 * time.Minute)
		made, three := processorTime(t), midnight.Add(3*time.Hour)
		began, watches := time.Now(), c.counts.of("watch")
		c.expect("until the first run", c.during(three.Add(-time.Second)), work{waiting: all})
		t.Logf("%d owners took %s of processor time until all was made, and %s in the %s until the first run, with %d streams opened again",
			all, made-before, processorTime(t)-made, time.Since(began), c.counts.of("watch")-watches)
		c.playMinutes(three, work{requests: c.perMinute, passes: c.perMinute, woken: c.perMinute, waiting: all})
		c.playDay(midnight.Add(24*time.Hour), all)
		c.stop()
	})
}

func newTimedCrowd(t *testing.T, perMinute int) *timedCrowd {
	c := &timedCrowd{stage: newStage(t, true), passes: &passCounter{}, perMinute: perMinute}
	c.grantEverywhere("maps", `[{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}]`)
	for minute := range minutes {
		namespace := fmt.Sprintf("minute-%d", minute)
		c.namespace(namespace)
		for i := range perMinute {
			c.create("memcacheds", namespace, fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: cache-%d}, spec: {size: %d}}", i, minute))
		}
	}
	c.controller, c.stop = startController(t, c.server, ambitUser, controller.Options{Programs: programs(t, minutesPolicy), Metrics: c.passes})
	c.until("all wait for their time", func() bool {
		waiting, _ := c.controller.CountWakes()
		return waiting == perMinute*minutes
	})
	return c
}

// playMinutes goes through the minutes of an hour in which the owners of each have a run.
func (c *timedCrowd) playMinutes(hour time.Time, want work) {
	c.Helper()
	for minute := range minutes {
		run := hour.Add(time.Duration(minute) * time.Minute)
		c.expect(fmt.Sprintf("in minute %d", minute), c.during(run.Add(time.Second)), want)
		c.expect(fmt.Sprintf("after minute %d", minute), c.during(run.Add(59*time.Second)), work{waiting: want.waiting})
	}
	if got, want := c.runs(), (map[string]int{hour.Format("15:"): want.waiting}); !maps.Equal(got, want) {
		c.Errorf("the hours of runs are %v, want %v", got, want)
	}
}

// runs counts the ConfigMaps whose run is of the last hour, by that hour; others by what they say.
func (c *timedCrowd) runs() map[string]int {
	c.Helper()
	found := map[string]int{}
	list, err := c.admin.Resource(resources()["configmaps"]).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	for _, item := range list.Items {
		data, _ := item.Object["data"].(map[string]any)
		at, err := time.Parse(time.RFC3339, fmt.Sprint(data["run"]))
		switch {
		case err != nil:
			found["no run"]++
		case time.Since(at) < time.Hour:
			found[at.Format("15:")]++
		default:
			found[at.Format(time.RFC3339)]++
		}
	}
	return found
}

// playDay goes through the second day, on which every fourth owner has a child for the first time, and then the runs come again. In the end an owner goes.
func (c *timedCrowd) playDay(midnight time.Time, all int) {
	c.Helper()
	c.expect("until the next day", c.during(midnight.Add(-time.Second)), work{waiting: all})
	for minute := range minutes {
		want := work{waiting: all}
		if minute%4 == 0 {
			want = work{requests: c.perMinute, passes: c.perMinute, woken: c.perMinute, waiting: all}
		}
		c.expect(fmt.Sprintf("a day and %d minutes after they were made", minute), c.during(midnight.Add(time.Duration(minute)*time.Minute+30*time.Second)), want)
	}
	c.expect("until the second run", c.during(midnight.Add(3*time.Hour-time.Second)), work{waiting: all})
	c.expect("with the second run", c.during(midnight.Add(3*time.Hour)), work{requests: c.perMinute, passes: c.perMinute, woken: c.perMinute, waiting: all})
	c.delete("memcacheds", "minute-7", "cache-0")
	c.expect("an owner has gone", c.during(midnight.Add(3*time.Hour+30*time.Second)), work{waiting: all - 1})
	rest := c.perMinute - 1
	time.Sleep(6 * time.Minute)
	c.expect("and is not waited for", c.during(midnight.Add(3*time.Hour+7*time.Minute+30*time.Second)), work{requests: rest, passes: rest, woken: rest, waiting: all - 1})
}

// processorTime is what the process has taken of processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Round(time.Millisecond)
}
