package registry

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	_ "github.com/ambit-dev/ambit/test/draws"
)

// TestOrder: which order texts are seen in decides nothing, neither within a reading nor
// over several; and one more reading of the same decides the same.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newStory(t)
		count := rapid.IntRange(1, 6).Draw(r, "texts")
		for i := range count {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "name")
			owner := rapid.SampledFrom([]string{"X", "Y"}).Draw(r, "owner")
			flaw := rapid.SampledFrom([]string{"", "", "", " broken", " opaque", " suspend"}).Draw(r, "flaw")
			body := fmt.Sprintf("%s v%d owner=%s%s", name, i+1, owner, flaw)
			created := rapid.IntRange(0, 2).Draw(r, "created")
			switch rapid.SampledFrom([]manifest.Kind{manifest.File, manifest.CustomResource, manifest.ConfigMap}).Draw(r, "kind") {
			case manifest.File:
				s.line(fmt.Sprintf("file %d.yaml: %s", i, body))
			case manifest.CustomResource:
				s.line(fmt.Sprintf("crd team-%d/%s created=%ds guarded: %s", i%2, name, created, body))
			case manifest.ConfigMap:
				s.line(fmt.Sprintf("configmap ns-%d/maps %d.yaml created=%ds: %s", i%2, i, created, body))
			}
		}
		all := s.snapshot()
		want := s.decided(all)
		shuffle := rand.New(rand.NewSource(rapid.Int64().Draw(r, "seed")))
		for range 3 {
			other := s.again()
			mixed := all
			mixed.Manifests = slices.Clone(all.Manifests)
			shuffle.Shuffle(len(mixed.Manifests), func(i, j int) { mixed.Manifests[i], mixed.Manifests[j] = mixed.Manifests[j], mixed.Manifests[i] })
			for i := range mixed.Manifests { // one more at a time
				part := mixed
				part.Manifests, part.Complete = mixed.Manifests[:i], nil
				other.decided(part)
			}
			if got := other.decided(mixed); got != want {
				r.Fatalf("the order decides:\n%s\n----\n%s", want, got)
			}
			if got := other.decided(mixed); got != want {
				r.Fatalf("the same again decides otherwise:\n%s\n----\n%s", want, got)
			}
		}
	})
}

// TestTaken: whatever comes and goes, the engine takes the decision.
func TestTaken(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newStory(t)
		s.registry.retireRemovedFiles = rapid.Bool().Draw(r, "retire removed files")
		for step := range rapid.IntRange(1, 12).Draw(r, "steps") {
			s.now = s.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(r, "seconds")) * time.Second)
			s.line(drawEvent(r, step))
			s.registry.TakeSnapshot(s.snapshot(), s.now)
			d := s.registry.DecidePolicies(s.now)
			if err := errors.Join(policy.CheckConflicts(d.Programs), policy.CheckRemoval(d.Programs, d.Retire)); err != nil {
				r.Fatalf("the engine refuses:\n%s\n%v", s.print(d), err)
			}
			if len(d.Retire) > 0 && rapid.Bool().Draw(r, "clean") {
				s.registry.FinishCleanup(ProgramID(d.Retire[0]), "")
			}
		}
	})
}

// drawEvent is a line of a story: a policy comes, changes, is deleted, or is gone.
func drawEvent(r *rapid.T, step int) string {
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "name")
	body := fmt.Sprintf(": %s v%d owner=%s%s%s", name, step+1, rapid.SampledFrom([]string{"X", "Y"}).Draw(r, "owner"),
		rapid.SampledFrom([]string{"", " scope=team-0", " scope=team-0,team-1", " select=tier:team-1"}).Draw(r, "scope"),
		rapid.SampledFrom([]string{"", "", " broken", " suspend", " retire"}).Draw(r, "flaw"))
	at := rapid.SampledFrom([]string{"team-0", "team-1", "ambit-system"}).Draw(r, "namespace")
	origin := rapid.SampledFrom([]string{"file " + name + at + ".yaml", "crd " + at + "/" + name, "configmap " + at + "/maps " + name + ".yaml"}).Draw(r, "origin")
	switch what := rapid.SampledFrom([]string{"", "", "gone", "deleting"}).Draw(r, "what"); {
	case what == "gone":
		return "gone " + origin
	case strings.HasPrefix(origin, "file"):
		return origin + body
	case strings.HasPrefix(origin, "crd"):
		return origin + " guarded " + what + body
	}
	return origin + " created=1s" + body
}

// again is the story with a book that knows nothing.
func (s *story) again() *story {
	return &story{t: s.t, registry: New(s.registry.ownNamespace, s.registry.retireRemovedFiles), now: s.now, versions: s.versions}
}

func (s *story) decided(shown manifest.Snapshot) string {
	s.registry.TakeSnapshot(shown, s.now)
	return s.print(s.registry.DecidePolicies(s.now))
}
