package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// hostileHeld is for how long a policy is held the first time: policyWaitMin of package fairqueue.
const hostileHeld = time.Minute

// TestHostileQuarantine: when five owners of a policy run into limits, the policy as a
// whole is held for a while, and says so; the other policies go on, and so does this
// one when it is over.
func TestHostileQuarantine(t *testing.T) {
	t.Parallel()
	h := newHostileWorld(t, "hostile-quarantine")
	program, err := h.beastPolicy("greedy", nil, map[string]any{"children": []any{map[string]any{
		"id": "part", "template": map[string]any{
			"apiVersion": "hostile.example.com/v1", "kind": "Part", "metadata": map[string]any{"name": "${owner.metadata.name}"},
			"spec": map[string]any{"size": "${owner.spec.size < 10 ? owner.spec.size : lists.range(3000).map(a, lists.range(3000).filter(b, a == b)).size()}"},
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	h.attack(1, program)
	h.beast("greedy", "modest", map[string]any{"size": int64(1)})
	h.ended(h.nobody)
	if halted := h.halted(); halted != "" {
		t.Errorf("before anything was greedy: %s", halted)
	}
	var began time.Time // before this the policy is not held
	for i := range 5 {
		began = time.Now()
		h.beast("greedy", fmt.Sprintf("greedy-%d", i), map[string]any{"size": int64(10)})
	}
	found := h.ended(h.nobody)
	for i := range 5 {
		if how := found[fmt.Sprintf("greedy-%d", i)]; how.stalled != v1alpha1.ReasonLimitExceeded {
			t.Errorf("greedy-%d is %+v, want it to be stalled with %s", i, how, v1alpha1.ReasonLimitExceeded)
		}
	}
	h.eventually("the policy is held", func(context.Context) error {
		if halted := h.halted(); halted != "ambit-system/greedy "+v1alpha1.ReasonQuarantined {
			return fmt.Errorf("halted: %q", halted)
		}
		return nil
	})
	h.says(h.l, 0, v1alpha1.ReasonQuarantined, "greedy")
	h.beast("greedy", "late", map[string]any{"size": int64(2)})
	h.unharmed(2)
	h.isServedAfter("late", began.Add(hostileHeld))
	h.unharmed(3)
}

func (h *hostileWorld) nobody() map[string]bool { return nil }

func (h *hostileWorld) must() map[string]fares {
	h.t.Helper()
	found, err := h.fare(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// isServedAfter waits longer than the policy is held, and fails the test if anything is
// said of the owner before it can be over.
func (h *hostileWorld) isServedAfter(name string, over time.Time) {
	h.t.Helper()
	began := time.Now()
	err := wait.PollUntilContextTimeout(h.t.Context(), time.Second, 3*patience, true, func(ctx context.Context) (bool, error) {
		found, err := h.fare(ctx)
		if how := found[name]; err == nil && how.ended() && time.Now().Before(over) {
			h.t.Fatalf("an owner of the policy that is held is served: %+v", how)
		}
		return found[name].ready == "True", nil // what could not be read is read again
	})
	if err != nil {
		h.t.Errorf("an owner of the policy that was held is not served %s later: %+v", time.Since(began), h.must()[name])
	}
	h.t.Logf("served %s after the policy was held", time.Since(began).Round(time.Second))
}

// halted are the policies that are halted by the metrics, each with its reason.
func (h *hostileWorld) halted() string {
	h.t.Helper()
	families, err := h.l.gauge.Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	var list []string
	for _, family := range families {
		if family.GetName() != "ambit_policy_halted" {
			continue
		}
		for _, m := range family.GetMetric() {
			label := map[string]string{}
			for _, pair := range m.GetLabel() {
				label[pair.GetName()] = pair.GetValue()
			}
			list = append(list, label["policy"]+" "+label["reason"])
		}
	}
	return strings.Join(list, ", ")
}
