package readiness

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	_ "github.com/ambit-dev/ambit/test/draws"
)

const rolledOut = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 2, progressDeadlineSeconds: 600},
  status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, conditions: [
    {type: Available, status: "True", reason: MinimumReplicasAvailable}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`

const stateful = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 2},
  status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2, currentRevision: x, updateRevision: x}}`

const daemon = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1},
  status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2}}`

const replicas = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, replicas: 1, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1}}`

const running = `{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: "2020-01-01T00:00:00Z"}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`

const complete = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, generation: 1}, status: {startTime: "2020-01-01T00:00:00Z", succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`

const custom = `{apiVersion: example.com/v1, kind: App, metadata: {name: a, generation: 3}, status: {observedGeneration: 3, conditions: [{type: Ready, status: "True"}]}}`

const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a, generation: 1},
  status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True", reason: InitialNamesAccepted}]}}`

// cases are objects, as others than the ready ones, and the states that they are in.
var cases = map[string]struct {
	object  string
	replace []string // pairs of old and new text
	want    State
}{
	"Deployment": {rolledOut, nil, State{IsReady: true}},
	"DeploymentUnseen": {rolledOut, []string{"generation: 2}", "generation: 3}"},
		State{Detail: "Deployment generation is 3, but latest observed generation is 2"}},
	"DeploymentNew":       {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 2}}`, nil, State{Detail: "Replicas: 0/2"}},
	"DeploymentScales":    {rolledOut, []string{"spec: {replicas: 2", "spec: {replicas: 3"}, State{Detail: "Replicas: 2/3"}},
	"DeploymentUpdates":   {rolledOut, []string{"updatedReplicas: 2", "updatedReplicas: 1"}, State{Detail: "Updated: 1/2"}},
	"DeploymentSurges":    {rolledOut, []string{" replicas: 2, updated", " replicas: 3, updated"}, State{Detail: "Pending termination: 1"}},
	"DeploymentAvailable": {rolledOut, []string{"availableReplicas: 2", "availableReplicas: 1"}, State{Detail: "Available: 1/2"}},
	"DeploymentNotReady":  {rolledOut, []string{"readyReplicas: 2", "readyReplicas: 1"}, State{Detail: "Ready: 1/2"}},
	"DeploymentStuck": {rolledOut, []string{`{type: Progressing, status: "True", reason: NewReplicaSetAvailable}`, `{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: m}`},
		failedState("Progress deadline exceeded")},

	"StatefulSet":         {stateful, nil, State{IsReady: true}},
	"StatefulSetPods":     {stateful, []string{"readyReplicas: 2", "readyReplicas: 1"}, State{Detail: "Ready: 1/2"}},
	"StatefulSetUpdates":  {stateful, []string{"updateRevision: x", "updateRevision: y"}, State{Detail: "Waiting for updated revision to match current"}},
	"StatefulSetOnDelete": {stateful, []string{"spec: {replicas: 2}", "spec: {replicas: 3, updateStrategy: {type: OnDelete}}"}, State{IsReady: true}},
	"StatefulSetPartition": {stateful, []string{"spec: {replicas: 2}", "spec: {replicas: 2, updateStrategy: {rollingUpdate: {partition: 1}}}", "updatedReplicas: 2", "updatedReplicas: 0"},
		State{Detail: "updated: 0/1"}},

	"DaemonSet":        {daemon, nil, State{IsReady: true}},
	"DaemonSetNew":     {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}}`, nil, State{Detail: "DaemonSet status.observedGeneration not found"}},
	"DaemonSetUpdates": {daemon, []string{"updatedNumberScheduled: 2", "updatedNumberScheduled: 1"}, State{Detail: "Updated: 1/2"}},
	"ReplicaSet":       {replicas, nil, State{IsReady: true}},
	"ReplicaSetPods":   {replicas, []string{"availableReplicas: 1", "availableReplicas: 0"}, State{Detail: "Available: 0/1"}},

	"Job":        {complete, nil, State{IsReady: true}},
	"JobRuns":    {complete, []string{"succeeded: 1, conditions: [{type: Complete, status: \"True\"}]", "active: 1"}, State{Detail: "the Job is not complete: active: 1, succeeded: 0, failed: 0"}},
	"JobFails":   {complete, []string{`{type: Complete, status: "True"}`, `{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}`}, failedState("its status says BackoffLimitExceeded")},
	"JobGivesNo": {complete, []string{`{type: Complete, status: "True"}`, `{type: Failed, status: "True"}`}, failedState("its status says Failed")},
	"JobTalks":   {complete, []string{`{type: Complete, status: "True"}`, `{type: Failed, status: "True", reason: "no; Deployment x"}`}, failedState("its status says Failed")},
	"JobOdd":     {complete, []string{`[{type: Complete, status: "True"}]`, `none`}, State{Detail: "the Job is not complete: active: 0, succeeded: 1, failed: 0"}},
	"JobOddOnes": {complete, []string{`{type: Complete, status: "True"}`, `x, null, {type: Complete, status: true}`}, State{Detail: "the Job is not complete: active: 0, succeeded: 1, failed: 0"}},

	"Claim":        {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Bound}}`, nil, State{IsReady: true}},
	"ClaimPending": {`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Pending}}`, nil, State{Detail: "PVC is not Bound. phase: Pending"}},

	"Pod":          {running, nil, State{IsReady: true}},
	"PodTalks":     {running, []string{"Running", "'no; Deployment x'"}, State{Detail: "Pod phase not available"}},
	"PodNew":       {`{apiVersion: v1, kind: Pod, metadata: {name: a}}`, nil, State{Detail: "Pod phase not available"}},
	"PodNotReady":  {running, []string{`status: "True"`, `status: "False"`}, State{Detail: "Pod is running but is not Ready"}},
	"PodSucceeded": {running, []string{"Running", "Succeeded"}, State{IsReady: true}},
	"PodFailed":    {running, []string{"Running", "Failed"}, failedState("its status says Failed")},
	"PodOdd":       {running, []string{`status: "True"}]`, `status: "False"}], containerStatuses: [x, null, {name: c, state: null}]`}, State{Detail: "Pod is running but is not Ready"}},
	"PodCrashes": {running, []string{`status: "True"}]`, `status: "False"}], containerStatuses: [{name: c, state: {waiting: {reason: CrashLoopBackOff}}}]`},
		State{Detail: "Pod is running but is not Ready"}},
	// Whether it was made a moment ago or long ago, for nothing happens when that time is over.
	"PodUnschedulable": {running, []string{"Running", "Pending", `{type: Ready, status: "True"}`, `{type: PodScheduled, status: "False", reason: Unschedulable}`, "2020", "2999"},
		State{Detail: "Pod could not be scheduled"}},

	"Service":         {`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ClusterIP}}`, nil, State{IsReady: true}},
	"ServiceBalances": {`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}`, nil, State{Detail: "ClusterIP not set. Service type: LoadBalancer"}},
	"ServiceHasIP":    {`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}}`, nil, State{IsReady: true}},
	"ConfigMap":       {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False"}]}}`, nil, State{IsReady: true}},

	"Definition":    {definition, nil, State{IsReady: true}},
	"DefinitionNew": {definition, []string{`{type: Established, status: "True", reason: InitialNamesAccepted}`, `{type: Established, status: "False", reason: Installing, message: soon}`}, State{Detail: "Install in progress"}},

	"Custom":            {custom, nil, State{IsReady: true}},
	"CustomUnseen":      {custom, []string{"observedGeneration: 3", "observedGeneration: 2"}, State{Detail: "App generation is 3, but latest observed generation is 2"}},
	"CustomNotReady":    {custom, []string{`status: "True"`, `status: "False", reason: R, message: not yet`}, State{Detail: "its status says R"}},
	"CustomUnsaid":      {custom, []string{`status: "True"`, `status: "False"`}, State{Detail: "its status says InProgress"}},
	"CustomStalled":     {custom, []string{"type: Ready", "type: Stalled, reason: Quota, message: no quota"}, failedState("its status says Quota")},
	"CustomStalledMute": {custom, []string{"type: Ready", "type: Stalled"}, failedState("its status says Failed")},
	"CustomReconciles":  {custom, []string{"type: Ready", "type: Reconciling, reason: Busy"}, State{Detail: "its status says Busy"}},
	"CustomOldToo":      {custom, []string{`status: "True"`, `status: "True", observedGeneration: 2`}, State{IsReady: true}},
	"CustomOldReady":    {custom, []string{`status: "True"`, `status: "True", observedGeneration: 2`, "{observedGeneration: 3, ", "{"}, State{Detail: "condition Ready is of generation 2, and the object is of 3"}},
	"CustomNewReady":    {custom, []string{`status: "True"`, `status: "True", observedGeneration: 3`}, State{IsReady: true}},
	"CustomText":        {custom, []string{"observedGeneration: 3", `observedGeneration: "3"`}, State{IsReady: true}},
	"CustomTextOld":     {custom, []string{"observedGeneration: 3", `observedGeneration: "2"`}, State{Detail: "App generation is 3, but latest observed generation is 2"}},
	"CustomZero":        {custom, []string{"observedGeneration: 3", "observedGeneration: 0"}, State{Detail: "App generation is 3, but latest observed generation is 0"}},
	"CustomNull":        {custom, []string{"observedGeneration: 3", "observedGeneration: null"}, State{IsReady: true}},
	"CustomScalar":      {`{apiVersion: example.com/v1, kind: App, metadata: {name: a, generation: 3}, status: fine}`, nil, State{IsReady: true}},
	"CustomSilent":      {`{apiVersion: example.com/v1, kind: App, metadata: {name: a, generation: 3}, spec: {x: 1}}`, nil, State{IsReady: true}},
	"CustomOdd":         {custom, []string{`[{type: Ready, status: "True"}]`, `{}`}, State{IsReady: true}},
	"CustomGoes":        {custom, []string{"name: a,", `name: a, deletionTimestamp: "2020-01-01T00:00:00Z",`}, State{Detail: "Resource scheduled for deletion"}},
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = obj.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return obj
}

// projected is what an informer keeps of an object: what is always kept, and the fields.
func projected(obj *unstructured.Unstructured) *unstructured.Unstructured {
	kept := Fields(obj.GroupVersionKind().GroupKind()).Add("apiVersion").Add("kind").Add("metadata", "name")
	return &unstructured.Unstructured{Object: kept.ProjectObject(obj.Object)}
}

// TestEvaluate: an object is in the same state by all that it has, and by the fields that are kept.
func TestEvaluate(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer(c.replace...).Replace(c.object)
			if len(c.replace) > 0 && text == c.object {
				t.Fatal("nothing was replaced")
			}
			obj := parse(t, text)
			before := obj.DeepCopy()
			if diff := cmp.Diff(c.want, Evaluate(obj)); diff != "" {
				t.Errorf("the state (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, Evaluate(projected(obj))); diff != "" {
				t.Errorf("the state by the fields that are kept (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestFieldsAreEnough: whatever an object says, its state follows from the fields that are kept.
func TestFieldsAreEnough(t *testing.T) {
	kinds := map[schema.GroupVersionKind]bool{}
	paths := map[string]bool{}
	for _, c := range cases {
		obj := parse(t, c.object)
		kinds[obj.GroupVersionKind()] = true
		for _, top := range []string{"metadata", "spec", "status"} {
			collectPaths(obj.Object[top], []string{top}, paths)
		}
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "extensions", Version: "v1beta1", Kind: "Deployment"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
	} {
		kinds[gvk] = true
	}
	for _, more := range []string{"metadata.deletionTimestamp", "spec.clusterIP", "status.containerStatuses", "spec.progressDeadlineSeconds", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition", "spec.completions", "spec.parallelism", "status.active", "status.failed"} {
		paths[more] = true
	}
	delete(paths, "metadata.name")
	allPaths := slices.Sorted(maps.Keys(paths))
	allKinds := slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	rapid.Check(t, func(t *rapid.T) {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}
		obj.SetGroupVersionKind(rapid.SampledFrom(allKinds).Draw(t, "kind"))
		for _, path := range rapid.SliceOfDistinct(rapid.SampledFrom(allPaths), rapid.ID).Draw(t, "paths") {
			value := rapid.SampledFrom([]any{int64(0), int64(1), int64(2), "x", "y", "Running", "Pending", "Bound", "OnDelete", "LoadBalancer", []any{}, conditions("Ready", "False"), conditions("Complete", "True"), conditions("Stalled", "True"), conditions("Available", "True"), []any{"x", nil, map[string]any{"name": "c", "state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}}}}, nil, true, "3"}).Draw(t, path)
			_ = unstructured.SetNestedField(obj.Object, value, strings.Split(path, ".")...) // or something is in the way
		}
		if diff := cmp.Diff(Evaluate(obj), Evaluate(projected(obj))); diff != "" {
			t.Errorf("%v (-all +kept):\n%s", obj.Object, diff)
		}
	})
}

// TestRolledOut: what is plain to see is what kstatus says.
func TestRolledOut(t *testing.T) {
	plain := parse(t, rolledOut)
	if !isRolledOut(plain, conditionsOf(plain)) {
		t.Error("a Deployment that is rolled out is not plain to see")
	}
	paths := []string{
		"metadata.generation", "metadata.deletionTimestamp", "spec.replicas", "spec.progressDeadlineSeconds", "status.observedGeneration",
		"status.replicas", "status.updatedReplicas", "status.readyReplicas", "status.availableReplicas", "status.conditions",
	}
	progressed := []any{map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}}
	late := []any{map[string]any{"type": "Progressing", "status": "True", "reason": "ProgressDeadlineExceeded"}}
	both := slices.Concat(conditions("Available", "True"), progressed)
	values := []any{
		int64(0), int64(1), int64(2), int64(3), int64(2147483647), 2.0, "2", "", nil, both, conditions("Available", "True"), progressed,
		slices.Concat(conditions("Available", "False"), progressed), slices.Concat(both, late), slices.Concat(conditions("Available", "True"), late),
		slices.Concat(both, conditions("Stalled", "True")), slices.Concat(both, conditions("Reconciling", "True")), slices.Concat(both, conditions("Other", "True")),
	}
	plainly := 0
	for _, found := range values { // in the conditions, with each other value anywhere else
		for _, path := range paths {
			for _, value := range values {
				obj := plain.DeepCopy()
				setField(t, obj, "status.conditions", found)
				setField(t, obj, path, value)
				conditions := conditionsOf(obj)
				if !isRolledOut(obj, conditions) {
					continue
				}
				plainly++
				if result, err := status.Compute(kstatusView(obj, conditions)); err != nil || result.Status != status.CurrentStatus {
					t.Errorf("%v: kstatus says %v, %v", obj.Object, result, err)
				}
			}
		}
	}
	if plainly < 10 {
		t.Errorf("only %d Deployments were plainly rolled out", plainly)
	}
}

// setField sets a field, or removes it: "".
func setField(t *testing.T, obj *unstructured.Unstructured, path string, value any) {
	t.Helper()
	if value == "" {
		unstructured.RemoveNestedField(obj.Object, strings.Split(path, ".")...)
	} else if err := unstructured.SetNestedField(obj.Object, value, strings.Split(path, ".")...); err != nil {
		t.Fatal(err)
	}
}

func conditions(kind, is string) []any {
	return []any{map[string]any{"type": kind, "status": is, "reason": "R", "message": "m", "lastTransitionTime": "2020-01-01T00:00:00Z"}}
}

// collectPaths notes the paths of what is no map.
func collectPaths(value any, path []string, all map[string]bool) {
	below, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			all[strings.Join(path, ".")] = true
		}
		return
	}
	for key, value := range below {
		collectPaths(value, append(path[:len(path):len(path)], key), all)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	obj := parse(b, rolledOut)
	b.ReportAllocs()
	for b.Loop() {
		if !Evaluate(obj).IsReady {
			b.Fatal("it is not ready")
		}
	}
}

// TestIsReason: of what somebody writes to a status, words are passed on.
func TestIsReason(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "A": true, "z": true, "Az_09,:": true, "_A": false, "9A": false, ":": false, "a b": false, "a\n": false, "ä": false, "a-b": false,
		strings.Repeat("a", maxReason): true, strings.Repeat("a", maxReason+1): false,
	} {
		if got := isReason(text); got != want {
			t.Errorf("isReason(%q) = %t, want %t", text, got, want)
		}
	}
}
