package scopedcache

import (
	"errors"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// New returns what makes the cache of a manager or of a cluster: manager.Options.NewCache,
// cluster.Options.NewCache. The error of that function names what is not supported.
func New(o Options) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		if options.NewInformer != nil {
			return nil, errors.New("making a scoped cache: NewInformer is not supported")
		}
		return cache.New(config, options)
	}
}
