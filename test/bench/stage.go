package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/bench/memcached"
	"github.com/ambit-dev/ambit/test/cluster"
)

// stage is the control plane that all sides take turns on.
type stage struct {
	options
	control  *cluster.Cluster
	admin    client.Client
	requests requests
	observer *observer
	// folder is a temporary one, for the kubeconfigs.
	folder string
	// kubeconfigs are the files of the sides' users, by the name of the side.
	kubeconfigs map[string]string
	// stopWatching ends the observer's watches; watching waits for them.
	stopWatching context.CancelFunc
	watching     sync.WaitGroup
}

// open starts a control plane on which only the sides write, with the kind
// Memcached, the namespaces and the users of the sides. Whoever opens it closes it.
func open(ctx context.Context, o options, sides []side) (*stage, error) {
	progress("starting etcd and kube-apiserver")
	users := map[string][]string{}
	for _, s := range sides {
		users[s.user()] = nil
	}
	control, err := cluster.Start(ctx, cluster.Options{
		Audit: true, Users: users,
		Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
	})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	folder, err := os.MkdirTemp("", "ambit-bench-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a folder: %w", err), control.Stop())
	}
	s := &stage{
		options: o, folder: folder, control: control, requests: requests{log: control.Audit()},
		observer: newObserver(), kubeconfigs: map[string]string{},
	}
	ctx, s.stopWatching = context.WithCancel(ctx)
	if err := s.prepare(ctx, sides); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close stops all that open started.
func (s *stage) close() error {
	s.stopWatching()
	s.watching.Wait()
	return errors.Join(s.control.Stop(), os.RemoveAll(s.folder))
}

// prepare fills the control plane.
func (s *stage) prepare(ctx context.Context, sides []side) error {
	config := rest.CopyConfig(s.control.Admin())
	config.QPS = -1
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(memcached.AddToScheme(scheme))
	if err := s.installKind(ctx); err != nil {
		return err
	}
	var err error
	if s.admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("making the admin's client: %w", err)
	}
	// The storage of a new kind answers 429 for a moment: a list waits, a watch
	// would fail.
	if err := s.admin.List(ctx, &memcached.MemcachedList{}); err != nil {
		return fmt.Errorf("listing owners: %w", err)
	}
	for i := range s.Namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace(i)}}
		if err := s.admin.Create(ctx, namespace); err != nil {
			return fmt.Errorf("creating namespace %q: %w", namespace.Name, err)
		}
	}
	if err := s.admit(ctx, sides); err != nil {
		return err
	}
	return s.watch(ctx, config)
}

// installKind installs the kind Memcached.
func (s *stage) installKind(ctx context.Context) error {
	const file = "examples/memcached/crd.yaml"
	crd, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return fmt.Errorf("reading the kind (run this in the root of the repository): %w", err)
	}
	if err := s.control.Apply(ctx, crd); err != nil {
		return fmt.Errorf("installing the kind in %q: %w", file, err)
	}
	return nil
}

// watch starts the observer's watches.
func (s *stage) watch(ctx context.Context, config *rest.Config) error {
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("making the observer's client: %w", err)
	}
	for _, path := range []string{"/apis/cache.example.com/v1alpha1/memcacheds", "/apis/apps/v1/deployments"} {
		s.watching.Go(func() { s.follow(ctx, c, config.Host+path) })
	}
	return nil
}

// follow follows a collection until ctx ends.
func (s *stage) follow(ctx context.Context, c *http.Client, collection string) {
	err := follow(ctx, c, collection, s.observer)
	if ctx.Err() == nil {
		s.observer.fail(err)
	}
}
