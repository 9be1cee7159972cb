package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file` of the user to be")
	workers := flag.Int("concurrency", 10, "owners worked on at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kubeconfig, *workers)
	stopped := ctx.Err() != nil
	stop()
	if err != nil && !stopped {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes until ctx ends or a write fails.
func run(ctx context.Context, kubeconfig string, workers int) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig %q: %w", kubeconfig, err)
	}
	cfg.QPS = -1
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(memcached.AddToScheme(scheme))
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}

	owners := make(chan *memcached.Memcached, 1<<16)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(owners)
		return follow(ctx, c, owners)
	})
	for range workers {
		group.Go(func() error { return work(ctx, c, owners) })
	}
	return group.Wait()
}
