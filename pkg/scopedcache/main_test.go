package scopedcache

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of the stories: an API server, and nobody who touches the
// objects.
var control = cluster.NewLazy(cluster.Options{
	Audit: true, Users: map[string][]string{"operator": nil},
	Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
})

func TestMain(m *testing.M) { goleak.VerifyTestMain(control.Around(m)) }
