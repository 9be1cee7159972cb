package sim_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/test/sim"
)

// workloads is a server with controllers of workloads, and what was seen of its objects.
type workloads struct {
	*testing.T
	server *sim.Server
	began  time.Time
	seen   strings.Builder
	last   map[string]string
}

// withWorkloads runs a test in virtual time, and compares what it saw with a file of
// testdata/workloads. With -rewrite it writes that.
func withWorkloads(t *testing.T, do func(*workloads)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &workloads{T: t, server: sim.New(sim.Options{Workloads: true}), last: map[string]string{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.server.Run(ctx) }()
		time.Sleep(time.Second)
		w.began = time.Now()
		do(w)
		w.rests()
		cancel()
		<-done
		w.compare()
	})
}

func (w *workloads) compare() {
	path := filepath.Join("testdata", "workloads", strings.TrimPrefix(w.Name(), "Test")+".txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(w.seen.String()), 0o644); err != nil {
			w.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(w.seen.String(), "\n")); diff != "" {
		w.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func (w *workloads) objects(plural string) dynamic.ResourceInterface {
	return w.server.As(sim.Admin).Dynamic().Resource(resources()[plural]).Namespace("default")
}

func (w *workloads) create(plural, text string) {
	w.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		w.Fatal(err)
	}
	if _, err := w.objects(plural).Create(w.Context(), obj, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	fmt.Fprintf(&w.seen, "create %s\n", plural)
}

func (w *workloads) patch(plural, name, patch string) {
	w.Helper()
	if _, err := w.objects(plural).Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
	fmt.Fprintf(&w.seen, "patch %s %s\n", plural, patch)
}

func (w *workloads) delete(plural, name string) {
	w.Helper()
	if err := w.objects(plural).Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	fmt.Fprintf(&w.seen, "delete %s\n", plural)
}

// watch looks every few milliseconds for some time, and notes which objects are other than
// before. It never looks in the very moment in which controllers work.
func (w *workloads) watch(long time.Duration) {
	for end := time.Now().Add(long); time.Now().Before(end); {
		time.Sleep(5*time.Millisecond + time.Microsecond)
		synctest.Wait()
		now := w.texts()
		keys := maps.Clone(now)
		maps.Copy(keys, w.last)
		at := time.Since(w.began).Truncate(time.Millisecond)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if text, there := now[key]; !there {
				fmt.Fprintf(&w.seen, "%8s  %s is gone\n", at, key)
			} else if text != w.last[key] {
				fmt.Fprintf(&w.seen, "%8s  %s%s\n", at, key, text)
			}
		}
		w.last = now
	}
}

// rests fails if something is written although nothing happens.
func (w *workloads) rests() {
	w.Helper()
	before := w.server.ResourceVersion()
	time.Sleep(time.Hour)
	if after := w.server.ResourceVersion(); after != before {
		w.Errorf("%d writes at rest", after-before)
	}
}

// texts are the counts and conditions of objects.
func (w *workloads) texts() map[string]string {
	all := map[string]string{}
	for _, obj := range w.server.Objects() {
		if obj.GetNamespace() == "default" && slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "Job", "Pod"}, obj.GetKind()) {
			all[obj.GetKind()+" "+obj.GetName()] = workloadText(obj)
		}
	}
	return all
}

func workloadText(obj *unstructured.Unstructured) string {
	var b strings.Builder
	if obj.GetDeletionTimestamp() != nil {
		b.WriteString(" going")
	}
	status, _ := obj.Object["status"].(map[string]any)
	for _, name := range []string{"phase", "observedGeneration", "active", "succeeded", "failed", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"} {
		if value, ok := status[name]; ok {
			fmt.Fprintf(&b, " %s=%v", strings.TrimSuffix(name, "Replicas"), value)
		}
	}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); obj.GetKind() != "Pod" {
			fmt.Fprintf(&b, " %v=%v(%v)", condition["type"], condition["status"], condition["reason"])
		}
	}
	return b.String()
}

const webDeployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`

// TestDeployment: one is made, scaled up and down, edited, loses a Pod, and is deleted.
func TestDeployment(t *testing.T) {
	withWorkloads(t, func(w *workloads) {
		w.create("deployments", webDeployment)
		w.watch(5 * time.Second)
		w.patch("deployments", "web", `{"spec":{"replicas":3}}`)
		w.watch(5 * time.Second)
		w.patch("deployments", "web", `{"spec":{"replicas":1}}`)
		w.watch(5 * time.Second)
		w.patch("deployments", "web", `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`)
		w.watch(5 * time.Second)
		w.delete("pods", w.podsOf("web")[0])
		w.watch(5 * time.Second)
		w.patch("deployments", "web", `{"spec":{"replicas":0}}`)
		w.watch(5 * time.Second)
		w.delete("deployments", "web")
		w.watch(5 * time.Second)
	})
}

// podsOf are the names of Pods that begin with a word.
func (w *workloads) podsOf(word string) (names []string) {
	for key := range w.texts() {
		if name, ok := strings.CutPrefix(key, "Pod "); ok && strings.HasPrefix(name, word) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestDeploymentRecreate: with that strategy no two templates have Pods at a time.
func TestDeploymentRecreate(t *testing.T) {
	withWorkloads(t, func(w *workloads) {
		w.create("deployments", strings.Replace(webDeployment, "spec: {", "spec: {strategy: {type: Recreate}, ", 1))
		w.watch(5 * time.Second)
		w.patch("deployments", "web", `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`)
		w.watch(10 * time.Second)
	})
}

// TestDeploymentOrphans: who deletes a Deployment may leave its Pods, and one of that name
// takes them over.
func TestDeploymentOrphans(t *testing.T) {
	withWorkloads(t, func(w *workloads) {
		w.create("deployments", webDeployment)
		w.watch(5 * time.Second)
		if err := w.objects("deployments").Delete(w.Context(), "web", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}); err != nil {
			t.Fatal(err)
		}
		w.watch(5 * time.Second)
		w.create("deployments", webDeployment)
		w.watch(5 * time.Second)
	})
}

// TestStatefulSet: Pods come and go one after the other.
func TestStatefulSet(t *testing.T) {
	withWorkloads(t, func(w *workloads) {
		w.create("statefulsets", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, replicas: 2, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: db}]}}}}`)
		w.watch(5 * time.Second)
		w.patch("statefulsets", "db", `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`)
		w.watch(10 * time.Second)
		w.patch("statefulsets", "db", `{"spec":{"replicas":0}}`)
		w.watch(10 * time.Second)
		w.delete("statefulsets", "db")
		w.watch(5 * time.Second)
	})
}

// TestJob: Pods run until as many as are wanted have come to an end.
func TestJob(t *testing.T) {
	withWorkloads(t, func(w *workloads) {
		w.create("jobs", `{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {completions: 3, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: once, image: once}]}}}}`)
		w.watch(10 * time.Second)
		if err := w.objects("jobs").Delete(w.Context(), "once", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
			t.Fatal(err)
		}
		w.watch(5 * time.Second)
	})
}

// TestJobFails: a Pod that fails is replaced, as often as the Job allows.
func TestJobFails(t *testing.T) {
	withWorkloads(t, func(w *workloads) {
		w.create("jobs", `{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: once, image: once}]}}}}`)
		for range 2 {
			w.watch(1500 * time.Millisecond)
			for _, name := range w.podsOf("once") {
				if pod, err := w.objects("pods").Get(w.Context(), name, metav1.GetOptions{}); err == nil && pod.Object["status"].(map[string]any)["phase"] == "Running" {
					pod.Object["status"].(map[string]any)["phase"] = "Failed"
					if _, err := w.objects("pods").UpdateStatus(w.Context(), pod, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		w.watch(5 * time.Second)
	})
}

// TestNamespaceWithPods: a namespace goes when its Pods have ended.
func TestNamespaceWithPods(t *testing.T) {
	withWorkloads(t, func(w *workloads) {
		namespaces := w.server.As(sim.Admin).Dynamic().Resource(resources()["namespaces"])
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "short"}}}
		if _, err := namespaces.Create(w.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		web := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(webDeployment), &web.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := w.server.As(sim.Admin).Dynamic().Resource(resources()["deployments"]).Namespace("short").Create(w.Context(), web, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := namespaces.Delete(w.Context(), "short", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := namespaces.Get(w.Context(), "short", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace is still there: %v", err)
		}
	})
}
