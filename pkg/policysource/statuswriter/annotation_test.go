package statuswriter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/sim"
)

// inMap is a policy of a key of the ConfigMap maps, which runs.
func inMap(key, name string) registry.PolicyState {
	from := manifest.Origin{Kind: manifest.ConfigMap, Namespace: "team", Name: "maps", Key: key}
	return registry.PolicyState{Key: registry.Key{Origin: from, Namespace: "team", Name: name}, ID: "team/" + name}
}

// TestAnnotation: the annotation of a ConfigMap follows its policies, of all keys together, is written no more often than it changes, and
// goes with the last of them.
func TestAnnotation(t *testing.T) {
	const a, b = `{"key":"a.yaml","policy":"a","ready":true,"reason":"Serving"}`, `{"key":"b.yaml","policy":"b","ready":true,"reason":"Serving"}`
	illegible := inMap("b.yaml", "")
	illegible.Resolution, illegible.ID = registry.Resolution{State: registry.Invalid, Message: "no YAML"}, ""
	synctest.Test(t, func(t *testing.T) {
		c, _, maps := newCluster(t, sim.Options{})
		c.create(mapResource, "team", "{apiVersion: v1, kind: ConfigMap, metadata: {name: maps}}")
		c.report(serving("team/a", "team/b"))
		for _, step := range []struct {
			reason   string
			policies []registry.PolicyState
			do       func()
			want     string // of the annotation
			writes   int
		}{
			{reason: "nothing is said of what has no policy", do: func() {}},
			{reason: "two keys are one text", policies: []registry.PolicyState{inMap("a.yaml", "a"), inMap("b.yaml", "b")}, do: func() {}, want: "[" + a + "," + b + "]", writes: 1},
			{reason: "nothing has changed", policies: []registry.PolicyState{inMap("a.yaml", "a"), inMap("b.yaml", "b")}, do: func() {}, want: "[" + a + "," + b + "]"},
			{reason: "one is not legible any more", policies: []registry.PolicyState{inMap("a.yaml", "a"), illegible}, do: func() {},
				want: "[" + a + `,{"key":"b.yaml","ready":false,"reason":"Invalid","message":"the policy does not compile, and nothing is run: no YAML"}]`, writes: 1},
			{reason: "a key vanishes", policies: []registry.PolicyState{inMap("a.yaml", "a")}, do: func() {}, want: "[" + a + "]", writes: 1},
			{reason: "somebody has edited it", policies: []registry.PolicyState{inMap("a.yaml", "a")}, do: func() { c.patch(mapResource, "maps", `{"metadata":{"annotations":{"ambit.dev/status":"x"}}}`) },
				want: "[" + a + "]", writes: 1},
			{reason: "the last key vanishes", do: func() {}, writes: 1},
			{reason: "another ConfigMap has got it with a copy", do: func() {
				c.create(mapResource, "team", "{apiVersion: v1, kind: ConfigMap, metadata: {name: copy, annotations: {ambit.dev/status: '[]'}}}")
			}, writes: 1},
			{reason: "the ConfigMap is gone before its policies", policies: []registry.PolicyState{inMap("a.yaml", "a")}, do: func() { c.remove(mapResource, "copy"); c.remove(mapResource, "maps") }},
		} {
			step.do()
			maps.see()
			c.writer.TakeDecision(registry.Decision{Policies: step.policies})
			before := len(c.patches)
			for range 10 {
				c.pass()
				maps.see()
				time.Sleep(WriteInterval)
			}
			got := ""
			for _, object := range maps.seen {
				got += object.GetAnnotations()[v1alpha1.AnnotationStatus]
			}
			if diff := cmp.Diff(step.want, got); diff != "" || len(c.patches)-before != step.writes {
				t.Errorf("%s: %d writes, want %d (-want +got):\n%s", step.reason, len(c.patches)-before, step.writes, diff)
			}
		}
		want := []string{"maps Warning Invalid: a policy without a name in b.yaml: the policy does not compile, and nothing is run: no YAML"}
		if diff := cmp.Diff(want, c.events); diff != "" {
			t.Errorf("the events (-want +got):\n%s", diff)
		}
		if len(c.writer.attempts)+len(c.writer.debouncer.pending) > 0 {
			t.Error("what is gone is remembered")
		}
	})
}

// TestDueAfter: what may be another text soon is held back, the longer the less is lost by it.
func TestDueAfter(t *testing.T) {
	type text struct {
		after               time.Duration // since the one before
		text                string
		transient, reported bool
		upToDate            bool // nothing is to be written
		want                time.Duration
	}
	for name, c := range map[string]struct {
		reason string
		texts  []text
	}{
		"First":      {reason: "nobody has said anything", texts: []text{{text: "a"}}},
		"Restart":    {reason: "after a start it changes bit by bit", texts: []text{{text: "a", reported: true, want: RestartDebounce}, {after: time.Second, text: "b", reported: true, want: RestartDebounce}, {after: time.Second, text: "b", reported: true, want: RestartDebounce - time.Second}, {after: 2 * time.Second, text: "b", reported: true}}},
		"Ours":       {reason: "what this process has written it replaces at once", texts: []text{{text: "a"}, {after: time.Second, text: "b", reported: true}}},
		"Found":      {reason: "what it has found as it would write it, too", texts: []text{{upToDate: true}, {after: time.Second, text: "b", reported: true}}},
		"OnItsWay":   {reason: "it mostly arrives", texts: []text{{text: "a", transient: true, want: transientDebounce}, {after: time.Second, text: "b"}}},
		"Stuck":      {reason: "it does not arrive", texts: []text{{text: "a", transient: true, want: transientDebounce}, {after: transientDebounce, text: "a", transient: true}}},
		"StartAgain": {reason: "the process was started again: what is written still holds", texts: []text{{text: "a", transient: true, reported: true, want: transientAgain}, {after: transientAgain, text: "a", transient: true, reported: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(Options{Clock: clock.RealClock{}}).debouncer
				for i, text := range c.texts {
					time.Sleep(text.after)
					if text.upToDate {
						b.noteUpToDate(manifest.Origin{})
						continue
					}
					if got := b.dueAfter(manifest.Origin{}, text.text, text.transient, text.reported); got != text.want {
						t.Errorf("%s: text %d is due after %s, want %s", c.reason, i, got, text.want)
					}
				}
			})
		})
	}
}

// TestStart: a decision is written at once, what was put off when it is due, what is edited away within a second; and nothing while nothing
// changes. It ends with its context.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, resources, _ := newCluster(t, sim.Options{})
		p := c.createPolicy("p")
		resources.see()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.writer.Start(ctx) }()
		for _, step := range []struct {
			reason string
			do     func()
			after  time.Duration
			writes int
		}{
			{reason: "there is no decision", do: func() {}, after: time.Hour},
			{reason: "it is about to be run", do: func() { c.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}}) }, after: transientDebounce - 300*time.Millisecond},
			{reason: "the same decision again does not put it off", do: func() { c.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}}) }, after: 299 * time.Millisecond},
			{reason: "it is not run for long enough", do: func() {}, after: 2 * time.Millisecond, writes: 1},
			{reason: "it is run", do: func() {
				resources.see()
				c.report(serving("team/p"))
				c.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}})
			}, after: WriteInterval, writes: 1},
			{reason: "nothing changes", do: resources.see, after: time.Hour},
			{reason: "somebody takes it off", do: func() { c.patch(policyResource, "p", `{"status":null}`, "status"); resources.see() }, after: WriteInterval, writes: 1},
		} {
			before := c.sentCount()
			step.do()
			time.Sleep(step.after)
			synctest.Wait()
			if got := c.sentCount() - before; got != step.writes {
				t.Errorf("%s: %d writes, want %d", step.reason, got, step.writes)
			}
			resources.see()
		}
		cancel()
		<-done
	})
}
