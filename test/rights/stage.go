package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/test/cluster"
)

// stage is the control plane on which both ways are measured.
type stage struct {
	options
	control *cluster.Cluster
	typed   kubernetes.Interface // as administrator
	objects dynamic.Interface    // as administrator
	seen    *observer
	// folder is a temporary one, for the kubeconfigs.
	folder string
	// stopWatching ends the observer's watches; watching waits for them.
	stopWatching context.CancelFunc
	watching     sync.WaitGroup
}

// owners and deployments are what Ambit reads and what it makes.
func owners() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}
}

func deployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

// open starts a control plane with the kind Memcached, all namespaces, and the
// users of the ways. Whoever opens it closes it.
func open(ctx context.Context, o options) (*stage, error) {
	progress("starting etcd and kube-apiserver")
	users := map[string][]string{}
	for _, w := range ways() {
		users[w.user] = nil
	}
	control, err := cluster.Start(ctx, cluster.Options{
		Audit: true, Users: users, CRDs: []string{"examples/memcached/crd.yaml"},
		Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
	})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	folder, err := os.MkdirTemp("", "ambit-rights-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a folder: %w", err), control.Stop())
	}
	s := &stage{options: o, control: control, folder: folder, seen: newObserver()}
	ctx, s.stopWatching = context.WithCancel(ctx)
	if err := s.prepare(ctx); err != nil {
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

// prepare fills the control plane and begins to watch it.
func (s *stage) prepare(ctx context.Context) error {
	var err error
	if s.typed, err = kubernetes.NewForConfig(s.control.Admin()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if s.objects, err = dynamic.NewForConfig(s.control.Admin()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := s.admit(ctx); err != nil {
		return err
	}
	for _, namespace := range append(s.cycling(), s.stayingNames()...) {
		if err := s.makeNamespace(ctx, namespace); err != nil {
			return err
		}
	}
	for _, resource := range []schema.GroupVersionResource{owners(), deployments()} {
		s.watching.Go(func() { s.seen.follow(ctx, s.objects.Resource(resource)) })
	}
	return nil
}

// cycling are the namespaces that have cycles.
func (s *stage) cycling() []string { return names("cycling", s.Namespaces) }

// stayingNames are the namespaces that stay granted.
func (s *stage) stayingNames() []string { return names("staying", s.staying()) }

func names(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return list
}

// kubeconfig writes the kubeconfig of a user and returns its path.
func (s *stage) kubeconfig(user string) (string, error) {
	path := filepath.Join(s.folder, user+".kubeconfig")
	return path, s.control.Kubeconfig(s.control.User(user), path)
}
