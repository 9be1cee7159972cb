package discovery

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestLookup: the first round tells that a kind is missing, it is asked about again until it is
// there, and then no more.
func TestLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := New(server.options())
		told := run(t, c)
		if _, ok, err := c.LookupKind(thing); ok || err != nil {
			t.Fatalf("before the first round: %t, %v, want neither", ok, err)
		}
		synctest.Wait()
		if _, ok, err := c.LookupKind(thing); ok || !meta.IsNoMatchError(err) || told.count() != 1 {
			t.Fatalf("after the first round: %t, %v, told %d times", ok, err, told.count())
		}
		time.Sleep(time.Minute)
		if told.count() != 1 {
			t.Errorf("told %d times that it is still missing", told.count())
		}
		server.serve(thing.GroupKind(), mapping(thing, things(thing)))
		time.Sleep(backoffMax)
		synctest.Wait()
		if found, ok, err := c.LookupKind(thing); !ok || err != nil || found != things(thing) || told.count() != 2 {
			t.Fatalf("once it is served: %+v, %t, %v, told %d times", found, ok, err, told.count())
		}
		asked := server.count()
		time.Sleep(time.Hour)
		if server.count() != asked {
			t.Errorf("a kind that is known was asked about again")
		}
	})
}

// TestLookupAnswers: what the methods say of a kind after a round, by the API server's answer.
func TestLookupAnswers(t *testing.T) {
	cluster := Resource{GVR: thing.GroupVersion().WithResource("things")}
	for name, tc := range map[string]struct {
		reason          string
		answer          ServedKind
		silent          bool
		found, any      Resource
		ok, anyOK       bool
		unserved, noErr bool
	}{
		"Served": {
			reason: "that is the resource", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thing, things(thing))}},
			found: things(thing), ok: true, any: things(thing), anyOK: true, noErr: true,
		},
		"ClusterScoped": {
			reason: "it has no namespaces", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thing, cluster)}},
			found: cluster, ok: true, any: cluster, anyOK: true, noErr: true,
		},
		"NotPreferred": {
			reason: "the version that was asked for is used", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thingBeta, things(thingBeta)), mapping(thing, things(thing))}},
			found: things(thing), ok: true, any: things(thing), anyOK: true, noErr: true,
		},
		"OtherVersion": {
			reason: "the objects are there", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thingBeta, things(thingBeta))}},
			any: things(thingBeta), anyOK: true, unserved: true,
		},
		"OtherVersionUnknown": {
			reason: "the version that did not answer may have it", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thingBeta, things(thingBeta))}, Err: errSilent},
		},
		"FoundBesideAnError": {
			reason: "it is known where it is", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thing, things(thing))}, Err: errSilent},
			found: things(thing), ok: true, any: things(thing), anyOK: true, noErr: true,
		},
		"Unserved": {reason: "no version is served", unserved: true},
		"Unknown":  {reason: "the group did not answer", answer: ServedKind{Err: errSilent}},
		"Silent":   {reason: "the API server did not answer", silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &fakeServer{silent: tc.silent}
			server.answer(thing.GroupKind(), tc.answer)
			c := New(server.options())
			c.LookupKind(thing)
			if news := c.PollRound(t.Context()); !news[thing.GroupKind()] {
				t.Errorf("%s: the first answer is no news", tc.reason)
			}
			if again := c.PollRound(t.Context()); len(again) > 0 {
				t.Errorf("%s: the same answer is news: %v", tc.reason, again)
			}
			found, ok, err := c.LookupKnown(thing)
			if found != tc.found || ok != tc.ok || (err == nil) != tc.noErr || IsUnserved(err) != tc.unserved || c.AnyUnserved() != tc.unserved {
				t.Errorf("%s: %+v, %t, %v", tc.reason, found, ok, err)
			}
			if looked, lookedOK, lookedErr := c.LookupKind(thing); looked != found || lookedOK != ok || lookedErr != err {
				t.Errorf("%s: Lookup says %+v, %t, %v", tc.reason, looked, lookedOK, lookedErr)
			}
			if found, ok := c.LookupAnyVersion(thing); found != tc.any || ok != tc.anyOK {
				t.Errorf("%s: in any version %+v, %t", tc.reason, found, ok)
			}
		})
	}
}

// TestErrors: which errors say that a kind is not served, also when they are wrapped.
func TestErrors(t *testing.T) {
	other := &OtherVersionError{Wanted: thing, Served: thingBeta}
	if want := "the API server does not serve kind Thing in example.com/v1, but in example.com/v1beta1"; other.Error() != want {
		t.Errorf("it says %q, want %q", other, want)
	}
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"None":    {"nothing is said", nil, false},
		"Other":   {"it is served elsewhere", fmt.Errorf("looking: %w", other), true},
		"NoMatch": {"it is served nowhere", &meta.NoKindMatchError{GroupKind: thing.GroupKind()}, true},
		"Unknown": {"nobody knows", errSilent, false},
	} {
		if got := IsUnserved(tc.err); got != tc.want {
			t.Errorf("%s: %s: %t", name, tc.reason, got)
		}
	}
}

// TestPeek: it has nothing asked.
func TestPeek(t *testing.T) {
	server := &fakeServer{}
	c := New(server.options())
	if _, ok, err := c.LookupKnown(thing); ok || err != nil {
		t.Errorf("of a kind that nobody has looked up: %t, %v", ok, err)
	}
	if news := c.PollRound(t.Context()); news != nil || server.count() != 0 {
		t.Errorf("%d rounds, news %v", server.count(), news)
	}
}

// TestNews: it is news when the answer says something else to users, and not when the API server
// fails in another way.
func TestNews(t *testing.T) {
	gk := thing.GroupKind()
	served, beta, alpha := ServedKind{Mappings: []*meta.RESTMapping{mapping(thing, things(thing))}}, ServedKind{Mappings: []*meta.RESTMapping{mapping(thingBeta, things(thingBeta))}}, thingBeta
	alpha.Version = "v1alpha1"
	for name, tc := range map[string]struct {
		reason        string
		before, after ServedKind
		want          bool
	}{
		"Found":          {"it is there now", ServedKind{}, served, true},
		"FoundAfterAll":  {"it is there now", ServedKind{Err: errSilent}, served, true},
		"NoAnswer":       {"it may be there", ServedKind{}, ServedKind{Err: errSilent}, true},
		"Unserved":       {"it is known not to be there", ServedKind{Err: errSilent}, ServedKind{}, true},
		"AnotherVersion": {"its objects are there", ServedKind{}, beta, true},
		"YetAnother":     {"the message names the version", beta, ServedKind{Mappings: []*meta.RESTMapping{mapping(alpha, things(alpha))}}, true},
		"StillUnserved":  {"nothing has changed", ServedKind{}, ServedKind{}, false},
		"StillUnknown":   {"why is of no interest", ServedKind{Err: errSilent}, ServedKind{Err: fmt.Errorf("another: %w", errSilent)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := &fakeServer{}
			c := New(server.options())
			c.LookupKind(thing)
			server.answer(gk, tc.before)
			c.PollRound(t.Context())
			server.answer(gk, tc.after)
			if news := c.PollRound(t.Context()); news[gk] != tc.want {
				t.Errorf("%s: news %v", tc.reason, news)
			}
		})
	}
}

// TestRelease: the search ends for kinds that nobody needs, whatever happens meanwhile.
func TestRelease(t *testing.T) {
	list := func(kinds ...schema.GroupVersionKind) []schema.GroupVersionKind { return kinds }
	for name, tc := range map[string]struct {
		reason   string
		kinds    []schema.GroupVersionKind
		others   []schema.GroupVersionKind
		during   func(*Cache) // while it is found out what others need
		ended    bool
		stays    bool
		notAsked bool
	}{
		"Unneeded":   {reason: "nobody needs it", kinds: list(thing), ended: true},
		"Needed":     {reason: "somebody else needs it", kinds: list(thing), others: list(thing), stays: true},
		"Another":    {reason: "that was not looked up", kinds: list(thingBeta), stays: true, notAsked: true},
		"None":       {reason: "nothing was given up", stays: true, notAsked: true},
		"LookedUp":   {reason: "somebody has come to need it, and was not among the others yet", kinds: list(thing), during: func(c *Cache) { c.LookupKind(thing) }, stays: true},
		"Lazily":     {reason: "the same", kinds: list(thing), during: func(c *Cache) { c.LookupLazily(thing) }, stays: true},
		"AnyVersion": {reason: "the same", kinds: list(thing), during: func(c *Cache) { c.LookupAnyVersion(thing) }, stays: true},
		"Peeked":     {reason: "who peeks needs nothing", kinds: list(thing), during: func(c *Cache) { c.LookupKnown(thing) }, ended: true},
		"Released":   {reason: "somebody else has ended it", kinds: list(thing), during: func(c *Cache) { c.ReleaseUnneeded(list(thing), func() []schema.GroupVersionKind { return nil }) }},
	} {
		t.Run(name, func(t *testing.T) {
			server := &fakeServer{}
			c := New(server.options())
			c.LookupKind(thing)
			asked := false
			ended := c.ReleaseUnneeded(tc.kinds, func() []schema.GroupVersionKind {
				asked = true
				if tc.during != nil {
					tc.during(c)
				}
				return tc.others
			})
			if ended != tc.ended || asked == tc.notAsked {
				t.Errorf("%s: ended %t, and asked %t", tc.reason, ended, asked)
			}
			if c.PollRound(t.Context()); (server.count() > 0) != tc.stays {
				t.Errorf("%s: %d rounds", tc.reason, server.count())
			}
		})
	}
}

// TestReleasedMeanwhile: a kind that nobody needs any more when its round is answered is not
// asked about again; one that was found by then is known.
func TestReleasedMeanwhile(t *testing.T) {
	for name, served := range map[string][]*meta.RESTMapping{"Unserved": nil, "Served": {mapping(thing, things(thing))}} {
		server := &fakeServer{}
		server.serve(thing.GroupKind(), served...)
		c := New(server.options())
		c.LookupKind(thing)
		server.setDuring(func() {
			c.ReleaseUnneeded([]schema.GroupVersionKind{thing}, func() []schema.GroupVersionKind { return nil })
		})
		if news := c.PollRound(t.Context()); news[thing.GroupKind()] != (served != nil) {
			t.Errorf("%s: news %v", name, news)
		}
		if _, known, _ := c.LookupKnown(thing); known != (served != nil) || c.AnyUnserved() {
			t.Errorf("%s: known %t", name, known)
		}
		if c.PollRound(t.Context()); server.count() != 1 {
			t.Errorf("%s: it is asked about for ever", name)
		}
	}
}

// TestConcurrentUse: everything may be called at once.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := New(server.options())
		run(t, c)
		var workers sync.WaitGroup
		for worker := range 4 {
			workers.Go(func() {
				for i := range 600 {
					gvk := schema.GroupVersionKind{Group: fmt.Sprint(worker), Version: "v1", Kind: fmt.Sprint("K", i%7)}
					c.LookupKind(gvk)
					c.LookupLazily(gvk)
					c.ConfirmGone(things(gvk).GVR, time.Now())
					if i%5 == 0 {
						server.serve(gvk.GroupKind(), mapping(gvk, things(gvk)))
						server.setMissing(things(gvk).GVR)
						c.RefreshAll()
					}
					time.Sleep(100 * time.Millisecond)
					c.ReleaseUnneeded([]schema.GroupVersionKind{gvk}, func() []schema.GroupVersionKind { return nil })
				}
			})
		}
		workers.Wait()
		if server.count() == 0 {
			t.Error("nothing was asked")
		}
	})
}
