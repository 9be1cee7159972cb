package faultplan

import (
	"context"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// controlEvery is how often controllers look at what has changed.
const controlEvery = 700 * time.Millisecond

// control does what the controllers of the cluster do, until ctx ends.
func (s *Scenario) control(ctx context.Context, server *sim.Server) {
	if s.Control == nil {
		return
	}
	began := time.Now()
	for seen := uint64(0); ; {
		select { // rather than look each time whether there is something
		case <-ctx.Done():
			return
		case <-server.Written(seen):
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(controlEvery - time.Since(began)%controlEvery):
		}
		now := server.ResourceVersion()
		for _, obj := range server.ObjectsOf(s.Controls) {
			if isNewer(obj, seen) {
				s.controlOne(ctx, server.As(sim.Admin), obj)
			}
		}
		seen = now
	}
}

// isNewer says whether an object has changed since a resourceVersion.
func isNewer(obj *unstructured.Unstructured, seen uint64) bool {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return err != nil || version > seen
}

// controlOne writes what controllers make of one object. What fails is tried again after
// the change that it failed by.
func (s *Scenario) controlOne(ctx context.Context, admin *sim.Client, obj *unstructured.Unstructured) {
	next := obj.DeepCopy()
	s.Control(next)
	if equality.Semantic.DeepEqual(obj.Object, next.Object) {
		return
	}
	resource, err := resourceOf(admin, obj)
	if err != nil {
		return
	}
	client, options := admin.Dynamic().Resource(resource).Namespace(obj.GetNamespace()), metav1.UpdateOptions{FieldManager: "controllers"}
	if len(next.GetFinalizers()) != len(obj.GetFinalizers()) || !equality.Semantic.DeepEqual(obj.Object["spec"], next.Object["spec"]) {
		_, _ = client.Update(ctx, next, options)
		return
	}
	_, _ = client.UpdateStatus(ctx, next, options)
}

// comparable is the text of an object without what depends on what was there before: what a
// status tells of that, and labels of Ambit on what it makes once and never writes again.
func (j *judge) comparable(text string) string {
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		return text // it was written from an object
	}
	for _, field := range j.scenario.History {
		unstructured.RemoveNestedField(content, "status", field)
	}
	obj := &unstructured.Unstructured{Object: content}
	if _, going, _ := unstructured.NestedString(content, "metadata", "deletionTimestamp"); going && isOwner(obj, j.scenario) {
		keepOwnConditions(content)
	}
	if j.scenario.isWrittenOnce(obj) {
		unstructured.RemoveNestedField(content, "metadata", "labels", managedBy)
		if j.scenario.isOfMode(obj, create) { // what a webhook made of them stays
			delete(content, "data")
			delete(content, "spec")
		}
		if labels, _, _ := unstructured.NestedMap(content, "metadata", "labels"); len(labels) == 0 {
			unstructured.RemoveNestedField(content, "metadata", "labels")
		}
	}
	out, err := yaml.Marshal(content)
	if err != nil {
		return text
	}
	return string(out)
}

// keepOwnConditions leaves of a status only the conditions that are Ambit's: what the policy
// says stays as it was when the owner was deleted, and may have been told without rights.
func keepOwnConditions(content map[string]any) {
	conditions, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	conditions = slices.DeleteFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		return !v1alpha1.IsReservedCondition(kind)
	})
	content["status"] = map[string]any{"conditions": conditions}
}

// managedBy is the label that Ambit shares with others.
const managedBy = "app.kubernetes.io/managed-by"

// setStatus merges fields into the status of an object.
func setStatus(obj *unstructured.Unstructured, fields map[string]any) {
	status, _ := obj.Object["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	for name, value := range fields {
		status[name] = value
	}
	obj.Object["status"] = status
}

// hasCondition says whether a condition of an object is True.
func hasCondition(obj *unstructured.Unstructured, name string) bool {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == name && c["status"] == "True" {
			return true
		}
	}
	return false
}
