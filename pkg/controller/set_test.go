package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/policytext"
)

// compiled is a policy for a kind of its own, whose child says what mark says.
func compiled(tb testing.TB, name, mark, more string) *policy.Program {
	tb.Helper()
	return policytext.Compile(tb, name+".yaml", fmt.Sprintf(`
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: ambit-system}
spec:
%[3]s
  owner: {apiVersion: %[1]s.example.com/v1, kind: Thing}
  children:
    - id: child
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}, data: {mark: "%[2]s"}}
`, name, mark, more))
}

// idle is an controller that was not started, and can reach nobody. No kind is served.
func idle(tb testing.TB, clock *clocktesting.FakeClock, programs ...*policy.Program) *Controller {
	tb.Helper()
	return idleWith(tb, &fakeServer{}, clock, programs...)
}

// idleWith is idle with kinds that are served.
func idleWith(tb testing.TB, server *fakeServer, clock *clocktesting.FakeClock, programs ...*policy.Program) *Controller {
	tb.Helper()
	e, err := New(Options{
		Programs: programs, Clock: clock, Served: server.find,
		Informers: informer.NewSet(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) { return nil, nil, nil }}),
		Access:    access.New(access.Options{}),
		Clients:   func(string) (dynamic.Interface, error) { return nil, nil },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// TestSet: a policy controller stays as long as nothing has changed that it acts by.
func TestSet(t *testing.T) {
	as := func(p *policy.Program, account string) *policy.Program {
		other := *p
		other.ServiceAccount = account
		return &other
	}
	broken := func(p *policy.Program, why string) *policy.Program {
		other := *p
		other.CleanupOnly = fmt.Errorf("%s", why)
		return &other
	}
	plain := compiled(t, "a", "1", "")
	cases := map[string]struct {
		reason           string
		before, after    *policy.Program
		retired, retires bool
		stays            bool
	}{
		"Same":         {reason: "it is the same program", before: plain, after: plain, stays: true},
		"CompiledAnew": {reason: "it says the same", before: plain, after: compiled(t, "a", "1", "# a comment"), stays: true},
		"Edited":       {reason: "it says something else", before: plain, after: compiled(t, "a", "2", "")},
		"Suspended":    {reason: "nothing is done any more", before: plain, after: compiled(t, "a", "1", "  suspend: true")},
		"Account":      {reason: "it acts as somebody else", before: plain, after: as(plain, "bot")},
		"Retires":      {reason: "it goes", before: plain, after: plain, retires: true},
		"Retired":      {reason: "it goes still", before: plain, after: plain, retired: true, retires: true, stays: true},
		"SuspendedRetired": {reason: "it goes still, suspended or not", before: compiled(t, "a", "1", "  suspend: true"), after: compiled(t, "a", "1", "  suspend: true"),
			retired: true, retires: true, stays: true},
		"ComesBack": {reason: "it comes back under way", before: plain, after: plain, retired: true},
		"Broken":    {reason: "it does not compile any more", before: plain, after: broken(plain, "x")},
		"StillSo":   {reason: "it still does not compile", before: broken(plain, "x"), after: broken(plain, "x"), stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)))
			set(t, e, tc.before, tc.retired)
			before := e.revisions.CurrentOf("ambit-system/a")
			set(t, e, tc.after, tc.retires)
			now := e.revisions.CurrentOf("ambit-system/a")
			if (now == before) != tc.stays || now.retiring != tc.retires || now.program.Suspend && tc.retires {
				t.Errorf("%s: the operator stays: %t, retires: %t", tc.reason, now == before, now.retiring)
			}
			if now.reconciles.LostWrites != before.reconciles.LostWrites {
				t.Errorf("%s: what has become of the writes of the version before is not known", tc.reason)
			}
		})
	}
}

func set(tb testing.TB, e *Controller, p *policy.Program, retire bool) {
	tb.Helper()
	programs, gone := []*policy.Program{p}, []*policy.Program(nil)
	if retire {
		programs, gone = nil, programs
	}
	if err := e.Set(programs, gone); err != nil {
		tb.Fatal(err)
	}
}

// TestSetRefused: what cannot run beside each other changes nothing.
func TestSetRefused(t *testing.T) {
	a, b := compiled(t, "a", "1", ""), compiled(t, "b", "1", "")
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), a, b)
	before := e.revisions.AllCurrent()
	if err := e.Set([]*policy.Program{a, compiled(t, "a", "2", "")}, nil); err == nil {
		t.Error("two policies of one name are accepted")
	}
	if err := e.Set([]*policy.Program{b}, []*policy.Program{b}); err == nil {
		t.Error("a policy both runs and is retired")
	}
	if diff := cmp.Diff(ids(before), ids(e.revisions.AllCurrent())); diff != "" || e.revisions.AllCurrent()[0] != before[0] {
		t.Errorf("something has changed (-want +got):\n%s", diff)
	}
	if _, done := e.RetiredOf("ambit-system/a"); done {
		t.Error("a policy that runs is retired")
	}
	if _, done := e.RetiredOf("ambit-system/c"); done {
		t.Error("a policy that nobody knows is retired")
	}
}

func ids(list []*policyController) (names []string) {
	for _, op := range list {
		names = append(names, op.id)
	}
	return names
}

// TestInheritance: what a version has worked on is known to the next, whatever was in
// between, until that one has looked at it.
func TestInheritance(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	e := idle(t, clock, compiled(t, "a", "1", ""))
	x, y, z := types.NamespacedName{Namespace: "n", Name: "x"}, types.NamespacedName{Namespace: "n", Name: "y"}, types.NamespacedName{Namespace: "n", Name: "z"}
	first := e.revisions.EnterCurrent("ambit-system/a").Value()
	works := func(op *policyController, name types.NamespacedName) {
		op.mu.Lock()
		defer op.mu.Unlock()
		op.owners.StartWork(name, types.UID(name.Name), op.newOwnerState(name))
	}
	works(first, x)
	first.owners.RecordInspection(z, "z", false)
	first.recordExceeded(x, "1")
	e.discovery.LookupKind(compiled(t, "gone", "1", "").Owner.GVK)
	for i := range 3 {
		set(t, e, compiled(t, "a", fmt.Sprint(2+i), ""), false)
	}
	works(first, y) // by a worker who began before
	e.leaveRevision(first, Key{Policy: first.id, Namespace: "n", Name: "y"})
	op := e.revisions.EnterCurrent("ambit-system/a").Value()
	if diff := cmp.Diff(map[types.NamespacedName]types.UID{x: "x", y: "y"}, op.owners.WorkedOwners()); diff != "" {
		t.Fatalf("inherited (-want +got):\n%s", diff)
	}
	now := clock.Now()
	if !op.costs.IsExpensive(x, now) || op.quarantine.WaitTime(x, "1", now) != 0 {
		t.Error("an edit is no fresh start, throttled")
	}
	if got := (policyReport{op}).countHealth(); got.Progressing != 2 {
		t.Errorf("of owners that are to be looked at it is said: %+v", got)
	}
	owner := &unstructured.Unstructured{}
	owner.SetUID("x")
	if got := (ownerTurn{op}).markUnwanted(x, owner); got != intentCleanUp {
		t.Errorf("an owner that was worked on and is not wanted: %d, want to retire it", got)
	}
	owner.SetUID("z")
	if got := (ownerTurn{op}).markUnwanted(z, owner); got != intentIgnore {
		t.Errorf("an owner that was looked at in vain: %d, want to leave it alone", got)
	}
	owner.SetUID("another")
	if got := (ownerTurn{op}).markUnwanted(x, owner); got != intentInspect {
		t.Errorf("another owner of that name: %d, want to look", got)
	}
	if uid, _, ok := op.owners.MarkMissing(y); !ok || uid != "y" {
		t.Errorf("an owner that is gone from sight: %s, %t", uid, ok)
	}
	if op.isSettled() {
		t.Error("settled, with owners to look at")
	}
	op.markLookedAt(x)
	op.markLookedAt(y)
	seesNothing(op)
	if !op.isSettled() {
		t.Error("not settled, with nothing to look at")
	}
	if wait := e.settleRevision(op); wait != 0 || len(e.revisions.AllRevisions()) != 1 {
		t.Errorf("wait %s with %d versions", wait, len(e.revisions.AllRevisions()))
	}
	other := compiled(t, "a", "9", "")
	other.Owner.GVK.Kind = "Other"
	works(op, x)
	set(t, e, other, false)
	if other := e.revisions.CurrentOf("ambit-system/a"); other.program.Hash == op.program.Hash || len(other.owners.WorkedOwners()) != 0 {
		t.Errorf("of owners of another kind %v are inherited", other.owners.WorkedOwners())
	}
}

// TestUnwant: what only a policy that is gone asks for is not looked up any more.
func TestUnwant(t *testing.T) {
	a, b := compiled(t, "a", "1", ""), compiled(t, "b", "1", "")
	server := &fakeServer{}
	e := idleWith(t, server, clocktesting.NewFakeClock(time.Unix(1000, 0)), a, b)
	for _, op := range e.revisions.AllCurrent() {
		if (policyTurn{e.revisions.EnterCurrent(op.id).Value()}).reconcilePolicy(context.Background()) != 0 {
			t.Fatal("it goes on before the kinds are known")
		}
		e.leaveRevision(op, Key{Policy: op.id})
	}
	if wanted := server.wanted(t, e); len(wanted) != 3 {
		t.Fatalf("looked up are %v", wanted)
	}
	set(t, e, a, false)
	if wanted := server.wanted(t, e); slices.Contains(wanted, b.Owner.GVK.GroupKind()) || len(wanted) != 2 {
		t.Errorf("looked up are %v", wanted)
	}
}

// BenchmarkSet is the cost of Set with 100 policies of which one has changed.
func BenchmarkSet(b *testing.B) {
	var programs []*policy.Program
	for i := range 100 {
		programs = append(programs, compiled(b, fmt.Sprintf("p-%d", i), "1", ""))
	}
	e := idle(b, clocktesting.NewFakeClock(time.Unix(1000, 0)), programs...)
	versions := []*policy.Program{compiled(b, "p-50", "2", ""), compiled(b, "p-50", "3", "")}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		programs[50] = versions[i%2]
		op := e.revisions.EnterCurrent("ambit-system/p-50").Value()
		e.leaveRevision(op, Key{Policy: op.id})
		if err := e.Set(programs, nil); err != nil {
			b.Fatal(err)
		}
		next := e.revisions.CurrentOf("ambit-system/p-50")
		seesNothing(next)
		e.settleRevision(next)
	}
}
