package compilequeue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// queueStart is the time at which tests begin.
var queueStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// order is a text of a namespace; files have none.
func order(namespace, name, version string) manifest.Manifest {
	o := manifest.Origin{Kind: manifest.CustomResource, Namespace: namespace, Name: name}
	if namespace == "" {
		o = manifest.Origin{Kind: manifest.File, File: name}
	}
	return manifest.Manifest{Origin: o, Digest: version}
}

// turnsOf takes what may be compiled, one after the other at one moment each, and returns what.
func turnsOf(q *Queue, now *time.Time, took time.Duration) []string {
	var got []string
	for {
		t, _ := q.TakeNext(*now)
		if t == nil {
			return got
		}
		got = append(got, t.Origin.Namespace+"/"+t.Origin.Name+t.Origin.File+" "+t.Digest)
		from := *now
		*now = now.Add(took)
		q.FinishCompile(*t, &manifest.Contents{}, from, *now)
	}
}

// TestTurns: namespaces take turns, and the newest version of each text is compiled, once.
func TestTurns(t *testing.T) {
	now := queueStart
	q := New()
	shown := []manifest.Manifest{order("evil", "a", "1"), order("evil", "b", "1"), order("evil", "c", "1"), order("team", "d", "1"), order("", "e.yaml", "1"), order("", "f.yaml", "1")}
	q.SetManifests(shown, now)
	shown[1] = order("evil", "b", "2")
	q.SetManifests(shown, now)
	want := []string{"evil/a 1", "team/d 1", "/e.yaml 1", "evil/b 2", "/f.yaml 1", "evil/c 1"}
	if diff := cmp.Diff(want, turnsOf(q, &now, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	q.SetManifests(shown, now)
	if got := turnsOf(q, &now, 0); len(got) > 0 {
		t.Errorf("the same is compiled again: %s", got)
	}
	if q.ContentsOf(shown[1]) == nil || q.ContentsOf(order("evil", "b", "3")) != nil {
		t.Error("the reading is not that of the version")
	}
	q.SetManifests(nil, now)
	if len(q.results) > 0 || q.ContentsOf(shown[1]) != nil {
		t.Error("what is gone is remembered")
	}
}

// TestOneOfANamespace: while a text of a namespace is compiled, no other of it is.
func TestOneOfANamespace(t *testing.T) {
	q := New()
	q.SetManifests([]manifest.Manifest{order("evil", "a", "1"), order("evil", "b", "1"), order("team", "c", "1")}, queueStart)
	first, _ := q.TakeNext(queueStart)
	second, _ := q.TakeNext(queueStart)
	if first.Origin.Namespace != "evil" || second.Origin.Namespace != "team" {
		t.Errorf("%v and %v are compiled", first.Origin, second.Origin)
	}
	if third, _ := q.TakeNext(queueStart); third != nil {
		t.Errorf("%v is compiled beside another of its namespace", third.Origin)
	}
}

// large is an order of so many bytes that it takes long.
func large(namespace, name, version string) manifest.Manifest {
	m := order(namespace, name, version)
	m.Size = LargeSize
	return m
}

// TestLargeTexts: while a large text is compiled, and several namespaces have more of them, a
// small one of another namespace goes first. Large ones of a quiet namespace wait for one
// of each other namespace at most, however often these are edited.
func TestLargeTexts(t *testing.T) {
	now := queueStart
	q := New()
	texts := func(version string, more ...manifest.Manifest) []manifest.Manifest {
		var list []manifest.Manifest
		for _, namespace := range []string{"evil-0", "evil-1", "evil-2"} {
			for _, name := range []string{"a", "b", "c", "d"} {
				list = append(list, large(namespace, name, version))
			}
		}
		return append(list, more...)
	}
	small := order("quiet", "small", "1")
	q.SetManifests(texts("1"), now)
	first, _ := q.TakeNext(now)
	if second, _ := q.TakeNext(now); first == nil || second != nil {
		t.Fatalf("%v and %v are compiled", first, second)
	}
	q.SetManifests(texts("1", small), now)
	second, _ := q.TakeNext(now)
	if second == nil || second.Origin != small.Origin {
		t.Fatalf("beside %v, %v is compiled", first.Origin, second)
	}
	q.FinishCompile(*second, &manifest.Contents{}, now, now)
	if third, _ := q.TakeNext(now); third != nil {
		t.Errorf("%v is compiled beside another large one", third.Origin)
	}
	q.FinishCompile(*first, &manifest.Contents{}, now, now)

	quiet := large("quiet", "large", "1")
	for n := 0; ; n++ {
		q.SetManifests(texts(fmt.Sprint(2+n), small, quiet), now)
		next, _ := q.TakeNext(now)
		if next == nil || n > 3 {
			t.Fatalf("after %d others that of the quiet namespace is not compiled", n)
		}
		now = now.Add(time.Second)
		q.FinishCompile(*next, &manifest.Contents{}, now.Add(-time.Second), now)
		if next.Origin == quiet.Origin {
			break
		}
	}
}

// TestPace: a text that changes all the time is compiled every 2 seconds after the first
// times, never for more than half of the time, and as it is then.
func TestPace(t *testing.T) {
	for _, step := range []struct{ took, least time.Duration }{{0, Interval}, {3 * time.Second, 6 * time.Second}} {
		now := queueStart
		q := New()
		var got []string
		for edit := 0; now.Sub(queueStart) < time.Minute; edit++ {
			q.SetManifests([]manifest.Manifest{order("evil", "a", fmt.Sprint(edit))}, now)
			got = append(got, turnsOf(q, &now, step.took)...)
			now = now.Add(500 * time.Millisecond)
		}
		if most := int(time.Minute/step.least) + Burst; len(got) > most || len(got) < most/2 {
			t.Errorf("with %s each it is compiled %d times in a minute: %s", step.took, len(got), got)
		}
		if !slices.Equal(got[:1], []string{"evil/a 0"}) {
			t.Errorf("the first version is not compiled at once: %s", got)
		}
	}
}
