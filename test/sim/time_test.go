package sim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const timedPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: timed, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: deployment
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: ${owner.metadata.name}
          annotations: {run: "${string(schedule('0 3 * * *', 'UTC').last())}"}
        spec:
          replicas: ${owner.spec.size}
          selector: {matchLabels: {app: cache}}
          template:
            metadata: {labels: {app: cache}}
            spec: {containers: [{name: cache, image: "cache:1"}]}
  expire: reached(timestamp(owner.metadata.creationTimestamp) + duration('73h'))
`

// TestTime: a run of a schedule changes a child at its time and never else, and the owner is deleted when its time is over, as
// soon as that is permitted.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().UTC()
		s := newStage(t, true)
		s.runWith(programs(t, timedPolicy))
		s.owner("one", 1)
		s.until("the Deployment is there", func() bool { return s.deployment("one") != nil })
		run := func() string { return s.deployment("one").GetAnnotations()["run"] }
		if want := "T03:00:00Z"; !strings.HasSuffix(run(), want) {
			t.Fatalf("the last run is %q", run())
		}
		// What is asked while a right is missing, and watches that end by themselves, are no work for an owner.
		requested := func() int {
			return s.counts.of("") - s.counts.of("watch") - s.counts.of("create selfsubject")
		}
		for day := range 3 {
			at := began.Truncate(24 * time.Hour).Add(time.Duration(day)*24*time.Hour + 3*time.Hour)
			time.Sleep(time.Until(at.Add(-time.Second)))
			synctest.Wait()
			before, requests := run(), requested()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if want := at.Format(time.RFC3339); run() != want || before == want {
				t.Errorf("the run is %q, and was %q a second before it, want %q", run(), before, want)
			}
			if made := requested() - requests; made != 1 {
				t.Errorf("%d requests for one run", made)
			}
			quiet := requested()
			time.Sleep(12 * time.Hour)
			synctest.Wait()
			if made := requested() - quiet; made != 0 {
				t.Errorf("%d requests between two runs", made)
			}
		}
		s.until("the owner says that it cannot be deleted", func() bool {
			return !time.Now().Before(began.Add(73*time.Hour)) || condition(s.cache("one"), "Permitted") == "False"
		})
		time.Sleep(time.Until(began.Add(74 * time.Hour)))
		if message := permittedMessage(s.cache("one")); !strings.Contains(message, "delete memcacheds.cache.example.com") {
			t.Errorf("what is missing is not said: %q", message)
		}
		s.grantEverywhere("expire", `[{apiGroups: [cache.example.com], resources: [memcacheds], verbs: [delete]}]`)
		s.until("the owner is deleted", func() bool { return s.read(memcacheds, "one", "cache") == nil })
		s.until("and what was made for it", func() bool { return s.deployment("one") == nil })
		s.stop()
	})
}

func permittedMessage(obj *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if c.(map[string]any)["type"] == "Permitted" {
			return c.(map[string]any)["message"].(string)
		}
	}
	return ""
}
