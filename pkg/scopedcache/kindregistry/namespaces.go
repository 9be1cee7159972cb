package kindregistry

import (
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
)

// namespaces are those that Options.Namespaces name or select, as they are now.
type namespaces struct {
	kind *kind // has the objects; nil if they are not watched

	mu    sync.Mutex // guards what is below
	names []string   // sorted
	known bool
}

// newNamespaces makes them. Those that are selected are watched when the registry runs.
func newNamespaces(r *Registry) (*namespaces, error) {
	given := r.options.Namespaces
	n := &namespaces{names: sortedNames(given.Names), known: true}
	if given.Rule != streamlayout.Selected && (given.Rule != streamlayout.Permitted || len(given.Names) > 0) {
		return n, nil
	}
	n.known = false
	k, err := r.newKind(kindsettings.Key{GVK: corev1.SchemeGroupVersion.WithKind("Namespace"), Flavor: kindsettings.Metadata}, "cache ")
	if err != nil {
		return nil, err
	}
	n.kind = k
	k.needs[nil] = &streamlayout.Need{All: true}
	k.AddStream(k.NewStream(metav1.NamespaceAll, cache.Config{LabelSelector: given.Selector}, false))
	changed := func(any) { r.dirty.addKind(k) }
	k.AddListener(eventqueue.NewListener("namespaces", toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, object any) { changed(object) },
	}))
	k.SetPlanned()
	r.dirty.addKind(k)
	return n, nil
}

// CheckNames refuses "", which is no namespace.
func CheckNames(names []string) error {
	if slices.Contains(names, metav1.NamespaceAll) {
		return errors.New("naming the namespaces of a cache: one of the names is empty")
	}
	return nil
}

func sortedNames(names []string) []string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// currentNames returns the names, which nobody may change, and whether they are known.
func (n *namespaces) currentNames() ([]string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names, n.known
}

// replaceNames sets the names, and reports whether anything is new.
func (n *namespaces) replaceNames(names []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known && slices.Equal(n.names, names) {
		return false
	}
	n.names, n.known = names, true
	return true
}

// SetNamespaces replaces the names of Options.Namespaces. It is an error if they are not names.
func (r *Registry) SetNamespaces(names []string) error {
	if r.options.Namespaces.Rule == streamlayout.AsConfigured || r.namespaces.kind != nil {
		return errors.New("setting the namespaces of a cache: it was not made with a list of them")
	}
	if err := CheckNames(names); err != nil {
		return err
	}
	if r.namespaces.replaceNames(sortedNames(names)) {
		r.arrangeAll()
	}
	return nil
}

// NamespacesRefused returns the stream of the namespaces themselves, if it is refused, and why; else nil.
func (r *Registry) NamespacesRefused() (*streamstore.Stream, *streamstore.Refusal) {
	if r.namespaces.kind == nil {
		return nil, nil
	}
	s := r.namespaces.kind.StreamOf(metav1.NamespaceAll)
	return s, s.CurrentRefusal()
}

// followNamespaces arranges all kinds anew if other namespaces are there than before. Where namespaces may not be read
// there are none.
func (r *Registry) followNamespaces() {
	names, known := r.namespaces.kind.StreamOf(metav1.NamespaceAll).ObjectNames()
	if known && r.namespaces.replaceNames(sortedNames(names)) {
		r.arrangeAll()
	}
}
