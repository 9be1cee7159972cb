package discovery

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
)

// knowing makes a Cache that knows a kind, and whose informer misses it.
func knowing(t *testing.T, server *fakeServer, r Resource) *Cache {
	t.Helper()
	server.serve(thing.GroupKind(), mapping(thing, r))
	c := New(server.options())
	c.LookupKind(thing)
	c.PollRound(t.Context())
	if found, ok, _ := c.LookupKind(thing); !ok || found != r {
		t.Fatalf("it is not known: %+v", found)
	}
	server.setMissing(r.GVR)
	return c
}

// TestConfirmGone: a kind counts as gone only when no version of it is served, by an answer that
// is younger than the informer's; one that is served in another version is found there.
func TestConfirmGone(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		answer ServedKind
		gone   bool
		other  bool
	}{
		"None":        {reason: "no version is served", gone: true},
		"Another":     {reason: "the objects are there, in the other version", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thingBeta, things(thingBeta))}}, other: true},
		"Still":       {reason: "discovery is behind: nothing is known", answer: ServedKind{Mappings: []*meta.RESTMapping{mapping(thingBeta, things(thingBeta)), mapping(thing, things(thing))}}},
		"NotAnswered": {reason: "nothing is known", answer: ServedKind{Err: errSilent}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &fakeServer{}
				c := knowing(t, server, things(thing))
				server.answer(thing.GroupKind(), tc.answer)
				resource, since := things(thing).GVR, time.Now()
				if c.ConfirmGone(resource, since) {
					t.Fatalf("%s: gone before anybody has asked", tc.reason)
				}
				if news := c.PollRound(t.Context()); news[thing.GroupKind()] != (tc.gone || tc.other) {
					t.Errorf("%s: news %v", tc.reason, news)
				}
				if _, ok, err := c.LookupKind(thing); ok == tc.other || (otherVersion(err) != nil) != tc.other {
					t.Errorf("%s: %t, %v", tc.reason, ok, err)
				}
				want := things(thing)
				if tc.other {
					want = things(thingBeta)
				}
				if found, ok := c.LookupAnyVersion(thing); !ok || found != want {
					t.Errorf("%s: in any version %+v, %t", tc.reason, found, ok)
				}
				if gone := c.ConfirmGone(resource, since); gone != tc.gone {
					t.Errorf("%s: gone %t", tc.reason, gone)
				}
				if c.ConfirmGone(resource, time.Now().Add(time.Hour)) {
					t.Errorf("%s: gone by an answer that is older than the informer's", tc.reason)
				}
			})
		})
	}
}

// TestConfirmGoneIsAnswered: whoever was told that a kind may be there is told when it is known
// to be gone, once for each time that it was asked for.
func TestConfirmGoneIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := knowing(t, server, things(thing))
		resource, gk := things(thing).GVR, thing.GroupKind()
		told := run(t, c)
		step := func(what string, news int, gone bool) {
			t.Helper()
			since := time.Now()
			before := told.count()
			if c.ConfirmGone(resource, since) {
				t.Errorf("%s: it is gone before anybody has asked since then", what)
			}
			synctest.Wait()
			if told.count()-before != news || c.ConfirmGone(resource, since) != gone {
				t.Errorf("%s: told %d times, gone %t", what, told.count()-before, !gone)
			}
			time.Sleep(time.Minute)
			if told.count()-before != news {
				t.Errorf("%s: told %d times after a minute", what, told.count()-before)
			}
		}
		step("discovery is behind", 0, false)
		server.serve(gk)
		step("it is gone", 1, true)
		step("its informer was tried again", 1, true)
		server.setSilent(true)
		step("nobody knows", 0, false)
		server.setSilent(false)
		step("it is gone still", 1, true)
	})
}

// TestConfirmGoneOfUnknown: of a resource that nobody has looked up nothing is said, and nothing
// is asked.
func TestConfirmGoneOfUnknown(t *testing.T) {
	server := &fakeServer{}
	c := New(server.options())
	if c.ConfirmGone(things(thing).GVR, time.Now()) {
		t.Error("it is gone")
	}
	if c.PollRound(t.Context()); server.count() != 0 {
		t.Error("it is asked about")
	}
}

// TestMadeAgain: a definition that was deleted and made again with another scope or resource is
// another kind, whether or not anybody saw that it was gone, and is noticed also where the
// informer runs again first.
func TestMadeAgain(t *testing.T) {
	before := things(thing)
	for name, after := range map[string]Resource{
		"the same":         before,
		"another scope":    {GVR: before.GVR},
		"another resource": {GVR: thing.GroupVersion().WithResource("thingies"), Namespaced: true},
	} {
		for _, seen := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", seen gone: ", seen), func(t *testing.T) {
				server := &fakeServer{}
				c := knowing(t, server, before)
				c.ConfirmGone(before.GVR, time.Now())
				if seen {
					server.serve(thing.GroupKind())
					c.PollRound(t.Context())
					if !c.ConfirmGone(before.GVR, time.Time{}) {
						t.Fatal("it is not gone")
					}
					server.setMissing() // the informer runs again before anybody knows more
					server.setSilent(true)
					c.PollRound(t.Context())
					server.setSilent(false)
				}
				server.serve(thing.GroupKind(), mapping(thing, after))
				if news := c.PollRound(t.Context())[thing.GroupKind()]; news != (before != after) {
					t.Errorf("news: %t", news)
				}
				if found, ok, _ := c.LookupKind(thing); !ok || found != after {
					t.Errorf("it is %+v, want %+v", found, after)
				}
				server.setMissing()
				c.PollRound(t.Context())
				if rounds := server.count(); len(c.PollRound(t.Context())) > 0 || server.count() != rounds {
					t.Error("it is asked about for ever")
				}
			})
		}
	}
}

// TestRecovered: a resource whose informer runs again, and that was never seen gone, is not
// asked about any more.
func TestRecovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := knowing(t, server, things(thing))
		run(t, c)
		c.ConfirmGone(things(thing).GVR, time.Now())
		if n := rounds(server, time.Minute); n < 14 || n > 17 {
			t.Errorf("while the informer misses it there are %d rounds a minute", n)
		}
		server.setMissing()
		if n := rounds(server, time.Hour); n > 0 {
			t.Errorf("%d rounds after that", n)
		}
	})
}

// TestRefreshStale: what is stale is asked about at once when a definition has changed.
func TestRefreshStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := knowing(t, server, things(thing))
		run(t, c)
		c.ConfirmGone(things(thing).GVR, time.Now())
		rounds(server, time.Minute)
		before := server.count()
		c.RefreshAll()
		if synctest.Wait(); server.count() != before+1 {
			t.Errorf("%d rounds", server.count()-before)
		}
	})
}
