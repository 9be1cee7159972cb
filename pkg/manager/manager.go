// Package manager assembles Ambit from its parts and runs it: clients, streams
// and the engine, for policies that are compiled already.
//
// It decides nothing about policies, permissions or objects.
package manager

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/engine"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// Options are the inputs of Run.
type Options struct {
	// Config says how to reach the API server, and as whom. Its QPS and Burst are
	// used as they are: set QPS to -1 for no limit on this side. Required.
	Config *rest.Config
	// Programs are the policies to run; policy.Together says which can.
	Programs []*policy.Program
	// Namespaces limits all policies to these namespaces. Empty: no limit.
	Namespaces []string
	// Concurrency is how many owners are worked on at once. 0 means 10.
	Concurrency int
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
}

// discoveryTimeout bounds a discovery request, which knows no context: it is how
// long a stop may take while the API server does not answer.
const discoveryTimeout = 10 * time.Second

// Run runs the policies until ctx ends, and returns when all that it started
// has ended: nil after a clean stop, an error if it could not start.
func Run(ctx context.Context, o Options) error {
	c, err := connect(ctx, o.Config)
	if err != nil {
		return err
	}
	defer c.http.CloseIdleConnections()
	streams := watch.New(watch.Options{
		Clients: func(string) (dynamic.Interface, metadata.Interface, error) { return c.objects, c.metadata, nil },
		Logger:  o.Logger.WithName("watch"),
	})
	discovery := *c.http
	discovery.Timeout = discoveryTimeout
	mapper, err := apiutil.NewDynamicRESTMapper(c.config, &discovery)
	if err != nil {
		return fmt.Errorf("preparing discovery: %w", err)
	}
	e, err := engine.New(engine.Options{
		Programs: o.Programs, Streams: streams, Client: c.objects, Mapper: mapper, Identity: c.user,
		Namespaces: o.Namespaces, Concurrency: o.Concurrency, Logger: o.Logger.WithName("engine"),
	})
	if err != nil {
		return err
	}
	o.Logger.Info("running", "policies", len(o.Programs), "identity", c.user)
	err = runAll(ctx, streams, e)
	o.Logger.Info("stopped")
	return err
}

// runAll stops the engine first, then the streams that it uses.
func runAll(ctx context.Context, streams *watch.Streams, e *engine.Engine) error {
	streamsCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var (
		background sync.WaitGroup
		streamsErr error
	)
	background.Go(func() { streamsErr = streams.Start(streamsCtx) })
	err := e.Start(ctx)
	stop()
	background.Wait()
	if err != nil {
		return fmt.Errorf("running the engine: %w", err)
	}
	return streamsErr
}
