package permitted

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

func secretsIn(namespace string) Query {
	return Query{Namespace: namespace, Resources: []schema.GroupVersionResource{secrets}}
}

// TestRequire: each answer meets closed and open informers, with and without TryUndecided.
func TestRequire(t *testing.T) {
	here := access.Key{Namespace: "team"}
	watch := access.Access{Verb: "watch", Resource: "secrets"}
	for name, tc := range map[string]struct {
		reason  string
		reviews func(*fakeReviews)
		want    Permission
		// Whether the informers are open afterwards.
		wasClosed, wasOpen, tryWasClosed bool
	}{
		"Unreviewed": {
			reason:  "before there is an answer all stays as it was",
			reviews: func(f *fakeReviews) { f.states[here], f.decisions[here] = access.State{}, nil },
			want:    Permission{}, wasOpen: true,
		},
		"Undecided": {
			reason:  "an answer that leaves something open changes nothing",
			reviews: func(f *fakeReviews) { f.answer("team", map[string]access.Decision{"list": access.Allowed}) },
			want:    Permission{Reviewed: true}, wasOpen: true, tryWasClosed: true,
		},
		"Refused": {
			reason:  "who may not even ask has no permission",
			reviews: func(f *fakeReviews) { f.states[here] = access.State{Refusal: errRefused} },
			want:    Permission{Decision: Refused, Reviewed: true}, tryWasClosed: true,
		},
		"Denied": {
			reason:  "one missing verb is enough",
			reviews: func(f *fakeReviews) { f.answer("team", denied) },
			want:    Permission{Decision: Denied, Reviewed: true, Missing: []access.Access{watch}},
		},
		"DeniedEarly": {
			reason: "a denial counts before the review is complete",
			reviews: func(f *fakeReviews) {
				f.answer("team", map[string]access.Decision{"watch": access.Denied})
				f.states[here] = access.State{}
			},
			want: Permission{Decision: Denied, Missing: []access.Access{watch}},
		},
		"Allowed": {
			reason:  "all that it takes is there",
			reviews: func(f *fakeReviews) { f.answer("team", allowed) },
			want:    Permission{Decision: Allowed, Reviewed: true}, wasClosed: true, wasOpen: true, tryWasClosed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, from := range []struct {
				open, try, want bool
			}{
				{want: tc.wasClosed}, {open: true, want: tc.wasOpen}, {try: true, want: tc.tryWasClosed},
				// What is tried stays while nothing says that it must not.
				{open: true, try: true, want: tc.wasOpen || tc.tryWasClosed},
			} {
				b := newBench()
				q := secretsIn("team")
				q.TryUndecided = from.try
				w := b.NewWatch(q, b.record)
				if from.open {
					b.reviews.answer("team", allowed)
					w.Require()
				}
				tc.reviews(b.reviews)
				if diff := cmp.Diff(tc.want, w.Require()); diff != "" {
					t.Errorf("%s, from %+v (-want +got):\n%s", tc.reason, from, diff)
				}
				_, status := w.ReadObjects()
				if open := len(b.set.open) > 0; open != from.want || (status.State == informer.Stopped) == open || w.InformerStatus() != status {
					t.Errorf("%s, from %+v: open %t, status %+v", tc.reason, from, open, status)
				}
				if diff := cmp.Diff([]access.Access{{Verb: "list", Resource: "secrets"}, watch}, b.reviews.required[here]); diff != "" {
					t.Errorf("the review stays (-want +got):\n%s", diff)
				}
				w.Release()
				if len(b.set.open)+len(b.reviews.required) > 0 {
					t.Errorf("after Release there are %d informers, %d reviews", len(b.set.open), len(b.reviews.required))
				}
			}
		})
	}
}

// TestRetry: an informer that was refused is tried again when permissions change, once.
func TestRetry(t *testing.T) {
	b := newBench()
	w := b.NewWatch(secretsIn("team"), b.record)
	key := secretsIn("team").interestsOf()[0].Key
	for _, step := range []struct {
		reason  string
		change  bool // of permissions
		state   informer.State
		retries int
	}{
		{reason: "it is opened", change: true, state: informer.Probing},
		{reason: "it works", change: true, state: informer.Live},
		{reason: "it was refused: that is waited for", state: informer.Forbidden},
		{reason: "permissions have changed", change: true, state: informer.Forbidden, retries: 1},
		{reason: "they have not changed again", state: informer.Forbidden},
		{reason: "another identity is accepted, perhaps", change: true, state: informer.Unauthenticated, retries: 1},
		{reason: "the kind is not served, whatever is permitted", change: true, state: informer.Missing},
	} {
		if step.change {
			b.reviews.answer("team", allowed)
		}
		b.set.statuses[key], b.set.retried = informer.Status{State: step.state}, nil
		w.Require()
		if len(b.set.retried) != step.retries {
			t.Errorf("%s: %d retries, want %d", step.reason, len(b.set.retried), step.retries)
		}
	}
}

// TestEvents: what the user of a Watch is told, and what the reviewer is told, of each event.
func TestEvents(t *testing.T) {
	object := &unstructured.Unstructured{}
	key := secretsIn("team").interestsOf()[0].Key
	doubts := []access.Access{{Verb: "list", Resource: "secrets"}, {Verb: "watch", Resource: "secrets"}}
	for name, tc := range map[string]struct {
		reason   string
		event    informer.Event // zero: of permissions
		want     Event
		reported []access.Access
	}{
		"Permission":      {reason: "the user calls Require again", want: Event{Type: PermissionChanged}},
		"Added":           {reason: "as it is", event: informer.Event{Type: informer.Added, Object: object}, want: Event{Type: Added, Object: object}},
		"Updated":         {reason: "as it is", event: informer.Event{Type: informer.Updated, Object: object}, want: Event{Type: Updated, Object: object}},
		"Deleted":         {reason: "as it is", event: informer.Event{Type: informer.Deleted, Object: object}, want: Event{Type: Deleted, Object: object}},
		"Synced":          {reason: "as it is", event: informer.Event{Type: informer.Synced, State: informer.Live}, want: Event{Type: Synced}},
		"Live":            {reason: "no request was refused", event: informer.Event{Type: informer.StateChanged, State: informer.Live}, want: Event{Type: StateChanged}},
		"Degraded":        {reason: "nor here", event: informer.Event{Type: informer.StateChanged, State: informer.Degraded}, want: Event{Type: StateChanged}},
		"Missing":         {reason: "that is nothing about permissions", event: informer.Event{Type: informer.StateChanged, State: informer.Missing}, want: Event{Type: StateChanged}},
		"Invalid":         {reason: "nor is that", event: informer.Event{Type: informer.StateChanged, State: informer.Invalid}, want: Event{Type: StateChanged}},
		"Forbidden":       {reason: "permission to list or to watch is gone", event: informer.Event{Type: informer.StateChanged, State: informer.Forbidden}, want: Event{Type: StateChanged}, reported: doubts},
		"Unauthenticated": {reason: "or the identity is", event: informer.Event{Type: informer.StateChanged, State: informer.Unauthenticated}, want: Event{Type: StateChanged}, reported: doubts},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			b.reviews.answer("team", allowed)
			w := b.NewWatch(secretsIn("team"), b.record)
			w.Require()
			if tc.event.Type == "" {
				b.reviews.handlers[w.key].Changed(w.key)
			} else {
				tc.event.Key = key
				informerHandler{w}.Changed(tc.event)
			}
			if diff := cmp.Diff([]Event{tc.want}, b.events); diff != "" {
				t.Errorf("%s: told (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.reported, b.reviews.reported); diff != "" {
				t.Errorf("%s: reported (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTogether: several resources are watched if all of them may be, and are as well as the worst.
func TestTogether(t *testing.T) {
	b := newBench()
	w := b.NewWatch(Query{Resources: []schema.GroupVersionResource{secrets, roles}, Versions: true, Payer: access.Payer{Group: "p"}}, b.record)
	b.reviews.answer("", allowed)
	if got := w.Require(); got.Decision != Unknown || len(b.set.open) > 0 {
		t.Errorf("of one nothing is known: %+v, open %v", got, b.set.open)
	}
	for _, verb := range []string{"list", "watch"} {
		b.reviews.decisions[w.key][access.Access{Verb: verb, Group: "rbac", Resource: "roles"}] = access.Denied
	}
	want := []access.Access{{Verb: "list", Group: "rbac", Resource: "roles"}, {Verb: "watch", Group: "rbac", Resource: "roles"}}
	if diff := cmp.Diff(want, w.Require().Missing); diff != "" || len(b.set.open) > 0 {
		t.Errorf("one is denied: open %v (-want +got):\n%s", b.set.open, diff)
	}
	for _, a := range want {
		b.reviews.decisions[w.key][a] = access.Allowed
	}
	first, second := informer.Key{GVR: secrets, Form: informer.Form{Metadata: true, Versions: true}}, informer.Key{GVR: roles, Form: informer.Form{Metadata: true, Versions: true}}
	if w.Require(); !cmp.Equal(b.set.namespaces(), []string{"", ""}) || b.reviews.payers[w.key].Group != "p" {
		t.Errorf("both are allowed: open %v, on account of %+v", b.set.open, b.reviews.payers)
	}
	synced := informer.Status{State: informer.Live, Synced: true}
	for _, tc := range []struct {
		reason        string
		first, second informer.Status
		want          informer.State
	}{
		{reason: "both are synced", first: synced, second: informer.Status{State: informer.Degraded, Synced: true}, want: informer.Live},
		{reason: "the second is not", first: synced, second: informer.Status{State: informer.Starting}, want: informer.Starting},
		{reason: "the second is refused", first: synced, second: informer.Status{State: informer.Forbidden}, want: informer.Forbidden},
		{reason: "the first one counts", first: informer.Status{State: informer.Probing}, second: informer.Status{State: informer.Forbidden}, want: informer.Probing},
	} {
		b.set.statuses[first], b.set.statuses[second] = tc.first, tc.second
		if got := w.InformerStatus().State; got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
	}
}

// TestQuery: what is asked for and watched.
func TestQuery(t *testing.T) {
	kept := fields.New("data")
	for name, tc := range map[string]struct {
		reason   string
		query    Query
		accesses []access.Access
		key      informer.Key
	}{
		"Metadata": {
			reason: "without fields, metadata only", query: Query{Identity: "bot"},
			accesses: []access.Access{{Verb: "list", Resource: "secrets"}, {Verb: "watch", Resource: "secrets"}},
			key:      informer.Key{Identity: "bot", Form: informer.Form{Metadata: true}},
		},
		"Selected": {
			reason: "by labels, in a namespace", query: Query{Namespace: "team", LabelSelector: "a=b", Fields: kept},
			accesses: []access.Access{{Verb: "list", Resource: "secrets"}, {Verb: "watch", Resource: "secrets"}},
			key:      informer.Key{Namespace: "team", LabelSelector: "a=b", Form: informer.Form{Fields: kept.String()}},
		},
		"Named": {
			reason: "one object, of which more must be allowed", query: Query{Namespace: "team", Name: "bot", Verbs: []string{"impersonate"}},
			accesses: []access.Access{{Verb: "impersonate", Resource: "secrets", Name: "bot"}, {Verb: "list", Resource: "secrets", Name: "bot"}, {Verb: "watch", Resource: "secrets", Name: "bot"}},
			key:      informer.Key{Namespace: "team", FieldSelector: "metadata.name=bot", Form: informer.Form{Metadata: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.query.Resources, tc.key.GVR = []schema.GroupVersionResource{secrets}, secrets
			if diff := cmp.Diff(tc.accesses, tc.query.requiredAccess()); diff != "" {
				t.Errorf("%s: asked (-want +got):\n%s", tc.reason, diff)
			}
			if got := tc.query.interestsOf(); len(got) != 1 || got[0].Key != tc.key || got[0].Fields != tc.query.Fields {
				t.Errorf("%s: watched %+v", tc.reason, got)
			}
		})
	}
}
