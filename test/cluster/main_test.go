package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/test/poll"
)

// shared is the control plane of this package's tests.
var shared *Cluster

func TestMain(m *testing.M) {
	users := map[string][]string{"alice": {"devs"}, "bob": nil, "carol": nil}
	o := Options{Audit: true, Users: users, CRDs: []string{"testdata/widgets.yaml"}}
	os.Exit(Main(m, o, func(c *Cluster) { shared = c }))
}

func typed(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually waits until check returns nil. On a busy machine, with other control planes beside this one, that may take
// long.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	eventuallyWithin(t, 3*time.Minute, what, check)
}

// eventuallyWithin is eventually with a time of its own.
func eventuallyWithin(t *testing.T, limit time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	last := fmt.Errorf("not looked yet")
	err := poll.Until(t.Context(), limit, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v: %v", what, err, last)
	}
}
