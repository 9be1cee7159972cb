// Package constructor has what the suites of controller-runtime make their caches with. It is part
// of their test binaries, which are told by the environment which constructor they have.
package constructor

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/scopedcache"
)

// Variable is the environment variable with the name of the constructor.
const Variable = "AMBIT_SUITES_CONSTRUCTOR"

// The names of constructors.
const (
	// Scopedcache is Ambit's, without options of its own.
	Scopedcache = "scopedcache"
	// Original is controller-runtime's own: it shows that the suites run at all.
	Original = "controller-runtime"
	// Forgetful is controller-runtime's own, but every list is empty: it shows that cases can fail.
	Forgetful = "forgetful"
)

// New makes a cache with the constructor that the environment names.
func New(config *rest.Config, options cache.Options) (cache.Cache, error) {
	switch name := os.Getenv(Variable); name {
	case Scopedcache:
		return scopedcache.New(scopedcache.Options{})(config, options)
	case Original:
		return cache.New(config, options)
	case Forgetful:
		whole, err := cache.New(config, options)
		return forgetful{whole}, err
	default:
		return nil, fmt.Errorf("%s: there is no constructor %q", Variable, name)
	}
}

// NewClient makes a client whose writes are seen by reads that come after them. With Scopedcache it is
// Ambit's; what controller-runtime's has for that is turned off.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	if os.Getenv(Variable) != Scopedcache || options.Cache == nil {
		return client.New(config, options)
	}
	own := *options.Cache
	own.EnableReadYourWritesConsistency = nil
	options.Cache = &own
	return scopedcache.NewClient(config, options)
}

// forgetful is a cache that lists nothing.
type forgetful struct{ cache.Cache }

// List leaves the list as it is.
func (forgetful) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
