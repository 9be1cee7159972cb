package plan

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// memcached is the Memcached policy with one owner, and the world as far as it
// converged.
func memcached(t testing.TB) *operator {
	t.Helper()
	data, err := os.ReadFile("../../policies/memcached.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := syntax.Parse("memcached.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{world: &world{}, program: program, writes: -1}
	o.setOwner(t, `{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: sample}, spec: {size: 3}}`)
	return o
}

// finish makes the Deployment and its Pods as the API server and the controllers
// leave them.
func (o *operator) finish(t testing.TB) {
	t.Helper()
	o.converge(t)
	deployment := o.world.find("Deployment", "sample")
	o.world.edit(deployment, map[string]any{"status": map[string]any{
		"observedGeneration": int64(1), "replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3),
		"conditions": []any{map[string]any{"type": "Available", "status": "True"}},
	}}, "kube-controller-manager")
	for _, name := range []string{"a", "b", "c"} {
		o.world.create(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{
				"name": name, "namespace": "default",
				"labels": map[string]any{"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": "sample"},
			},
			"status": map[string]any{"phase": "Running"},
		}}, "kube-controller-manager")
	}
}

func TestMemcached(t *testing.T) {
	o := memcached(t)
	o.finish(t)
	got := o.plan(t).String()
	want := `children:
  deployment sample: Ready
status:
  nodes:
  - a
  - b
  - c
  state:
    message: 3 of 3 nodes available
    status: Ready
conditions:
  Available=True MinimumReplicasAvailable: Deployment sample has 3 of 3 replicas available
  Degraded=False AsExpected
  Permitted=True Permitted
  Ready=True Ready: all children exist and are ready
`
	if got != want {
		t.Errorf("plan of a converged Memcached:\n%s\nwant:\n%s", got, want)
	}
}

func BenchmarkPlanMemcached(b *testing.B) {
	run := func(name string, actions int, plan func(context.Context, *policy.Program, Snapshot) *Plan, prepare func(b *testing.B, o *operator)) {
		b.Run(name, func(b *testing.B) {
			o := memcached(b)
			prepare(b, o)
			o.plan(b)
			s := o.snapshot()
			b.ReportAllocs()
			for b.Loop() {
				if p := plan(b.Context(), o.program, s); len(p.Actions) != actions {
					b.Fatalf("got %d actions, want %d:\n%s", len(p.Actions), actions, p)
				}
			}
		})
	}
	begin := func(ctx context.Context, program *policy.Program, s Snapshot) *Plan {
		return Begin(ctx, program, s).Plan
	}
	create := func(*testing.B, *operator) {}
	run("NoOp", 0, Make, func(b *testing.B, o *operator) { o.finish(b) })
	run("Create", 1, Make, create)
	run("CreateBegin", 1, begin, create)
	run("Change", 1, Make, func(b *testing.B, o *operator) {
		o.finish(b)
		o.setOwner(b, `{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: sample}, spec: {size: 4}}`)
	})
}

func BenchmarkDiffMemcached(b *testing.B) {
	o := memcached(b)
	desired := o.plan(b).Actions[0].Object
	o.finish(b)
	live := o.world.find("Deployment", "sample")
	manager := v1alpha1.FieldManager(o.program.Label)
	for name, live := range map[string]*unstructured.Unstructured{"Update": live, "Apply": applied(o, live, desired, manager)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := ssadiff.Compare(desired, live, manager).Differences; len(d) != 0 {
					b.Fatal(d)
				}
			}
		})
	}
}

// applied returns what live looks like after a migration and a server-side apply.
func applied(o *operator, live, desired *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	w := &world{owner: o.owner.GetUID(), objects: []*unstructured.Unstructured{{Object: runtime.DeepCopyJSON(live.Object)}}}
	w.apply(w.migrate(w.objects[0], manager), desired, manager)
	return w.objects[0]
}

// tenant is a cluster-scoped owner with so many namespaces and five children in each.
func tenant(t testing.TB, namespaces int) *operator {
	t.Helper()
	spec := "children:\n"
	for _, kind := range []string{"NetworkPolicy", "LimitRange", "ResourceQuota", "RoleBinding", "ConfigMap"} {
		spec += fmt.Sprintf("- id: %s\n  forEach: {as: ns, in: owner.spec.namespaces}\n  template: {apiVersion: v1, kind: %s, metadata: {name: tenant, namespace: \"${ns}\"}, spec: {owner: \"${owner.metadata.name}\", hard: {pods: 10, cpu: \"4\"}}}\n",
			strings.ToLower(kind), kind)
	}
	o := &operator{world: &world{}, program: compile(t, spec), writes: -1}
	names := make([]any, namespaces)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%03d", i)
	}
	o.setOwner(t, "{kind: Tenant, metadata: {namespace: ''}}")
	o.owner.Object["spec"] = map[string]any{"namespaces": names}
	return o
}

// BenchmarkTenant plans for a converged tenant; its objects are those of one shared
// cluster-wide Input a kind, or one Input a namespace.
func BenchmarkTenant(b *testing.B) {
	for _, namespaces := range []int{10, 100, 400} {
		o := tenant(b, namespaces)
		o.makeAll(b)
		s := o.snapshot()
		run := func(name string, s Snapshot) {
			b.Run(fmt.Sprintf("%s/%d", name, namespaces), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if p := Make(b.Context(), o.program, s); len(p.Actions) != 0 || p.OwnerMetadata != nil {
						b.Fatalf("there is to do:\n%s", p)
					}
				}
			})
		}
		run("Namespace", s)
		byKind := map[string]*Input{}
		for at, in := range s.Children {
			if byKind[at.Child] == nil {
				byKind[at.Child] = &Input{}
			}
			byKind[at.Child].Objects = append(byKind[at.Child].Objects, in.Objects...)
		}
		shared := s
		shared.Children = map[Location]Input{}
		for at := range s.Children {
			shared.Children[at] = *byKind[at.Child]
		}
		run("Cluster", shared)
	}
}

// makeAll is converge without the cost of a world that keeps managedFields.
func (o *operator) makeAll(t testing.TB) {
	o.mark(o.plan(t).OwnerMetadata)
	for i, a := range o.plan(t).Actions {
		obj := a.Object.DeepCopy()
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", i)))
		o.world.objects = append(o.world.objects, obj)
	}
}
