package manager_test

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/scopedcache"
)

// A cache for controllers in Go and policies, in one process, read the cluster once.
func ExampleNewReads() {
	ctx := ctrl.SetupSignalHandler()
	config, logger := ctrl.GetConfigOrDie(), ctrl.Log
	reads, err := manager.NewReads(config, logger)
	if err != nil {
		panic(err)
	}
	programs, err := compile("settings.yaml", settings)
	if err != nil {
		panic(err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		NewCache: scopedcache.New(scopedcache.Options{Reads: reads, Namespaces: scopedcache.InNamespaces("team-a")}),
	})
	if err != nil {
		panic(err)
	}
	policies := func(ctx context.Context) error {
		return manager.Run(ctx, manager.Options{Config: config, Reads: reads, Programs: programs, Namespaces: []string{"team-a"}, Logger: logger})
	}
	if err := mgr.Add(ctrlmanager.RunnableFunc(policies)); err != nil {
		panic(err)
	}
	if err := mgr.Start(ctx); err != nil {
		panic(err)
	}
}
