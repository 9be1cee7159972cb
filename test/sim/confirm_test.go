package sim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim"
)

// linkedPolicy makes one ConfigMap, in another namespace than its owner: only the record leads
// to it.
const linkedPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: linked}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: config
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}", namespace: two}, data: {size: "${string(owner.spec.size)}"}}
`

// slowly is a requestLog whose reads by name take a while, as real ones do.
type slowly struct {
	*requestLog
	read time.Duration
}

func (f slowly) Before(_ context.Context, r sim.Request) error {
	if r.User == ambitUser && r.Verb == "get" {
		time.Sleep(f.read)
	}
	return nil
}

// linkedStage is a stage with linkedPolicy and its rights.
func linkedStage(t *testing.T, read time.Duration, policy string) (*stage, *requestLog) {
	log := &requestLog{}
	s := newStageWith(t, false, &counts{all: map[string]int{}}, slowly{log, read})
	s.grantEverywhere("linked", `[{apiGroups: [cache.example.com], resources: [memcacheds], verbs: [patch]}, {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}]`)
	s.runWith(programs(t, policy))
	return s, log
}

// recorded makes an owner with a record that names so many objects that are not there.
func (s *stage) recorded(name string, objects int) {
	s.Helper()
	s.create("memcacheds", "one", fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s, finalizers: [%s], annotations: {%s: '%s'}}, spec: {size: 1}}",
		name, v1alpha1.FinalizerCleanup, v1alpha1.AnnotationChildren, madeUpRecord(objects)))
}

func madeUpRecord(objects int) string {
	var list []string
	for i := range objects {
		list = append(list, fmt.Sprintf("%q", fmt.Sprintf("two/made-up-%d/", i)))
	}
	return fmt.Sprintf(`{"policy":"linked","claim":"aaaaaaaaaaaaaaaa","groups":[{"child":"config","apiVersion":"v1","kind":"ConfigMap","objects":[%s]}]}`, strings.Join(list, ","))
}

// memcached is an owner in namespace one; nil if it is gone.
func (s *stage) memcached(name string) *unstructured.Unstructured {
	s.Helper()
	return s.read(memcacheds, "one", name)
}

// patchOwner changes an owner in namespace one.
func (s *stage) patchOwner(name, patch string) error {
	_, err := s.admin.Resource(memcacheds).Namespace("one").Patch(s.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "fighter"})
	return err
}

func isConfirmation(r sentRequest) bool {
	return r.Verb == "get" && r.Resource.Resource == "configmaps"
}

func isMark(r sentRequest) bool {
	return r.Verb == "patch" && r.Resource == memcacheds && r.Subresource == ""
}

func recordOf(owner *unstructured.Unstructured) string {
	return owner.GetAnnotations()[v1alpha1.AnnotationChildren]
}

// What the objects of records may cost, in reads by name.
const (
	confirmsOwner  = 64  // in a second, of one owner: two batches
	confirmsPolicy = 352 // in a second, of ten owners: each has its first batch at once
	confirmsLater  = 64  // in a second, of ten owners, when they have had these
)

// TestManyDropped: 1000 entries of a record are dropped within a minute, some at a time, and the
// owner's own child does not wait for that.
func TestManyDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := linkedStage(t, 5*time.Millisecond, linkedPolicy)
		began := time.Now()
		s.recorded("x", 1000)
		s.until("its child is there", func() bool { return s.read(resources()["configmaps"], "two", "x") != nil })
		if took := time.Since(began); took > 5*time.Second {
			s.Errorf("the child was there after %s", took)
		}
		s.until("its record has its child alone", func() bool { return !strings.Contains(recordOf(s.memcached("x")), "made-up") })
		took, reads := time.Since(began), log.since(began, ambitUser, isConfirmation)
		s.Logf("it took %s, %d reads and %d marks", took.Round(time.Second), len(reads), len(log.since(began, ambitUser, isMark)))
		if most := mostIn(time.Second, reads); took > time.Minute || len(reads) != 1000 || most > confirmsOwner {
			s.Errorf("it took %s and %d reads, at most %d in a second; want a minute, 1000 and %d", took, len(reads), most, confirmsOwner)
		}
		s.until("it is at rest", func() bool { return condition(s.memcached("x"), "Ready") == "True" })
		s.restAnHour()
		s.stop()
	})
}

// TestManyDroppedAtTheEnd: an owner that is deleted is let go when each entry of its record was
// read.
func TestManyDroppedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := linkedStage(t, 5*time.Millisecond, linkedPolicy)
		began := time.Now()
		s.recorded("x", 1000)
		s.delete("memcacheds", "one", "x")
		s.until("the owner is gone", func() bool { return s.memcached("x") == nil })
		if took, reads := time.Since(began), len(log.since(began, ambitUser, isConfirmation)); took > time.Minute || reads < 1000 {
			s.Errorf("it took %s and %d reads", took, reads)
		}
		s.stop()
	})
}

// TestHostileConfirm: ten owners have records of 1000 objects that are not there, and write them
// again as soon as they change. Others of the same policy are served at once all the time.
func TestHostileConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := linkedStage(t, 5*time.Millisecond, linkedPolicy)
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		var fighters sync.WaitGroup
		full := madeUpRecord(1000)
		for i := range raced.Few(3, 10) {
			name := fmt.Sprint("hostile-", i)
			s.recorded(name, 1000)
			fighters.Go(func() { s.rewrite(ctx, name, full) })
		}
		for i := range 4 {
			name, since := fmt.Sprint("victim-", i), time.Now()
			s.create("memcacheds", "one", fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s}, spec: {size: 1}}", name))
			s.until(name+" is served", func() bool { return condition(s.memcached(name), "Ready") == "True" })
			if took := time.Since(since); took > 3*time.Second {
				s.Errorf("%s was served after %s", name, took)
			}
			time.Sleep(5 * time.Second)
		}
		reads := log.since(began, ambitUser, isConfirmation)
		later := log.since(began.Add(5*time.Second), ambitUser, isConfirmation)
		s.Logf("%d reads in %s, at most %d in a second, and later %d", len(reads), time.Since(began).Round(time.Second), mostIn(time.Second, reads), mostIn(time.Second, later))
		if all, late := mostIn(time.Second, reads), mostIn(time.Second, later); all > confirmsPolicy || late > confirmsLater {
			s.Errorf("%d reads in a second, want at most %d, and later %d, want at most %d", all, confirmsPolicy, late, confirmsLater)
		}
		stop()
		fighters.Wait()
		s.stop()
	})
}

// rewrite writes a record again twice a second, if it has changed.
func (s *stage) rewrite(ctx context.Context, name, record string) {
	for ctx.Err() == nil {
		time.Sleep(500 * time.Millisecond)
		if recordOf(s.memcached(name)) == record {
			continue
		}
		if err := s.patchOwner(name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationChildren, record)); err != nil {
			s.Error(err)
		}
	}
}

// TestMarksContested: somebody takes the record, or the finalizer, away whenever it is there. It is
// written more and more rarely, and said on the owner, and nothing is made that is not on record.
// When they stop, all is as it should be.
func TestMarksContested(t *testing.T) {
	const annotation, finalizer = "annotation " + v1alpha1.AnnotationChildren, "finalizer " + v1alpha1.FinalizerCleanup
	removesRecord := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationChildren)
	for name, tc := range map[string]struct{ policy, what, patch string }{
		"Finalizer":  {linkedPolicy, finalizer, `{"metadata":{"finalizers":null}}`},
		"Annotation": {strings.Replace(linkedPolicy, ", namespace: two", "", 1) + "  deletion: Ordered\n", annotation, removesRecord},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, log := linkedStage(t, 0, tc.policy)
				s.owner("one", 1)
				s.until("its child is there", func() bool { return condition(s.memcached("cache"), "Ready") == "True" })
				began := time.Now()
				ctx, stop := context.WithCancel(t.Context())
				var fighter sync.WaitGroup
				fighter.Go(func() { s.takeBack(ctx, tc.patch) })
				s.until("it is said", func() bool { return condition(s.memcached("cache"), "Stalled") == "True" })
				said := fmt.Sprint(s.memcached("cache").Object["status"])
				if !strings.Contains(said, tc.what) || !strings.Contains(said, v1alpha1.ReasonContested) {
					s.Errorf("it says %s", said)
				}
				time.Sleep(3*time.Minute - time.Since(began))
				marks := log.since(began, ambitUser, isMark)
				s.Logf("%d marks in 20 s and %d in three minutes", mostIn(20*time.Second, marks), len(marks))
				if soon := mostIn(20*time.Second, marks); soon > 30 || len(marks) > 15 {
					s.Errorf("%d marks in 20 s, want at most 30, and %d in three minutes, want at most 15", soon, len(marks))
				}
				stop()
				fighter.Wait()
				stopped := time.Now()
				s.until("it is marked again", func() bool {
					return recordOf(s.memcached("cache")) != "" && len(s.memcached("cache").GetFinalizers()) == 1
				})
				s.Logf("it was marked again %s after they had stopped", time.Since(stopped).Round(time.Second))
				s.until("it is ready", func() bool { return condition(s.memcached("cache"), "Ready") == "True" })
				s.delete("memcacheds", "one", "cache")
				s.until("all is gone", func() bool {
					return s.memcached("cache") == nil && s.read(resources()["configmaps"], "two", "cache") == nil
				})
				s.stop()
			})
		})
	}
}

// takeBack patches the owner whenever it has a record and the finalizer.
func (s *stage) takeBack(ctx context.Context, patch string) {
	for ctx.Err() == nil {
		owner := s.memcached("cache")
		if recordOf(owner) != "" && len(owner.GetFinalizers()) > 0 {
			if err := s.patchOwner("cache", patch); err != nil {
				s.Error(err)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}
