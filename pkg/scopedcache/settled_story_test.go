package scopedcache

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
)

// TestSettled: a denied namespace holds up nobody, says who may not do what, and goes on by itself when it is
// granted; a revoked one is dropped.
func TestSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	allowed, denied := w.namespace(), w.namespace()
	w.grantReads(allowed)
	w.create(allowed, "a")
	w.create(denied, "a")
	w.remake(Options{}, cache.Options{DefaultNamespaces: map[string]cache.Config{allowed: {}, denied: {}}})
	i, err := w.cache.GetInformer(w.ctx, &corev1.ConfigMap{})
	w.must(err)
	seen := newRecorder(w, i)
	w.start()
	if !w.cache.WaitForCacheSync(w.ctx) || !i.HasSynced() {
		t.Fatal("a denied namespace keeps the cache from being settled")
	}
	w.until("the handler is synced", seen.registration.HasSynced)

	w.must(w.get(allowed, "a"))
	err = w.get(denied, "a")
	var why *DeniedError
	if !apierrors.IsForbidden(err) || !errors.As(err, &why) || why.Since.IsZero() || why.Missing[0].Resource != "configmaps" {
		t.Fatalf("reading what is denied: %v", err)
	}
	w.until("the text says everything", func() bool {
		return w.get(denied, "a").Error() == `cannot list, watch configmaps in namespace "`+denied+`" as operator`
	})
	names, err := w.names()
	if !slices.Equal(names, []string{allowed + "/a"}) || !apierrors.IsForbidden(err) {
		t.Fatalf("listing everything: %v, %v", names, err)
	}

	w.grantReads(denied)
	w.until("the grant is seen", func() bool { return w.get(denied, "a") == nil })
	w.until("the handler is told", func() bool { return seen.has("add! " + denied + "/a") })
	w.revoke(denied, "configmaps")
	w.until("the revocation is seen", func() bool { return w.isDenied(denied) })
	if events := seen.all(); slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "delete") }) {
		t.Errorf("a Delete was made up: %q", events)
	}
	w.must(w.get(allowed, "a"))
}

// TestVerbs: the error names the verb that is missing.
func TestVerbs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Namespaces: InNamespaces()}, cache.Options{})
	namespace := w.namespace()
	w.grant(namespace, "", "configmaps", "list")
	w.must(w.cache.SetNamespaces(namespace))
	w.start()
	w.until("only watch is missing", func() bool {
		var why *DeniedError
		return errors.As(w.get(namespace, "a"), &why) && slices.Equal(why.Missing, []access.Access{{Verb: "watch", Resource: "configmaps"}})
	})
}

// recorder is an event handler that remembers what it was told.
type recorder struct {
	registration toolscache.ResourceEventHandlerRegistration
	mu           sync.Mutex
	events       []string
}

func newRecorder(w *world, i cache.Informer) *recorder {
	r := &recorder{}
	registration, err := i.AddEventHandler(r)
	w.must(err)
	r.registration = registration
	return r
}

func (r *recorder) record(what string, object any) {
	name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		name = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, what+" "+name)
}

// OnAdd implements toolscache.ResourceEventHandler.
func (r *recorder) OnAdd(object any, initial bool) {
	if initial {
		r.record("add!", object)
		return
	}
	r.record("add", object)
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (r *recorder) OnUpdate(_, object any) { r.record("update", object) }

// OnDelete implements toolscache.ResourceEventHandler.
func (r *recorder) OnDelete(object any) { r.record("delete", object) }

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *recorder) has(event string) bool { return slices.Contains(r.all(), event) }
