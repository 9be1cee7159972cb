package e2e

import (
	"fmt"
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// hostile makes a ConfigMap whose text is more work than an expression may take, for
// owners that are larger than 1.
const hostile = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: hostile, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  variables:
    - {name: n, expression: "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]"}
  children:
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data:
          size: "${owner.spec.size == 1 ? '1' : string(n.all(a, n.all(b, n.all(c, n.all(d, n.all(e, n.all(f, a + b > 0)))))))}"
`

// TestQuarantine: an owner whose plan runs into a limit says so and is looked at again
// when it changes; with five of them the policy as a whole is held back, and says so.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hostile")
	namespace := w.namespace(append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"))...)
	w.decided(namespace, true, rightsTo("", "configmaps"))
	a := w.runMeasured([]string{namespace}, program(t, "hostile.yaml", []byte(hostile)))
	w.createOwner(namespace, "large-0", 2)
	w.condition(namespace, "large-0", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonLimitExceeded)
	w.createOwner(namespace, "small", 1)
	w.copyHas(namespace, "small", "1")
	w.resize(namespace, "large-0", 1)
	w.condition(namespace, "large-0", v1alpha1.ConditionReady, "True", "")
	w.haltedFor(a, "")

	for i := range 5 {
		w.createOwner(namespace, fmt.Sprintf("large-%d", i+1), 2)
	}
	w.haltedFor(a, v1alpha1.ReasonQuarantined)
}
