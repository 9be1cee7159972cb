package scopedcache

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindregistry"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
)

// Options are the inputs of a cache beside those of controller-runtime. The zero value works: then a cache
// watches what its cache.Options say, which is all namespaces unless they name some. With Roles alone that is
// denied: name the namespaces.
type Options struct {
	// Reads are informers and reviews that others in this process have as well, such as *manager.Reads: what
	// both read is listed and watched once, and reviewed once. They must be of the configuration that the cache is made
	// with. Nil: the cache has its own.
	Reads Reads
	// Namespaces is where kinds that have namespaces are watched. The zero value leaves that to
	// DefaultNamespaces and ByObject of cache.Options; any other must not be given together with
	// DefaultNamespaces. A kind that has Namespaces in ByObject is watched there.
	Namespaces Namespaces
	// Fields are what is kept of each object of a kind: see the function Fields. What identifies an object is always
	// kept, with its labels, owners and finalizers. Do not Update what was read so, which would clear all
	// else: a client of NewClient refuses that. Nil keeps whole objects.
	Fields map[client.Object][]string
	// AllowPartial: a list over several namespaces is no error if some of them, not all, are denied. Without it,
	// the list has what may be seen, and List returns a DeniedError for the first of the others.
	AllowPartial bool
	// DeleteOnLeave: when a namespace is no longer watched, because it left Namespaces or because a
	// right was taken away, event handlers are told of a Delete for each object that was there, as a
	// DeletedFinalStateUnknown. Without it they are not: the objects may well exist.
	DeleteOnLeave bool
	// LongWatches: watches last as long as client-go asks for, 5 to 10 minutes, and a right that is taken
	// away is noticed when they end. Without it they are opened again every 3 or 4 seconds, without
	// a list: the API server looks at rights when a watch is opened, and never again.
	LongWatches bool
	// WriteTimeout is how long a write of a client of NewClient waits at most until the cache shows it. 0
	// means 10 seconds.
	WriteTimeout time.Duration
}

// Reads are informers and reviews of one identity that have several users. ShareReads returns what one more of them has,
// who starts both. A configuration of another identity is an error.
type Reads interface {
	ShareReads(*rest.Config, informer.UserOptions) (*informer.Set, *access.Reviewer, error)
}

// Namespaces says which namespaces are watched. The zero value says nothing: see Options.
type Namespaces struct{ given streamlayout.Namespaces }

// InNamespaces are the namespaces of these names, whether they exist or not. None may be empty. Cache.SetNamespaces
// changes them.
func InNamespaces(names ...string) Namespaces {
	return Namespaces{streamlayout.Namespaces{Rule: streamlayout.Fixed, Names: names}}
}

// SelectedNamespaces are those whose labels match now. It takes the right to list and watch namespaces.
func SelectedNamespaces(selector labels.Selector) Namespaces {
	return Namespaces{streamlayout.Namespaces{Rule: streamlayout.Selected, Selector: selector}}
}

// Permitted are all namespaces in which the kind may be listed and watched, as rights change: with one
// stream where that is allowed in all namespaces, else with one for each. candidates are the namespaces that
// are asked about; without any, these are all that exist, and it takes the right to list and watch namespaces.
// A namespace where the kind is denied is none of the cache: a list over all namespaces says nothing of it. A handle
// (Cache.For) may also read in others, as long as it is open.
func Permitted(candidates ...string) Namespaces {
	return Namespaces{streamlayout.Namespaces{Rule: streamlayout.Permitted, Names: candidates}}
}

// Fields are paths of JSON names, such as "spec.replicas" or "spec.template.spec.containers.image": all below a path
// is kept. A path goes through lists, into each element, and through maps by their keys.
func Fields(paths ...string) []string { return paths }

// defaultWriteTimeout is what zero means.
const defaultWriteTimeout = 10 * time.Second

// checkSupported returns an error for what is not supported.
func (o Options) checkSupported(options cache.Options) error {
	switch given := o.Namespaces.given; {
	case options.NewInformer != nil:
		return errors.New("making a scoped cache: NewInformer is not supported: its informers are those of Ambit")
	case given.Rule != streamlayout.AsConfigured && len(options.DefaultNamespaces) > 0:
		return errors.New("making a scoped cache: both DefaultNamespaces and Namespaces are given")
	default:
		return kindregistry.CheckNames(given.Names)
	}
}
