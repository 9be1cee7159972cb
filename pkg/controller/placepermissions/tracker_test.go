package placepermissions

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
)

var (
	ownerA = types.NamespacedName{Namespace: "home", Name: "a"}
	ownerB = types.NamespacedName{Namespace: "home", Name: "b"}
)

// TestForOwners: an owner waits for the first answer, and then for none.
func TestForOwners(t *testing.T) {
	b := newBench(t)
	if r, wait := b.ForOwners("home"); wait != permissionset.ReviewGrace || r.Reviewed {
		t.Errorf("before an answer: wait %s, %+v", wait, r)
	}
	b.now = b.now.Add(permissionset.ReviewGrace)
	if _, wait := b.ForOwners("home"); wait != 0 {
		t.Errorf("it is waited for an answer that does not come: %s", wait)
	}
	b.answer("home", accessTo("list", "", pods))
	r, wait := b.ForOwners("home")
	if wait != 0 || r.MayWatch(pods) || !r.MayWatch(caches) {
		t.Errorf("wait %s, %q", wait, r)
	}
	b.answer("home", accessTo("list", "", pods))
	if again, _ := b.ForOwners("home"); again != r {
		t.Error("the same answer is another pointer")
	}
	b.answer("home")
	if again, _ := b.ForOwners("home"); again == r || again.String() != "" {
		t.Errorf("after a grant: %q", again)
	}
}

// TestEverywhere: where everything is permitted in all namespaces, none is asked about by itself.
func TestEverywhere(t *testing.T) {
	b := newBench(t)
	b.RequireScope("", Everything)
	b.answer("")
	r, wait := b.ForOwners("home")
	if _, all := b.HaveEverything(); !all || wait != 0 || r.String() != "" || len(b.reviewer.required) != 1 {
		t.Errorf("everything: %t, wait %s, %q, asked about %v", all, wait, r, b.reviewer.required)
	}
	b.ReportDenied("home", accessTo("list", "", pods))
	if want := []access.Key{b.key("")}; !slices.Equal(b.reviewer.reported, want) {
		t.Errorf("the doubt is about %v, and all namespaces said so", b.reviewer.reported)
	}
	b.answer("", accessTo("create", "", deployments))
	if _, all := b.HaveEverything(); all {
		t.Error("something is missing, and it is everything")
	}
	b.SetScope("", ToSee)
	if _, all := b.HaveEverything(); all {
		t.Error("it is not asked about everything any more")
	}
}

// TestChanges: what changes is told once, with what it was before; the same answer is not, but where
// somebody has reported a refusal.
func TestChanges(t *testing.T) {
	b := newBench(t)
	b.RequireScope("home", AtHome)
	listPods, listCaches := accessTo("list", "", pods), accessTo("list", "", caches)
	for _, step := range []struct {
		reason string
		do     func()
		want   string // what is missing before and now, of a change
	}{
		{reason: "the first answer", do: func() { b.answer("home", listPods) }, want: "new: nothing -> pods"},
		{reason: "the same", do: func() { b.answer("home", listPods) }},
		{reason: "the same, to a doubt", do: func() { b.ReportDenied("home", listPods); b.answer("home", listPods) }, want: "confirmed: pods -> pods"},
		{reason: "more is missing", do: func() { b.answer("home", listPods, listCaches) }, want: "new: pods -> caches, pods"},
		{reason: "less is asked", do: func() { b.SetScope("home", ToSee); b.answer("home", listCaches) }, want: "new: caches, pods -> caches"},
		{reason: "a grant", do: func() { b.answer("home") }, want: "new: caches -> "},
		{reason: "a refused review", do: func() { b.refuse("home", errors.New("no")) }, want: "new:  -> no"},
		{reason: "a place that was given up", do: func() { b.ReleasePlace("home"); b.answer("home", listPods) }},
	} {
		step.do()
		got := ""
		for _, c := range b.takeChanges() {
			got += changeText(c)
		}
		if got != step.want {
			t.Errorf("%s: told %q, want %q", step.reason, got, step.want)
		}
	}
}

// changeText says what a change is, and which resources are missing before and now.
func changeText(c Change) string {
	missing := func(r *permissionset.Set) string {
		switch {
		case r == nil:
			return "nothing"
		case r.Refusal != nil:
			return r.Refusal.Message
		}
		var list []string
		for _, m := range r.Missing {
			list = append(list, m.Resource.Resource)
		}
		return strings.Join(list, ", ")
	}
	what := "confirmed"
	if c.IsNew {
		what = "new"
	}
	return what + ": " + missing(c.Before) + " -> " + missing(c.Now)
}

// TestRelease: about a namespace without owners no more is asked than what it takes to see the next
// one, or what owners elsewhere make use of there.
func TestRelease(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		scope  Scope
		used   bool
		want   int // accesses
	}{
		"Gone":   {reason: "nobody needs anything"},
		"Sought": {reason: "owners are looked for there", scope: ToSee, want: 2},
		"Used":   {reason: "an owner elsewhere has something there", used: true, want: 2},
		"Busy":   {reason: "another owner has come", scope: AtHome, want: 7},
	} {
		t.Run(name, func(t *testing.T) {
			for how, release := range map[string]func(*bench){
				"ReleaseOwners":   func(b *bench) { b.ReleaseOwners("home") },
				"ReleaseUnsought": func(b *bench) { b.ReleaseUnsought() },
			} {
				b := newBench(t)
				b.RequireScope("home", AtHome)
				b.RequireScope("", ToSee)
				b.scopes["home"] = tc.scope
				want := tc.want
				if how == "ReleaseUnsought" && tc.scope > AsUsed {
					want = 7 // it stays as it was
				}
				if tc.used {
					b.SetUses(ownerA, placeuses.ByPlace{"home": {{Part: "copy"}}})
				}
				b.answer("home", accessTo("list", "", caches))
				release(b)
				if got := len(b.reviewer.required[b.key("home")]); got != want || len(b.reviewer.required[b.key("")]) == 0 {
					t.Errorf("%s, %s: %d accesses are asked about, want %d", how, tc.reason, got, want)
				}
			}
		})
	}
}

// TestReleaseTakesTheAnswerIn: when the last owner of a namespace is gone, what is still asked there
// has its answer at once. Without one nothing is reported to be missing.
func TestReleaseTakesTheAnswerIn(t *testing.T) {
	b := newBench(t)
	b.RequireScope("home", AtHome)
	b.answer("home", accessTo("list", "", caches), accessTo("list", "", pods))
	b.scopes["home"], b.served["home"] = ToSee, true
	b.ReleaseOwners("home")
	list := b.ListDenials(func(namespace string) bool { return b.served[namespace] })
	if len(list) != 1 || list[0].Resource != "caches" {
		t.Errorf("denied: %+v", list)
	}
	if hidden := b.ListDenials(func(string) bool { return false }); len(hidden) > 0 {
		t.Errorf("denied where nobody wants to know: %+v", hidden)
	}
}

// TestForgottenKey: of a place that package access knows no more, because nobody wants to know anything of it, what was
// known stays, until there is an answer again.
func TestForgottenKey(t *testing.T) {
	b := newBench(t)
	b.RequireScope("home", AtHome)
	b.answer("home", accessTo("list", "", pods))
	known, _ := b.CurrentAt("home")
	answered := b.reviewer.states[b.key("home")]
	b.reviewer.states[b.key("home")] = access.State{}
	if now, ok := b.CurrentAt("home"); !ok || now != known || len(now.Missing) != 1 {
		t.Errorf("known: %t, %+v, want what was known: %+v", ok, now, known)
	}
	b.reviewer.states[b.key("home")] = answered
	b.answer("home")
	if now, ok := b.CurrentAt("home"); !ok || len(now.Missing) > 0 {
		t.Errorf("known: %t, %+v, want the new answer", ok, now)
	}
}

// TestLessUsedTakesTheAnswerIn: when one of two owners does not use a place any more, what the other
// one lacks there is reported as before.
func TestLessUsedTakesTheAnswerIn(t *testing.T) {
	b := newBench(t)
	b.SetUses(ownerA, placeuses.ByPlace{"place": {{Part: "copy"}}})
	b.SetUses(ownerB, placeuses.ByPlace{"place": {{Part: "pods"}}})
	b.answer("place", accessTo("create", "", deployments), accessTo("list", "", pods))
	lacks := func(resource string) bool {
		list := b.ListDenials(func(string) bool { return true })
		return slices.ContainsFunc(list, func(d v1alpha1.DeniedAccess) bool { return d.Namespace == "place" && d.Resource == resource })
	}
	if !lacks("deployments") || !lacks("pods") {
		t.Fatal("it is not known what is denied")
	}
	b.SetUses(ownerA, nil)
	if lacks("deployments") || !lacks("pods") {
		t.Errorf("when a is gone: deployments %t, pods %t", lacks("deployments"), lacks("pods"))
	}
	if b.SetUses(ownerB, nil); len(b.reviewer.required) > 0 {
		t.Errorf("nobody uses anything: %v", b.reviewer.required)
	}
}

// TestPayers: an owner pays for what it makes use of elsewhere, until owners are looked for there.
func TestPayers(t *testing.T) {
	b := newBench(t)
	b.SetUses(ownerA, placeuses.ByPlace{"place": {{Part: "copy"}}})
	want := access.Payer{Group: "team/cache", Tenant: "home", Name: "a"}
	if got := b.reviewer.payers[b.key("place")]; got != want {
		t.Errorf("an owner's place is paid by %+v", got)
	}
	b.RequireScope("place", ToSee)
	if got := b.reviewer.payers[b.key("place")]; got != (access.Payer{Group: "team/cache"}) {
		t.Errorf("a place of owners is paid by %+v", got)
	}
}

// TestInherit: a later revision takes what an earlier one knew for the answer until there is one.
func TestInherit(t *testing.T) {
	b := newBench(t)
	b.RequireScope("", Everything)
	b.answer("", accessTo("create", "", deployments), accessTo("list", "", pods))
	b.SetScope("", ToSee)
	b.RequireScope("home", AtHome)
	b.answer("home", accessTo("list", "", pods))
	known, _ := b.CurrentAt("home")

	next := newBench(t)
	next.options.Reviewer = b.reviewer
	next.InheritFrom(b.Tracker)
	if !next.IsKnownNarrow() || !next.WasDenied(pods) || next.WasDenied(caches) {
		t.Errorf("narrow %t, pods denied %t, caches denied %t", next.IsKnownNarrow(), next.WasDenied(pods), next.WasDenied(caches))
	}
	next.RequireScope("home", AtHome)
	if r, _ := next.CurrentAt("home"); r != known {
		t.Errorf("the same answer is another set: %q", r)
	}
	b.reviewer.handlers[b.key("home")].Changed(b.key("home"))
	if len(next.changes) > 0 || len(next.logged) > 0 {
		t.Errorf("what was known is told again: %+v %v", next.changes, next.logged)
	}
	if next.ForgetInherited(); next.IsKnownNarrow() || next.WasDenied(pods) {
		t.Error("it is not forgotten")
	}
}

// TestRefresh: rights are asked for as the kinds are now.
func TestRefresh(t *testing.T) {
	needs := needsOf()
	b := newBench(t, func(o *Options) { o.Needs = func() ([]Need, bool) { return needs, true } })
	b.RequireScope("home", AtHome)
	b.RefreshAll()
	if b.reviewer.requires != 1 {
		t.Errorf("nothing has changed, and %d declarations were made", b.reviewer.requires)
	}
	needs[2].Resource = secrets
	b.RefreshAll()
	if list := b.reviewer.required[b.key("home")]; slices.Contains(list, accessTo("list", "", pods)) || !slices.Contains(list, accessTo("list", "", secrets)) {
		t.Errorf("asked: %v", list)
	}
}

// TestLog: somebody who has to act reads what is missing, once.
func TestLog(t *testing.T) {
	b := newBench(t, func(o *Options) { o.WantsClusterWide = true })
	b.RequireScope("home", AtHome)
	b.RequireScope("quiet", ToSee)
	b.RequireScope("", Everything)
	for _, step := range []struct {
		reason string
		do     func()
		want   string
	}{
		{reason: "all is permitted from the start", do: func() { b.answer("home") }},
		{reason: "something goes", do: func() { b.answer("home", accessTo("list", "", pods)) }, want: "permissions are missing"},
		{reason: "the same", do: func() { b.answer("home", accessTo("list", "", pods)) }},
		{reason: "it comes back", do: func() { b.answer("home") }, want: "permissions are complete"},
		{reason: "nobody has an owner there", do: func() { b.answer("quiet", accessTo("list", "", caches)) }},
		{reason: "watching all together", do: func() { b.answer("", accessTo("watch", "", caches)) }, want: "permissions for cluster-wide watches are missing"},
		{reason: "it is granted", do: func() { b.answer("") }, want: "permissions for cluster-wide watches are complete"},
	} {
		b.logged = nil
		step.do()
		if got := strings.Join(b.logged, "\n"); len(b.logged) > 1 || (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("%s: logged %q, want %q", step.reason, got, step.want)
		}
	}
}

// TestRequestRace: while one worker notes that an owner makes use of its own namespace, which changes
// nothing of what is asked there, another asks about it for its owner. The race detector sees the rest.
func TestRequestRace(t *testing.T) {
	b := newBench(t)
	b.RequireScope("home", AtHome)
	first := b.requests["home"]
	var running sync.WaitGroup
	running.Go(func() {
		for range 3000 {
			b.SetUses(ownerA, placeuses.ByPlace{"home": {{Part: "pods", Optional: true}}})
			b.SetUses(ownerA, nil)
		}
	})
	running.Go(func() {
		for range 3000 {
			b.ForOwners("home")
		}
	})
	running.Wait()
	if b.requests["home"] != first {
		t.Error("something else was asked in between, so that this shows nothing")
	}
}

// TestReleasedInBetween: an owner whose namespace was given up in this moment looks again soon.
func TestReleasedInBetween(t *testing.T) {
	b := newBench(t)
	b.reviewer.asked = func() { b.ReleasePlace("home") } // while it is asked for the answer
	if r, wait := b.ForOwners("home"); r != nil || wait != ConfirmGrace {
		t.Errorf("wait %s for a namespace that was given up, with %v", wait, r)
	}
	b.reviewer.asked = nil
	if _, wait := b.ForUse("place"); wait != ConfirmGrace {
		t.Errorf("wait %s for a place that nobody asks about", wait)
	}
	if wait := b.PendingFor("place", &permissionset.Set{}); wait != permissionset.ReviewGrace {
		t.Errorf("pending for %s", wait)
	}
}
