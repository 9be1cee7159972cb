package policysource

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// fakeEngine notes what it is told, and says what it is told to say.
type fakeEngine struct {
	mu       sync.Mutex
	sets     []string          // what each Set was, as text
	running  map[string]string // hash by id
	programs []*policy.Program // those that run
	retire   []string
	cleaned  map[string]bool
	left     int                            // of each that is not cleaned
	reports  map[string]policystatus.Report // beside those of what runs, which serve
	refuses  error                          // what Set says; nil: it takes what can be together
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{left: 3, cleaned: map[string]bool{}, reports: map[string]policystatus.Report{}}
}

func (f *fakeEngine) Set(programs, retire []*policy.Program) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses != nil {
		f.sets = append(f.sets, "refused")
		return f.refuses
	}
	f.running, f.programs, f.retire = map[string]string{}, programs, nil
	text := "run"
	for _, p := range programs {
		f.running[registry.ProgramID(p)] = p.Hash
		text += " " + registry.ProgramID(p)
	}
	text += " retire"
	for _, p := range retire {
		f.retire = append(f.retire, registry.ProgramID(p))
		text += " " + registry.ProgramID(p)
	}
	f.sets = append(f.sets, text)
	return errors.Join(policy.CheckConflicts(programs), policy.CheckRemoval(programs, retire))
}

func (f *fakeEngine) runningPrograms() []*policy.Program {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.programs
}

func (f *fakeEngine) RetiredOf(id string) (int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cleaned[id] {
		return 0, true
	}
	return f.left, false
}

func (f *fakeEngine) Reports() []policystatus.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []policystatus.Report
	for id := range f.running {
		if _, own := f.reports[id]; !own {
			list = append(list, policystatus.Report{Policy: id, Serving: true})
		}
	}
	for _, r := range f.reports {
		list = append(list, r)
	}
	return list
}

// hash is that of the version of a policy that runs; empty for none.
func (f *fakeEngine) hash(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running[id]
}

func (f *fakeEngine) retires(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.retire, id)
}

func (f *fakeEngine) clean(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleaned[id] = true
}

func (f *fakeEngine) report(r policystatus.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reports[r.Policy] = r
}

// refuse makes Set refuse, or take again what it is given.
func (f *fakeEngine) refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuses = err
}

func (f *fakeEngine) setCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.sets)
}

// fakeRecorder notes events.
type fakeRecorder struct {
	mu     sync.Mutex
	events []string
}

func (f *fakeRecorder) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, kind+" "+reason+" "+fmt.Sprintf(note, args...))
}

func (f *fakeRecorder) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}
