package informer_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/test/sim"
)

// The hook hands over and returns: it holds up the informer.
func ExampleOptions_onWatchError() {
	server := sim.New(sim.Options{}) // stands for an API server; nobody was granted anything
	failures := make(chan informer.WatchError, 100)
	set := informer.NewSet(informer.Options{
		Clients: func(string) (dynamic.Interface, metadata.Interface, error) {
			client := server.As("nobody")
			return client.Dynamic(), client.Metadata(), nil
		},
		OnWatchError: func(e informer.WatchError) {
			select {
			case failures <- e:
			default: // it is better to lose one than to wait
			}
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- set.Start(ctx) }()
	set.Require(&ignorer{}, []informer.Interest{{Key: informer.Key{
		GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "default",
	}}})

	e := <-failures
	fmt.Printf("%s: %s, so %s, and again later: %t\n", e.Key, e.Class, e.Action, e.Wait > 0)
	stop()
	fmt.Println(<-ended)
	// Output:
	// configmaps in "default": Forbidden, so Close, and again later: true
	// <nil>
}

// ignorer needs objects and does nothing when they change. It has a field so that
// each has an address of its own.
type ignorer struct{ _ int }

// Changed implements informer.EventHandler.
func (*ignorer) Changed(informer.Event) {}
