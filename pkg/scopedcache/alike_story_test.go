package scopedcache

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	_ "github.com/ambit-dev/ambit/test/draws/fewer"
)

// TestAlike: for somebody who may read everything, a cache of the zero Options and one of cache.New are alike, also one
// that shares streams with others, whatever cache.Options they are made with and whatever happens: the same answers and errors, and the same events of
// each object. Of the -rapid.checks one in two is run; `make soak` runs 1,000, with draws of their own.
func TestAlike(t *testing.T) {
	t.Parallel()
	c := control.Cluster(t)
	p := &pair{config: c.Admin(), namespaces: []string{c.Namespace(t.Context(), t, "alike"), c.Namespace(t.Context(), t, "alike"), c.Namespace(t.Context(), t, "alike")}}
	p.connect(t)
	runs, steps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if rapid.Bool().Draw(t, "is left out") {
			return // one in two: each takes half a second
		}
		r := &alike{T: t, pair: p, versions: map[client.ObjectKey]string{}, tracked: map[form][]client.ObjectKey{}, indexes: map[indexOf]bool{}}
		r.isShared = rapid.Bool().Draw(t, "shares its streams")
		options := drawAlike(t, p.namespaces)
		before := rapid.SliceOfN(drawMove(p.namespaces), 0, 4).Draw(t, "before Start")
		after := slices.Concat(rapid.SliceOfN(rapid.SliceOfN(drawMove(p.namespaces), 0, 10), 1, 10).Draw(t, "after Start")...) // of slices: there are more
		runs, steps = runs+1, steps+len(before)+len(after)
		r.run(options, before, after)
	})
	t.Logf("%d runs, %d steps", runs, steps)
}

// pair is what all runs have in common.
type pair struct {
	config     *rest.Config
	http       *http.Client
	mapper     meta.RESTMapper
	client     client.Client
	namespaces []string
	count      int // of what was written
}

func (p *pair) connect(t *testing.T) {
	t.Helper()
	var err error
	if p.http, err = rest.HTTPClientFor(p.config); err != nil {
		t.Fatal(err)
	}
	if p.mapper, err = apiutil.NewDynamicRESTMapper(p.config, p.http); err != nil {
		t.Fatal(err)
	}
	if p.client, err = client.New(p.config, client.Options{HTTPClient: p.http, Mapper: p.mapper}); err != nil {
		t.Fatal(err)
	}
	for _, key := range p.barriers() {
		if err := p.client.Create(t.Context(), p.newObject(key, barrierHalf(key), "x")); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // it has ended
		if err := p.client.DeleteAllOf(ctx, &networkingv1.IngressClass{}); err != nil {
			t.Error(err)
		}
		p.http.CloseIdleConnections()
	})
}

// barriers are objects that each selector of the options selects one of, where it selects anything: when a stream has
// shown a change of it, all that was before is there.
func (p *pair) barriers() (keys []client.ObjectKey) {
	for _, namespace := range append(slices.Clone(p.namespaces), "") {
		keys = append(keys, client.ObjectKey{Namespace: namespace, Name: "barrier-1"}, client.ObjectKey{Namespace: namespace, Name: "barrier-2"})
	}
	return keys
}

func barrierHalf(key client.ObjectKey) string { return strings.TrimPrefix(key.Name, "barrier-") }

// newObject returns what is written: a Secret, or an IngressClass if there is no namespace.
func (p *pair) newObject(key client.ObjectKey, half, data string) client.Object {
	p.count++
	metadata := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{"data": data, "count": fmt.Sprint(p.count)}}
	if half != "" {
		metadata.Labels = map[string]string{"half": half}
	}
	if key.Namespace == "" {
		return &networkingv1.IngressClass{ObjectMeta: metadata, Spec: networkingv1.IngressClassSpec{Controller: "example.com/none"}}
	}
	return &corev1.Secret{ObjectMeta: metadata, StringData: map[string]string{"key": data}}
}

// alike is one run.
type alike struct {
	*rapid.T
	*pair
	theirs, ours *side
	dirty        []string                    // namespaces that were written to since the last barrier
	versions     map[client.ObjectKey]string // of barriers that were written
	tracked      map[form][]client.ObjectKey // the barriers that a form sees, if it is watched everywhere
	indexes      map[indexOf]bool
	started      bool
	isShared     bool // ours has the streams of a neighbor
}

// indexOf is an index that was added to a form.
type indexOf struct {
	form  form
	field string
}

func (r *alike) run(options cache.Options, before, after []move) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	options.HTTPClient, options.Mapper = r.http, r.mapper
	theirs, theirErr := cache.New(r.config, options)
	own := Options{}
	if r.isShared {
		n, err := r.newNeighbor()
		r.must(err)
		defer n.run(ctx)()
		own.Reads = n
	}
	ours, ourErr := New(own)(r.config, options)
	r.same("making it", errorText(theirErr), errorText(ourErr))
	if theirErr != nil {
		return
	}
	r.clean(ctx)
	r.theirs, r.ours = newSide(ctx, theirs), newSide(ctx, ours)
	defer func() { _, _ = r.theirs.end(), r.ours.end() }() // also after a failure
	for _, m := range before {
		r.move(ctx, m)
	}
	r.theirs.start()
	r.ours.start()
	for _, s := range []*side{r.theirs, r.ours} {
		if !s.cache.WaitForCacheSync(ctx) {
			r.Fatal("it does not sync")
		}
	}
	r.started = true
	if r.isShared {
		r.settle(ctx)
	}
	for f := range r.theirs.informers {
		r.track(f)
	}
	for _, m := range after {
		r.move(ctx, m)
	}
	r.finish(ctx)
}

// clean deletes what other runs have left, but for the barriers, and writes those anew.
func (r *alike) clean(ctx context.Context) {
	for _, namespace := range append(slices.Clone(r.namespaces), "") {
		for _, name := range []string{"a", "b"} {
			r.must(client.IgnoreNotFound(r.client.Delete(ctx, r.newObject(client.ObjectKey{Namespace: namespace, Name: name}, "", ""))))
		}
		r.dirty = append(r.dirty, namespace)
	}
}

func (r *alike) must(err error) {
	if err != nil {
		r.Fatal(err)
	}
}

func (r *alike) same(what, theirs, ours string) {
	if diff := cmp.Diff(theirs, ours); diff != "" {
		r.Fatalf("%s (-cache.New +scopedcache.New):\n%s\nthe one: %s\nthe other: %s", what, diff, theirs, ours)
	}
}

func (r *alike) until(ctx context.Context, what func() string, is func() bool) {
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, patience/3, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		r.Fatalf("waiting for %s: %v", what(), err)
	}
}

// move does a step on both sides.
func (r *alike) move(ctx context.Context, m move) {
	if !m.Form.isNamespaced() && m.What != "get" && m.What != "list" {
		m.Namespace = ""
	}
	do := map[string]func(*side, move) string{
		"get": (*side).get, "list": (*side).list, "informer": (*side).informer, "handler": (*side).handle, "unhandle": (*side).unhandle, "index": (*side).index, "remove": (*side).remove,
	}[m.What]
	switch {
	case m.What == "write" || m.What == "delete":
		r.write(ctx, m)
		return
	case !r.started && (m.What == "remove" || m.What == "unhandle"):
		return // cache.New leaves goroutines behind
	case r.differs(m):
		return
	}
	r.reach(ctx)
	what := fmt.Sprintf("%#v", m)
	theirs, ours := do(r.theirs, m), do(r.ours, m)
	if r.isShared && r.started {
		r.settle(ctx)
	}
	switch {
	case m.What == "index" && theirs == errorText(nil):
		r.indexes[indexOf{m.Form, m.Field}] = true
	case m.What == "remove":
		delete(r.tracked, m.Form)
		maps.DeleteFunc(r.indexes, func(i indexOf, _ bool) bool { return i.form == m.Form })
		for _, s := range []*side{r.theirs, r.ours} {
			s.abandon(m.Form)
			i := s.informers[m.Form] // it stops soon
			r.until(ctx, func() string { return "the end of an informer" }, func() bool { return i == nil || i.IsStopped() })
		}
	case r.started && !r.isTracked(m.Form) && (m.What == "get" || m.What == "list"):
		// Nobody has said yet that the streams are as far as the API server.
		r.until(ctx, func() string { return fmt.Sprintf("%s:\n%s\n%s", what, theirs, ours) }, func() bool {
			theirs, ours = do(r.theirs, m), do(r.ours, m)
			return theirs == ours || differInOrder(theirs, ours)
		})
	}
	if !r.isTracked(m.Form) && differInOrder(theirs, ours) {
		return
	}
	r.same(what, theirs, ours)
	if r.started && (m.What == "informer" || m.What == "index") && theirs == errorText(nil) {
		r.track(m.Form)
	}
}

// differs reports whether the two are known not to be alike.
func (r *alike) differs(m move) bool {
	switch m.What {
	case "get":
		return !m.Form.isNamespaced() && m.Shared != nil // cache.New does not pass the options on if there are DefaultNamespaces
	case "list":
		// cache.New with one namespace looks for the kind first, with several at Continue.
		return m.List.Continue != "" && !r.isTracked(m.Form)
	}
	return false
}

// differInOrder reports whether both are errors, and only one is about the namespace: which goes first is not alike while
// a kind is not watched.
func differInOrder(theirs, ours string) bool {
	return strings.HasPrefix(theirs, "error ") && strings.HasPrefix(ours, "error ") && strings.Contains(theirs, "unknown namespace") != strings.Contains(ours, "unknown namespace")
}

// write creates, changes or deletes an object.
func (r *alike) write(ctx context.Context, m move) {
	if m.Name == "c" || m.Namespace == "nowhere" || m.Form.isNamespaced() && m.Namespace == "" {
		m.Namespace, m.Name = r.namespaces[0], "a"
	}
	r.dirty = append(r.dirty, m.Namespace)
	wanted := r.newObject(client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, m.Half, m.Data)
	if m.What == "delete" {
		r.must(client.IgnoreNotFound(r.client.Delete(ctx, wanted)))
		return
	}
	if err := client.IgnoreNotFound(r.client.Update(ctx, wanted)); err != nil || wanted.GetResourceVersion() != "" {
		r.must(err)
		return
	}
	r.must(r.client.Create(ctx, wanted))
}

func (r *alike) isTracked(f form) bool {
	_, ok := r.tracked[f]
	return ok
}

// track waits until all streams of a form are synced, and finds which barriers they show.
func (r *alike) track(f form) {
	if r.isTracked(f) {
		return
	}
	everywhere := move{What: "informer", Form: f, Blocking: true}
	r.same("the informer of "+fmt.Sprint(f), r.theirs.informer(everywhere), r.ours.informer(everywhere))
	seen := []client.ObjectKey{}
	list := f.newList()
	r.must(r.theirs.cache.List(r.theirs.ctx, list))
	r.must(meta.EachListItem(list, func(object runtime.Object) error {
		if key := client.ObjectKeyFromObject(object.(client.Object)); slices.Contains(r.barriers(), key) {
			seen = append(seen, key)
		}
		return nil
	}))
	r.tracked[f] = seen
	r.dirty = append(r.dirty, r.namespaces...)
	r.dirty = append(r.dirty, "")
	r.reach(r.theirs.ctx)
}

// reach writes the barriers of what has changed, and waits until both caches and their handlers have seen them.
func (r *alike) reach(ctx context.Context) {
	if len(r.tracked) == 0 {
		return
	}
	slices.Sort(r.dirty)
	for _, namespace := range slices.Compact(r.dirty) {
		for _, key := range r.barriers() {
			if key.Namespace == namespace {
				written := r.newObject(key, barrierHalf(key), "x")
				r.must(r.client.Update(ctx, written))
				r.versions[key] = written.GetResourceVersion()
			}
		}
	}
	for f, keys := range r.tracked {
		for _, key := range keys {
			if slices.Contains(r.dirty, key.Namespace) {
				r.await(ctx, f, key)
			}
		}
	}
	r.dirty = nil
	for _, h := range slices.Concat(r.theirs.handlers, r.ours.handlers) {
		r.until(ctx, func() string { return fmt.Sprintf("a handler of %v to be synced", h.form) }, func() bool { return h.gone || h.registration.HasSynced() })
	}
	r.sameEvents()
}

// await waits until a barrier is seen.
func (r *alike) await(ctx context.Context, f form, key client.ObjectKey) {
	for name, s := range map[string]*side{"cache.New": r.theirs, "scopedcache.New": r.ours} {
		what := func() string { return fmt.Sprintf("%s of %v at %s in %s", key, f, r.versions[key], name) }
		r.until(ctx, what, func() bool { return s.version(f, key) == r.versions[key] })
		for _, h := range s.handlers {
			if h.form == f && !h.gone {
				r.until(ctx, what, func() bool { return h.hasSeen(key, r.versions[key]) })
			}
		}
	}
}

func (r *alike) sameEvents() {
	for i, theirs := range r.theirs.handlers {
		if r.isTracked(theirs.form) || theirs.gone {
			r.same(fmt.Sprintf("events of %v", theirs.form), theirs.text(), r.ours.handlers[i].text())
		}
	}
}

// finish compares all that is left, and how the two end.
func (r *alike) finish(ctx context.Context) {
	r.reach(ctx)
	for f := range r.tracked {
		everything := move{Form: f}
		r.same(fmt.Sprintf("all of %v", f), r.theirs.list(everything), r.ours.list(everything))
	}
	r.same("the end", errorText(r.theirs.end()), errorText(r.ours.end()))
	for f, theirs := range r.theirs.informers {
		r.same(fmt.Sprintf("whether the informer of %v has stopped", f), fmt.Sprint(theirs.IsStopped()), fmt.Sprint(r.ours.informers[f].IsStopped()))
	}
}
