package policysource

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/policysource/compilequeue"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/policytext"
)

// TestWaits: a text that is to wait is compiled later without news.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Now(), make(chan struct{})
		var mu sync.Mutex
		var at []time.Duration
		w := newCompilers(clock.RealClock{}, func(context.Context, manifest.Manifest) *manifest.Contents {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			return &manifest.Contents{}
		}, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { w.startAll(ctx); close(ended) }()
		for version := range 5 {
			w.setManifests([]manifest.Manifest{{Origin: manifest.Origin{Kind: manifest.File, File: "a.yaml"}, Digest: fmt.Sprint(version)}})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		cancel()
		<-ended
		if diff := cmp.Diff([]time.Duration{0, 0, 0, compilequeue.Interval}, at); diff != "" {
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
		p.source.compilers = newCompilers(clock.RealClock{}, func(ctx context.Context, text manifest.Manifest) *manifest.Contents {
			if strings.Contains(string(text.Data), "Evil") {
				<-release
			}
			return p.source.compileManifest(ctx, text)
		}, p.source.wakeUp)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { p.source.compilers.startAll(ctx); close(ended) }()
		shown := append(textsOf("evil v2 owner=Evil", "cache v1"), manifest.Manifest{Origin: manifest.Origin{Kind: manifest.ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}, Data: []byte(policytext.Document("other v1 owner=Other ns=team")), Digest: "1", Steady: true})
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

// stuck gives a source compilers that compile no text with a word in it before release is called.
// It ends with the test, which calls release.
func (p *passing) stuck(word string) (release func()) {
	held, ended := make(chan struct{}), make(chan struct{})
	p.source.compilers = newCompilers(clock.RealClock{}, func(ctx context.Context, text manifest.Manifest) *manifest.Contents {
		if strings.Contains(string(text.Data), word) {
			<-held
		}
		return p.source.compileManifest(ctx, text)
	}, p.source.wakeUp)
	ctx, cancel := context.WithCancel(p.Context())
	go func() { p.source.compilers.startAll(ctx); close(ended) }()
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
		whole[0].Steady = true
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
		p.source.startedAt = time.Now()
		release := p.stuck("Evil")
		texts := textsOf("evil v1 owner=Evil", "cache v1")
		texts[0].Origin = manifest.Origin{Kind: manifest.ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}
		p.shows(texts)
		p.during(firstReadTimeout / 2)
		if p.engine.hash("cache") != "" {
			t.Error("it does not wait for the other")
		}
		p.during(firstReadTimeout)
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
		release := p.stuck("'2s'")
		p.has("cache v1")
		p.during(time.Second)
		first := p.engine.hash("cache")
		p.has()
		p.during(time.Second)
		p.has("cache v2")
		p.during(2 * registry.DeletionGrace)
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
