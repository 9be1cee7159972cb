package scopedcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
)

// side is one of two caches that are to be alike. What it answers and what its handlers are told is text.
type side struct {
	ctx       context.Context
	cache     cache.Cache
	informers map[form]cache.Informer
	handlers  []*told
	end       func() error
}

func newSide(ctx context.Context, made cache.Cache) *side {
	return &side{ctx: ctx, cache: made, informers: map[form]cache.Informer{}, end: func() error { return nil }}
}

// start runs the cache until end.
func (s *side) start() {
	ctx, stop := context.WithCancel(s.ctx)
	var running sync.WaitGroup
	var err error
	running.Go(func() { err = s.cache.Start(ctx) })
	s.end = func() error {
		stop()
		running.Wait()
		return err
	}
}

// informer asks for an informer.
func (s *side) informer(m move) string {
	var i cache.Informer
	var err error
	if m.ByKind && m.Form.flavor == kindsettings.Typed {
		i, err = s.cache.GetInformerForKind(s.ctx, m.Form.gvk, cache.BlockUntilSynced(m.Blocking))
	} else {
		i, err = s.cache.GetInformer(s.ctx, m.Form.newObject(), cache.BlockUntilSynced(m.Blocking))
	}
	if err == nil {
		s.informers[m.Form] = i
	}
	return errorText(err)
}

// handle adds a handler to the informer that was asked for last, also if that was removed.
func (s *side) handle(m move) string {
	i := s.informers[m.Form]
	if i == nil {
		return "no informer"
	}
	h := &told{form: m.Form, events: map[string][]string{}}
	registration, err := i.AddEventHandler(h)
	if err == nil {
		h.registration = registration
		s.handlers = append(s.handlers, h)
	}
	return errorText(err)
}

// unhandle removes the last handler of a form.
func (s *side) unhandle(m move) string {
	for _, h := range slices.Backward(s.handlers) {
		if h.form == m.Form && !h.gone {
			h.gone = true
			return errorText(s.informers[m.Form].RemoveEventHandler(h.registration))
		}
	}
	return "no handler"
}

// abandon says that the handlers of a form are told nothing any more.
func (s *side) abandon(f form) {
	for _, h := range s.handlers {
		h.gone = h.gone || h.form == f
	}
}

// index adds an index by an annotation or by a label.
func (s *side) index(m move) string {
	return errorText(s.cache.IndexField(s.ctx, m.Form.newObject(), m.Field, func(object client.Object) []string {
		if m.Field == "half" {
			return []string{object.GetLabels()["half"]}
		}
		return []string{object.GetAnnotations()["data"]}
	}))
}

// remove removes an informer.
func (s *side) remove(m move) string {
	return errorText(s.cache.RemoveInformer(s.ctx, m.Form.newObject()))
}

// get reads an object, twice: the text says whether that was the same memory.
func (s *side) get(m move) string {
	one, other := m.Form.newObject(), m.Form.newObject()
	options := &client.GetOptions{UnsafeDisableDeepCopy: m.Shared}
	for _, out := range []client.Object{one, other} {
		if err := s.cache.Get(s.ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, out, options); err != nil {
			return errorText(err)
		}
	}
	return fmt.Sprintf("%s shared %t", objectText(one), isSameMemory(one, other))
}

// list lists objects. Of a limited list only the length is alike.
func (s *side) list(m move) string {
	found := map[string]string{}
	var before []runtime.Object
	for range 2 {
		list := m.Form.newList()
		if err := s.cache.List(s.ctx, list, m.listOptions()...); err != nil {
			return errorText(err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return err.Error()
		}
		if m.List.Limit > 0 {
			return fmt.Sprintf("%d of %T, continue %q, version %q", len(objects), list, list.GetContinue(), list.GetResourceVersion())
		}
		slices.SortFunc(objects, func(a, b runtime.Object) int { return strings.Compare(nameOf(a), nameOf(b)) })
		for i, object := range objects {
			found[nameOf(object)] = fmt.Sprintf("%s shared %t", objectText(object), len(before) == len(objects) && isSameMemory(before[i], object))
		}
		before = objects
		found["list"] = fmt.Sprintf("%T, continue %q, version %q, %d", list, list.GetContinue(), list.GetResourceVersion(), len(objects))
	}
	return linesOf(found)
}

// version returns the resourceVersion of a cached object, "" if there is none.
func (s *side) version(f form, key client.ObjectKey) string {
	object := f.newObject()
	if err := s.cache.Get(s.ctx, key, object); err != nil {
		return ""
	}
	return object.GetResourceVersion()
}

// told is an event handler.
type told struct {
	form         form
	registration toolscache.ResourceEventHandlerRegistration
	gone         bool // nothing is told any more

	mu     sync.Mutex // guards events
	events map[string][]string
}

// OnAdd implements toolscache.ResourceEventHandler.
func (h *told) OnAdd(object any, initial bool) { h.record(fmt.Sprint("add ", initial), nil, object) }

// OnUpdate implements toolscache.ResourceEventHandler.
func (h *told) OnUpdate(old, object any) { h.record("update", old, object) }

// OnDelete implements toolscache.ResourceEventHandler.
func (h *told) OnDelete(object any) { h.record("delete", nil, object) }

func (h *told) record(what string, old, object any) {
	text := what + " " + objectText(object)
	if old != nil {
		text += " after " + old.(client.Object).GetResourceVersion()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name := nameOf(object)
	h.events[name] = append(h.events[name], text)
}

func (h *told) hasSeen(key client.ObjectKey, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.events[strings.TrimPrefix(key.String(), "/")], func(event string) bool {
		return strings.Contains(event, fmt.Sprintf("resourceVersion\":%q", version))
	})
}

func (h *told) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string]string{}
	for name, events := range h.events {
		found[name] = strings.Join(events, "\n  ")
	}
	return linesOf(found)
}

func linesOf(found map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&text, "%s: %s\n", name, found[name])
	}
	return text.String()
}

func nameOf(object any) string {
	name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return err.Error()
	}
	return name
}

func objectText(object any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %s", object, text)
}

// isShared reports whether two objects are in the same memory, as far as they have any beside their own struct.
func isSameMemory(one, other any) bool {
	return memoryOf(one) == memoryOf(other)
}

func memoryOf(object any) uintptr {
	switch object := object.(type) {
	case *unstructured.Unstructured:
		return reflect.ValueOf(object.Object).Pointer()
	case client.Object:
		return reflect.ValueOf(object.GetAnnotations()).Pointer()
	}
	return 0
}

// errorText returns what is to be alike of an error: what it says, unless that is nobody's promise.
func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	text := err.Error()
	for _, part := range []string{"indexer conflict", "stopped already"} {
		if strings.Contains(text, part) {
			return part
		}
	}
	var notStarted *cache.ErrCacheNotStarted
	var notCached *cache.ErrResourceNotCached
	return fmt.Sprintf("error %q, reason %q, not started %t, not cached %t", text, apierrors.ReasonForError(err), errors.As(err, &notStarted), errors.As(err, &notCached))
}
