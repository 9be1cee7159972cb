package faultplan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// jobHistory makes a Job for each run of a Report, and keeps some that are not wanted any
// more: which ones depends on what was there before.
func jobHistory() (*Scenario, error) {
	s, err := load("job-history")
	if err != nil {
		return nil, err
	}
	err = s.addVersions(
		func(text string) string { return strings.Replace(text, "keep: 3", "keep: 1", 1) },
		func(text string) string {
			return strings.ReplaceAll(strings.Replace(text, "id: jobs", "id: runs", 1), "jobs.", "runs.")
		},
	)
	if err != nil {
		return nil, err
	}
	s.keepEverywhere("reports")
	s.Owners = schema.GroupVersionResource{Group: "batch.example.com", Version: "v1alpha1", Resource: "reports"}
	s.Namespaces = []string{"one", "two"}
	runs := []string{"[]", "[mon]", "[tue]", "[wed, thu]", "[fri]", "[mon, sat, sun]", "[r1, r2, r3, r4, r5, r6]"}
	s.Variants = len(runs)
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		return object(`{apiVersion: batch.example.com/v1alpha1, kind: Report, metadata: {name: %s, namespace: %s}, spec: {image: "report:2", command: [make-report], retries: 1, runs: %s}}`, name, namespace, runs[variant])
	}
	s.Keeps = 1
	s.Remembers, s.History = true, []string{"active", "succeeded", "failed"}
	s.Controls, s.Control = "Job", completeJob
	s.AtRest = (*judge).judgeHistory
	s.Extra = (*chooser).failJob
	return s, nil
}

// completeJob is the Job controller: what is to run has run.
func completeJob(obj *unstructured.Unstructured) {
	if hasCondition(obj, "Complete") {
		return
	}
	unstructured.RemoveNestedField(obj.Object, "status", "failed")
	setStatus(obj, map[string]any{"succeeded": int64(1), "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}})
}

// failJob has one run of an owner fail, until the controller tries it again.
func (c *chooser) failJob() Action {
	i := c.IntN(100)
	return Action{Text: fmt.Sprintf("Job %d fails", i), Do: func(w *World) {
		all := w.list(jobs)
		if len(all) == 0 {
			return
		}
		job := all[i%len(all)]
		w.patch(jobs, job.GetNamespace(), job.GetName(), `{"status":{"succeeded":null,"failed":1,"conditions":[{"type":"Failed","status":"True"}]}}`, "status")
	}}
}

// judgeHistory: what is kept beside the wanted Jobs are the newest, at most as many as the
// policy says.
func (j *judge) judgeHistory(w *World) {
	for _, owner := range w.list(w.plan.Scenario.Owners) {
		wanted, _, _ := unstructured.NestedStringSlice(owner.Object, "spec", "runs")
		var kept []string
		for _, job := range w.list(jobs) {
			run, ours := strings.CutPrefix(job.GetName(), owner.GetName()+"-")
			ours = ours && job.GetLabels()[managedBy] != "" // else nobody sees that it is Ambit's
			if ours && job.GetNamespace() == owner.GetNamespace() && !slices.Contains(wanted, run) {
				kept = append(kept, job.GetName())
			}
		}
		if most := w.programs[0].Children[0].Keep; len(kept) > most && w.mayAct(owner.GetNamespace()) {
			j.violated("history has an end", "owner %s keeps %d: %v", keyOf(&owner), len(kept), kept)
		}
	}
}
