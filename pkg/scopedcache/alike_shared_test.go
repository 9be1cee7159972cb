package scopedcache

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/objectclient"
)

// neighbor shares informers and reviews with a cache, as manager.Run does, and needs all kinds everywhere in forms of its own.
type neighbor struct {
	set     *informer.Set
	reviews *access.Reviewer
}

var _ Reads = &neighbor{}

// ShareReads implements Reads.
func (n *neighbor) ShareReads(_ *rest.Config, o informer.UserOptions) (*informer.Set, *access.Reviewer, error) {
	return n.set.ForUser(o), n.reviews.ForUser(), nil
}

// Changed implements informer.EventHandler.
func (n *neighbor) Changed(informer.Event) {}

func (p *pair) newNeighbor() (*neighbor, error) {
	objects, err := objectclient.NewForConfigAndClient(p.config, p.http)
	if err != nil {
		return nil, err
	}
	partial, err := metadata.NewForConfigAndClient(p.config, p.http)
	if err != nil {
		return nil, err
	}
	typed, err := kubernetes.NewForConfigAndClient(p.config, p.http)
	if err != nil {
		return nil, err
	}
	n := &neighbor{
		set:     informer.NewSet(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) { return objects, partial, nil }}),
		reviews: access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return access.FromClient(typed.AuthorizationV1()), nil }}),
	}
	kept := fields.New("data", "spec")
	var needs []informer.Interest
	for _, namespace := range append(slices.Clone(p.namespaces), "") {
		key := informer.Key{GVR: secretKind.GroupVersion().WithResource("secrets"), Namespace: namespace}
		needs = append(needs, informer.Interest{Key: withForm(key, informer.Form{Metadata: true})}, informer.Interest{Key: withForm(key, informer.Form{Fields: kept.String()}), Fields: kept})
	}
	key := informer.Key{GVR: ingressKind.GroupVersion().WithResource("ingressclasses"), Form: informer.Form{Fields: kept.String()}}
	n.set.Require(n, append(needs, informer.Interest{Key: key, Fields: kept}))
	return n, nil
}

func withForm(key informer.Key, form informer.Form) informer.Key {
	key.Form = form
	return key
}

// run runs the neighbor until the result is called.
func (n *neighbor) run(ctx context.Context) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = n.set.Start(ctx) })
	running.Go(func() { _ = n.reviews.Start(ctx) })
	return func() { stop(); running.Wait() }
}

// settle waits until all that the cache needs is listed: while an informer joins, others skip versions of an object.
func (r *alike) settle(ctx context.Context) {
	r.until(ctx, func() string { return "streams" }, func() bool {
		return !slices.ContainsFunc(r.ours.cache.(*Cache).informers.States(), func(s informer.KeyStatus) bool {
			return s.State == informer.Probing || s.State == informer.Starting
		})
	})
}
