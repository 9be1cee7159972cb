package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var cronMinutes = flag.Int("cron-minutes", 0, "for how many minutes TestPolicyCronJob runs schedules beside those of Kubernetes; 0: that is left out")

// TestPolicyCronJob: the policy makes and keeps the Jobs that Kubernetes' own controller makes and keeps for the same
// CronJobs in another namespace. Nothing is waited for: their last run was years ago, so that one is due at once.
func TestPolicyCronJob(t *testing.T) {
	t.Parallel()
	s := tellCronJobs(t)
	now := time.Now().UTC()
	this := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if next := this.AddDate(0, 1, 0); time.Until(next) < 10*time.Minute {
		t.Logf("waiting until %s: one more run would be due", next)
		s.patiently(time.Until(next))
		this = next
	}
	last := this.AddDate(0, -1, 0)
	month, year := runAt(this), runAt(last)
	yearly := fmt.Sprintf(`"0 0 1 %d *"`, last.Month())
	policies := []string{"Allow", "Forbid", "Replace"}
	for _, concurrency := range policies {
		s.create(strings.ToLower(concurrency), `{"schedule":`+yearly+`,"suspend":true,"concurrencyPolicy":"`+concurrency+`","successfulJobsHistoryLimit":1,"jobTemplate":`+endlessJob+`}`)
		s.patchBoth(strings.ToLower(concurrency), `{"status":{"lastScheduleTime":"2020-01-01T00:00:00Z"}}`, "status")
		s.patchBoth(strings.ToLower(concurrency), `{"spec":{"suspend":false}}`)
	}
	s.same("one run of many is made up for", cronState{"allow": {year: "active"}, "forbid": {year: "active"}, "replace": {year: "active"}})
	for _, concurrency := range policies {
		s.patchBoth(strings.ToLower(concurrency), `{"spec":{"schedule":"0 0 1 * *"}}`)
		s.patchBoth(strings.ToLower(concurrency), `{"metadata":{"annotations":{"looks":"again"}}}`) // the other one looks at a new schedule when that runs next
	}
	s.same("a Job runs when another run is due", cronState{"allow": {year: "active", month: "active"}, "forbid": {year: "active"}, "replace": {month: "active"}})
	for _, side := range s.sides {
		s.deleteJob(side, "forbid", year)
	}
	s.same("the run that had to wait is made up for", cronState{"allow": {year: "active", month: "active"}, "forbid": {month: "active"}, "replace": {month: "active"}})

	t.Run("History", func(t *testing.T) {
		s := s.within(t)
		s.create("history", `{"schedule":`+yearly+`,"suspend":true,"successfulJobsHistoryLimit":1,"jobTemplate":`+quickJob+`}`)
		s.patchBoth("history", `{"status":{"lastScheduleTime":"2020-01-01T00:00:00Z"}}`, "status")
		s.patchBoth("history", `{"spec":{"suspend":false}}`)
		s.sameOf("history", "it succeeds", map[string]string{year: "Complete"})
		s.patchBoth("history", `{"spec":{"schedule":"0 0 1 * *","startingDeadlineSeconds":1}}`)
		s.patchBoth("history", `{"metadata":{"annotations":{"looks":"again"}}}`)
		s.sameOf("history", "it is too late for the next one", map[string]string{year: "Complete"})
		s.patchBoth("history", `{"spec":{"startingDeadlineSeconds":null}}`)
		s.sameOf("history", "the newest stays", map[string]string{month: "Complete"})
	})
	if *cronMinutes > 0 {
		t.Run("Minutes", func(t *testing.T) { s.within(t).runMinutes() })
	} else {
		s.steady()
	}
	s.eachSide(func(_ cronSide, all dynamic.ResourceInterface) error {
		return all.DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{})
	})
	s.ends()
}

// runAt is a run as in the names of Jobs.
func runAt(at time.Time) string { return fmt.Sprint(at.Unix() / 60) }

// Jobs that never end, because there is no such node; that succeed at once; and that fail after some seconds.
const (
	endlessJob = `{"spec":{"template":{"spec":{"restartPolicy":"Never","nodeSelector":{"there-is":"none"},"containers":[{"name":"run","image":"run:1"}]}}}}`
	quickJob   = `{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"run","image":"run:1"}]}}}}`
	failingJob = `{"spec":{"activeDeadlineSeconds":%d,"template":{"spec":{"restartPolicy":"Never","nodeSelector":{"there-is":"none"},"containers":[{"name":"run","image":"run:1"}]}}}}`
)

// cronStory is the story of CronJobs that are there twice: Ambit's and those of Kubernetes.
type cronStory struct {
	*policyStory
	sides []cronSide
}

// cronSide is where CronJobs of one kind are.
type cronSide struct {
	who, namespace string
	resource       schema.GroupVersionResource
}

var cronJobsOfAmbit = schema.GroupVersionResource{Group: "batch.example.com", Version: "v1alpha1", Resource: "cronjobs"}

// cronState has for each CronJob what has become of each of its runs.
type cronState map[string]map[string]string

func tellCronJobs(t *testing.T) *cronStory {
	s := &cronStory{policyStory: tellPolicy(t, "cron-job")}
	s.sides = []cronSide{
		{"Ambit", s.namespace(), cronJobsOfAmbit},
		{"Kubernetes", s.namespace(), schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}},
	}
	return s
}

func (s *cronStory) within(t *testing.T) *cronStory {
	sub := *s
	sub.policyStory = s.policyStory.within(t)
	return &sub
}

// eachSide does something to the CronJobs of each side.
func (s *cronStory) eachSide(do func(cronSide, dynamic.ResourceInterface) error) {
	s.t.Helper()
	for _, side := range s.sides {
		if err := do(side, s.objects.Resource(side.resource).Namespace(side.namespace)); err != nil {
			s.t.Fatalf("%s: %v", side.who, err)
		}
	}
}

// create makes a CronJob on both sides.
func (s *cronStory) create(name, spec string) {
	s.t.Helper()
	s.eachSide(func(side cronSide, all dynamic.ResourceInterface) error {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetGroupVersionKind(side.resource.GroupVersion().WithKind("CronJob"))
		obj.SetName(name)
		var content map[string]any
		if err := json.Unmarshal([]byte(spec), &content); err != nil {
			return err
		}
		content["timeZone"] = "UTC"
		obj.Object["spec"] = content
		_, err := all.Create(s.t.Context(), obj, metav1.CreateOptions{})
		return err
	})
}

func (s *cronStory) patchBoth(name, patch string, subresources ...string) {
	s.t.Helper()
	s.eachSide(func(_ cronSide, all dynamic.ResourceInterface) error {
		_, err := all.Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	})
}

func (s *cronStory) deleteJob(side cronSide, name, run string) {
	s.t.Helper()
	err := s.typed.BatchV1().Jobs(side.namespace).Delete(s.t.Context(), name+"-"+run, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	if err != nil {
		s.t.Fatalf("%s: %v", side.who, err)
	}
}

// stateOf is what has become of the runs of a side.
func (s *cronStory) stateOf(ctx context.Context, side cronSide) (cronState, error) {
	jobs, err := s.typed.BatchV1().Jobs(side.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	state := cronState{}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		cut := strings.LastIndexByte(job.Name, '-')
		name, run, outcome := job.Name[:cut], job.Name[cut+1:], "active"
		for _, c := range job.Status.Conditions {
			if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
				outcome = string(c.Type)
			}
		}
		if state[name] == nil {
			state[name] = map[string]string{}
		}
		state[name][run] = outcome
	}
	return state, nil
}

// same waits until both sides have these runs of the CronJobs that it names, and their statuses say so.
func (s *cronStory) same(what string, want cronState) {
	s.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		s.sameOf(name, what, want[name])
	}
}

// sameOf is same for one CronJob.
func (s *cronStory) sameOf(name, what string, want map[string]string) {
	s.t.Helper()
	for _, side := range s.sides {
		s.eventually(fmt.Sprintf("%s of %s: %s", name, side.who, what), func(ctx context.Context) error {
			state, err := s.stateOf(ctx, side)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, state[name]); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return s.statusSays(ctx, side, name, want)
		})
	}
}

// statusSays compares a status with the runs that there are: those that are active, and the last of all.
func (s *cronStory) statusSays(ctx context.Context, side cronSide, name string, runs map[string]string) error {
	obj, err := s.objects.Resource(side.resource).Namespace(side.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var want, got []string
	for run, outcome := range runs {
		if outcome == "active" {
			want = append(want, name+"-"+run)
		}
	}
	active, _, _ := unstructured.NestedSlice(obj.Object, "status", "active")
	for _, reference := range active {
		got = append(got, fmt.Sprint(reference.(map[string]any)["name"]))
	}
	slices.Sort(want)
	slices.Sort(got)
	last, _, _ := unstructured.NestedString(obj.Object, "status", "lastScheduleTime")
	at, err := time.Parse(time.RFC3339, last)
	if newest := slices.Max(slices.Collect(maps.Keys(runs))); err != nil || fmt.Sprint(at.Unix()/60) != newest || !slices.Equal(want, got) {
		return fmt.Errorf("the status says that %v are active, and that the last run was at %q (%v); want %v, and minute %s", got, last, err, want, newest)
	}
	return nil
}
