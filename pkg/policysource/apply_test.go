package policysource

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
)

// passing is a source that reads nothing by itself, and makes its passes when it is told.
type passing struct {
	*testing.T
	engine *fakeEngine
	source *Source
	log    []string
}

func newPassing(t *testing.T) *passing {
	t.Helper()
	p := &passing{T: t, engine: newFakeEngine()}
	logger := funcr.New(func(_, args string) { p.log = append(p.log, args) }, funcr.Options{})
	var err error
	p.source, err = New(Options{Files: []string{"policies"}, Controller: p.engine, Logger: logger})
	must(t, err)
	return p
}

// has says what the folder holds from now on.
func (p *passing) has(documents ...string) { p.shows(textsOf(documents...)) }

// textsOf are the files that hold a policy each.
func textsOf(documents ...string) []text {
	var texts []text
	for _, words := range documents {
		t := text{origin: Origin{Kind: File, File: "policies/" + strings.Fields(words)[0] + ".yaml"}, data: []byte(documentText(words))}
		t.digest, t.size = digestOf(t)
		texts = append(texts, t)
	}
	return texts
}

// shows has these texts read from now on.
func (p *passing) shows(texts []text) {
	r := filesReading{texts: texts, complete: []place{{kind: File, argument: "policies"}}}
	p.source.files.mu.Lock()
	p.source.files.last, p.source.files.read = r, true
	p.source.files.mu.Unlock()
	p.source.look()
}

// during makes passes as Start does, and returns how many there were.
func (p *passing) during(d time.Duration) (passes int) {
	p.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); passes++ {
		if passes == 10_000 {
			p.Fatalf("%d passes without an end", passes)
		}
		wait := p.source.pass(p.Context())
		if left := time.Until(end); wait == 0 || wait > left {
			wait = left
		}
		p.source.sleep(p.Context(), wait)
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
			p.source.book.retireFiles = true
			p.has()
			p.during(absence + time.Second)
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
				p.during(mostRefused)
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
