package policysource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// order is a text of a namespace; files have none.
func order(namespace, name, version string) text {
	o := Origin{Kind: CustomResource, Namespace: namespace, Name: name}
	if namespace == "" {
		o = Origin{Kind: File, File: name}
	}
	return text{origin: o, digest: version}
}

// turnsOf takes what may be compiled, one after the other at one moment each, and says what.
func turnsOf(w *workshop, c *clocktesting.FakeClock, took time.Duration) []string {
	var got []string
	for {
		t, _ := w.take(c.Now())
		if t == nil {
			return got
		}
		got = append(got, t.origin.Namespace+"/"+t.origin.Name+t.origin.File+" "+t.digest)
		began := c.Now()
		c.Step(took)
		w.finish(*t, &reading{}, began)
	}
}

// TestTurns: namespaces take turns, and the newest version of each text is compiled, once.
func TestTurns(t *testing.T) {
	c := clocktesting.NewFakeClock(began)
	w := newWorkshop(c, nil, func() {})
	shown := []text{order("evil", "a", "1"), order("evil", "b", "1"), order("evil", "c", "1"), order("team", "d", "1"), order("", "e.yaml", "1"), order("", "f.yaml", "1")}
	w.want(shown)
	shown[1] = order("evil", "b", "2")
	w.want(shown)
	want := []string{"evil/a 1", "team/d 1", "/e.yaml 1", "evil/b 2", "/f.yaml 1", "evil/c 1"}
	if diff := cmp.Diff(want, turnsOf(w, c, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.want(shown)
	if got := turnsOf(w, c, 0); len(got) > 0 {
		t.Errorf("the same is compiled again: %s", got)
	}
	if w.readingOf(shown[1]) == nil || w.readingOf(order("evil", "b", "3")) != nil {
		t.Error("the reading is not that of the version")
	}
	w.want(nil)
	if len(w.made) > 0 || w.readingOf(shown[1]) != nil {
		t.Error("what is gone is remembered")
	}
}

// TestOneOfANamespace: while a text of a namespace is compiled, no other of it is.
func TestOneOfANamespace(t *testing.T) {
	w := newWorkshop(clocktesting.NewFakeClock(began), nil, func() {})
	w.want([]text{order("evil", "a", "1"), order("evil", "b", "1"), order("team", "c", "1")})
	first, _ := w.take(began)
	second, _ := w.take(began)
	if first.origin.Namespace != "evil" || second.origin.Namespace != "team" {
		t.Errorf("%v and %v are compiled", first.origin, second.origin)
	}
	if third, _ := w.take(began); third != nil {
		t.Errorf("%v is compiled beside another of its namespace", third.origin)
	}
}

// large is an order of so many bytes that it takes long.
func large(namespace, name, version string) text {
	t := order(namespace, name, version)
	t.size = largeText
	return t
}

// TestLargeTexts: while a large text is compiled, and several namespaces have more of them, a
// small one of another namespace goes first. Large ones of a quiet namespace wait for one
// of each other namespace at most, however often these are edited.
func TestLargeTexts(t *testing.T) {
	c := clocktesting.NewFakeClock(began)
	w := newWorkshop(c, nil, func() {})
	texts := func(version string, more ...text) []text {
		var list []text
		for _, namespace := range []string{"evil-0", "evil-1", "evil-2"} {
			for _, name := range []string{"a", "b", "c", "d"} {
				list = append(list, large(namespace, name, version))
			}
		}
		return append(list, more...)
	}
	small := order("quiet", "small", "1")
	w.want(texts("1"))
	first, _ := w.take(c.Now())
	if second, _ := w.take(c.Now()); first == nil || second != nil {
		t.Fatalf("%v and %v are compiled", first, second)
	}
	w.want(texts("1", small))
	second, _ := w.take(c.Now())
	if second == nil || second.origin != small.origin {
		t.Fatalf("beside %v, %v is compiled", first.origin, second)
	}
	w.finish(*second, &reading{}, c.Now())
	if third, _ := w.take(c.Now()); third != nil {
		t.Errorf("%v is compiled beside another large one", third.origin)
	}
	w.finish(*first, &reading{}, c.Now())

	quiet := large("quiet", "large", "1")
	for n := 0; ; n++ {
		w.want(texts(fmt.Sprint(2+n), small, quiet))
		next, _ := w.take(c.Now())
		if next == nil || n > 3 {
			t.Fatalf("after %d others that of the quiet namespace is not compiled", n)
		}
		began := c.Now()
		c.Step(time.Second)
		w.finish(*next, &reading{}, began)
		if next.origin == quiet.origin {
			break
		}
	}
}

// TestSizeOfText: what comes from an API server is as large as its text.
func TestSizeOfText(t *testing.T) {
	content := strings.Repeat("x", largeText)
	for name, of := range map[string]text{
		"file":   {data: []byte(content)},
		"object": {object: map[string]any{"spec": map[string]any{"owner": content}}},
	} {
		if of.digest, of.size = digestOf(of); !of.isLarge() || of.size > 2*largeText {
			t.Errorf("%s: it has %d bytes", name, of.size)
		}
	}
}

// TestPace: a text that changes all the time is compiled every 2 seconds after the first
// times, never for more than half of the time, and as it is then.
func TestPace(t *testing.T) {
	for _, step := range []struct{ took, least time.Duration }{{0, compileEvery}, {3 * time.Second, 6 * time.Second}} {
		c := clocktesting.NewFakeClock(began)
		w := newWorkshop(c, nil, func() {})
		var got []string
		for edit := 0; c.Since(began) < time.Minute; edit++ {
			w.want([]text{order("evil", "a", fmt.Sprint(edit))})
			got = append(got, turnsOf(w, c, step.took)...)
			c.Step(500 * time.Millisecond)
		}
		if most := int(time.Minute/step.least) + compileBurst; len(got) > most || len(got) < most/2 {
			t.Errorf("with %s each it is compiled %d times in a minute: %s", step.took, len(got), got)
		}
		if !slices.Equal(got[:1], []string{"evil/a 0"}) {
			t.Errorf("the first version is not compiled at once: %s", got)
		}
	}
}

// TestWaits: a text that is to wait is compiled later without news.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Now(), make(chan struct{})
		var mu sync.Mutex
		var at []time.Duration
		w := newWorkshop(clock.RealClock{}, func(context.Context, text) *reading {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			return &reading{}
		}, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { w.run(ctx); close(ended) }()
		for version := range 5 {
			w.want([]text{order("evil", "a", fmt.Sprint(version))})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		cancel()
		<-ended
		if diff := cmp.Diff([]time.Duration{0, 0, 0, compileEvery}, at); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestStorm: while the texts of one namespace are compiled, which takes long, those of others
// are run, and the last good version of each goes on.
func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassing(t)
		p.has("evil v1 owner=Evil", "cache v1")
		p.during(time.Second)
		first := p.engine.hash("evil")
		release, ended := make(chan struct{}), make(chan struct{})
		p.source.workshop = newWorkshop(clock.RealClock{}, func(ctx context.Context, text text) *reading {
			if strings.Contains(string(text.data), "Evil") {
				<-release
			}
			return p.source.read(ctx, text)
		}, p.source.look)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { p.source.workshop.run(ctx); close(ended) }()
		shown := append(textsOf("evil v2 owner=Evil", "cache v1"), text{origin: Origin{Kind: ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}, data: []byte(documentText("other v1 owner=Other ns=team")), digest: "1", steady: true})
		p.shows(shown)
		p.during(time.Second)
		if p.engine.hash("team/other") == "" || p.engine.hash("evil") != first || p.engine.hash("cache") == "" {
			t.Errorf("what does not wait for the compiler is not run: %+v", p.source.Policies())
		}
		close(release)
		p.during(time.Second)
		if now := p.engine.hash("evil"); now == first || now == "" {
			t.Error("the new version is not run when it is compiled")
		}
		cancel()
		<-ended
	})
}

// stuck gives a source a workshop that compiles no text with a word in it before release is called.
// It ends with the test, which calls release.
func (p *passing) stuck(word string) (release func()) {
	held, ended := make(chan struct{}), make(chan struct{})
	p.source.workshop = newWorkshop(clock.RealClock{}, func(ctx context.Context, text text) *reading {
		if strings.Contains(string(text.data), word) {
			<-held
		}
		return p.source.read(ctx, text)
	}, p.source.look)
	ctx, cancel := context.WithCancel(p.Context())
	go func() { p.source.workshop.run(ctx); close(ended) }()
	p.Cleanup(func() { cancel(); <-ended })
	return func() { close(held) }
}

// TestDoubtfulWhileCompiling: a text that lacks a child is not taken for steady because the one
// after it, which waits to be compiled, is.
func TestDoubtfulWhileCompiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassing(t)
		release := p.stuck("'3s'")
		p.has("cache v1 child=x,y")
		p.during(time.Second)
		first := p.engine.hash("cache")
		p.has("cache v2 child=x")
		p.during(100 * time.Millisecond)
		whole := textsOf("cache v3 child=x,y")
		whole[0].steady = true
		p.shows(whole)
		p.during(time.Second)
		if p.engine.hash("cache") != first || first == "" {
			t.Error("the text without the child is run")
		}
		release()
		p.during(10 * time.Second)
		if now := p.engine.hash("cache"); now == first || now == "" {
			t.Error("the whole text is not run when it is compiled")
		}
	})
}

// TestStartBesideCompiling: a text that is not compiled soon, or never since it changes all the
// time, does not keep the others from being run.
func TestStartBesideCompiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassing(t)
		p.source.began = time.Now()
		release := p.stuck("Evil")
		texts := textsOf("evil v1 owner=Evil", "cache v1")
		texts[0].origin = Origin{Kind: ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}
		p.shows(texts)
		p.during(firstReading / 2)
		if p.engine.hash("cache") != "" {
			t.Error("it does not wait for the other")
		}
		p.during(firstReading)
		if p.engine.hash("cache") == "" {
			t.Error("it waits for the other for ever")
		}
		release()
	})
}

// TestBackBeforeCompiled: a text that was gone for a moment is there again, although it takes
// longer to compile than what is gone may be absent.
func TestBackBeforeCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassing(t)
		p.source.book.retireFiles = true
		release := p.stuck("'2s'")
		p.has("cache v1")
		p.during(time.Second)
		first := p.engine.hash("cache")
		p.has()
		p.during(time.Second)
		p.has("cache v2")
		p.during(2 * absence)
		if p.engine.hash("cache") != first || p.engine.retires("cache") {
			t.Error("it is taken for deleted")
		}
		release()
		p.during(10 * time.Second)
		if now := p.engine.hash("cache"); now == first || now == "" {
			t.Error("the new text is not run when it is compiled")
		}
	})
}
