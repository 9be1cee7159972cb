package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	hostileRounds = 10
	// hostilePace is how often one of the hostile owners changes under attack, and how
	// often all of them are to be looked at.
	hostilePace = 100 * time.Millisecond
	// bell is the Part that all hostile owners watch.
	bell = "bell"
)

// TestHostileLatency: while what owners of policies with hostile expressions watch
// changes all the time, and so do those of the owners that are small, and while there are
// owners with hostile records, the owners of
// another policy are served in at most twice the time that it takes in peace. Large ones
// are not changed: what a patch of a MiB costs the API server is not Ambit's doing.
// Samples of both are taken in turn. It measures, and so runs alone.
func TestHostileLatency(t *testing.T) {
	h := newHostileWorld(t, "hostile-latency")
	list, _ := h.policies()
	h.makeBell()
	configs := rightsTo("", "configmaps")
	h.grantEverywhere("configs", configs)
	h.decided("", true, configs)
	h.attack(flapStill, append(programsOf(list), h.recordProgram())...)
	for _, of := range list {
		h.beast(of.name, of.name, hostileSpec(of.expression))
	}
	h.ended(h.leftAlone)
	f := &flaps{w: h.world, l: h.l, still: h.good, samples: map[string][]flapSample{}}
	for i := range flapStill {
		f.untouched = append(f.untouched, fmt.Sprintf("cache-%d", i))
	}
	turn, records := 0, hostileRecords(t)
	for range hostileRounds {
		h.settled()
		f.sampled(flapQuiet, flapFixed(flapSamples/hostileRounds))
		h.makeRecorded(records)
		stop := h.provoke(list, &turn)
		f.sampled(flapDuring, flapFixed(flapSamples/hostileRounds))
		stop()
		h.dropRecorded(records)
	}
	t.Logf("%d times all %d hostile owners were to be looked at", turn, len(list))
	if turn < hostileRounds*10 {
		t.Errorf("only %d times: that is no attack", turn)
	}
	f.latencies()
	h.unharmed(3)
}

func (h *hostileWorld) makeBell() {
	h.t.Helper()
	part := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "hostile.example.com/v1", "kind": "Part", "metadata": map[string]any{"name": bell},
	}}
	if _, err := h.objects.Resource(parts).Namespace(h.namespace).Create(h.t.Context(), part, metav1.CreateOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

// provoke changes what all hostile owners watch, and one after another of those that are
// small, until stop is called.
func (h *hostileWorld) provoke(list []beastOf, turn *int) (stop func()) {
	h.t.Helper()
	var small []string
	for _, of := range list {
		if len(hostileSpec(of.expression)) == 1 {
			small = append(small, of.name)
		}
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		pace := time.NewTicker(hostilePace)
		defer pace.Stop()
		for {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return
			}
			*turn++
			for resource, name := range map[schema.GroupVersionResource]string{parts: bell, beasts: small[*turn%len(small)]} {
				if err := h.touch(context.WithoutCancel(ctx), resource, name, *turn); err != nil {
					h.t.Errorf("changing %s %q: %v", resource.Resource, name, err)
					return
				}
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

func (h *hostileWorld) touch(ctx context.Context, resource schema.GroupVersionResource, name string, turn int) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"turn":"%d"}}}`, turn)
	_, err := h.objects.Resource(resource).Namespace(h.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
