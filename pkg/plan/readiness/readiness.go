// Package readiness says whether an object is ready, as kstatus says it: a Deployment that is rolled
// out, a Job that is complete, a claim that is bound, a definition that is established, a custom
// resource by its conditions. Whatever kstatus has no rule for is ready when it exists.
//
// It is pure: the same object gives the same answer whenever it is asked, so what kstatus makes of
// the time is left out. Who writes an object's status may write anything: what is not of the shape that the
// API conventions want counts as not said, and no text of it is passed on but the words of reasons.
package readiness

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
)

// State is what an object is like.
type State struct {
	// IsReady reports whether it is ready.
	IsReady bool
	// HasFailed reports whether it will not become ready before somebody acts. Detail stays the same while
	// that lasts.
	HasFailed bool
	// Detail says what it waits for, and how far it is, or why it failed; empty if it is ready, and only then.
	Detail string
}

// Evaluate returns the state of an object, of which only the fields of [Fields] are read. The object
// is not changed.
func Evaluate(obj *unstructured.Unstructured) State {
	kind := obj.GroupVersionKind().GroupKind()
	if isAlwaysReady[kind] {
		return State{IsReady: true}
	}
	conditions := conditionsOf(obj)
	switch {
	case kind == jobKind:
		return evaluateJob(obj, conditions)
	case kind == podKind && readPhase(obj) == "Failed":
		return failedState("its status says Failed") // to kstatus it is current, as one that succeeded
	}
	if kind == deploymentKind && isRolledOut(obj, conditions) {
		return State{IsReady: true}
	}
	result, err := status.Compute(kstatusView(obj, conditions))
	switch {
	case err != nil:
		return State{Detail: "its status cannot be read: " + err.Error()}
	case result.Status == status.FailedStatus && kind != podKind: // what a Pod is called failed for can pass
		return failedState(describeResult(result))
	case result.Status != status.CurrentStatus:
		return State{Detail: describeResult(result)}
	}
	if _, isSaid := readField(obj, "status", "observedGeneration"); isSaid || hasKindRule(kind) {
		return State{IsReady: true}
	}
	for _, c := range conditions {
		if c.kind == "Ready" && c.observed != 0 && c.observed < obj.GetGeneration() {
			return State{Detail: fmt.Sprintf("condition Ready is of generation %d, and the object is of %d", c.observed, obj.GetGeneration())}
		}
	}
	return State{IsReady: true}
}

func failedState(why string) State { return State{HasFailed: true, Detail: why} }

// describeResult is what a result says: in words of kstatus, or else in the reason of the condition that decided.
func describeResult(result *status.Result) string {
	if result.Message != "" {
		return result.Message
	}
	reason := ""
	if len(result.Conditions) > 0 {
		reason = result.Conditions[0].Reason
	}
	return "its status says " + cmp.Or(reason, string(result.Status))
}

// condition is one of an object's conditions.
type condition struct {
	kind, status, reason string
	observed             int64 // its observedGeneration; 0: it has none
}

// maxReason is the longest reason that is shown, in bytes: a line.
const maxReason = 128

// isReason says whether s is what the API conventions want a reason to be, no longer than a line; phases are as well.
func isReason(s string) bool { return len(s) <= maxReason && problems.IsReasonText(s) }

// conditionsOf are the conditions of an object that are of the shape of one.
func conditionsOf(obj *unstructured.Unstructured) []condition {
	list, _ := objectmeta.FieldAt(obj.Object, "status", "conditions").([]any)
	var conditions []condition
	for _, item := range list {
		entry, _ := item.(map[string]any)
		kind, isKind := entry["type"].(string)
		is, isStatus := entry["status"].(string)
		if !isKind || !isStatus {
			continue
		}
		c := condition{kind: kind, status: is}
		c.observed, _ = integerOf(entry["observedGeneration"])
		if reason, _ := entry["reason"].(string); isReason(reason) {
			c.reason = reason
		}
		conditions = append(conditions, c)
	}
	return conditions
}

// kstatusView is what kstatus is to see of an object: without the time of its creation, by which it
// grants Pods that cannot be scheduled a quarter of a minute, without messages, and without what
// is not of the shape that it takes for granted. What it has of the object is shared.
func kstatusView(obj *unstructured.Unstructured, conditions []condition) *unstructured.Unstructured {
	metadata := map[string]any{}
	for _, field := range []string{"generation", "deletionTimestamp"} {
		if value, ok := readField(obj, "metadata", field); ok {
			metadata[field] = value
		}
	}
	view := map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(), "metadata": metadata}
	if spec, ok := obj.Object["spec"].(map[string]any); ok {
		view["spec"] = spec
	}
	said, ok := obj.Object["status"].(map[string]any)
	if !ok {
		return &unstructured.Unstructured{Object: view}
	}
	shown := make(map[string]any, len(said))
	for field, value := range said {
		switch field {
		case "observedGeneration":
			if generation, ok := integerOf(value); ok {
				shown[field] = generation
			}
		case "conditions":
			list := make([]any, len(conditions))
			for i, c := range conditions {
				list[i] = map[string]any{"type": c.kind, "status": c.status, "reason": c.reason}
			}
			shown[field] = list
		case "containerStatuses": // they would only say why a Pod is not ready
		case "phase":
			if text, _ := value.(string); isReason(text) {
				shown[field] = text
			}
		default:
			shown[field] = value
		}
	}
	view["status"] = shown
	return &unstructured.Unstructured{Object: view}
}

// integerOf is a number, also where it is written as text, as some controllers write their
// observedGeneration; false: it is none.
func integerOf(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case string:
		number, err := strconv.ParseInt(value, 10, 64)
		return number, err == nil
	}
	return 0, false
}

var (
	jobKind        = schema.GroupKind{Group: "batch", Kind: "Job"}
	podKind        = schema.GroupKind{Kind: "Pod"}
	deploymentKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

func readPhase(obj *unstructured.Unstructured) string {
	return objectmeta.TextOf(objectmeta.FieldAt(obj.Object, "status", "phase"))
}

// evaluateJob differs from kstatus, to which a Job that runs is current: who waits for a Job waits for
// its end, as kubectl wait and Flux do.
func evaluateJob(obj *unstructured.Unstructured, conditions []condition) State {
	for _, c := range conditions {
		switch {
		case c.status != "True":
		case c.kind == "Complete":
			return State{IsReady: true}
		case c.kind == "Failed":
			return failedState("its status says " + cmp.Or(c.reason, "Failed"))
		}
	}
	count := func(field string) int { return status.GetIntField(obj.Object, ".status."+field, 0) }
	return State{Detail: fmt.Sprintf("the Job is not complete: active: %d, succeeded: %d, failed: %d", count("active"), count("succeeded"), count("failed"))}
}

// isRolledOut reports whether it is plain to see that a Deployment is current to kstatus, which reads it
// by reflection: that is most of them most of the time. False says nothing.
func isRolledOut(obj *unstructured.Unstructured, conditions []condition) bool {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	spec, _ := obj.Object["spec"].(map[string]any)
	said, _ := obj.Object["status"].(map[string]any)
	generation, _ := metadata["generation"].(int64)
	wanted, isWanted := spec["replicas"].(int64)
	if _, isDeleting := metadata["deletionTimestamp"]; isDeleting || !isWanted || generation == 0 || said["observedGeneration"] != generation {
		return false
	}
	for _, field := range []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"} {
		if count, _ := said[field].(int64); count != wanted {
			return false
		}
	}
	isAvailable, hasProgressed := false, false
	for _, c := range conditions {
		switch {
		case c.kind == "Available" && c.status == "True":
			isAvailable = true
		case c.kind == "Progressing" && c.status == "True" && c.reason == "NewReplicaSetAvailable":
			hasProgressed = true
		case c.kind == "Progressing", c.kind == "Reconciling", c.kind == "Stalled":
			return false
		}
	}
	return isAvailable && hasProgressed
}

// readField returns a field without a copy.
func readField(obj *unstructured.Unstructured, path ...string) (any, bool) {
	value, ok, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	return value, ok && err == nil
}

// ofAll are the fields that are read of every kind. Of conditions the times and messages are left out: they
// change while nothing else does.
var ofAll = []string{
	"metadata.generation", "metadata.deletionTimestamp", "status.observedGeneration",
	"status.conditions.*.type", "status.conditions.*.status", "status.conditions.*.reason",
}

// ofKinds are the fields that are read of these kinds beside them.
var ofKinds = map[schema.GroupKind][]string{
	{Kind: "PersistentVolumeClaim"}: {"status.phase"},
	podKind:                         {"status.phase"},
	{Kind: "Service"}:               {"spec.type", "spec.clusterIP"},
	{Group: "apps", Kind: "DaemonSet"}: {
		"status.desiredNumberScheduled", "status.currentNumberScheduled", "status.updatedNumberScheduled",
		"status.numberAvailable", "status.numberReady",
	},
	{Group: "apps", Kind: "Deployment"}: {
		"spec.progressDeadlineSeconds", "spec.replicas",
		"status.replicas", "status.updatedReplicas", "status.readyReplicas", "status.availableReplicas",
	},
	{Group: "apps", Kind: "ReplicaSet"}: {
		"spec.replicas", "status.replicas", "status.readyReplicas", "status.availableReplicas", "status.fullyLabeledReplicas",
	},
	{Group: "apps", Kind: "StatefulSet"}: {
		"spec.replicas", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition",
		"status.replicas", "status.readyReplicas", "status.currentReplicas", "status.updatedReplicas",
		"status.currentRevision", "status.updateRevision",
	},
	jobKind: {"status.active", "status.succeeded", "status.failed"},
}

// isAlwaysReady are kinds of which nothing is read: they are ready when they exist.
var isAlwaysReady = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "ServiceAccount"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: true, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
}

// hasKindRule reports whether there is a rule for a kind, beside its conditions.
func hasKindRule(kind schema.GroupKind) bool { return ofKinds[canonicalKind(kind)] != nil }

// canonicalKind is the kind that an older API server serves under another name as well.
func canonicalKind(kind schema.GroupKind) schema.GroupKind {
	if kind.Group == "extensions" {
		kind.Group = "apps"
	}
	return kind
}

// Fields returns the fields that [Evaluate] reads of an object of a kind. The caller owns the result.
func Fields(kind schema.GroupKind) *fields.Set {
	switch {
	case isAlwaysReady[kind]:
		return fields.New()
	case hasKindRule(kind):
		return fields.New(slices.Concat(ofAll, ofKinds[canonicalKind(kind)])...)
	}
	return fields.New(slices.Concat(ofAll, []string{"status.conditions.*.observedGeneration"})...)
}
