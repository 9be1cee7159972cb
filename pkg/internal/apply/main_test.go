package apply_test

import (
	"os"
	"testing"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of this package's tests. Nothing but the API
// server is needed, so that no controller touches the objects.
var control *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{
		Users:   map[string][]string{"nobody": nil},
		Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
	}, func(c *cluster.Cluster) { control = c }))
}
