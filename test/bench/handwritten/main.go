package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

func main() {
	workers := flag.Int("concurrency", 10, "owners worked on at once")
	frugal := flag.Bool("frugal", false, "leave out writes and passes that change nothing")
	flag.Parse()
	if err := run(*workers, *frugal); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is the operator, until a signal ends it. controller-runtime itself has the
// flag -kubeconfig.
func run(workers int, frugal bool) error {
	ctrl.SetLogger(logr.Discard())
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	cfg.QPS = -1
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme(),
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cacheOptions(),
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	r := &reconciler{client: mgr.GetClient(), frugal: frugal}
	if err := r.setUp(mgr, workers); err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// scheme knows the kinds that the operator reads and writes.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(s))
	utilruntime.Must(memcached.AddToScheme(s))
	return s
}

// cacheOptions keeps from the cache what the operator does not read.
func cacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: labels.SelectorFromSet(labels.Set{memcached.LabelName: "memcached"})},
		},
	}
}
