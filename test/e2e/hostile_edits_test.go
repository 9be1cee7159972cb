package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/pkg/manager"
)

const (
	// stormExpressions are as many as take seconds to compile: a policy of about 160 KB.
	stormExpressions = 4200
	// stormPace is how often the policy with them is edited.
	stormPace = 500 * time.Millisecond
	// stormBetween is how many edits of it there are between two of another policy: the time
	// between these is longer than the pace at which every policy is compiled.
	stormBetween = 6
	// stormSamples is how many edits of another policy are timed.
	stormSamples = 10
	// editTime is how long an edit of another policy may take to be effective.
	editTime = time.Second
)

// TestHostileEdits: while a large policy of one namespace is edited twice a second, an
// edit of a policy in another namespace is effective within a second. It measures, and so
// runs alone.
func TestHostileEdits(t *testing.T) {
	s := newSourced(t, "hostile-edits", sourceRights()...)
	team := s.namespace()
	s.grantEverywhere("policies", rbacv1.PolicyRule{APIGroups: []string{"ambit.dev"}, Resources: []string{"reconcilepolicies"}, Verbs: []string{"list", "watch"}})
	s.start(manager.Sources{CustomResources: true})
	s.putResource(memcachedText(t, s.own, 1))
	s.createOwner(s.own, "cache", 1)
	s.versionIs(s.own, 1, 1)
	var edits atomic.Int64
	defer s.storm(team, &edits)()
	var took []time.Duration
	for version := 2; version < 2+stormSamples; version++ {
		before := edits.Load()
		s.eventually("the storm goes on", func(context.Context) error {
			if n := edits.Load() - before; n < stormBetween {
				return fmt.Errorf("%d edits", n)
			}
			return nil
		})
		at := time.Now()
		s.putResource(memcachedText(t, s.own, version))
		s.versionIs(s.own, version, 1)
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	t.Logf("an edit of another policy takes effect after %v at the median, %v at most", took[len(took)/2], took[len(took)-1])
	if worst := took[len(took)-1]; worst > editTime {
		t.Errorf("it took up to %v, want at most %v", worst, editTime)
	}
}

// storm edits a large policy again and again, and counts that, until stop is called.
func (s *sourced) storm(namespace string, edits *atomic.Int64) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		pace := time.NewTicker(stormPace)
		defer pace.Stop()
		for ctx.Err() == nil {
			n := edits.Load() + 1
			if err := s.control.Apply(context.WithoutCancel(ctx), stormText(namespace, n)); err != nil {
				s.t.Errorf("editing the large policy: %v", err)
			}
			edits.Store(n)
			select {
			case <-pace.C:
			case <-ctx.Done():
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

func stormText(namespace string, version int64) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: storm-%s, namespace: %s}
spec:
  owner: {apiVersion: example.com/v1, kind: Storm}
  children:
    - id: data
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: data}
        data:
          version: "%d"
`, namespace, namespace, version)
	for i := range stormExpressions {
		fmt.Fprintf(&text, "          k%d: \"${owner.spec.a%d}\"\n", i, i)
	}
	return []byte(text.String())
}
