package scopedcache

import (
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// namespaces are those that Options.Namespaces names or selects, as they are now.
type namespaces struct {
	kind *kind // has the objects; nil if they are not watched

	mu    sync.Mutex // guards what is below
	names []string   // sorted
	known bool
}

// newNamespaces makes them. Those that are selected are watched when the engine runs.
func newNamespaces(e *engine) (*namespaces, error) {
	given := e.settings.own.Namespaces
	n := &namespaces{names: sortedNames(given.names), known: true}
	if given.rule != selectedNamespaces && (given.rule != permittedNamespaces || len(given.names) > 0) {
		return n, nil
	}
	n.known = false
	k, err := e.newKind(kindKey{GVK: corev1.SchemeGroupVersion.WithKind("Namespace"), flavor: metadataOnly})
	if err != nil {
		return nil, err
	}
	n.kind, k.storagePrefix = k, "cache "
	k.needs[nil] = &need{all: true}
	k.informer = &sharedInformer{engine: e, kind: k, synced: make(chan struct{})}
	k.addStream(k.newStream(metav1.NamespaceAll, cache.Config{LabelSelector: given.selector}, false))
	changed := func(any) { e.dirty.add(k) }
	k.addListener(newListener(k, toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, object any) { changed(object) },
	}, 0))
	k.setPlanned()
	e.dirty.add(k)
	return n, nil
}

// checkNames refuses "", which is no namespace.
func checkNames(names []string) error {
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

// current returns the names, which nobody may change, and whether they are known.
func (n *namespaces) current() ([]string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names, n.known
}

// replace sets the names, and reports whether anything is new.
func (n *namespaces) replace(names []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known && slices.Equal(n.names, names) {
		return false
	}
	n.names, n.known = names, true
	return true
}

// watched returns the names of the namespaces that are watched, and whether they are known. Where namespaces may
// not be read there are none; denial is why.
func (n *namespaces) watched() (names []string, known bool) {
	s := n.kind.streamOf(metav1.NamespaceAll)
	n.kind.mu.RLock()
	defer n.kind.mu.RUnlock()
	return sortedNames(s.indexer.ListKeys()), s.synced || s.refusal != nil
}

// denial returns what a read of the namespaces fails with, nil if nothing is refused.
func (n *namespaces) denial() error {
	if n.kind == nil {
		return nil
	}
	s := n.kind.streamOf(metav1.NamespaceAll)
	if r := s.currentRefusal(); r != nil {
		return s.readError(r)
	}
	return nil
}

// followNamespaces arranges all kinds anew if other namespaces are there than before.
func (e *engine) followNamespaces() {
	if names, known := e.namespaces.watched(); known && e.namespaces.replace(names) {
		e.arrangeAll()
	}
}

// arrangeAll arranges all kinds, and has the changes told.
func (e *engine) arrangeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.kinds {
		e.arrangeLocked(k)
		e.dirty.add(k)
	}
}
