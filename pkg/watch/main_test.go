package watch

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of the stories. The first that needs it starts it.
var control struct {
	once    sync.Once
	cluster *cluster.Cluster
	err     error
}

// plane returns the control plane.
func plane(t testing.TB) *cluster.Cluster {
	t.Helper()
	control.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		control.cluster, control.err = cluster.Start(ctx, cluster.Options{
			Audit: true, Users: map[string][]string{"watcher": nil},
			Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
		})
	})
	if control.err != nil {
		t.Fatal(control.err)
	}
	return control.cluster
}

func TestMain(m *testing.M) {
	code := m.Run()
	if control.cluster != nil {
		if err := control.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
