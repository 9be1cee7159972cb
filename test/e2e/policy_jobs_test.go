package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPolicyJobHistory: each run is a Job that is made once; of those that are no
// longer wanted the newest three stay.
func TestPolicyJobHistory(t *testing.T) {
	t.Parallel()
	s := tellPolicy(t, "job-history")
	namespace := s.namespace()
	s.apply("{apiVersion: batch.example.com/v1alpha1, kind: Report, metadata: {name: sales, namespace: %s}, spec: {image: report, runs: [one]}}", namespace)
	s.succeeds(namespace, "one", "one")
	s.shows("Job", namespace, "sales-one", `spec: {template: {spec: {containers: [{image: report, env: [{name: RUN, value: one}]}]}}}`)

	t.Run("TheNewestThreeStay", func(t *testing.T) {
		s := s.within(t)
		s.runs(namespace, "two")
		s.succeeds(namespace, "two", "one", "two")
		s.runs(namespace, "three", "four")
		s.succeeds(namespace, "four", "four", "one", "three", "two")
		s.runs(namespace, "five")
		s.succeeds(namespace, "five", "five", "four", "three", "two")
		s.runs(namespace)
		s.only("Job", namespace, "sales-five", "sales-four", "sales-three")
	})
	t.Run("AJobIsWhatItWas", func(t *testing.T) {
		s := s.within(t)
		s.patch("Report", namespace, "sales", `{"spec":{"image":"newer","runs":["five","six"]}}`)
		s.succeeds(namespace, "six", "five", "four", "six", "three")
		s.shows("Job", namespace, "sales-six", `spec: {template: {spec: {containers: [{image: newer}]}}}`)
		s.shows("Job", namespace, "sales-five", `spec: {template: {spec: {containers: [{image: report}]}}}`)
	})
	s.steady()
	s.unmarked("Report", namespace, "sales")
	s.delete("Report", namespace, "sales")
	s.only("Job", namespace)
	s.ends()
}

// runs asks for these, not in the second in which the last one was made: that is
// how exactly Kubernetes knows the age of an object.
func (s *policyStory) runs(namespace string, names ...string) {
	s.t.Helper()
	s.eventually("a second has passed since the last Job", func(ctx context.Context) error {
		list, err := s.resource("Job", namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, job := range list.Items {
			if age := time.Since(job.GetCreationTimestamp().Time); age < time.Second {
				return fmt.Errorf("%s is %s old", job.GetName(), age)
			}
		}
		return nil
	})
	s.patch("Report", namespace, "sales", fmt.Sprintf(`{"spec":{"runs":[%s]}}`, quoted(names)))
}

func quoted(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(texts, ",")
}

// succeeds waits until a run has succeeded, and all Jobs that are there are these.
func (s *policyStory) succeeds(namespace, run string, all ...string) {
	s.t.Helper()
	names := make([]string, len(all))
	for i := range all {
		names[i] = "sales-" + all[i]
	}
	s.only("Job", namespace, names...)
	s.shows("Job", namespace, "sales-"+run, `status: {succeeded: 1}`)
	s.shows("Report", namespace, "sales", `
status: {active: [], failed: [], succeeded: [%s], conditions: {Ready: {status: "True"}, Failed: {status: "False"}}}`, strings.Join(names, ","))
}
