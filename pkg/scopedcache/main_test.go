package scopedcache

import (
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of the stories: an API server, and nobody who touches the
// objects.
var control = cluster.NewLazy(cluster.Options{
	Audit: true, Users: map[string][]string{"operator": nil},
	Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
})

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	// cache.New, which TestTwin compares with, leaves those of metadata-only watches behind.
	goleak.VerifyTestMain(control.Around(m), goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}
