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
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var costFlag = flag.Int("cost", 0, "compare what a cache of so many Deployments costs with controller-runtime's")

// costs are what one cache takes.
type costs struct {
	heap     uint64 // bytes
	sync     time.Duration
	get      time.Duration
	list     time.Duration
	listHere time.Duration // in one of ten namespaces
	event    time.Duration // from a write's answer to the handler
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
	}
	makeDeployments(t, admin, namespaces, *costFlag)
	best := map[string]costs{}
	some := Options{Fields: map[client.Object][]string{&appsv1.Deployment{}: Fields("spec.replicas", "status", "metadata.annotations")}}
	for range 5 {
		for name, newCache := range map[string]cache.NewCacheFunc{"cache.New": cache.New, "scopedcache.New": New(Options{}), "fields": New(some)} {
			one := measure(t, func() (cache.Cache, error) { return newCache(c.Admin(), cache.Options{}) }, admin, namespaces[0])
			if before, ok := best[name]; ok {
				one = one.bestOf(before)
			}
			best[name] = one
		}
	}
	theirs, ours := best["cache.New"], best["scopedcache.New"]
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

func makeDeployments(t *testing.T, admin kubernetes.Interface, namespaces []string, count int) {
	t.Helper()
	var making sync.WaitGroup
	for worker := range 8 {
		making.Go(func() {
			for i := worker; i < count; i += 8 {
				labels := map[string]string{"app": fmt.Sprint("app-", i), "app.kubernetes.io/managed-by": "somebody"}
				container := corev1.Container{
					Name: "main", Image: fmt.Sprint("registry.example.com/app:", i), Args: []string{"--verbose", "--listen=:8080"},
					Env: []corev1.EnvVar{{Name: "ONE", Value: "1"}, {Name: "TWO", Value: "2"}, {Name: "NAME", Value: fmt.Sprint(i)}},
				}
				_, err := admin.AppsV1().Deployments(namespaces[i%len(namespaces)]).Create(t.Context(), &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("deployment-", i), Labels: labels},
					Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}},
					}},
				}, metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	making.Wait()
}

func measure(t *testing.T, newCache func() (cache.Cache, error), admin kubernetes.Interface, namespace string) (got costs) {
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
	i, err := c.GetInformer(ctx, &appsv1.Deployment{})
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
	key := client.ObjectKey{Namespace: namespace, Name: "deployment-0"}
	got.get = bench(func() error { return c.Get(ctx, key, &appsv1.Deployment{}) })
	got.list = bench(func() error { return c.List(ctx, &appsv1.DeploymentList{}) })
	got.listHere = bench(func() error { return c.List(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace)) })
	got.event = eventLatency(t, i, admin, namespace)
	return got
}

// eventLatency returns the median time from the answer of a write to its event.
func eventLatency(t *testing.T, i cache.Informer, admin kubernetes.Interface, namespace string) time.Duration {
	t.Helper()
	seen := make(chan time.Time, 1)
	wanted := ""
	var mu sync.Mutex
	_, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if object.(*appsv1.Deployment).Annotations["round"] == wanted {
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
		_, err := admin.AppsV1().Deployments(namespace).Patch(t.Context(), "deployment-0", "application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"round":"`+wanted+`"}}}`), metav1.PatchOptions{})
		if err != nil {
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
