package fields

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

func TestProject(t *testing.T) {
	object := func() map[string]any {
		return map[string]any{
			"name":  "x",
			"empty": map[string]any{},
			"null":  nil,
			"spec":  map[string]any{"size": int64(1), "paused": true},
			"list":  []any{map[string]any{"a": "1", "b": "2"}, "scalar", map[string]any{"b": "3"}, nil},
			"map":   map[string]any{"k": map[string]any{"a": "1", "b": "2"}, "l": "scalar"},
		}
	}
	cases := map[string]struct {
		reason string
		set    *Set
		want   map[string]any
	}{
		"Nil":        {reason: "nothing is covered", want: map[string]any{}},
		"All":        {reason: "everything is covered", set: AllFields(), want: object()},
		"Missing":    {reason: "a field that is not there is not made up", set: New("none.deep"), want: map[string]any{}},
		"Leaf":       {reason: "only the path's end is kept", set: New("spec.size"), want: map[string]any{"spec": map[string]any{"size": int64(1)}}},
		"Whole":      {reason: "a path covers what is below", set: New("spec"), want: map[string]any{"spec": object()["spec"]}},
		"Null":       {reason: "null is a value", set: New("null"), want: map[string]any{"null": nil}},
		"NullDeeper": {reason: "null where more is expected is kept", set: New("null.deep"), want: map[string]any{"null": nil}},
		"Deeper":     {reason: "so is a scalar", set: New("name.deep"), want: map[string]any{"name": "x"}},
		"NoneBelow":  {reason: "a map on the path stays, though empty", set: New("spec.none", "empty.none"), want: map[string]any{"spec": map[string]any{}, "empty": map[string]any{}}},
		"List": {reason: "elements keep their places", set: New("list.*.a"), want: map[string]any{
			"list": []any{map[string]any{"a": "1"}, "scalar", map[string]any{}, nil}}},
		"ListByName": {reason: "a list where a map is expected keeps its length", set: New("list.a"), want: map[string]any{
			"list": []any{map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}}}},
		"MapValues": {reason: "every key stays", set: New("map.*.a"), want: map[string]any{
			"map": map[string]any{"k": map[string]any{"a": "1"}, "l": "scalar"}}},
		"MapValuesAndKey": {reason: "one value has more than the others", set: New("map.*.a", "map.k.b"), want: map[string]any{"map": object()["map"]}},
		"Presence":        {reason: "the map is there, its keys are not", set: New().AddPresence("spec").AddPresence("name"), want: map[string]any{"spec": map[string]any{}, "name": "x"}},
		"PresenceOfEach":  {reason: "the keys are there", set: New().AddPresence("map", Any), want: map[string]any{"map": map[string]any{"k": map[string]any{}, "l": "scalar"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			input := object()
			if diff := cmp.Diff(tc.want, tc.set.ProjectObject(input)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(object(), input); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

// TestProjectProperties: projecting again changes nothing, a larger set may go
// first, and what is covered is as it was.
func TestProjectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object, a, b := drawMap(t, 3), drawSet(t), drawSet(t)
		once := a.ProjectObject(object)
		if diff := cmp.Diff(once, a.ProjectObject(once)); diff != "" {
			t.Fatalf("%s over %v is not the same twice:\n%s", a, object, diff)
		}
		if diff := cmp.Diff(once, a.ProjectObject(a.Union(b).ProjectObject(object))); diff != "" {
			t.Fatalf("%s after %s over %v:\n%s", a, b, object, diff)
		}
		for key, value := range object {
			if kept, ok := once[key]; a.CoversPath(key) && (!ok || !cmp.Equal(value, kept)) {
				t.Fatalf("%s over %v lost %q", a, object, key)
			}
		}
	})
}

func drawMap(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, key) {
			m[key] = drawValue(t, depth-1)
		}
	}
	return m
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	switch {
	case depth > 0 && kind == 0:
		return drawMap(t, depth)
	case depth > 0 && kind == 1:
		return []any{drawValue(t, depth-1), drawValue(t, depth-1)}
	case kind == 2:
		return nil
	}
	return "text"
}

// keep are the fields that Ambit keeps of every object, and more.
func keep(more ...string) *Set {
	always := New("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
		"metadata.generation", "metadata.deletionTimestamp", "metadata.finalizers", "metadata.ownerReferences", "metadata.labels")
	return always.Union(New(more...))
}

// BenchmarkProjectDeployment keeps what the Memcached policy sets and reads.
func BenchmarkProjectDeployment(b *testing.B) {
	benchmarkProject(b, "deployment.json", keep("spec.replicas", "spec.selector.matchLabels", "spec.template.metadata.labels",
		"spec.template.spec.securityContext", "spec.template.spec.containers.*.name", "spec.template.spec.containers.*.image",
		"spec.template.spec.containers.*.imagePullPolicy", "spec.template.spec.containers.*.ports",
		"spec.template.spec.containers.*.command", "spec.template.spec.containers.*.securityContext", "status.availableReplicas"))
}

// BenchmarkProjectPod keeps what a status with the names of running Pods reads.
func BenchmarkProjectPod(b *testing.B) {
	benchmarkProject(b, "pod.json", keep("status.phase"))
}

func benchmarkProject(b *testing.B, file string, set *Set) {
	for _, c := range []struct {
		name string
		set  *Set
	}{{"Whole", AllFields()}, {"Projected", set}} {
		b.Run(c.name, func(b *testing.B) {
			object := decode(b, read(b, file))
			b.ReportAllocs()
			for b.Loop() {
				c.set.ProjectObject(object)
			}
			b.ReportMetric(kept(b, file, c.set), "B/kept")
		})
	}
}

// kept measures the heap that one object takes that came from the API server on
// its own, after projection.
func kept(b *testing.B, file string, s *Set) float64 {
	const objects = 200
	text := read(b, file)
	before := heap()
	all := make([]map[string]any, objects)
	for i := range all {
		all[i] = s.ProjectObject(decode(b, text))
	}
	after := heap()
	runtime.KeepAlive(all)
	runtime.KeepAlive(text)
	return float64(after-before) / objects
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func read(b *testing.B, file string) []byte {
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func decode(b *testing.B, text []byte) map[string]any {
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		b.Fatal(err)
	}
	return object
}
