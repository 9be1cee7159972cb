package suites

import (
	"context"
	"flag"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/test/suites/constructor"
)

var (
	constructorFlag = flag.String("constructor", constructor.Scopedcache, "what makes the caches: scopedcache, controller-runtime or forgetful")
	casesFlag       = flag.String("cases", "", "run only cases whose text matches this regular expression")
	seedFlag        = flag.Int("seed", 1, "decides on the order of the cases")
)

// suiteTimeout bounds the run of one suite; the longest takes about a minute. How long it takes to download modules
// and to build the suite, after others and beside whatever else is built, says nothing of the suite.
const suiteTimeout = 8 * time.Minute

// world is what the suites of a run share.
type world struct {
	root    string // of Ambit's repository
	servers []string
	// building is held while something is built: two builds at once would both compile what neither
	// finds in Go's build cache.
	building sync.Mutex
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane for each suite")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := findServers(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	return &world{root: root, servers: servers}
}

// run runs a suite with a constructor, in a copy of its own.
func (w *world) run(t *testing.T, s suite, constructor, cases string) *report {
	t.Helper()
	temp := t.TempDir()
	r := run{constructor: constructor, cases: cases, seed: *seedFlag, servers: w.servers,
		artifacts: t.ArtifactDir(), progress: func(line string) { t.Log(line) }}
	binary := filepath.Join(temp, s.name+".test")
	w.build(t, s, temp, binary, &r)
	ctx, cancel := context.WithTimeout(t.Context(), suiteTimeout)
	defer cancel()
	began := time.Now()
	found, err := r.start(ctx, binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ran in %.0f s", time.Since(began).Seconds())
	return found
}

// build builds a suite and says in r where it is and what is run of it.
func (w *world) build(t *testing.T, s suite, temp, binary string, r *run) {
	t.Helper()
	w.building.Lock()
	defer w.building.Unlock()
	began := time.Now()
	m, err := newModule(t.Context(), w.root, temp)
	if err != nil {
		t.Fatal(err)
	}
	r.dir = filepath.Join(m.dir, s.pkg)
	changed, err := rewritePackage(r.dir, s.clients)
	if err != nil {
		t.Fatal(err)
	}
	r.files, r.function = changed.focus(), changed.function
	if err := m.build(t.Context(), s.pkg, binary); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d constructors replaced in %v; built in %.0f s", changed.calls, changed.changed, time.Since(began).Seconds())
}

// TestSuites: the cases of controller-runtime's suites hold with scopedcache, but for those listed.
func TestSuites(t *testing.T) {
	w := newWorld(t)
	for _, s := range suites() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var listed []unheld
			if *constructorFlag == constructor.Scopedcache {
				listed = unheldOf(s.name)
			}
			v := judge(w.run(t, s, *constructorFlag, *casesFlag), listed, *casesFlag == "")
			t.Log(v)
			for _, text := range v.unheld {
				t.Log(text)
			}
			for _, text := range v.wrong {
				t.Error(text)
			}
		})
	}
}

// TestSuiteFails: with a cache that lists nothing, each case that lists fails.
func TestSuiteFails(t *testing.T) {
	w := newWorld(t)
	v := judge(w.run(t, suites()[0], constructor.Forgetful, "should be able to list objects that haven't been watched previously"), nil, false)
	t.Log(v)
	if v.run < 3 || v.passed > 0 || len(v.wrong) < v.run {
		t.Errorf("%d wrong, want all", len(v.wrong))
	}
}

// TestUnheld: the list is short, names suites that there are, and has a reason for each case.
func TestUnheld(t *testing.T) {
	if count := len(unheldCases()); count > maxUnheld {
		t.Errorf("%d cases, want at most %d", count, maxUnheld)
	}
	known := map[string]bool{}
	for _, s := range suites() {
		known[s.name] = true
	}
	for _, u := range unheldCases() {
		if !known[u.suite] || u.name == "" || u.reason == "" {
			t.Errorf("no such suite, no name or no reason: %+v", u)
		}
	}
}
