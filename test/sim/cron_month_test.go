package sim_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim"
)

var cronJobs = schema.GroupVersionResource{Group: "batch.example.com", Version: "v1alpha1", Resource: "cronjobs"}

var cronDays = flag.Int("cron-days", raced.Few(1, 5), "how many days TestCronJobMonth takes; 31 are the month")

// cronBegin is when the month begins. Clocks go back in Auckland on its third day, then forward in Berlin, back by half an hour in
// Lord Howe, and forward in New York.
var cronBegin = time.Date(2000, 3, 17, 0, 0, 13, 0, time.UTC)

// cronOutages are the hours since the beginning in which Ambit does not run.
var cronOutages = [][2]int{{50, 53}, {94, 95}, {217, 262}, {434, 435}}

func cronCases() []*cronCase {
	return []*cronCase{
		{name: "quarter", schedule: "*/15 9,10 * * 1-5", zone: "UTC", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 40},
		{name: "quarter-forbid", schedule: "*/15 9,10 * * 1-5", zone: "Asia/Kolkata", concurrency: "Forbid", deadline: 333, succeeded: 3, failed: 1, least: 5, most: 25},
		{name: "quarter-replace", schedule: "*/15 9,10 * * 1-5", zone: "America/Sao_Paulo", concurrency: "Replace", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 40},
		{name: "hourly", schedule: "0 */3 * * *", zone: "Europe/Berlin", concurrency: "Allow", deadline: -1, succeeded: 2, failed: 2, least: 5, most: 50},
		{name: "hourly-forbid", schedule: "30 */3 * * *", zone: "Europe/Berlin", concurrency: "Forbid", deadline: 3633, succeeded: 1, failed: 0, least: 30, most: 200},
		{name: "hourly-replace", schedule: "45 1-23/3 * * *", zone: "America/New_York", concurrency: "Replace", deadline: 93, succeeded: 0, failed: 3, least: 30, most: 200},
		{name: "gap", schedule: "30 2 * * *", zone: "Europe/Berlin", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 5},
		{name: "gap-forbid", schedule: "30 2 * * *", zone: "America/New_York", concurrency: "Forbid", deadline: 7233, succeeded: 3, failed: 1, least: 60, most: 1800},
		{name: "twice", schedule: "30 2 * * *", zone: "Pacific/Auckland", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 5},
		{name: "twice-replace", schedule: "*/30 2,3 * * *", zone: "Pacific/Auckland", concurrency: "Replace", deadline: -1, succeeded: 3, failed: 1, least: 5, most: 30},
		{name: "half", schedule: "45 1 * * *", zone: "Australia/Lord_Howe", concurrency: "Forbid", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 5},
		{name: "weekly", schedule: "0 6 * * 0", zone: "UTC", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 100},
		{name: "monthly", schedule: "5 4 1,15 * *", zone: "Asia/Tokyo", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 100},
		{name: "either", schedule: "0 12 13 * 5", zone: "UTC", concurrency: "Forbid", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 6000},
		{name: "overlap", schedule: "0 */6 * * *", zone: "UTC", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 300, most: 2000},
		{name: "long-forbid", schedule: "0 */6 * * *", zone: "UTC", concurrency: "Forbid", deadline: 33, succeeded: 3, failed: 1, least: 300, most: 500},
		{name: "rests", schedule: "10 */4 * * *", zone: "UTC", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 10, most: 100, suspended: []int{30, 55, 300, 301, 500, 650}},
		{name: "rests-forbid", schedule: "10 */4 * * *", zone: "Africa/Cairo", concurrency: "Forbid", deadline: 5433, succeeded: 3, failed: 1, least: 10, most: 500, suspended: []int{30, 55, 219, 301, 500, 650}},
		{name: "rests-replace", schedule: "10 */4 * * *", zone: "America/St_Johns", concurrency: "Replace", deadline: -1, succeeded: 1, failed: 1, least: 10, most: 500, suspended: []int{0, 100, 219, 230, 500}},
		{name: "exact-forbid", schedule: "*/15 9,10 * * 1-5", zone: "UTC", concurrency: "Forbid", deadline: -1, succeeded: 2, failed: 1, least: 15, most: 30, exact: true},
		{name: "never", schedule: "0 0 29 2 *", zone: "UTC", concurrency: "Allow", deadline: -1, succeeded: 3, failed: 1, least: 1, most: 2},
	}
}

// TestCronJobMonth: for a month the policy cron-job makes the Jobs that the controller of Kubernetes makes, when that does,
// and keeps those that that keeps.
func TestCronJobMonth(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the month has many short-lived objects
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(cronBegin))
		m := newCronMonth(t)
		for _, e := range m.events() {
			m.sleepUntil(e.at)
			e.do()
		}
		m.stop()
		m.compareStarts()
	})
}

// cronMonth is the month with what it is compared with.
type cronMonth struct {
	*stage
	twins  []*cronTwin
	ticked time.Time // until when the twins have gone on
	isDown bool

	mu     sync.Mutex
	starts map[string][]cronStart // by CronJob
}

func newCronMonth(t *testing.T) *cronMonth {
	m := &cronMonth{starts: map[string][]cronStart{}}
	c := &counts{all: map[string]int{}}
	m.stage = &stage{T: t, counts: c, server: sim.New(sim.Options{Seed: 7, Faults: c, Observer: m.noteChange})}
	m.admin = m.server.As(sim.Admin).Dynamic()
	m.create("crds", "", read(t, "../../examples/cron-job/crd.yaml"))
	m.create("namespaces", "", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}")
	m.grantEverywhere("cron-job", `[{apiGroups: [batch.example.com], resources: [cronjobs], verbs: [list, watch]}, {apiGroups: [batch.example.com], resources: [cronjobs/status], verbs: [patch]},
		{apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, delete]}, {apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings, clusterroles, clusterrolebindings], verbs: [list, watch]}]`)
	m.start()
	for _, c := range cronCases() {
		m.createCronJob(c)
		m.twins = append(m.twins, newCronTwin(c, cronBegin))
	}
	m.ticked = cronBegin
	return m
}

func (m *cronMonth) start() { m.runWith(programs(m.T, read(m.T, "../../policies/cron-job.yaml"))) }

func (m *cronMonth) createCronJob(c *cronCase) {
	m.Helper()
	spec := map[string]any{
		"schedule": c.schedule, "timeZone": c.zone, "concurrencyPolicy": c.concurrency, "successfulJobsHistoryLimit": c.succeeded, "failedJobsHistoryLimit": c.failed,
		"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "run", "image": "run:1"}}}}}},
	}
	if c.deadline >= 0 {
		spec["startingDeadlineSeconds"] = c.deadline
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "batch.example.com/v1alpha1", "kind": "CronJob", "metadata": map[string]any{"name": c.name}, "spec": spec})
	if err != nil {
		m.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &obj.Object); err != nil {
		m.Fatal(err)
	}
	if _, err := m.admin.Resource(cronJobs).Namespace("team").Create(m.Context(), obj, metav1.CreateOptions{}); err != nil {
		m.Fatal(err)
	}
}

// noteChange notes each new Job, and has it end in its time. It must not call the server.
func (m *cronMonth) noteChange(change sim.Change) {
	if change.Old != nil || change.New.GetKind() != "Job" {
		return
	}
	name := change.New.GetName()
	owner, minute, _ := cutLast(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starts[owner] = append(m.starts[owner], cronStart{name, time.Now()})
	i := slices.IndexFunc(m.twins, func(w *cronTwin) bool { return w.name == owner })
	takes, good := m.twins[i].work(time.Unix(minute*60, 0))
	time.AfterFunc(takes, func() { m.endJob(name, good) })
}

// cutLast cuts the name of a Job before the minute of its run.
func cutLast(name string) (owner string, minute int64, err error) {
	i := strings.LastIndexByte(name, '-')
	minute, err = strconv.ParseInt(name[i+1:], 10, 64)
	return name[:i], minute, err
}

// endJob is what the Job controller says of a Job that has finished. It may be gone.
func (m *cronMonth) endJob(name string, good bool) {
	kind := "Complete"
	if !good {
		kind = "Failed"
	}
	patch := fmt.Sprintf(`{"status":{"completionTime":%q,"conditions":[{"type":%q,"status":"True"}]}}`, time.Now().UTC().Format(time.RFC3339), kind)
	_, err := m.admin.Resource(resources()["jobs"]).Namespace("team").Patch(m.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil && !strings.Contains(err.Error(), "not found") {
		m.Error(err)
	}
}

// cronEvent is what somebody does.
type cronEvent struct {
	at time.Time
	do func()
}

// events are those of the month, in their order.
func (m *cronMonth) events() []cronEvent {
	var all []cronEvent
	add := func(hours, seconds int, do func()) {
		all = append(all, cronEvent{cronBegin.Truncate(time.Minute).Add(time.Duration(hours)*time.Hour + time.Duration(seconds)*time.Second), do})
	}
	for _, w := range m.twins {
		for _, hour := range w.suspended {
			add(hour, 111, func() { m.suspend(w) })
		}
	}
	for _, hours := range cronOutages {
		add(hours[0], 1844, func() { m.stop(); m.isDown = true })
		add(hours[1], 1826, func() { m.start(); m.isDown = false })
	}
	for hour := 11; hour < *cronDays*24; hour += 23 {
		add(hour, 2257, m.compareObjects)
	}
	add(*cronDays*24, 42, func() {})
	slices.SortStableFunc(all, func(a, b cronEvent) int { return a.at.Compare(b.at) })
	end := slices.IndexFunc(all, func(e cronEvent) bool { return e.at.After(cronBegin.AddDate(0, 0, *cronDays).Add(time.Minute)) })
	if end >= 0 {
		all = all[:end]
	}
	return all
}

// sleepUntil lets the time pass here and for the twins.
func (m *cronMonth) sleepUntil(at time.Time) {
	time.Sleep(time.Until(at))
	for ; m.ticked.Before(at); m.ticked = m.ticked.Add(time.Second) {
		for _, w := range m.twins {
			w.tick(m.ticked, m.isDown)
		}
	}
}

func (m *cronMonth) suspend(w *cronTwin) {
	w.isSuspended = !w.isSuspended
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, w.isSuspended)
	if _, err := m.admin.Resource(cronJobs).Namespace("team").Patch(m.Context(), w.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		m.Fatal(err)
	}
}

// compareObjects compares the Jobs that are there, and what the statuses say. While Ambit does not run there is nothing to compare.
func (m *cronMonth) compareObjects() {
	if m.isDown {
		return
	}
	synctest.Wait()
	list, err := m.admin.Resource(resources()["jobs"]).Namespace("team").List(m.Context(), metav1.ListOptions{})
	if err != nil {
		m.Fatal(err)
	}
	jobs := map[string][]string{}
	for _, job := range list.Items {
		owner, _, _ := cutLast(job.GetName())
		jobs[owner] = append(jobs[owner], job.GetName())
	}
	for _, w := range m.twins {
		slices.Sort(jobs[w.name])
		if diff := cmp.Diff(w.jobs(), jobs[w.name], cmpopts.EquateEmpty()); diff != "" {
			m.Errorf("%s: the Jobs of %s (-want +got):\n%s", time.Now().UTC(), w.name, diff)
		}
		m.compareStatus(w)
	}
	if m.Failed() {
		m.FailNow()
	}
}

func (m *cronMonth) compareStatus(w *cronTwin) {
	obj := m.read(cronJobs, "team", w.name)
	var got []string
	last := ""
	active, _, _ := unstructured.NestedSlice(obj.Object, "status", "active")
	for _, reference := range active {
		got = append(got, reference.(map[string]any)["name"].(string))
	}
	slices.Sort(got)
	if !w.last.IsZero() {
		last = w.last.UTC().Format(time.RFC3339)
	}
	said, _, _ := unstructured.NestedString(obj.Object, "status", "lastScheduleTime")
	if diff := cmp.Diff(w.activeNames(), got, cmpopts.EquateEmpty()); diff != "" || said != last || condition(obj, "Ready") != "True" {
		m.Errorf("%s: %s says it is ready: %q, and its last run is %q, not %q; active (-want +got):\n%s", time.Now().UTC(), w.name, condition(obj, "Ready"), said, last, diff)
	}
}

// compareStarts compares all Jobs that were made, and when.
func (m *cronMonth) compareStarts() {
	m.mu.Lock()
	defer m.mu.Unlock()
	total, latest := 0, time.Duration(0)
	for _, w := range m.twins {
		got := m.starts[w.name]
		for i := range min(len(got), len(w.starts)) {
			late := got[i].at.Sub(w.starts[i].at)
			latest = max(latest, late)
			if got[i].name != w.starts[i].name || late < 0 || late > 5*time.Second {
				m.Errorf("%s: run %d is %s at %s, want %s at %s", w.name, i, got[i].name, got[i].at.UTC(), w.starts[i].name, w.starts[i].at.UTC())
				break
			}
		}
		if len(got) != len(w.starts) {
			m.Errorf("%s: %d runs, want %d", w.name, len(got), len(w.starts))
		}
		total += len(got)
	}
	m.Logf("%d runs, at most %s after the twin; %d requests", total, latest, m.counts.of(""))
}
