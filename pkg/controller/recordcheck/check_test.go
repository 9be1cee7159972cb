package recordcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/internal/backoff"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testBackoff(failures int) time.Duration {
	return backoff.Exponential{First: 200 * time.Millisecond, Last: time.Minute, Jitter: func(wait time.Duration) time.Duration { return wait }}.WaitAfter(failures + 1)
}

var errFake = errors.New("no client")

// cluster answers a check as a test says, by the names of objects: "UID" is an object that the record
// proves, "left UID" one that says beside that it is left behind, "foreign UID" one that it does not, "" one that is gone, "refused" and "error" are what they
// say, one that is "hidden" cannot be read now, and one that is "unserved" is gone unread. It keeps what it was asked.
type cluster struct {
	*testing.T
	answers map[string]string
	secret  string
	asked   []string // "drop NAME", "settle NAME", "take NAME UID"
}

func (c *cluster) read(what string, record inventory.Inventory, e inventory.Entry) (Found, bool, error) {
	c.asked = append(c.asked, what+" "+e.Name)
	if record.TokenSecret != c.secret {
		c.Errorf("%s is read with the secret %q", e.Name, record.TokenSecret)
	}
	uid, isForeign := strings.CutPrefix(c.answers[e.Name], "foreign ")
	uid, isLeft := strings.CutPrefix(uid, "left ")
	switch uid {
	case "":
		return Found{}, true, nil
	case "refused":
		return Found{}, false, nil
	case "error":
		return Found{}, false, errFake
	}
	object := &unstructured.Unstructured{}
	object.SetUID(types.UID(uid))
	return Found{Object: object, IsOwned: !isForeign, IsLeftBehind: isLeft}, true, nil
}

func (c *cluster) DroppedRead(record inventory.Inventory, e inventory.Entry) (Read, bool) {
	switch c.answers[e.Name] {
	case "hidden":
		return nil, false
	case "unserved":
		return nil, true
	}
	return func(context.Context) (Found, bool, error) { return c.read("drop", record, e) }, false
}

func (c *cluster) IsHeldBack(e inventory.Entry) bool { return c.answers[e.Name] == "held" }

func (c *cluster) SettledRead(record inventory.Inventory, e inventory.Entry) Read {
	if c.answers[e.Name] == "hidden" {
		return nil
	}
	return func(context.Context) (Found, bool, error) { return c.read("settle", record, e) }
}

func (c *cluster) TakeHidden(_ context.Context, e inventory.Entry, object *unstructured.Unstructured) {
	c.asked = append(c.asked, fmt.Sprintf("take %s %s", e.Name, object.GetUID()))
}

// entryOf is an entry of an object by that name: without a uid if it is "NAME", with "UID" if it is
// "NAME=UID".
func entryOf(text string) inventory.Entry {
	name, uid, _ := strings.Cut(text, "=")
	return inventory.Entry{Child: "c", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "n", Name: name, UID: types.UID(uid)}
}

// recordOf is a record of such entries.
func recordOf(entries ...string) inventory.Inventory {
	record := inventory.Inventory{TokenSecret: "s"}
	for _, text := range entries {
		record.Entries = append(record.Entries, entryOf(text))
	}
	return record
}

// wantedOf are the uids that entries are to be given, each as "NAME=UID".
func wantedOf(entries ...string) map[inventory.ObjectKey]types.UID {
	wanted := map[inventory.ObjectKey]types.UID{}
	for _, text := range entries {
		e := entryOf(text)
		wanted[e.ObjectKey()] = e.UID
	}
	return wanted
}

// newCheck makes a check of an owner that has read nothing yet, at a time that does not pass.
func newCheck(c *cluster, now *time.Time) Check {
	c.secret = "s"
	return Check{Objects: c, Reads: &Reads{}, Answers: &Answers{}, Turns: &fairqueue.Throttle{}, Backoff: testBackoff, Now: func() time.Time { return *now }}
}

// resultText is a result in words.
func resultText(r Result) string {
	var words []string
	for word, is := range map[string]bool{"blocked": r.IsBlocked, "news": r.HasNews, "failed": r.IsFailed, "paced": r.IsPaced} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	for _, e := range r.Stay {
		words = append(words, e.Name)
	}
	return strings.Join(words, " ")
}

// TestCheckEntries: which objects are read, and what of the record may change then.
func TestCheckEntries(t *testing.T) {
	cases := map[string]struct {
		reason  string
		record  []string
		wanted  []string
		answers map[string]string
		asked   []string
		want    string // resultText
		isError bool
		isAgain bool // the owner is looked at again
	}{
		"Nothing": {reason: "nothing is doubtful"},
		"Dropped": {reason: "it is gone, and so may be its entry", record: []string{"a=1"}, asked: []string{"drop a"}},
		"DroppedThere": {reason: "the next plan has to know of it, and nothing is written before", record: []string{"a=1", "b=2"},
			answers: map[string]string{"a": "1"}, asked: []string{"drop a", "take a 1", "drop b"}, want: "blocked news"},
		"DroppedForeign": {reason: "of that name there is one that is not the owner's", record: []string{"a=1"},
			answers: map[string]string{"a": "foreign 7"}, asked: []string{"drop a"}},
		"DroppedRefused": {reason: "it may be there; the others of its kind are for the next reconcile, and nothing else waits", record: []string{"a=1", "b=2", "c"}, wanted: []string{"c=3"},
			answers: map[string]string{"a": "refused", "c": "3"}, asked: []string{"drop a", "settle c"}, want: "paced a b", isAgain: true},
		"DroppedHidden": {reason: "it cannot be read for now, and holds up no other", record: []string{"a=1", "b=2"},
			answers: map[string]string{"a": "hidden"}, asked: []string{"drop b"}, want: "a"},
		"DroppedUnserved": {reason: "with its kind it is gone", record: []string{"a=1", "b=2"},
			answers: map[string]string{"a": "unserved"}, asked: []string{"drop b"}},
		"DroppedLeft": {reason: "it says that it stays when its entry goes", record: []string{"a=1"},
			answers: map[string]string{"a": "left 1"}, asked: []string{"drop a"}},
		"UnsetGone":    {reason: "it may be made anew", record: []string{"a=1"}, wanted: []string{"a="}, asked: []string{"drop a"}},
		"UnsetThere":   {reason: "it has lost its labels only", record: []string{"a=1"}, wanted: []string{"a="}, answers: map[string]string{"a": "1"}, asked: []string{"drop a", "take a 1"}, want: "blocked news"},
		"UnsetRefused": {reason: "else nothing could be made of it", record: []string{"a=1", "b=2"}, wanted: []string{"a=", "b="}, answers: map[string]string{"a": "refused"}, asked: []string{"drop a"}},
		"UnsetHidden":  {reason: "the same", record: []string{"a=1"}, wanted: []string{"a="}, answers: map[string]string{"a": "hidden"}},
		"SettledLeft": {reason: "it is as the stream shows it, and so is what it says", record: []string{"a"}, wanted: []string{"a=1"},
			answers: map[string]string{"a": "left 1"}, asked: []string{"settle a"}},
		"DroppedError": {reason: "the reconcile ends", record: []string{"a=1"},
			answers: map[string]string{"a": "error"}, asked: []string{"drop a"}, want: "blocked news", isError: true},
		"Settled": {reason: "it is as the stream shows it", record: []string{"a"}, wanted: []string{"a=1"},
			answers: map[string]string{"a": "1"}, asked: []string{"settle a"}},
		"SettledForeign": {reason: "the uid counts, whatever the record proves", record: []string{"a"}, wanted: []string{"a=1"},
			answers: map[string]string{"a": "foreign 1"}, asked: []string{"settle a"}},
		"SettledOther": {reason: "it was made anew, and the plan has to know", record: []string{"a"}, wanted: []string{"a=1"},
			answers: map[string]string{"a": "2"}, asked: []string{"settle a", "take a 2"}, want: "failed news a"},
		"SettledGone": {reason: "the stream is behind", record: []string{"a", "b"}, wanted: []string{"a=1", "b=2"},
			answers: map[string]string{"b": "2"}, asked: []string{"settle a", "settle b"}, want: "failed a"},
		"SettledRefused": {reason: "the others wait for the next reconcile", record: []string{"a", "b"}, wanted: []string{"a=1", "b=2"},
			answers: map[string]string{"a": "refused", "b": "2"}, asked: []string{"settle a"}, want: "failed a b"},
		"SettledHidden": {reason: "it cannot be read for now, and holds up no other", record: []string{"a", "b"}, wanted: []string{"a=1", "b=2"},
			answers: map[string]string{"a": "hidden", "b": "2"}, asked: []string{"settle b"}, want: "a"},
		"SettledError": {reason: "the reconcile ends", record: []string{"a", "b"}, wanted: []string{"a=1", "b=2"},
			answers: map[string]string{"a": "error"}, asked: []string{"settle a"}, want: "blocked news", isError: true},
		"DroppedFirst": {reason: "what is in the way of all is read first", record: []string{"a", "b=2"}, wanted: []string{"a=1"},
			answers: map[string]string{"a": "1"}, asked: []string{"drop b", "settle a"}},
		"DroppedInTheWay": {reason: "and then nothing else is read", record: []string{"a", "b=2"}, wanted: []string{"a=1"},
			answers: map[string]string{"a": "1", "b": "2"}, asked: []string{"drop b", "take b 2"}, want: "blocked news"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, now := &cluster{T: t, answers: tc.answers}, time.Unix(1000, 0)
			got, err := newCheck(c, &now).CheckEntries(t.Context(), recordOf(tc.record...), wantedOf(tc.wanted...))
			if isError := errors.Is(err, errFake); isError != tc.isError || err != nil && !isError {
				t.Errorf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.asked, c.asked); diff != "" {
				t.Errorf("%s: asked (-want +got):\n%s", tc.reason, diff)
			}
			if resultText(got) != tc.want || got.Again.IsZero() == tc.isAgain {
				t.Errorf("%s: got %q, again at %s; want %q", tc.reason, resultText(got), got.Again, tc.want)
			}
		})
	}
}

// TestOnceInAReconcile: what was answered in a reconcile, or a short while ago, is not asked again, and
// what is of another reconcile is.
func TestOnceInAReconcile(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &cluster{T: t, answers: map[string]string{"here": "1", "fresh": "3"}}
	check := newCheck(c, &now)
	record, wanted := recordOf("gone=9", "here", "made", "removed=4"), wantedOf("here=1", "made=2")
	check.Answers.RecordAnswer(entryOf("made").ObjectKey(), "2", now)
	check.Answers.RecordAnswer(entryOf("removed").ObjectKey(), "", now)
	steps := []struct {
		reason string
		do     func()
		asked  []string
		want   string
	}{
		{reason: "the reconcile has made one, and removed one", do: func() {}, asked: []string{"drop gone", "settle here"}},
		{reason: "all is known", do: func() {}},
		{reason: "a uid goes on record by a late answer only", do: func() { now = now.Add(answerTrust) }, asked: []string{"settle here", "settle made"}, want: "failed made"},
		{reason: "what was gone, and has a uid, stays gone; but not for good", do: func() { *check.Answers = Answers{} }, asked: []string{"drop gone", "drop removed", "settle here", "settle made"}, want: "failed made"},
		{reason: "the next reconcile", do: func() { *check.Answers, now = Answers{}, now.Add(time.Second) }, asked: []string{"settle here", "settle made"}, want: "failed made"},
		{reason: "another secret proves more", do: func() { *check.Answers, c.secret, record.TokenSecret = Answers{}, "t", "t" }, asked: []string{"drop gone", "drop removed", "settle here", "settle made"}, want: "failed made"},
	}
	for _, step := range steps {
		step.do()
		c.asked = nil
		got, err := check.CheckEntries(t.Context(), record, wanted)
		if diff := cmp.Diff(step.asked, c.asked); diff != "" || err != nil {
			t.Errorf("%s: error %v, asked (-want +got):\n%s", step.reason, err, diff)
		}
		if resultText(got) != step.want {
			t.Errorf("%s: got %q, want %q", step.reason, resultText(got), step.want)
		}
	}
}

// TestFailedReads: after one object that could not be read, no other is for the rest of the reconcile,
// and each is in the next one.
func TestFailedReads(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &cluster{T: t, answers: map[string]string{"a": "refused", "b": "2"}}
	check := newCheck(c, &now)
	for range 3 {
		if got, _ := check.CheckEntries(t.Context(), recordOf("a", "b"), wantedOf("a=1", "b=2")); resultText(got) != "failed a b" {
			t.Errorf("got %q", resultText(got))
		}
	}
	if len(c.asked) != 1 {
		t.Errorf("in one reconcile there are read %v", c.asked)
	}
	c.answers["a"], *check.Answers = "1", Answers{}
	if got, _ := check.CheckEntries(t.Context(), recordOf("a", "b"), wantedOf("a=1", "b=2")); resultText(got) != "" {
		t.Errorf("in the next one: got %q", resultText(got))
	}
}

// TestFailedDrops: one object that cannot be read keeps the others of its kind from being read in that
// reconcile, and not in the next one, in which it is held back.
func TestFailedDrops(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &cluster{T: t, answers: map[string]string{"a": "refused"}}
	check := newCheck(c, &now)
	got, _ := check.CheckEntries(t.Context(), recordOf("a=1", "b=2"), nil)
	if resultText(got) != "paced a b" {
		t.Errorf("got %q", resultText(got))
	}
	now, *check.Answers, c.answers["a"] = got.Again, Answers{}, "hidden"
	if got, _ := check.CheckEntries(t.Context(), recordOf("a=1", "b=2"), nil); resultText(got) != "a" || !slices.Equal(c.asked, []string{"drop a", "drop b"}) {
		t.Errorf("in the next reconcile: asked %v, got %q", c.asked, resultText(got))
	}
}

// TestLongRecord: of a record with more entries than are read in a row each check reads some, the rest
// stay, and the owner is looked at again when the next may be read; until all are.
func TestLongRecord(t *testing.T) {
	const entries = 100
	for name, wants := range map[string]bool{"Dropped": false, "Settled": true} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			c := &cluster{T: t, answers: map[string]string{}}
			check := newCheck(c, &now)
			var rest, wanted []string
			for i := range entries {
				name := fmt.Sprintf("e%03d", i)
				rest = append(rest, name)
				if wants {
					c.answers[name] = "u" + name
					wanted = append(wanted, name+"=u"+name)
				}
			}
			for round := 1; ; round++ {
				*check.Answers, c.asked = Answers{}, nil
				got, err := check.CheckEntries(t.Context(), recordOf(rest...), wantedOf(wanted...))
				if err != nil || len(c.asked) > BatchSize {
					t.Fatalf("round %d reads %d, error %v", round, len(c.asked), err)
				}
				if len(got.Stay) != len(rest)-len(c.asked) || got.IsPaced != (len(got.Stay) > 0) || got.IsFailed || got.IsBlocked {
					t.Fatalf("round %d: %d of %d stay after %d reads: %q", round, len(got.Stay), len(rest), len(c.asked), resultText(got))
				}
				if len(got.Stay) == 0 {
					if want := (entries + BatchSize - 1) / BatchSize; round != want {
						t.Errorf("done after %d rounds, want %d", round, want)
					}
					return
				}
				if got.Again != now.Add(BatchPause) {
					t.Fatalf("round %d: again at %s, now is %s", round, got.Again, now)
				}
				rest = rest[:0]
				for _, e := range got.Stay {
					rest = append(rest, e.Name)
				}
				now = got.Again
			}
		})
	}
}

// TestUnreadable: entries that cannot be read take no turn from those that can.
func TestUnreadable(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &cluster{T: t, answers: map[string]string{}}
	var entries []string
	for i := range 3 * BatchSize {
		name := fmt.Sprintf("e%03d", i)
		c.answers[name] = "hidden"
		entries = append(entries, name)
	}
	got, err := newCheck(c, &now).CheckEntries(t.Context(), recordOf(append(entries, "gone")...), nil)
	if err != nil || got.IsPaced || len(got.Stay) != len(entries) || !slices.Equal(c.asked, []string{"drop gone"}) {
		t.Errorf("asked %v, %d stay, paced %t, error %v", c.asked, len(got.Stay), got.IsPaced, err)
	}
}

// TestTurnEnds: a batch that took its turn gives it back when the check ends, however it ends, and what
// it took is charged.
func TestTurnEnds(t *testing.T) {
	for _, answer := range []string{"", "9", "refused", "error"} {
		now := time.Unix(1000, 0)
		c := &cluster{T: t, answers: map[string]string{"a": answer}}
		check := newCheck(c, &now)
		turns := &fakeTurns{}
		check.Turns, check.Reads.count, check.Reads.last = turns, BatchSize, now
		check.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
		check.CheckEntries(t.Context(), recordOf("a=9"), nil)
		if turns.entered != 1 || turns.left != 1 || turns.charged <= 0 {
			t.Errorf("%q: entered %d times, left %d times, charged %s", answer, turns.entered, turns.left, turns.charged)
		}
		c.asked = nil
		*check.Answers = Answers{} // of the next reconcile
		turns.wait, check.Reads.count, check.Reads.next = time.Hour, BatchSize, time.Time{}
		got, err := check.CheckEntries(t.Context(), recordOf("b=9"), nil)
		if err != nil || c.asked != nil || resultText(got) != "paced b" || turns.left != 1 || got.Again.Sub(now) < time.Hour-time.Second {
			t.Errorf("without its turn: asked %v, got %q, again at %s", c.asked, resultText(got), got.Again)
		}
	}
}

// fakeTurns admits everybody unless there is a wait.
type fakeTurns struct {
	wait, charged time.Duration
	entered, left int
}

func (f *fakeTurns) TryEnter(time.Time) time.Duration {
	if f.wait == 0 {
		f.entered++
	}
	return f.wait
}

func (f *fakeTurns) ChargeTime(used time.Duration) { f.charged += used }

func (f *fakeTurns) LeaveAndPause(time.Time) { f.left++ }

// TestHeldBack: what is held back is no reason to look at the owner again when it is its turn.
func TestHeldBack(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &cluster{T: t, answers: map[string]string{"a": "held"}}
	check := newCheck(c, &now)
	check.Reads.count, check.Reads.last, check.Reads.next = BatchSize, now, now.Add(time.Hour)
	if got, _ := check.CheckEntries(t.Context(), recordOf("a=1"), nil); resultText(got) != "a" {
		t.Errorf("what is held back: got %q", resultText(got))
	}
	if got, _ := check.CheckEntries(t.Context(), recordOf("b=1"), nil); resultText(got) != "paced b" || len(c.asked) > 0 {
		t.Errorf("what waits for its turn: got %q, read %v", resultText(got), c.asked)
	}
}
