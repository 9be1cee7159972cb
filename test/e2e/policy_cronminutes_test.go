package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// minuteCronJobs are CronJobs by name. Their Jobs end well before or after a run is due, so that there is one answer to
// what is to happen then.
func minuteCronJobs() map[string]string {
	failing := func(seconds int) string { return fmt.Sprintf(failingJob, seconds) }
	return map[string]string{
		"quick":           `{"schedule":"* * * * *","jobTemplate":` + quickJob + `}`,
		"slow":            `{"schedule":"* * * * *","failedJobsHistoryLimit":2,"jobTemplate":` + failing(150) + `}`,
		"replaced":        `{"schedule":"* * * * *","concurrencyPolicy":"Replace","jobTemplate":` + failing(90) + `}`,
		"left-out":        `{"schedule":"* * * * *","concurrencyPolicy":"Forbid","startingDeadlineSeconds":20,"jobTemplate":` + failing(90) + `}`,
		"late":            `{"schedule":"*/2 * * * *","concurrencyPolicy":"Forbid","failedJobsHistoryLimit":3,"jobTemplate":` + failing(130) + `}`,
		"rests":           `{"schedule":"* * * * *","successfulJobsHistoryLimit":1,"jobTemplate":` + quickJob + `}`,
		"rests-late":      `{"schedule":"* * * * *","startingDeadlineSeconds":15,"jobTemplate":` + quickJob + `}`,
		"without-history": `{"schedule":"*/3 * * * *","successfulJobsHistoryLimit":0,"jobTemplate":` + quickJob + `}`,
	}
}

// runMinutes runs these on both sides, and compares all Jobs that were ever made, those that are there at the end, and the
// statuses. In the fourth minute two are suspended, and in the middle of the seventh they go on.
func (s *cronStory) runMinutes() {
	s.t.Helper()
	made := map[string]*madeJobs{}
	for _, side := range s.sides {
		made[side.who] = s.followJobs(side)
	}
	s.sleepUntil(time.Now().Truncate(time.Minute).Add(70 * time.Second)) // both sides are made in one minute
	began, all := time.Now(), minuteCronJobs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s.create(name, all[name])
	}
	at := func(minutes, seconds int) {
		if minutes < *cronMinutes {
			s.sleepUntil(began.Truncate(time.Minute).Add(time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second))
		}
	}
	at(4, 30)
	s.patchBoth("rests", `{"spec":{"suspend":true}}`)
	s.patchBoth("rests-late", `{"spec":{"suspend":true}}`)
	at(7, 30)
	s.patchBoth("rests", `{"spec":{"suspend":false}}`)
	s.patchBoth("rests-late", `{"spec":{"suspend":false}}`)
	s.sleepUntil(began.Truncate(time.Minute).Add(time.Duration(*cronMinutes)*time.Minute + 25*time.Second))
	s.compareMade(made, slices.Sorted(maps.Keys(all)))
	s.compareLeft(slices.Sorted(maps.Keys(all)))
}

func (s *cronStory) sleepUntil(at time.Time) {
	select {
	case <-time.After(time.Until(at)):
	case <-s.t.Context().Done():
	}
}

// madeJobs are all Jobs that were made in a namespace: by name, and how long after its run each was.
type madeJobs struct {
	mu    sync.Mutex
	after map[string]time.Duration
}

// followJobs watches the Jobs of a side until the story ends.
func (s *cronStory) followJobs(side cronSide) *madeJobs {
	made := &madeJobs{after: map[string]time.Duration{}}
	list, err := s.typed.BatchV1().Jobs(side.namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	timeout := int64((*cronMinutes + 5) * 60)
	stream, err := s.typed.BatchV1().Jobs(side.namespace).Watch(s.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &timeout})
	if err != nil {
		s.t.Fatal(err)
	}
	var following sync.WaitGroup
	following.Go(func() {
		for event := range stream.ResultChan() {
			if job, ok := event.Object.(*batchv1.Job); ok && event.Type == apiwatch.Added {
				var minute int64
				if _, err := fmt.Sscan(job.Name[strings.LastIndexByte(job.Name, '-')+1:], &minute); err == nil {
					made.mu.Lock()
					made.after[job.Name] = job.CreationTimestamp.Sub(time.Unix(minute*60, 0))
					made.mu.Unlock()
				}
			}
		}
	})
	s.t.Cleanup(func() {
		stream.Stop()
		following.Wait()
	})
	return made
}

// compareMade compares all runs of the CronJobs, and logs them.
func (s *cronStory) compareMade(made map[string]*madeJobs, names []string) {
	s.t.Helper()
	total, runs := 0, map[string]map[string][]string{}
	var later []time.Duration
	for who, jobs := range made {
		runs[who] = map[string][]string{}
		jobs.mu.Lock()
		for job, after := range jobs.after {
			cut := strings.LastIndexByte(job, '-')
			runs[who][job[:cut]] = append(runs[who][job[:cut]], job[cut+1:])
			if other, ok := made["Kubernetes"].after[job]; ok && who == "Ambit" {
				total++
				later = append(later, after-other)
			}
		}
		jobs.mu.Unlock()
	}
	for _, name := range names {
		ambit, kubernetes := runs["Ambit"][name], runs["Kubernetes"][name]
		slices.Sort(ambit)
		slices.Sort(kubernetes)
		s.t.Logf("%s: %d runs of Ambit, %d of Kubernetes: %v", name, len(ambit), len(kubernetes), ambit)
		if diff := cmp.Diff(kubernetes, ambit); diff != "" || len(ambit) == 0 {
			s.t.Errorf("the runs of %s (-Kubernetes +Ambit):\n%s", name, diff)
		}
	}
	slices.Sort(later)
	if len(later) > 0 {
		s.t.Logf("%d runs are the same; by creationTimestamp Ambit is %s to %s later, and %s in the middle", total, later[0], later[len(later)-1], later[len(later)/2])
	}
}

// compareLeft waits until the same Jobs are there on both sides, and the statuses say so.
func (s *cronStory) compareLeft(names []string) {
	s.t.Helper()
	for _, name := range names {
		s.eventuallyWithin(20*time.Second, name+" has the same Jobs on both sides", func(ctx context.Context) error {
			ambit, err := s.stateOf(ctx, s.sides[0])
			if err != nil {
				return err
			}
			kubernetes, err := s.stateOf(ctx, s.sides[1])
			if err != nil {
				return err
			}
			if diff := cmp.Diff(kubernetes[name], ambit[name]); diff != "" {
				return fmt.Errorf("(-Kubernetes +Ambit):\n%s", diff)
			}
			for _, side := range s.sides {
				if len(ambit[name]) == 0 {
					break // no Job says which run was the last
				}
				if err := s.statusSays(ctx, side, name, ambit[name]); err != nil {
					return fmt.Errorf("%s: %w", side.who, err)
				}
			}
			return nil
		})
	}
}
