package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// longWatch is how long a watch lasts whose client names no timeout, or up to twice
	// that.
	longWatch = 30 * time.Minute
	// bookmarkEvery is how often a watch gets a bookmark, and bookmarkBefore how long
	// before its timeout.
	bookmarkEvery  = time.Minute
	bookmarkBefore = 2 * time.Second
)

// watcher is an open watch. The server's mu guards it, but for what never changes.
type watcher struct {
	server    *Server
	request   Request
	resource  *resource
	served    *version
	chosen    selector
	metadata  bool // only metadata is sent
	bookmarks bool
	stream    Stream // nil: nobody disturbs it
	serial    uint64 // the order in which watches were opened
	limit     int    // how many events may wait

	events chan watch.Event
	ends   time.Time
	timer  *time.Timer
	forget func() bool // no longer ends the watch with its context
	closed bool
	// held are events that a Stream holds up, oldest first; release sends them.
	held    []heldEvent
	release *time.Timer
}

type heldEvent struct {
	event watch.Event
	at    time.Time
	end   bool
}

// watch handles a watch. With the server's mu held it can miss no change.
func (c *call) watch(ctx context.Context, o metav1.ListOptions, metadata bool) (watch.Interface, error) {
	if err := checkWatchOptions(o); err != nil {
		return nil, err
	}
	chosen, err := c.selectorOf(o)
	if err != nil {
		return nil, err
	}
	from, err := strconv.ParseUint("0"+o.ResourceVersion, 10, 64)
	if err != nil {
		return nil, errPlain(badVersion(o.ResourceVersion))
	}
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if initial {
		if err := c.checkNotTooLarge(o.ResourceVersion); err != nil {
			return nil, err
		}
	}
	w := &watcher{
		server: c.Server, request: c.Request, resource: c.resource, served: c.served, chosen: chosen, metadata: metadata,
		bookmarks: o.AllowWatchBookmarks, stream: c.options.Faults.Stream(c.Request), limit: c.options.WatchBuffer,
	}
	w.open(ctx, o, from, initial)
	return w, nil
}

func checkWatchOptions(o metav1.ListOptions) error {
	var errs field.ErrorList
	match := field.NewPath("resourceVersionMatch")
	switch {
	case o.SendInitialEvents == nil && o.ResourceVersionMatch != "":
		errs = append(errs, field.Forbidden(match, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
	case o.SendInitialEvents != nil && o.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan:
		errs = append(errs, field.Forbidden(match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "", errs)
}

// open sends what is there, and has the watch end with ctx or its timeout.
func (w *watcher) open(ctx context.Context, o metav1.ListOptions, from uint64, initial bool) {
	synthetic := initial || from == 0 && o.SendInitialEvents == nil
	r := w.resource
	var first []watch.Event
	switch {
	case synthetic:
		first = w.present(initial)
	case from < r.compacted:
		first = []watch.Event{{Type: watch.Error, Object: expired(from, r.compacted)}}
	default:
		i, _ := slices.BinarySearchFunc(r.history, from+1, func(c change, version uint64) int { return cmp.Compare(c.version, version) })
		for _, c := range r.history[i:] {
			if event, ok := w.eventOf(c); ok {
				first = append(first, event)
			}
		}
	}
	w.events = make(chan watch.Event, len(first)+w.limit)
	w.server.serialLocked(w)
	r.watchers[w] = true
	for _, event := range first {
		w.deliverLocked(event)
	}
	if len(first) > 0 && first[0].Type == watch.Error {
		w.endLocked()
		return
	}
	timeout := longWatch + time.Duration(w.server.random.Int64N(int64(longWatch)))
	if o.TimeoutSeconds != nil {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	w.ends = time.Now().Add(timeout)
	w.plan()
	w.forget = context.AfterFunc(ctx, w.Stop)
}

// serialLocked numbers a watch: changes are sent in that order, so that a seed decides
// which is ended first.
func (s *Server) serialLocked(w *watcher) {
	for other := range w.resource.watchers {
		w.serial = max(w.serial, other.serial+1)
	}
}

func sortedWatchers(all map[*watcher]bool) []*watcher {
	if len(all) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b *watcher) int { return int(int64(a.serial) - int64(b.serial)) })
}

// present are the objects that there are, and the bookmark behind them if it is asked
// for.
func (w *watcher) present(mark bool) []watch.Event {
	var events []watch.Event
	for _, key := range w.resource.sortedKeys(w.chosen.namespace) {
		if obj := w.resource.objects[key]; w.chosen.matches(obj) {
			events = append(events, watch.Event{Type: watch.Added, Object: w.form(obj)})
		}
	}
	if mark && w.bookmarks {
		events = append(events, w.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
	return events
}

// form is an object as the client wants it.
func (w *watcher) form(obj *unstructured.Unstructured) runtime.Object {
	if w.metadata {
		return partial(obj, w.resource.managed)
	}
	return inVersion(obj, w.served.gvk).DeepCopy()
}

// bookmark says how far the watch is, in the form that the client wants.
func (w *watcher) bookmark(annotations map[string]string) watch.Event {
	version := strconv.FormatUint(w.server.version, 10)
	if w.metadata {
		return watch.Event{Type: watch.Bookmark, Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: annotations}}}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.served.gvk.GroupVersion().String(), "kind": w.served.gvk.Kind, "metadata": map[string]any{"resourceVersion": version},
	}}
	if annotations != nil {
		obj.SetAnnotations(annotations)
	}
	return watch.Event{Type: watch.Bookmark, Object: obj}
}

func expired(from, oldest uint64) *metav1.Status {
	status := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, oldest)).Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}

// eventOf is what a change is for a watch: an object that the selector no longer
// chooses is deleted for it.
func (w *watcher) eventOf(c change) (watch.Event, bool) {
	was, is := w.chosen.matches(c.old), w.chosen.matches(c.new)
	switch {
	case was && is:
		return watch.Event{Type: watch.Modified, Object: w.form(c.new)}, true
	case is:
		return watch.Event{Type: watch.Added, Object: w.form(c.new)}, true
	case was:
		return watch.Event{Type: watch.Deleted, Object: w.form(withVersion(c.old, c.version))}, true
	}
	return watch.Event{}, false
}

// sendLocked tells the watch of a change.
func (w *watcher) sendLocked(c change) {
	if event, ok := w.eventOf(c); ok {
		w.deliverLocked(event)
	}
}

// deliverLocked sends an event, or has it wait as the stream's faults say.
func (w *watcher) deliverLocked(event watch.Event) {
	if w.closed {
		return
	}
	held := heldEvent{event: event, at: time.Now()}
	if w.stream != nil {
		version, _ := strconv.ParseUint(resourceVersionOf(event.Object), 10, 64) // an error event has none
		d := w.stream(event.Type, version)
		held.at, held.end = held.at.Add(d.Lag), d.End
		if d.Expire {
			held.event = watch.Event{Type: watch.Error, Object: expired(version, w.server.version)}
		}
	}
	if len(w.held) == 0 && !held.at.After(time.Now()) {
		w.passLocked(held)
		return
	}
	if w.held = append(w.held, held); len(w.held) == 1 {
		w.release = time.AfterFunc(time.Until(held.at), w.releaseHeld)
	}
}

// releaseHeld sends what has waited long enough.
func (w *watcher) releaseHeld() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	for len(w.held) > 0 && !w.closed {
		if wait := time.Until(w.held[0].at); wait > 0 {
			w.release = time.AfterFunc(wait, w.releaseHeld)
			return
		}
		next := w.held[0]
		w.held = w.held[1:]
		w.passLocked(next)
	}
}

// passLocked sends an event. A client that does not read is not waited for: its watch
// ends.
func (w *watcher) passLocked(h heldEvent) {
	if h.end || len(w.events) == cap(w.events) {
		w.endLocked()
		return
	}
	w.events <- h.event
	if h.event.Type == watch.Error {
		w.endLocked()
	}
}

func resourceVersionOf(obj runtime.Object) string {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		return o.GetResourceVersion()
	case *metav1.PartialObjectMetadata:
		return o.ResourceVersion
	}
	return ""
}

// plan sets the timer for the next bookmark or the end.
func (w *watcher) plan() {
	left := time.Until(w.ends)
	next := left
	if w.bookmarks {
		next = min(next, bookmarkEvery)
		if left > bookmarkBefore {
			next = min(next, left-bookmarkBefore)
		}
	}
	w.timer = time.AfterFunc(next, w.tick)
}

// tick sends a bookmark, or ends the watch.
func (w *watcher) tick() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	switch {
	case w.closed:
	case time.Until(w.ends) <= 0:
		w.endLocked()
	default:
		w.deliverLocked(w.bookmark(nil))
		w.plan()
	}
}

// endLocked ends the watch: what was sent can still be read.
func (w *watcher) endLocked() {
	if w.closed {
		return
	}
	w.closed = true
	for _, t := range []*time.Timer{w.timer, w.release} {
		if t != nil {
			t.Stop()
		}
	}
	if w.forget != nil {
		w.forget()
	}
	delete(w.resource.watchers, w)
	close(w.events)
}

// Stop implements watch.Interface. What was sent and not read is lost.
func (w *watcher) Stop() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if w.closed {
		return
	}
	w.endLocked()
	for range w.events {
	}
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }
