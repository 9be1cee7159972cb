package informer

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

func fixed(d time.Duration) Backoff { return func(int) time.Duration { return d } }

func TestRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   State
	}{
		"Forbidden":        {"RBAC says no", statusError(403, "Forbidden"), Forbidden},
		"Unauthenticated":  {"the token is not accepted", statusError(401, "Unauthorized"), Unauthenticated},
		"Missing":          {"no such kind", statusError(404, "NotFound"), Missing},
		"BadSelector":      {"an unsupported field selector", statusError(400, "BadRequest"), Invalid},
		"MethodNotAllowed": {"a resource that can only be listed", statusError(405, "MethodNotAllowed"), Invalid},
		"WithoutReason":    {"a proxy's answer", statusError(403, ""), Forbidden},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { refusedStory(t, c.err, c.want) })
		})
	}
}

// refusedStory: a live informer is refused when it is opened again, stays so, and
// comes back.
func refusedStory(t *testing.T, refusal error, want State) {
	api, other := newServer(), newServer()
	api.put(thing("a", "1"))
	s := testSet(map[string]*server{"ns": api, "other": other}, Options{Retry: fixed(10 * time.Second), Lookup: fixed(10 * time.Second)})
	defer begin(t, s)()
	sub, neighbour := &recorder{}, &recorder{}
	view := s.Require(sub, []Interest{needOf("ns")})[0]
	s.Require(neighbour, []Interest{needOf("other")})
	expect(t, "start", events("Synced"), sub.take())
	neighbour.take()
	time.Sleep(time.Minute)

	api.fails(refusal)
	api.end(nil)
	expect(t, "refused", events("StateChanged "+string(want)), sub.take())
	status := view.Status()
	expect(t, "state", want, status.State)
	expect(t, "synced", false, status.Synced)
	expect(t, "objects", 0, len(view.List()))
	if !errors.Is(status.Err, refusal) || status.Reason == "" || status.Message == "" {
		t.Errorf("status does not say why: %+v", status)
	}

	since, epoch := status.Since, status.Epoch
	api.take()
	time.Sleep(60 * time.Second)
	expect(t, "refused again", events(), sub.take())
	if n := len(api.take()); n < 5 || n > 12 {
		t.Errorf("%d requests in 60 s with a backoff of 10 s", n)
	}
	status = view.Status()
	expect(t, "since", since, status.Since)
	if status.Epoch <= epoch {
		t.Errorf("epoch %d after %d", status.Epoch, epoch)
	}

	api.fails(nil)
	s.Retry(needOf("ns").Key)
	expect(t, "granted", events("Synced"), sub.take())
	expect(t, "state", Live, view.State())
	expect(t, "objects", 1, len(view.List()))
	expect(t, "neighbour", events(), neighbour.take())
}

func TestRefusedFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.fails(statusError(403, "Forbidden"))
		s := testSet(map[string]*server{"ns": api}, Options{Retry: fixed(time.Second)})
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		expect(t, "state before anything is known", Probing, view.State())
		defer begin(t, s)()
		expect(t, "told", events("StateChanged Forbidden"), sub.take())
		expect(t, "one request is enough to know", 1, len(api.take()))
		api.fails(statusError(404, "NotFound"))
		time.Sleep(1001 * time.Millisecond)
		expect(t, "another refusal", events("StateChanged Missing"), sub.take())
		api.fails(statusError(503, "ServiceUnavailable"))
		time.Sleep(1001 * time.Millisecond)
		expect(t, "no answer is no news", Missing, view.State())
		api.fails(nil)
		time.Sleep(10 * time.Second)
		expect(t, "back", events("Synced"), sub.take())
	})
}

func TestTransient(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   []string
	}{
		"Refused":     {"nobody listens", refused(), events("StateChanged Degraded", "StateChanged Live", "Added b")},
		"Busy":        {"429 is hidden by the Reflector", statusError(429, "TooManyRequests"), events("StateChanged Degraded", "StateChanged Live", "Added b")},
		"Unavailable": {"503", statusError(503, "ServiceUnavailable"), events("StateChanged Degraded", "StateChanged Live", "Added b")},
		"Internal":    {"500", statusError(500, "InternalError"), events("StateChanged Degraded", "StateChanged Live", "Added b")},
		"NoStatus":    {"something on the way", errors.New("unexpected"), events("StateChanged Degraded", "StateChanged Live", "Added b")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newServer()
				api.put(thing("a", "1"))
				s := testSet(map[string]*server{"ns": api}, Options{})
				defer begin(t, s)()
				sub := &recorder{}
				view := s.Require(sub, []Interest{needOf("ns")})[0]
				sub.take()
				time.Sleep(time.Minute)
				api.fails(c.err)
				api.end(nil)
				time.Sleep(30 * time.Second)
				expect(t, "state", Degraded, view.State())
				expect(t, "objects stay", 1, len(view.List()))
				expect(t, "requests in 30 s are few", true, len(api.take()) < 20)
				api.put(thing("b", "1"))
				api.fails(nil)
				time.Sleep(6 * time.Second)
				expect(t, c.reason, c.want, sub.take())
				expect(t, "resumed without a list", request{"watch", "101", false}, api.take()[0])
			})
		})
	}
}

func TestDegradedFromTheStart(t *testing.T) {
	for _, old := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			api := newServer()
			api.old = old
			api.fails(refused())
			s := testSet(map[string]*server{"ns": api}, Options{})
			defer begin(t, s)()
			sub := &recorder{}
			view := s.Require(sub, []Interest{needOf("ns")})[0]
			expect(t, "told", events("StateChanged Degraded"), sub.take())
			expect(t, "synced", false, view.Synced())
			api.fails(nil)
			time.Sleep(6 * time.Second)
			expect(t, "told", "Synced", sub.take()[0])
			expect(t, "state", Live, view.State())
		})
	}
}

func TestOldServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.old = true
		api.put(thing("a", "1"))
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns")})
		time.Sleep(time.Second)
		expect(t, "told", events("Synced", "StateChanged Live"), sub.take())
		expect(t, "requests", []request{{"watch", "", true}, {"list", "0", false}, {"watch", "101", false}}, api.take())
	})
}

func TestListGrantedWatchNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.answer = func(r request) error {
			if r.verb == "watch" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))
			}
			return nil
		}
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns")})
		expect(t, "never synced, never live", events("StateChanged Forbidden"), sub.take())
		expect(t, "no list", 1, len(api.take()))
	})
}

func TestExpired(t *testing.T) {
	gone := statusError(410, "Expired")
	cases := map[string]struct {
		reason string
		end    func(*server)
	}{
		"AtOpening": {"the resourceVersion is too old to resume from", func(api *server) { api.end(nil) }},
		"Inside":    {"the watch fell behind", func(api *server) { api.end(gone) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newServer()
				api.put(thing("a", "1"))
				api.put(thing("b", "1"))
				api.put(thing("c", "1"))
				s := testSet(map[string]*server{"ns": api}, Options{})
				defer begin(t, s)()
				sub := &recorder{}
				view := s.Require(sub, []Interest{needOf("ns")})[0]
				sub.take()
				time.Sleep(time.Minute)
				api.mu.Lock() // behind the informer's back
				delete(api.objects, objectstore.NameOf(thing("a", "")))
				api.objects[objectstore.NameOf(thing("b", ""))].Object["spec"] = "2"
				api.objects[objectstore.NameOf(thing("d", ""))] = thing("d", "1")
				api.mu.Unlock()
				api.compact()
				c.end(api)
				got := map[string]bool{}
				for _, event := range sub.take() {
					got[event] = true
				}
				expect(t, c.reason, map[string]bool{"Deleted a": true, "Updated b": true, "Added d": true}, got)
				expect(t, "state", Live, view.State())
			})
		})
	}
}

func TestErrorInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{Reconnect: fixed(time.Second)})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		sub.take()
		time.Sleep(time.Minute)
		api.take()
		api.end(statusError(500, "InternalError"))
		synctest.Wait()
		expect(t, "state", Degraded, view.State())
		expect(t, "reason", "InternalError", view.Status().Reason)
		time.Sleep(2 * time.Second)
		expect(t, "told", events("StateChanged Degraded", "StateChanged Live"), sub.take())
		expect(t, "why", "", view.Status().Reason)
		expect(t, "resumed without a list", []request{{"watch", "100", false}}, api.take())

		time.Sleep(time.Minute)
		api.end(statusError(500, "InternalError"))
		time.Sleep(1001 * time.Millisecond)
		api.end(statusError(500, "InternalError"))
		time.Sleep(10 * time.Second)
		expect(t, "again at once: with a list", []request{{"watch", "100", false}, {"watch", "100", true}}, api.take())
		sub.take()

		time.Sleep(time.Minute)
		api.end(statusError(403, "Forbidden"))
		expect(t, "refused inside", events("StateChanged Forbidden"), sub.take())
	})
}

func TestWatchTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		sub.take()
		api.take()
		for range 10 {
			time.Sleep(time.Minute)
			api.put(thing("a", fmt.Sprint(time.Now())))
			synctest.Wait()
			api.end(nil)
		}
		synctest.Wait()
		for _, r := range api.take() {
			expect(t, "kind of request", request{"watch", r.resourceVersion, false}, r)
		}
		expect(t, "told", 10, len(sub.take()))
		expect(t, "state", Live, view.State())
	})
}

func TestEndedBeforeItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{Reconnect: fixed(time.Second)})
		defer begin(t, s)()
		sub := &recorder{}
		api.failsOnce(nil)
		s.env.connect = func(Key, decoder) (listwatch.Source, error) { return &brokenOnce{server: api}, nil }
		s.Require(sub, []Interest{needOf("ns")})
		expect(t, "told", events("StateChanged Degraded"), sub.take())
		time.Sleep(1001 * time.Millisecond)
		expect(t, "told", events("Synced"), sub.take())
	})
}

func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.block = make(chan struct{})
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		time.Sleep(5*time.Second + 1) // an answer takes too long
		expect(t, "told", events("StateChanged Degraded"), sub.take())
		expect(t, "reason", "NoAnswer", view.Status().Reason)
		close(api.block)
		expect(t, "told", events("Synced"), sub.take())
	})
}

func TestNoClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		works := s.env.connect
		var mended atomic.Bool
		s.env.connect = func(key Key, decode decoder) (listwatch.Source, error) {
			if !mended.Load() {
				return nil, errors.New("no such account")
			}
			return works(key, decode)
		}
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns")})
		expect(t, "told", events("StateChanged Degraded"), sub.take())
		mended.Store(true)
		time.Sleep(time.Second)
		expect(t, "told", events("Synced"), sub.take())
	})
}

func TestStopsAtOnce(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	cases := map[string]struct {
		reason string
		harm   func(*server)
	}{
		"Refused":   {"the API server is down: the Reflector would sleep for seconds", func(api *server) { api.fails(refused()) }},
		"Busy":      {"429", func(api *server) { api.fails(statusError(429, "TooManyRequests")) }},
		"Hanging":   {"a request is under way", func(api *server) { api.block = make(chan struct{}) }},
		"Forbidden": {"it waits for its retry", func(api *server) { api.fails(statusError(403, "Forbidden")) }},
		"Live":      {"all is well", func(*server) {}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newServer()
				c.harm(api)
				s := testSet(map[string]*server{"ns": api}, Options{Reconnect: fixed(time.Hour), Retry: fixed(time.Hour)})
				stop := begin(t, s)
				s.Require(&recorder{}, []Interest{needOf("ns")})
				synctest.Wait()
				before := time.Now()
				stop()
				expect(t, c.reason, time.Duration(0), time.Since(before))
			})
		})
	}
}

func TestOneAnswerEndsTheOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newServer(), newServer()
		first.fails(refused())
		second.fails(refused())
		s := testSet(map[string]*server{"ns": first, "other": second}, Options{Reconnect: fixed(time.Hour)})
		defer begin(t, s)()
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns"), needOf("other")})
		sub.take()
		first.fails(nil)
		second.fails(nil)
		s.Retry(needOf("ns").Key)
		expect(t, "both are back", events("Synced", "Synced"), sub.take())
	})
}

func TestOpeningIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.block = make(chan struct{})
		servers := map[string]*server{}
		var needs []Interest
		for i := range 100 {
			namespace := fmt.Sprint("ns-", i)
			servers[namespace] = api
			needs = append(needs, needOf(namespace))
		}
		s := testSet(servers, Options{})
		defer begin(t, s)()
		s.Require(&recorder{}, needs)
		synctest.Wait()
		expect(t, "openings at once", 16, api.flying())
		time.Sleep(2*time.Second + 1) // a slot is given back
		expect(t, "a server that does not answer holds up nobody for long", 32, api.flying())
		close(api.block)
		synctest.Wait()
		expect(t, "open", 100, len(api.copyWatches()))
	})
}

func TestSinkOfAnotherEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		s.env.epochs.Add(1) // of another informer
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		sub.take()
		other := reflectorStore{&feed{sharedInformer: view.informer, epoch: &epoch{}, number: view.Status().Epoch - 1}}
		for _, err := range []error{
			other.Add(thing("x", "1")), other.Replace([]any{thing("y", "1")}, "1"), other.Update(thing("z", "1")),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		expect(t, "told", events(), sub.take())
		expect(t, "objects", 0, len(view.List()))
	})
}

// TestStartWaitsForCalls: a list that the Reflector has given up is waited for.
func TestStartWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.old = true
		slow := false
		s := testSet(nil, Options{})
		s.env.connect = func(Key, decoder) (listwatch.Source, error) { return slowList{api, &slow}, nil }
		stop := begin(t, s)
		s.Require(&recorder{}, []Interest{needOf("ns")})
		synctest.Wait()
		stop()
		if !slow {
			t.Error("Start returned before the list did")
		}
	})
}

func TestRetryBacksOffAndResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		var asked []int
		s := testSet(map[string]*server{"ns": api}, Options{Retry: func(failures int) time.Duration {
			asked = append(asked, failures)
			return time.Second
		}})
		stop := begin(t, s)
		s.Require(&recorder{}, []Interest{needOf("ns")})
		refuse := func() {
			synctest.Wait()
			api.fails(statusError(403, "Forbidden"))
			api.end(nil)
			time.Sleep(2500 * time.Millisecond)
			api.fails(nil)
			time.Sleep(time.Minute)
		}
		refuse()
		refuse()
		stop()
		expect(t, "failures in a row", []int{1, 2, 3, 1, 2, 3}, asked)
	})
}

func TestExponential(t *testing.T) {
	backoff := Exponential(time.Second, 30*time.Second, nil)
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 30 * time.Second, 1e6: 30 * time.Second} {
		if got := backoff(failures); got > want || got < want*3/4-1 {
			t.Errorf("after %d failures: %v, want %v less up to a quarter", failures, got, want)
		}
	}
}

// TestLookup: what is missing is looked for more often than what is forbidden is
// tried.
func TestLookup(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		most   time.Duration
	}{
		"Missing":   {"the kind may be back at any moment", statusError(404, "NotFound"), 4 * time.Second},
		"Forbidden": {"who knows of a grant calls Retry", statusError(403, "Forbidden"), 30 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newServer()
				api.fails(c.err)
				s := testSet(map[string]*server{"ns": api}, Options{})
				defer begin(t, s)()
				sub := &recorder{}
				s.Require(sub, []Interest{needOf("ns")})
				time.Sleep(10 * time.Minute)
				api.take()
				time.Sleep(10 * time.Minute)
				least := int(10 * time.Minute / c.most)
				if n := len(api.take()); n < least || n > least*4/3+1 {
					t.Errorf("%s: %d requests in 10 minutes", c.reason, n)
				}
				sub.take()
				api.fails(nil)
				time.Sleep(c.most)
				expect(t, "back", events("Synced"), sub.take())
			})
		})
	}
}

// TestDegradeIfItHolds: what is no longer so when it is said changes nothing.
func TestDegradeIfItHolds(t *testing.T) {
	for _, holds := range []bool{true, false} {
		s := testSet(nil, Options{})
		s.Require(&recorder{}, []Interest{needOf("ns")})
		st := s.informerOf(needOf("ns").Key)
		e := st.stream.beginEpoch(func() {})
		e.feeds[0].receiveList(nil, "1")
		e.WatchOpened(false)
		e.Degrade("NoAnswer", errors.New("no answer"), func() bool { return holds })
		want := Live
		if holds {
			want = Degraded
		}
		expect(t, fmt.Sprintf("state if it holds: %t", holds), want, st.keyStatus().State)
	}
}

// TestRecoveryWakesTheDegraded: the first answer after an outage ends the wait of those that
// wait for the API server, and of no other.
func TestRecoveryWakesTheDegraded(t *testing.T) {
	s := testSet(nil, Options{})
	s.Require(&recorder{}, []Interest{needOf("away"), needOf("refused")})
	for namespace, state := range map[string]State{"away": Degraded, "refused": Forbidden} {
		s.informerOf(needOf(namespace).Key).status.State = state
	}
	s.wakeDegraded()
	expect(t, "hints of the degraded", 1, len(s.informerOf(needOf("away").Key).stream.woken))
	expect(t, "hints of the refused", 0, len(s.informerOf(needOf("refused").Key).stream.woken))
}
