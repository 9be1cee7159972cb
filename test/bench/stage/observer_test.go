package stage

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// A story of one owner, as the API server tells it.
const (
	ownerNew      = `{"type":"ADDED","object":{"kind":"Memcached","metadata":{"namespace":"one","name":"a","generation":1},"spec":{"size":2}}}`
	deploymentNew = `{"type":"ADDED","object":{"kind":"Deployment","metadata":{"namespace":"one","name":"a","generation":1},"spec":{"replicas":2}}}`
	statusWritten = `{"type":"MODIFIED","object":{"kind":"Memcached","metadata":{"namespace":"one","name":"a","generation":1},"spec":{"size":2},` +
		`"status":{"conditions":[{"type":"Ready","observedGeneration":7},{"type":"Available","observedGeneration":1}]}}}`
	ownerTouched = `{"type":"MODIFIED","object":{"kind":"Memcached","metadata":{"namespace":"one","name":"a","generation":2},"spec":{"size":3},` +
		`"status":{"conditions":[{"type":"Available","observedGeneration":1}]}}}`
	ownerGone      = `{"type":"DELETED","object":{"kind":"Memcached","metadata":{"namespace":"one","name":"a","generation":2},"spec":{"size":3}}}`
	deploymentGone = `{"type":"DELETED","object":{"kind":"Deployment","metadata":{"namespace":"one","name":"a"},"spec":{"replicas":2}}}`
	serviceNew     = `{"type":"ADDED","object":{"kind":"Service","metadata":{"namespace":"one","name":"a"}}}`
	expired        = `{"type":"ERROR","object":{"kind":"Status","message":"too old resource version"}}`
)

func TestObserver(t *testing.T) {
	cases := map[string]struct {
		reason string
		events []string
		want   map[Key]pair
		done   int
	}{
		"Nothing": {reason: "An owner alone has not converged.", events: []string{ownerNew},
			want: map[Key]pair{{"one", "a"}: {size: 2, generation: 1}}},
		"NoStatus": {reason: "A Deployment without a status is half the work.", events: []string{ownerNew, deploymentNew},
			want: map[Key]pair{{"one", "a"}: {size: 2, generation: 1, children: 1, replicas: 2}}},
		"NoDeployment": {reason: "So is a status without a Deployment.", events: []string{ownerNew, statusWritten},
			want: map[Key]pair{{"one", "a"}: {size: 2, generation: 1, reported: 1}}},
		"Converged": {reason: "The two watches may tell it in any order.", events: []string{deploymentNew, ownerNew, statusWritten},
			want: map[Key]pair{{"one", "a"}: {size: 2, generation: 1, reported: 1, children: 1, replicas: 2}}, done: 1},
		"Touched": {reason: "A new spec is new work.", events: []string{ownerNew, deploymentNew, statusWritten, ownerTouched},
			want: map[Key]pair{{"one", "a"}: {size: 3, generation: 2, reported: 1, children: 1, replicas: 2}}},
		"Gone": {reason: "What is gone leaves nothing behind.", want: map[Key]pair{},
			events: []string{ownerNew, deploymentNew, statusWritten, ownerGone, deploymentGone}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := newObserver([]Child{Deployment()})
			if err := serve(t, o, tc.events...); err == nil {
				t.Error("A server that ends watches at once is an error.")
			}
			if diff := cmp.Diff(tc.want, o.pairs, cmp.AllowUnexported(pair{})); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if o.done != tc.done {
				t.Errorf("%s %d converged, want %d", tc.reason, o.done, tc.done)
			}
		})
	}
}

// serve lets the observer follow a server that ends each watch after one of the
// events, and at once when there are no more.
func serve(t *testing.T, o *observer, events ...string) error {
	t.Helper()
	versions := map[string]int{"": 0}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := versions[r.URL.Query().Get("resourceVersion")]
		if next == len(events) {
			return
		}
		version := strconv.Itoa(next + 1)
		versions[version] = next + 1
		event := strings.Replace(events[next], `"metadata":{`, `"metadata":{"resourceVersion":"`+version+`",`, 1)
		if _, err := w.Write([]byte(event)); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	return follow(t.Context(), s.Client(), s.URL, o)
}

// TestObserverChildren: an owner has converged when it has a child of each kind.
func TestObserverChildren(t *testing.T) {
	o := newObserver([]Child{Deployment(), {Kind: "Service"}})
	steps := []struct {
		event string
		done  int
	}{{ownerNew, 0}, {statusWritten, 0}, {deploymentNew, 0}, {serviceNew, 1}, {deploymentGone, 0}}
	for _, step := range steps {
		var e event
		if err := json.Unmarshal([]byte(step.event), &e); err != nil {
			t.Fatal(err)
		}
		if o.see(e, time.Unix(7, 0)); o.done != step.done {
			t.Errorf("After %s %d converged, want %d.", step.event, o.done, step.done)
		}
	}
}

func TestFollowError(t *testing.T) {
	err := serve(t, newObserver([]Child{Deployment()}), ownerNew, expired)
	if err == nil || !strings.Contains(err.Error(), "too old resource version") {
		t.Errorf("An ERROR event ends following with the server's message, not %v.", err)
	}
}

func TestWait(t *testing.T) {
	defer goleak.VerifyNone(t)
	broken := errors.New("the watch ended")
	o := newObserver([]Child{Deployment()})

	go o.see(event{Type: "ADDED"}, time.Unix(7, 0))
	at, err := o.wait(t.Context(), "a pair is there", func() bool { return len(o.pairs) == 0 && !o.last.IsZero() })
	if err != nil || !at.Equal(time.Unix(7, 0)) {
		t.Errorf("wait() = %v, %v; want the time of the event", at, err)
	}

	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("too slow"))
	defer cancel()
	_, err = o.wait(ctx, "the moon is green", func() bool { return false })
	if err == nil || !strings.Contains(err.Error(), "waiting until the moon is green: too slow; 0 owners") {
		t.Errorf("The error names what was waited for, why it ended and how far things are, not %v.", err)
	}

	o.fail(broken)
	if _, err := o.wait(t.Context(), "anything", func() bool { return true }); !errors.Is(err, broken) {
		t.Errorf("Nothing may be concluded after a watch ended, but wait returned %v.", err)
	}
}
