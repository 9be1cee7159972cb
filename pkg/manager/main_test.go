package manager

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of this package's tests: an API server, and nobody who
// touches the objects.
var control = cluster.NewLazy(cluster.Options{
	Audit: true, Users: map[string][]string{ambit: nil, "both": nil, "both-denied": nil, "apart": nil},
	CRDs:    []string{"../../examples/memcached/crd.yaml"},
	Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
})

// ambit is the user that is run. It has the rights that a test grants.
const ambit = "ambit"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(control.Around(m))
}
