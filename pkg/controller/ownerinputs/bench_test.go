package ownerinputs

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer"
)

// memcachedSpec needs of its owners what the Memcached policy needs: a child, and a watch of what the owner
// selects.
const memcachedSpec = `
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${owner.metadata.name}"}
      spec: {replicas: "${size(pods)}"}
  watches:
  - id: pods
    apiVersion: v1
    kind: Pod
    selector: {matchLabels: {app.kubernetes.io/name: memcached, app.kubernetes.io/instance: "${owner.metadata.name}"}}
`

// noInformers has no streams, and a lister for each interest.
type noInformers struct{}

func (noInformers) Require(_ informer.EventHandler, interests []informer.Interest) []informer.Lister {
	return make([]informer.Lister, len(interests))
}
func (noInformers) Retry(informer.Key) {}

// BenchmarkPlan lays out the inputs of an owner of the Memcached policy, and measures what is kept of them
// where all owners are in one namespace, and where each has its own.
func BenchmarkPlan(b *testing.B) {
	for _, shares := range []bool{true, false} {
		b.Run(fmt.Sprintf("SharesStreams=%t", shares), func(b *testing.B) {
			bench := newBench(b, memcachedSpec)
			s := bench.subject()
			s.SharesStreams = shares
			b.ReportAllocs()
			for b.Loop() {
				bench.PlanInputs(b.Context(), s)
			}
			b.ReportMetric(bench.keptInputs(b, shares, func(int) string { return "home" }), "B-kept/owner")
			b.ReportMetric(bench.keptInputs(b, shares, func(i int) string { return fmt.Sprint("home-", i) }), "B-alone/owner")
		})
	}
}

// keptInputs is what memory the inputs of an owner take, one of many.
func (b *bench) keptInputs(t testing.TB, shares bool, namespace func(i int) string) float64 {
	const many = 1000
	subjects := make([]Subject, many)
	for i := range subjects {
		s := b.subject()
		s.SharesStreams = shares
		s.Owner.SetNamespace(namespace(i))
		s.Owner.SetName(fmt.Sprint("x-", i))
		s.Owner.SetUID(types.UID(fmt.Sprint("11111111-1111-1111-1111-", i)))
		s.Name = types.NamespacedName{Namespace: s.Owner.GetNamespace(), Name: s.Owner.GetName()}
		subjects[i] = s
	}
	inputs := make([]*Inputs, many)
	before := memory()
	for i, s := range subjects {
		inputs[i], _ = b.PlanInputs(t.Context(), s)
		inputs[i].OpenStreams(noInformers{}, nil)
	}
	bytes := float64(memory() - before)
	runtime.KeepAlive(inputs)
	runtime.KeepAlive(subjects)
	return bytes / many
}

// memory is what is on the heap and in use.
func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
