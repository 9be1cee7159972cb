package scopedcache

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var costFlag = flag.Int("cost", 0, "compare what a cache of so many Deployments and so many Pods costs with controller-runtime's")

// costs are what one cache takes.
type costs struct {
	heap     uint64 // bytes
	sync     time.Duration
	get      time.Duration
	list     time.Duration
	listHere time.Duration // in one of ten namespaces
	event    time.Duration // from a write's answer to the handler
}

// costKind is a kind that is measured.
type costKind struct {
	object client.Object
	list   client.ObjectList
	fields []string
	create func(*testing.T, kubernetes.Interface, string, int) error
	patch  func(t *testing.T, admin kubernetes.Interface, namespace, name string, patch []byte) error
}

// TestCost compares a cache with cluster-wide rights with that of cache.New, over rounds in turn, by the best of
// each.
func TestCost(t *testing.T) {
	if *costFlag == 0 {
		t.Skip("it measures: -cost 5000")
	}
	c := control.Cluster(t)
	admin := kubernetes.NewForConfigOrDie(c.Admin())
	namespaces := make([]string, 10)
	for i := range namespaces {
		namespaces[i] = c.Namespace(t.Context(), t, "cost")
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if _, err := admin.CoreV1().ServiceAccounts(namespaces[i]).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, k := range map[string]costKind{
		"Deployments": {&appsv1.Deployment{}, &appsv1.DeploymentList{}, Fields("spec.replicas", "status", "metadata.annotations"), createDeployment, patchDeployment},
		"Pods":        {&corev1.Pod{}, &corev1.PodList{}, Fields("spec.nodeName", "status.phase", "status.podIP", "metadata.annotations"), createPod, patchPod},
	} {
		t.Run(name, func(t *testing.T) {
			createAll(t, *costFlag, func(i int) error { return k.create(t, admin, namespaces[i%len(namespaces)], i) })
			k.compare(t, c.Admin(), admin, namespaces[0])
		})
	}
}

func (k costKind) compare(t *testing.T, config *rest.Config, admin kubernetes.Interface, namespace string) {
	best := map[string]costs{}
	some := Options{Fields: map[client.Object][]string{k.object: k.fields}}
	for range 5 {
		for name, newCache := range map[string]cache.NewCacheFunc{"cache.New": cache.New, "scopedcache.New": New(Options{}), "fields": New(some)} {
			one := k.measure(t, func() (cache.Cache, error) { return newCache(config, cache.Options{}) }, admin, namespace)
			if before, ok := best[name]; ok {
				one = one.bestOf(before)
			}
			best[name] = one
		}
	}
	theirs, ours := best["cache.New"], best["scopedcache.New"]
	fmt.Fprintf(os.Stdout, "%T\n", k.object)
	row := func(what string, theirs, ours float64, unit string) {
		fmt.Fprintf(os.Stdout, "%-32s %12.2f %12.2f %s  %.2f\n", what, theirs, ours, unit, ours/theirs)
	}
	row("heap", float64(theirs.heap)/1e6, float64(ours.heap)/1e6, "MB")
	row("heap with some Fields", float64(theirs.heap)/1e6, float64(best["fields"].heap)/1e6, "MB")
	row("processor time to sync", theirs.sync.Seconds()*1e3, ours.sync.Seconds()*1e3, "ms")
	row("Get", theirs.get.Seconds()*1e6, ours.get.Seconds()*1e6, "us")
	row("List of all", theirs.list.Seconds()*1e3, ours.list.Seconds()*1e3, "ms")
	row("List of a tenth", theirs.listHere.Seconds()*1e3, ours.listHere.Seconds()*1e3, "ms")
	row("write's answer to event (median)", theirs.event.Seconds()*1e3, ours.event.Seconds()*1e3, "ms")
}

func (c costs) bestOf(o costs) costs {
	return costs{min(c.heap, o.heap), min(c.sync, o.sync), min(c.get, o.get), min(c.list, o.list), min(c.listHere, o.listHere), min(c.event, o.event)}
}

func createAll(t *testing.T, count int, create func(int) error) {
	t.Helper()
	var making sync.WaitGroup
	for worker := range 8 {
		making.Go(func() {
			for i := worker; i < count; i += 8 {
				if err := create(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	making.Wait()
}

func costMetadata(i int) metav1.ObjectMeta {
	labels := map[string]string{"app": fmt.Sprint("app-", i), "app.kubernetes.io/managed-by": "somebody"}
	return metav1.ObjectMeta{Name: fmt.Sprint("one-", i), Labels: labels}
}

func costPodSpec(i int) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: fmt.Sprint("registry.example.com/app:", i), Args: []string{"--verbose", "--listen=:8080"},
		Env: []corev1.EnvVar{{Name: "ONE", Value: "1"}, {Name: "TWO", Value: "2"}, {Name: "NAME", Value: fmt.Sprint(i)}},
	}}}
}

func createDeployment(t *testing.T, admin kubernetes.Interface, namespace string, i int) error {
	metadata := costMetadata(i)
	_, err := admin.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metadata,
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: metadata.Labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: metadata.Labels}, Spec: costPodSpec(i),
		}},
	}, metav1.CreateOptions{})
	return err
}

func patchDeployment(t *testing.T, admin kubernetes.Interface, namespace, name string, patch []byte) error {
	_, err := admin.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// createPod makes a Pod as it is when it runs: with a token and a status.
func createPod(t *testing.T, admin kubernetes.Interface, namespace string, i int) error {
	pods := admin.CoreV1().Pods(namespace)
	spec := costPodSpec(i)
	spec.NodeName = fmt.Sprint("node-", i%50)
	made, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: costMetadata(i), Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	now := metav1.Now()
	made.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.%d.%d", i/250, i%250), PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.0.%d.%d", i/250, i%250)}}, HostIP: "10.1.0.1", StartTime: &now}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		made.Status.Conditions = append(made.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	made.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Ready: true, Image: fmt.Sprint("registry.example.com/app:", i), ImageID: fmt.Sprintf("registry.example.com/app@sha256:%064d", i),
		ContainerID: fmt.Sprintf("containerd://%064d", i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	_, err = pods.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	return err
}

func patchPod(t *testing.T, admin kubernetes.Interface, namespace, name string, patch []byte) error {
	_, err := admin.CoreV1().Pods(namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (k costKind) measure(t *testing.T, newCache func() (cache.Cache, error), admin kubernetes.Interface, namespace string) (got costs) {
	t.Helper()
	c, err := newCache()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Start(ctx) })
	defer running.Wait()
	defer stop()
	heapBefore, cpuBefore := heapInUse(), cpuTime()
	i, err := c.GetInformer(ctx, k.object)
	if err != nil || !c.WaitForCacheSync(ctx) {
		t.Fatal("it does not sync", err)
	}
	got.sync = cpuTime() - cpuBefore
	got.heap = heapInUse() - heapBefore
	bench := func(do func() error) time.Duration {
		result := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
		return time.Duration(result.NsPerOp())
	}
	key := client.ObjectKey{Namespace: namespace, Name: "one-0"}
	got.get = bench(func() error { return c.Get(ctx, key, k.object.DeepCopyObject().(client.Object)) })
	got.list = bench(func() error { return c.List(ctx, k.list.DeepCopyObject().(client.ObjectList)) })
	got.listHere = bench(func() error {
		return c.List(ctx, k.list.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace))
	})
	got.event = k.eventLatency(t, i, admin, namespace)
	return got
}

// eventLatency returns the median time from the answer of a write to its event.
func (k costKind) eventLatency(t *testing.T, i cache.Informer, admin kubernetes.Interface, namespace string) time.Duration {
	t.Helper()
	seen := make(chan time.Time, 1)
	wanted := ""
	var mu sync.Mutex
	_, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if object.(client.Object).GetAnnotations()["round"] == wanted {
			select {
			case seen <- now:
			default:
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Duration
	for range 200 {
		mu.Lock()
		wanted = fmt.Sprint(time.Now().UnixNano())
		mu.Unlock()
		sent := time.Now()
		if err := k.patch(t, admin, namespace, "one-0", []byte(`{"metadata":{"annotations":{"round":"`+wanted+`"}}}`)); err != nil {
			t.Fatal(err)
		}
		times = append(times, (<-seen).Sub(sent))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
