package filesource

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/policytext"
)

// reader reads files, decides, and has a clock of its own.
type reader struct {
	*testing.T
	source   *Source
	registry *registry.Registry
	clock    *clocktesting.FakeClock
	path     string
}

func newReader(t *testing.T) *reader {
	dir := t.TempDir()
	r := &reader{T: t, registry: registry.New("ambit-system", false), clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), path: filepath.Join(dir, "a.yaml")}
	r.source = &Source{reader: fileReader{arguments: []string{dir}}, wake: func() {}, clock: r.clock}
	return r
}

// reads writes the file, reads it after a while, and returns what is run and retired then.
func (r *reader) reads(text string, after time.Duration) registry.Decision {
	r.Helper()
	must(r.T, os.WriteFile(r.path, []byte(text), 0o600))
	r.clock.Step(after)
	r.source.readAndCompare()
	return r.decides()
}

func (r *reader) decides() registry.Decision {
	var shown manifest.Snapshot
	r.source.AddTo(&shown)
	r.registry.TakeSnapshot(shown, r.clock.Now())
	return r.registry.DecidePolicies(r.clock.Now())
}

func childrenOf(d registry.Decision, id string) int {
	for _, p := range d.Programs {
		if registry.ProgramID(p) == id {
			return len(p.Children)
		}
	}
	return -1
}

// TestSlowWriter: a file that is written line by line, 0.6 s each, drops no child and
// retires nothing on the way; what runs meanwhile, if anything, is the version before.
func TestSlowWriter(t *testing.T) {
	r := newReader(t)
	before, after := policytext.Document("cache v1 child=x,y,z"), policytext.Document("cache v2 child=x,y,z")
	if got := childrenOf(r.reads(before, 0), "ambit-system/cache"); got != 3 {
		t.Fatalf("%d children", got)
	}
	lines := strings.SplitAfter(after, "\n")
	for i := range lines {
		d := r.reads(strings.Join(lines[:i], ""), 600*time.Millisecond)
		if got := childrenOf(d, "ambit-system/cache"); got != 3 && got != -1 {
			t.Errorf("after %d lines %d children are wanted", i, got)
		}
		if len(d.Retire) > 0 {
			t.Errorf("after %d lines something is retired", i)
		}
	}
	d := r.reads(after, 600*time.Millisecond)
	documents, err := syntax.Parse("a.yaml", []byte(after))
	must(t, err)
	want, err := policy.Compile(documents[0].InNamespace("ambit-system"))
	must(t, err)
	if len(d.Programs) != 1 || d.Programs[0].Hash != want.Hash {
		t.Errorf("the whole text is not run at once: %+v", d.Policies)
	}
}

// TestSteady: a child that is dropped is dropped when the file was read so twice, a second
// apart; a version that loses nothing takes effect at once.
func TestSteady(t *testing.T) {
	r := newReader(t)
	r.reads(policytext.Document("cache v1 child=x,y"), 0)
	one := policytext.Document("cache v2 child=x")
	for i, step := range []struct {
		after time.Duration
		want  int
	}{{0, 2}, {600 * time.Millisecond, 2}, {399 * time.Millisecond, 2}, {time.Millisecond, 1}} {
		if got := childrenOf(r.reads(one, step.after), "ambit-system/cache"); got != step.want {
			t.Errorf("at reading %d %d children are wanted, not %d", i, got, step.want)
		}
		if r.source.nextPoll() != map[int]time.Duration{2: steadyInterval, 1: pollInterval}[step.want] {
			t.Errorf("at reading %d the next one is in %s", i, r.source.nextPoll())
		}
	}
	if got := childrenOf(r.reads(policytext.Document("cache v3 child=x,z"), 0), "ambit-system/cache"); got != 2 {
		t.Errorf("a child more is not made at once: %d", got)
	}
}

// TestFreshAtStart: of a file that is being written when Ambit starts nothing is run before it
// was read twice, and the first decision waits for that; an old file is run at once.
func TestFreshAtStart(t *testing.T) {
	r := newReader(t)
	r.source.reader.isFresh = func(fs.FileInfo) bool { return true }
	whole := policytext.Document("cache v1 child=x,y,z")
	half := whole[:strings.LastIndex(whole[:len(whole)-1], "\n")+1]
	for i, step := range []struct {
		text  string
		after time.Duration
		want  int
	}{{half, 0, -1}, {half, 600 * time.Millisecond, -1}, {whole, 600 * time.Millisecond, -1}, {whole, 600 * time.Millisecond, -1}, {whole, 600 * time.Millisecond, 3}} {
		if got := childrenOf(r.reads(step.text, step.after), "ambit-system/cache"); got != step.want {
			t.Errorf("at reading %d %d children are wanted, not %d", i, got, step.want)
		}
		if settled := r.source.AddTo(&manifest.Snapshot{}); settled != (step.want > 0) {
			t.Errorf("at reading %d: settled is %t", i, settled)
		}
	}
	r = newReader(t)
	r.source.reader.isFresh = func(fs.FileInfo) bool { return false }
	if got := childrenOf(r.reads(whole, 0), "ambit-system/cache"); got != 3 {
		t.Errorf("%d children of an old file", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
