package apply_test

import (
	"os"
	"testing"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of this package's tests. Nothing but the API
// server is needed, so that no controller touches the objects.
var control = cluster.NewLazy(cluster.Options{
	Audit:   true,
	Users:   map[string][]string{"nobody": nil, ambit: {"system:masters"}},
	Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
})

// ambit is the user that the appliers act as where the audit log is looked at. It
// has all rights: it is not for want of them that nothing is written.
const ambit = "ambit"

func TestMain(m *testing.M) {
	os.Exit(control.Around(m).Run())
}
