package policysource

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/policytext"
)

// passing is a source that reads nothing by itself, and makes its passes when it is told.
type passing struct {
	*testing.T
	engine *fakeEngine
	source *Source
	folder folder
	log    []string
}

// folder is a source of files that a test fills.
type folder struct{ manifests []manifest.Manifest }

func (f *folder) AddTo(s *manifest.Snapshot) bool {
	s.Manifests = append(s.Manifests, f.manifests...)
	s.Complete = append(s.Complete, manifest.Location{Kind: manifest.File})
	return true
}

func (*folder) ReadProblems() []string { return nil }

func newPassing(t *testing.T) *passing {
	t.Helper()
	p := &passing{T: t, engine: newFakeEngine()}
	logger := funcr.New(func(_, args string) { p.log = append(p.log, args) }, funcr.Options{})
	var err error
	p.source, err = New(Options{Files: []string{"policies"}, RetireRemovedFiles: true, Controller: p.engine, Logger: logger})
	must(t, err)
	p.source.sources = []manifestSource{&p.folder}
	return p
}

// has says what the folder holds from now on.
func (p *passing) has(documents ...string) { p.shows(textsOf(documents...)) }

// textsOf are the files that hold a policy each.
func textsOf(documents ...string) []manifest.Manifest {
	var texts []manifest.Manifest
	for _, words := range documents {
		t := manifest.Manifest{Origin: manifest.Origin{Kind: manifest.File, File: "policies/" + strings.Fields(words)[0] + ".yaml"}, Data: []byte(policytext.Document(words))}
		t = t.WithDigest()
		texts = append(texts, t)
	}
	return texts
}

// shows has these texts read from now on.
func (p *passing) shows(texts []manifest.Manifest) {
	p.folder.manifests = texts
	p.source.wakeUp()
}

// during makes passes as Start does, and returns how many there were.
func (p *passing) during(d time.Duration) (passes int) {
	p.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); passes++ {
		if passes == 10_000 {
			p.Fatalf("%d passes without an end", passes)
		}
		wait := p.source.decideOnce(p.Context())
		if left := time.Until(end); wait == 0 || wait > left {
			wait = left
		}
		p.source.waitForNews(p.Context(), wait)
	}
	return passes
}

func (p *passing) logged(text string) (n int) {
	for _, line := range p.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TestRefused: what the engine does not take is given to it again now and then, whatever
// it was given for, and said once.
func TestRefused(t *testing.T) {
	const reason = "they cannot be together"
	for name, change := range map[string]func(*passing){
		"a policy that is new": func(p *passing) { p.has("cache v1", "other v1 owner=Other") },
		"a policy that was cleaned up after": func(p *passing) {
			p.engine.refuse(nil)
			p.has()
			p.during(registry.DeletionGrace + time.Second)
			if !p.engine.retires("cache") {
				p.Fatal("it is not cleaned up after")
			}
			p.engine.refuse(errors.New(reason))
			p.engine.clean("cache")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPassing(t)
				p.has("cache v1")
				p.during(time.Second)
				p.engine.refuse(errors.New(reason))
				change(p)
				before := p.engine.setCount()
				p.during(5 * time.Minute)
				if tries := p.engine.setCount() - before; tries < 5 || tries > 20 {
					t.Errorf("it was tried %d times in 5 minutes", tries)
				}
				if n := p.logged(reason); n != 1 {
					t.Errorf("the reason is said %d times", n)
				}
				if ready, text := p.source.Ready(); ready || !strings.Contains(text, reason) {
					t.Errorf("ready: %t, %q", ready, text)
				}
				p.engine.refuse(nil)
				p.during(maxRetry)
				if ready, text := p.source.Ready(); !ready {
					t.Errorf("when it takes them again: %q", text)
				}
				if quiet := p.engine.setCount(); p.during(time.Minute) > 1 || p.engine.setCount() != quiet {
					t.Errorf("it goes on: %s", p.engine.sets[quiet:])
				}
			})
		})
	}
}

// TestRefusedNews: what is otherwise than what was refused is tried at once.
func TestRefusedNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassing(t)
		p.engine.refuse(errors.New("not these"))
		p.has("cache v1")
		p.during(time.Minute)
		p.engine.refuse(nil)
		p.has("cache v2")
		p.during(time.Millisecond)
		if !slices.Contains(p.engine.sets, "run cache retire") {
			t.Errorf("it is not run: %s", p.engine.sets)
		}
	})
}
