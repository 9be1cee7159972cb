package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/test/cluster"
)

// pruneWindow is how long the stories look on while nothing may be deleted: several
// passes, as what is broken is looked at all the time.
const pruneWindow = time.Second

// pruneFault is something because of which it is not known what is unwanted.
type pruneFault struct {
	reason string
	fail   func(*pruning) (mend func())
	says   []string
	// lost are the objects that go by what fails, by the ids of their children.
	lost []string
}

// TestPrune: item b is taken off the list, and its objects go, in reverse order of the
// graph and each by its uid; what is Orphan stays. It fails if a leftover is deleted at
// once, by its name, or not at all.
func TestPrune(t *testing.T) {
	t.Parallel()
	p := newPruning(t, "")
	p.run()
	a, b := p.all("a"), p.all("b")
	p.isReady()
	mark := p.control.Audit().Mark()
	p.items("a")
	p.pruned(mark, a, b)
	p.ends()
}

// TestPruneSuspended: item b is taken off the list while something fails. Nothing is
// deleted and the owner says why, until it is mended; then exactly the right objects
// are. It fails if what cannot be seen or rendered is taken for unwanted, be it the
// object itself or one that depends on it.
func TestPruneSuspended(t *testing.T) {
	t.Parallel()
	for name, tc := range pruneFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPruning(t, "")
			p.run()
			a, b := p.all("a"), p.all("b")
			p.isReady()
			mark := p.control.Audit().Mark()
			mend := tc.fail(p)
			p.says(tc.says...)
			p.items("a")
			p.says(append(tc.says, "pruning is suspended")...)
			p.patiently(pruneWindow)
			p.nothingRemoved(mark, "while pruning is suspended: "+tc.reason)
			p.has("a", "while pruning is suspended", pruneBut(a, tc.lost...))
			p.has("b", "while pruning is suspended", pruneBut(b, tc.lost...))
			mend()
			p.prunedBut(mark, a, b, tc.lost...)
			p.ends()
		})
	}
}

func pruneFaults() map[string]pruneFault {
	taking := func(right string, away bool) func(*pruning) func() {
		return func(p *pruning) func() {
			p.takers[right]()
			namespace := p.home
			if away {
				namespace = p.away
			}
			return func() { p.give(namespace, right) }
		}
	}
	annotating := func(key, value string) func(*pruning) func() {
		return func(p *pruning) func() {
			p.annotate(key, value)
			return func() { p.annotate(key, "") }
		}
	}
	return map[string]pruneFault{
		"ChildDenied": {reason: "what all others depend on cannot be seen", fail: taking("near", false), says: []string{v1alpha1.ReasonForbidden, "secrets"}},
		"ListFails":   {reason: "which objects are wanted is not known", fail: annotating("factor", "x"), says: []string{v1alpha1.ReasonExpressionFailed, "children.near"}},
		"ChildKindMissing": {reason: "the kind of what depends on the others is gone", says: []string{v1alpha1.ReasonKindMissing, "Box"}, lost: []string{"boxes"}, fail: func(p *pruning) func() {
			p.deleteKind(p.group, "boxes")
			return func() { p.makeKind(p.group, "boxes", "Box") }
		}},
	}
}

// pruneBut is a copy without some keys.
func pruneBut(from map[string]string, keys ...string) map[string]string {
	to := maps.Clone(from)
	for _, key := range keys {
		delete(to, key)
	}
	return to
}

// pruned waits until item b has nothing but what is Orphan, and item a all it had.
func (p *pruning) pruned(mark cluster.Mark, a, b map[string]string) {
	p.t.Helper()
	p.prunedBut(mark, a, b)
}

// prunedBut is pruned where objects of some children were lost meanwhile.
func (p *pruning) prunedBut(mark cluster.Mark, a, b map[string]string, lost ...string) {
	p.t.Helper()
	p.comesTo("b", map[string]string{"left": b["left"]})
	p.isReady()
	if got := p.all("a"); cmp.Diff(pruneBut(a, lost...), pruneBut(got, lost...)) != "" {
		p.t.Errorf("objects that are wanted were made anew:\n%s", cmp.Diff(a, got))
	}
	want := []deletion{{path: "release namespaces " + p.away, uid: "", code: 200}}
	for _, child := range []string{"boxes", "roles", "far", "near"} {
		if b[child] != "" && !strings.Contains(strings.Join(lost, " "), child) {
			want = append(want, p.deletionOf(p.object("b", child), b[child]))
		}
	}
	p.eventually("answers and the audit log have come", func(context.Context) error {
		done, logged := len(p.sent.done()), len(p.since(mark, isPruneDeletion))
		if done < len(want) || logged < len(want)-1 {
			return fmt.Errorf("there are %d answers of %d, and %d in the log", done, len(want), logged)
		}
		return nil
	})
	if diff := cmp.Diff(want, p.sent.done(), cmp.AllowUnexported(deletion{})); diff != "" {
		p.t.Errorf("what was removed, in this order (-want +got):\n%s", diff)
	}
	if n := len(p.since(mark, isPruneDeletion)); n != len(want)-1 {
		p.t.Errorf("%d deletions by the audit log, want %d", n, len(want)-1)
	}
}

func (p *pruning) deletionOf(k pruneObject, uid string) deletion {
	if k.namespace == "" {
		return deletion{path: k.resource.Resource + " " + k.name, uid: uid, code: 200}
	}
	return deletion{path: k.resource.Resource + " " + k.namespace + "/" + k.name, uid: uid, code: 200}
}

// ends the story: the owner is deleted, and what is recorded goes with it.
func (p *pruning) ends() {
	p.t.Helper()
	before := p.all("a")
	p.deleteOwner(p.home, "one")
	p.isGone()
	p.comesTo("a", map[string]string{"left": before["left"]})
	p.stop()
}

// TestPruneCold: item b is taken off the list while nobody looks, and the first list of
// a stream does not arrive. It fails if what is not listed yet is taken for gone.
func TestPruneCold(t *testing.T) {
	t.Parallel()
	p := newPruning(t, "")
	p.run()
	a, b := p.all("a"), p.all("b")
	p.isReady()
	p.stop()
	p.items("a")
	p.forgetStatus()
	gates := newGates()
	gates.arm(p.home, "secrets") // of what others depend on
	mark := p.control.Audit().Mark()
	p.run(func(o *manager.Options) { o.Config.Wrap(gates.wrap) })
	if !gates.held(t.Context(), p.home, patience) {
		t.Fatal("no first list is held back: the test is wrong")
	}
	p.says(v1alpha1.ReasonSyncing, "pruning is suspended")
	p.patiently(pruneWindow)
	p.nothingRemoved(mark, "while a first list is held back")
	p.has("a", "while a first list is held back", a)
	p.has("b", "while a first list is held back", b)
	gates.open(p.home)
	p.pruned(mark, a, b)
	p.ends()
}

// TestPruneReplaced: objects of item b are deleted and made anew by somebody under the
// same names, with the same labels and annotations: some while it does not run, one
// between its look and its request. Those stay as they are. It fails if a name, a label
// or a claim without its uid proves anything, or a deletion has no precondition.
func TestPruneReplaced(t *testing.T) {
	t.Parallel()
	p := newPruning(t, "")
	p.run()
	p.all("a")
	p.all("b")
	p.isReady()
	p.stop()
	p.items("a")
	for _, child := range []string{"far", "boxes"} {
		if err := p.replace(t.Context(), p.object("b", child)); err != nil {
			t.Fatal(err)
		}
	}
	var once sync.Once
	raced := make(chan error, 1)
	near := p.object("b", "near")
	p.sent = &deletions{}
	p.sent.hook(func(r *http.Request, _ []byte) error {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, near.name) {
			once.Do(func() { raced <- p.replace(context.WithoutCancel(t.Context()), near) })
		}
		return nil
	}, nil)
	b, err := p.uids(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	mark := p.control.Audit().Mark()
	p.run()
	p.eventually("the objects of item b that are Ambit's are gone", func(ctx context.Context) error {
		got, err := p.uids(ctx, "b")
		if err == nil && (got["roles"] != "" || got["marks"] != "" || got["near"] == b["near"]) {
			err = fmt.Errorf("there are %v", got)
		}
		return err
	})
	if err := <-raced; err != nil { // near is gone before there is another one
		t.Fatalf("replacing an object before its deletion: %v", err)
	}
	p.isReady()
	p.settledSince(mark)
	now, err := p.uids(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"far": b["far"], "boxes": b["boxes"], "left": b["left"], "near": now["near"]}
	if diff := cmp.Diff(want, now); diff != "" || now["near"] == "" {
		t.Errorf("what is somebody else's is not as it was (-want +got):\n%s", diff)
	}
	refused := 0
	for _, r := range p.since(mark, isPruneDeletion) {
		if r.Code == http.StatusConflict && r.Name == near.name {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no deletion was refused for its uid: the test is wrong")
	}
	p.ends()
}
