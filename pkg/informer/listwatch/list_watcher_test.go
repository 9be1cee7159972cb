package listwatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// script is a Source that answers the first requests with errors, and knows no list inside a
// watch.
type script struct {
	mu      sync.Mutex
	errs    []error
	opts    []metav1.ListOptions // of each request
	watches []*watch.FakeWatcher
}

func (s *script) answer(opts metav1.ListOptions) error {
	s.opts = append(s.opts, opts)
	if opts.SendInitialEvents != nil {
		return apierrors.NewBadRequest("unknown")
	}
	if len(s.errs) == 0 {
		return nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return err
}

func (s *script) List(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answer(opts); err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetResourceVersion("7")
	return list, nil
}

func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answer(opts); err != nil {
		return nil, err
	}
	w := watch.NewFake()
	s.watches = append(s.watches, w)
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

// diary is an Epoch that writes down what it is told, and the reporting of failures.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) ListAccepted() { d.add("list accepted") }

func (d *diary) WatchOpened(bool) { d.add("watch opened") }

func (d *diary) Degrade(reason string, _ error, holds func() bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if holds() {
		d.lines = append(d.lines, "degraded: "+reason)
	}
}

func (d *diary) reportFailure(f Failure) {
	next := "retry"
	if f.Relist {
		next = "relist"
	}
	d.add(f.Reason + ": " + next + " in " + f.Wait.String())
}

// newTestWatcher makes a list-watcher that waits a second for each failure in a row.
func newTestWatcher(source Source, d *diary) *ListWatcher {
	f := NewFactory(Options{
		Clock: clock.RealClock{}, Opening: 1, Reopens: 60, OnRecovery: func() {},
		Reconnect: func(failures int) time.Duration { return time.Duration(failures) * time.Second },
		Jitter:    func(most time.Duration) time.Duration { return rand.N(most + 1) },
	})
	return f.NewListWatcher(Config{
		Source: source, Resource: "things", LabelSelector: "a=b", FieldSelector: "metadata.name=c",
		Epoch: d, OnFailure: d.reportFailure,
		Wait: func(ctx context.Context, wait time.Duration) {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		},
	})
}

func TestRun(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	forbidden := apierrors.NewForbidden(things, "", errors.New("no"))
	cases := map[string]struct {
		reason  string
		errs    []error
		said    []string
		refusal Class // "": it runs until it is ended
	}{
		"Open": {
			"a server that knows no list inside a watch",
			nil, []string{"BadRequest: relist in 0s", "list accepted", "watch opened"}, "",
		},
		"Busy": {
			"what passes is tried again in place, more and more rarely",
			[]error{apierrors.NewInternalError(errors.New("oh")), nil, apierrors.NewTooManyRequests("busy", 1)},
			[]string{
				"BadRequest: relist in 0s", "degraded: InternalError", "InternalError: retry in 1s", "list accepted",
				"degraded: TooManyRequests", "TooManyRequests: retry in 2s", "watch opened",
			}, "",
		},
		"Expired": {
			"the Reflector lists anew, the first time at once",
			[]error{nil, apierrors.NewResourceExpired("old")},
			[]string{
				"BadRequest: relist in 0s", "list accepted", "Expired: relist in 0s",
				"BadRequest: relist in 1s", "list accepted", "watch opened",
			}, "",
		},
		"Refused": {
			"a final answer ends it, and is not reported as a failure",
			[]error{forbidden}, []string{"BadRequest: relist in 0s"}, Forbidden,
		},
		"WatchRefused": {
			"listing is permitted, watching is not",
			[]error{nil, forbidden}, []string{"BadRequest: relist in 0s", "list accepted"}, Forbidden,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, source := &diary{}, &script{errs: c.errs}
				ctx, cancel := context.WithCancel(t.Context())
				var refusal *Classification
				var running sync.WaitGroup
				running.Go(func() {
					refusal = newTestWatcher(source, d).RunUntilRefused(ctx, cache.NewStore(cache.MetaNamespaceKeyFunc))
				})
				time.Sleep(10 * time.Second)
				if said := d.take(); !slices.Equal(c.said, said) {
					t.Errorf("%s: %q, want %q", c.reason, said, c.said)
				}
				cancel()
				running.Wait()
				var class Class
				if refusal != nil {
					class = refusal.Class
				}
				if class != c.refusal {
					t.Errorf("%s: ended by %q, want %q", c.reason, class, c.refusal)
				}
				for _, opts := range source.opts {
					if opts.LabelSelector != "a=b" || opts.FieldSelector != "metadata.name=c" {
						t.Errorf("a request without the selectors: %+v", opts)
					}
				}
			})
		})
	}
}

// TestLateAnswer: an answer that comes when it is about to be said that there is none is
// what counts.
func TestLateAnswer(t *testing.T) {
	for range 20_000 {
		d := &diary{}
		w := newTestWatcher(nil, d)
		attempt := w.nextAttempt()
		var running sync.WaitGroup
		running.Go(func() { w.degradeUnanswered(attempt) })
		running.Go(func() {
			w.nextAttempt()
			d.WatchOpened(false)
		})
		running.Wait()
		if said := d.take(); said[len(said)-1] != "watch opened" {
			t.Fatalf("a watch is open, and then: %q", said)
		}
	}
}

// TestCallAfterTheEnd: what comes after the end of an epoch makes no request.
func TestCallAfterTheEnd(t *testing.T) {
	source := &script{}
	w := newTestWatcher(source, &diary{})
	w.calls.closeAndWait()
	if _, err := w.listObjects(t.Context(), metav1.ListOptions{}); !errors.Is(err, context.Canceled) || len(source.opts) > 0 {
		t.Errorf("a list was asked for: %v, %d requests", err, len(source.opts))
	}
}
