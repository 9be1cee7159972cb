package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
)

// sourceKindGroup is of a kind that no other story has.
const sourceKindGroup = "owners.example.com"

// TestSourceOwnerKind: the kind of the owners is not served, is, and goes for good; then the policy
// is deleted. The policy says so each time, by an
// Event as well, and goes without its kind.
func TestSourceOwnerKind(t *testing.T) {
	t.Parallel()
	rights := append(sourceRights(), rightsTo(sourceKindGroup, "boxes", "boxes/status"), rightsTo("events.k8s.io", "events"))
	s := newSourced(t, "source-kind", rights...)
	s.start(manager.Sources{CustomResources: true})
	s.putResource(fmt.Sprintf(`
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: memcached, namespace: %s}
spec:
  owner: {apiVersion: %s/v1, kind: Box}
  children:
    - id: config
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}}
`, s.own, sourceKindGroup))
	s.kindMissing()
	s.makeKind(sourceKindGroup, "boxes", "Box")
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	s.deleteKind(sourceKindGroup, "boxes")
	s.kindMissing()
	s.eventually("an Event says that the kind is missing", func(ctx context.Context) error {
		events, err := s.typed.EventsV1().Events(s.own).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == v1alpha1.ReasonKindMissing && e.Type == "Warning" && strings.Contains(e.Note, "kind Box in owners.example.com/v1") {
				return nil
			}
		}
		return fmt.Errorf("none does: %v", events.Items)
	})
	s.removeResource()
	s.isGone(policies, "memcached")
}

// kindMissing waits until the policy says that the kind of its owners is not served.
func (s *sourced) kindMissing() {
	s.t.Helper()
	message := s.policyFares("Ready", "False", v1alpha1.ReasonKindMissing)
	if !strings.Contains(message, "kind Box in owners.example.com/v1") {
		s.t.Errorf("the message is %q", message)
	}
	s.policyFares("Stalled", "True", v1alpha1.ReasonKindMissing)
}
