package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// What hostile records may cost Ambit, whatever is in them.
const (
	recordStreams    = 20
	recordGoroutines = 100
	recordHeap       = 20 << 20
	recordLookups    = 100 // in 20 s
	// believedRecords is how many owners have a record that is as large as may be.
	believedRecords = 5
	// believedPatience is for what is said on an owner with such a record: it comes after reads by
	// name that owners make in turns, which takes over a minute where processors are busy.
	believedPatience = 5 * time.Minute
)

// recordPolicy makes a ConfigMap for each Beast, in its own namespace.
const recordPolicy = `
children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${owner.metadata.name}"}
      data: {size: "${string(owner.spec.size)}"}
`

// spreadPolicy makes a ConfigMap for each Beast in the namespace that it names.
const spreadPolicy = `
children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${owner.metadata.name}", namespace: "${owner.spec.?to.orValue(owner.metadata.namespace)}"}
      data: {size: "${string(owner.spec.size)}"}
`

// recordGroup is a part of the record of an owner's children.
type recordGroup struct {
	Child      string   `json:"child"`
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Objects    []string `json:"objects"`
}

// hostileRecords are records that somebody wrote who may write owners, by owner.
func hostileRecords(t *testing.T) map[string]string {
	t.Helper()
	var everywhere []string
	for i := range 20_000 {
		everywhere = append(everywhere, fmt.Sprintf("n%d/a/", i))
	}
	var kinds []recordGroup
	for i := range 3000 {
		kinds = append(kinds, recordGroup{Child: "x", APIVersion: fmt.Sprintf("g%d.x/v1", i), Kind: "K", Objects: []string{"n/a/"}})
	}
	all := map[string][]recordGroup{
		"places":    {{Child: "config", APIVersion: "v1", Kind: "ConfigMap", Objects: everywhere}},
		"leftovers": {{Child: "gone", APIVersion: "v1", Kind: "ConfigMap", Objects: everywhere}},
		"kinds":     kinds,
	}
	// The largest that an earlier version of the policy could have written, so that they are
	// believed: 64 other kinds, and 4000 entries in all.
	for i := range believedRecords {
		var groups []recordGroup
		for k := range 64 {
			groups = append(groups, recordGroup{Child: "gone", APIVersion: fmt.Sprintf("b%d-%d.x/v1", i, k), Kind: "K", Objects: []string{"n/a/"}})
		}
		groups = append(groups, recordGroup{Child: "gone", APIVersion: "v1", Kind: "ConfigMap", Objects: everywhere[:4000-64]})
		all[fmt.Sprintf("believed-%d", i)] = groups
	}
	records := map[string]string{}
	for name, groups := range all {
		text, err := json.Marshal(map[string]any{"policy": "ambit-system.recorded", "claim": "aaaaaaaaaaaaaaaa", "groups": groups})
		if err != nil {
			t.Fatal(err)
		}
		records[name] = string(text)
	}
	return records
}

// recordProgram is recordPolicy for the Beasts that are labelled with it.
func (h *hostileWorld) recordProgram() *policy.Program { return h.programOf(recordPolicy) }

func (h *hostileWorld) programOf(text string) *policy.Program {
	h.t.Helper()
	program, err := h.beastPolicy("recorded", nil, fromYAML(h.t, text).(map[string]any))
	if err != nil {
		h.t.Fatal(err)
	}
	return program
}

// makeRecorded makes Beasts with these records.
func (h *hostileWorld) makeRecorded(records map[string]string) {
	h.t.Helper()
	for name, record := range records {
		beast := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "hostile.example.com/v1", "kind": "Beast", "spec": map[string]any{"size": int64(1)},
			"metadata": map[string]any{
				"name": name, "labels": map[string]any{"hostile": "recorded"}, "annotations": map[string]any{v1alpha1.AnnotationChildren: record},
			},
		}}
		if _, err := h.objects.Resource(beasts).Namespace(h.namespace).Create(h.t.Context(), beast, metav1.CreateOptions{}); err != nil {
			h.t.Fatalf("making Beast %q: %v", name, err)
		}
	}
}

// dropRecorded removes Beasts, whatever is left of what their records say.
func (h *hostileWorld) dropRecorded(records map[string]string) {
	h.t.Helper()
	of := h.objects.Resource(beasts).Namespace(h.namespace)
	for name := range records {
		h.eventually("Beast "+name+" is gone", func(ctx context.Context) error {
			free := []byte(`{"metadata":{"finalizers":null}}`)
			if _, err := of.Patch(ctx, name, "application/merge-patch+json", free, metav1.PatchOptions{}); apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it is there"), of.Delete(ctx, name, metav1.DeleteOptions{}))
		})
	}
}

// TestHostileRecords: records with 20,000 places and with 3000 invented kinds, and five with as
// much as is believed, stand on owners of a policy that makes one ConfigMap next to each. Ambit
// opens a few streams, looks
// a few kinds up at a time, stays small, says so on these owners, and serves others. It
// measures the heap and so runs alone.
func TestHostileRecords(t *testing.T) {
	h := newHostileWorld(t, "hostile-records")
	configs := rightsTo("", "configmaps")
	h.grantEverywhere("configs", configs) // what a record could have opened is bounded by nothing else
	h.decided("", true, configs)
	h.attack(1, h.recordProgram())
	h.beast("recorded", "first", map[string]any{"size": int64(1)})
	h.ended(h.nobody)
	before, by := h.steadyGoroutines(h.l, "before the records")
	streams := h.watches()
	heap := sampleHeap()
	mark := h.control.Audit().Mark()

	records := hostileRecords(t)
	h.makeRecorded(records)
	for i := range 10 {
		h.createOwner(h.good, fmt.Sprintf("victim-%d", i), 1)
		h.beast("recorded", fmt.Sprintf("victim-%d", i), map[string]any{"size": int64(1)})
	}
	h.allReady([]string{h.good}, 11)
	h.eventuallyWithin(believedPatience, "owners of the same policy are Ready, and the hostile ones are not", func(context.Context) error {
		return h.servesBeside(records)
	})
	h.goroutinesAtMost(h.l, "with the records", before+recordGoroutines, by)
	peak, kept := heap.end()
	t.Logf("the heap grew by %d MiB at most, and by %d MiB for good", peak>>20, kept>>20)
	if kept > recordHeap {
		t.Errorf("the heap grew by more than %d MiB for good", recordHeap>>20)
	}
	if more := h.watches() - streams; more > recordStreams {
		t.Errorf("%d more streams are open", more)
	}
	if n := h.lookups(mark); n > recordLookups {
		t.Errorf("%d discovery requests in 20 s", n)
	}
	h.unharmed(3)
	h.dropRecorded(records)
	h.unharmed(2)
}

// TestHostileRecordBelieved: a record is as large as Ambit itself may write it, and has 4000
// objects in 1000 namespaces that are not there. The rights are in single namespaces, so each of
// these is denied. While they are reviewed, another owner of the policy is served as soon as its
// right is granted.
func TestHostileRecordBelieved(t *testing.T) {
	t.Parallel()
	h := newHostileWorld(t, "hostile-believed")
	configs := rightsTo("", "configmaps")
	h.grantAs("configs", h.namespace, configs)
	late := h.world.namespace()
	h.attack(1, h.programOf(spreadPolicy))
	h.beast("recorded", "first", map[string]any{"size": int64(1)})
	h.ended(h.nobody)
	streams, mark := h.watches(), h.control.Audit().Mark()

	var objects []string
	for i := range 4000 {
		objects = append(objects, fmt.Sprintf("n%d/a%d/", i/4, i%4))
	}
	text, err := json.Marshal(map[string]any{"policy": "ambit-system.recorded", "claim": "aaaaaaaaaaaaaaaa", "groups": []recordGroup{
		{Child: "config", APIVersion: "v1", Kind: "ConfigMap", Objects: objects},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.makeRecorded(map[string]string{"believed": string(text)})
	h.eventually("the namespaces of the record are reviewed", func(context.Context) error {
		if n := len(h.since(mark, func(r cluster.Request) bool { return r.Resource == "selfsubjectrulesreviews" })); n < 100 {
			return fmt.Errorf("%d reviews", n)
		}
		return nil
	})
	h.beast("recorded", "victim", map[string]any{"size": int64(1), "to": late})
	h.isBeast("victim", "False")
	began := time.Now()
	h.grantAs("configs", late, configs)
	h.isBeast("victim", "True")
	t.Logf("the grant took effect after %s", time.Since(began).Round(time.Millisecond))
	h.isBeast("believed", "False")
	if more := h.watches() - streams; more > recordStreams {
		t.Errorf("%d more streams are open", more)
	}
	h.unharmed(3)
}

// isBeast waits until the condition Ready of a Beast has this status.
func (h *hostileWorld) isBeast(name, ready string) {
	h.t.Helper()
	h.eventually(fmt.Sprintf("Beast %s is Ready=%s", name, ready), func(ctx context.Context) error {
		found, err := h.fare(ctx)
		if err == nil && found[name].ready != ready {
			err = fmt.Errorf("it is %+v", found[name])
		}
		return err
	})
}

// servesBeside returns nil if all Beasts of the policy are Ready but for those with hostile
// records: of these none is Ready that is refused, the one with kinds is told so, and something
// is said on each that is believed.
func (h *hostileWorld) servesBeside(records map[string]string) error {
	found := h.must()
	for name, how := range found {
		_, hostile := records[name]
		refused := hostile && !strings.HasPrefix(name, "believed-")
		if how.ready == "" || !hostile && how.ready != "True" || refused && how.ready == "True" {
			return fmt.Errorf("%s is %+v", name, how)
		}
	}
	if found["kinds"].stalled == "" || len(found) != 11+len(records) {
		return fmt.Errorf("there are %d; the one with kinds is %+v", len(found), found["kinds"])
	}
	return nil
}

// watches are the streams that Ambit has open by the audit log.
func (w *world) watches() int {
	w.t.Helper()
	open, err := w.control.Audit().OpenWatches(w.user)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(open)
}

// lookups is the largest number of discovery requests in 20 s since a mark.
func (w *world) lookups(mark cluster.Mark) (most int) {
	w.t.Helper()
	all, err := w.control.Audit().Since(mark, w.user)
	if err != nil {
		w.t.Fatal(err)
	}
	var times []time.Time
	for _, r := range all {
		if r.Verb == "get" && r.Resource == "" && strings.HasPrefix(r.URI, "/api") {
			times = append(times, r.Time)
		}
	}
	for from, to := 0, 0; to < len(times); to++ {
		for times[to].Sub(times[from]) > 20*time.Second {
			from++
		}
		most = max(most, to-from+1)
	}
	w.t.Logf("%d discovery requests, at most %d in 20 s", len(times), most)
	return most
}
