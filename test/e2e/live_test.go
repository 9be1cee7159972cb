package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// memcachedAt is the Memcached policy with a label that says which version of it has
// made a Deployment.
func memcachedAt(t *testing.T, version int) *policy.Program {
	t.Helper()
	const plain = `metadata: {name: "${owner.metadata.name}", labels: "${labels}"}`
	text := string(read(t, "../../policies/memcached.yaml"))
	if !strings.Contains(text, plain) {
		t.Fatal("the policy does not say what it said: the test is wrong")
	}
	labelled := fmt.Sprintf(`metadata: {name: "${owner.metadata.name}", labels: {version: "v%d"}}`, version)
	return program(t, "memcached.yaml", []byte(strings.Replace(text, plain, labelled, 1)))
}

// versionIs waits until all Deployments in a namespace are of one version of the policy.
func (w *world) versionIs(namespace string, version, want int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d Deployments in %s are of version %d", want, namespace, version), func(ctx context.Context) error {
		list, err := w.typed.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != want {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		for _, d := range list.Items {
			if got := d.Labels["version"]; got != fmt.Sprintf("v%d", version) {
				return fmt.Errorf("%s is of version %q", d.Name, got)
			}
		}
		return nil
	})
}

// TestLiveEdits: a policy is edited 200 times in half a minute, while owners come and are
// changed. No stream is opened again, no right asked for again; in the end everything is
// as the last version says, and the process has what it had.
func TestLiveEdits(t *testing.T) {
	const edits, few, many = 200, 3, 8
	w := newWorld(t, "live-edits")
	w.grantEverywhere("triggers", rightsToWatchRBAC())
	w.decided("", true, rightsToWatchRBAC())
	one, two := w.namespace(memcachedRights()...), w.namespace(memcachedRights()...)
	for _, namespace := range []string{one, two} {
		w.decided(namespace, true, memcachedRights()...)
	}
	l := w.live([]string{one, two}, memcachedAt(t, 0))
	for i := range few {
		w.createOwner(one, fmt.Sprintf("cache-%d", i), 1)
	}
	for i := range many {
		w.createOwner(two, fmt.Sprintf("cache-%d", i), 1)
	}
	l.serves("ambit-system/memcached", few+many)
	want := []string{"memcacheds " + one, "memcacheds " + two, "deployments " + one, "deployments " + two,
		"pods " + one, "pods " + one, "pods " + one, "pods " + two, // those of a few owners one by one
		"roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *"}
	w.streamsAre(want...)
	w.settled()
	goroutines, heap := w.goroutines("before the edits", 0), flapHeap()
	mark := w.control.Audit().Mark()

	began := time.Now()
	say := func(what string) { t.Logf("%s after %s", what, time.Since(began).Round(time.Millisecond)) }
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for version := 1; version <= edits; version++ {
		<-tick.C
		l.set(memcachedAt(t, version))
		switch {
		case version%3 == 0:
			l.set(memcachedAt(t, version)) // compiled anew, and the same
		case version%20 == 1:
			w.resize(one, "cache-0", int64(1+version/20%2))
		}
	}
	l.set(memcachedAt(t, edits))
	say("edited")
	w.versionIs(one, edits, few)
	w.versionIs(two, edits, many)
	l.serves("ambit-system/memcached", few+many)
	say("converged")
	w.goroutines("after the edits", goroutines)
	w.eventually("the heap is what it was", func(context.Context) error {
		if now := flapHeap(); float64(now) > 1.1*float64(heap)+1<<20 {
			return fmt.Errorf("%d bytes are alive, before it were %d", now, heap)
		}
		return nil
	})
	say("the heap was back")
	w.streamsAre(want...)
	w.none(mark, "opened while the policy was edited", isOpening)
	w.none(mark, "asked while the policy was edited", isReview)
	w.none(mark, "refused", isRefused)

	l.set()
	w.streamsAre("roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *")
	w.versionIs(two, edits, many) // children stay
	if reports := l.engine.Reports(); len(reports) != 0 {
		t.Errorf("of policies that are gone it is reported %+v", reports)
	}
}
