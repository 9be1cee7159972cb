package stage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/cluster"
)

// Options say what is on the stage.
type Options struct {
	// Namespaces is the number of namespaces that the owners are spread over.
	Namespaces int
	// Users are the names of those who work here.
	Users []string
	// OwnerGroup is the API group of the owners' kind Memcached, v1alpha1; "" is that of
	// examples/memcached.
	OwnerGroup string
	// Children are the kinds of which each owner is to have one object of its name: a
	// Deployment of its size, and what else there is.
	Children []Child
	// Rules are what the users may do.
	Rules []rbacv1.PolicyRule
	// ByNamespace: they may do it in each namespace by a Role of its own, and nothing in
	// the cluster as a whole.
	ByNamespace bool
	// APIServerMemory is that of cluster.Options.
	APIServerMemory string
	// Prepare adds what else has to be there before the owners, their kind if it is in a group of
	// its own. The users have their rights by then. nil: nothing.
	Prepare func(context.Context, *Stage) error
}

// Child is a kind of children.
type Child struct {
	Kind string
	// Path is that of the collection of all namespaces.
	Path string
}

// Deployment is the kind that each owner has.
func Deployment() Child { return Child{Kind: kindDeployment, Path: "/apis/apps/v1/deployments"} }

// Stage is a control plane that operators take turns on. For one goroutine.
type Stage struct {
	// Requests are those of the users.
	Requests Requests

	options  Options
	control  *cluster.Cluster
	admin    client.Client
	observer *observer
	// folder is a temporary one, for the kubeconfigs.
	folder string
	// stopWatching ends the observer's watches; watching waits for them.
	stopWatching context.CancelFunc
	watching     sync.WaitGroup
}

// Open starts a control plane on which only the users write, with the kind Memcached, the
// namespaces and the rights of the users. Whoever opens it closes it. The working directory is the
// root of the repository.
func Open(ctx context.Context, o Options) (*Stage, error) {
	users := map[string][]string{}
	for _, name := range o.Users {
		users[name] = nil
	}
	control, err := cluster.Start(ctx, cluster.Options{
		Audit: true, Users: users,
		Without:         []string{"kube-controller-manager", "kube-scheduler", "kwok"},
		APIServerMemory: o.APIServerMemory,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	folder, err := os.MkdirTemp("", "ambit-bench-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a folder: %w", err), control.Stop())
	}
	s := &Stage{
		Requests: Requests{log: control.Audit()},
		options:  o, folder: folder, control: control, observer: newObserver(o.Children),
	}
	ctx, s.stopWatching = context.WithCancel(ctx)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Apply applies the documents as administrator, and waits until the kinds among them are served.
func (s *Stage) Apply(ctx context.Context, documents ...[]byte) error {
	return s.control.Apply(ctx, documents...)
}

// ServerPID returns the process of the API server.
func (s *Stage) ServerPID() int { return s.control.PID("kube-apiserver") }

// Close stops all that Open started.
func (s *Stage) Close() error {
	s.stopWatching()
	s.watching.Wait()
	return errors.Join(s.control.Stop(), os.RemoveAll(s.folder))
}

// prepare fills the control plane.
func (s *Stage) prepare(ctx context.Context) error {
	config := rest.CopyConfig(s.control.Admin())
	config.QPS = -1
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	if err := s.installKind(ctx); err != nil {
		return err
	}
	var err error
	if s.admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("making the admin's client: %w", err)
	}
	if err := s.makeNamespaces(ctx); err != nil {
		return err
	}
	if err := s.admit(ctx); err != nil {
		return err
	}
	if s.options.Prepare != nil {
		if err := s.options.Prepare(ctx, s); err != nil {
			return err
		}
	}
	// The storage of a new kind answers 429 for a moment: a watch would fail.
	if err := s.OwnersServed(ctx); err != nil {
		return err
	}
	return s.watch(ctx, config)
}

// makeNamespaces makes the namespaces.
func (s *Stage) makeNamespaces(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, name := range s.Namespaces() {
		group.Go(func() error {
			if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				return fmt.Errorf("creating namespace %q: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// installKind installs the kind Memcached.
func (s *Stage) installKind(ctx context.Context) error {
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
func (s *Stage) watch(ctx context.Context, config *rest.Config) error {
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("making the observer's client: %w", err)
	}
	paths := []string{"/apis/" + s.ownerVersion().String() + "/memcacheds"}
	for _, child := range s.options.Children {
		paths = append(paths, child.Path)
	}
	for _, path := range paths {
		s.watching.Go(func() { s.follow(ctx, c, config.Host+path) })
	}
	return nil
}

// follow follows a collection until ctx ends.
func (s *Stage) follow(ctx context.Context, c *http.Client, collection string) {
	err := follow(ctx, c, collection, s.observer)
	if ctx.Err() == nil {
		s.observer.fail(err)
	}
}
