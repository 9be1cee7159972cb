package life

import (
	"os"
	"testing"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of this package's tests: without what would run Pods, and
// with the garbage collector.
var control = cluster.NewLazy(cluster.Options{Users: map[string][]string{candidate: nil}, Without: []string{"kube-scheduler", "kwok"}})

// candidate is the user that locks act as. It has the rights that a test grants.
const candidate = "candidate"

func TestMain(m *testing.M) {
	os.Exit(control.Around(m).Run())
}
