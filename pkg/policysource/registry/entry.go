package registry

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// Key is one policy of a manifest. It is comparable.
type Key struct {
	Origin manifest.Origin
	// Namespace and Name are the policy's. Name is empty if it is not legible.
	Namespace, Name string
	Nth             int // tells policies of one name, or without one, apart
}

// policyLabel is what no two policies that are run have in common.
func (e *entry) policyLabel() string { return v1alpha1.PolicyLabel(e.key.Namespace, e.key.Name) }

// entry has what is known of one policy.
type entry struct {
	key        Key
	precedence precedence
	current    manifest.Compiled
	// lastGood is the last version that compiled; nil if there was none.
	lastGood *policy.Program
	// lastGoodDocument is the document of lastGood, if it is from this manifest; else nil.
	lastGoodDocument *syntax.Document
	// unreadable is why the manifest cannot be read as a whole now; nil if it can.
	unreadable error
	// absentSince is since when complete readings have not got it; zero: it is there.
	absentSince time.Time
	// stopsWhenAbsent: nobody has said that it was removed, so that it is stopped when it is absent,
	// and not retired. Only of files.
	stopsWhenAbsent bool

	uid                                        types.UID
	generation                                 int64
	deleting, hasFinalizer, cannotSetFinalizer bool
	// hadOwners: it was seen to have owners, by this Ambit or by one before as its status
	// says.
	hadOwners bool

	// isRunning and isRetiring: the last decision has it among the programs to run, or to clean up
	// after. everRan: some decision had, so that it is cleaned up after when it is deleted, whoever
	// has its owners by then. isFinished: there is nothing to clean up any more.
	isRunning, isRetiring, everRan, isFinished bool
	// whyAbandoned is why nobody can clean up what is left. Empty unless isFinished.
	whyAbandoned string
	resolution   Resolution
}

// lifecycle is where an entry is between its first reading and its end.
type lifecycle int

const (
	present        lifecycle = iota
	brieflyMissing           // for less than DeletionGrace
	stopped                  // missing for longer, and nobody has said that it was removed
	leaving                  // deleted, removed, or retired by spec.retire
)

func (e *entry) lifecycleAt(now time.Time) lifecycle {
	switch {
	case e.deleting, e.retiredBySpec():
		return leaving
	case e.absentSince.IsZero():
		return present
	case now.Sub(e.absentSince) < DeletionGrace:
		return brieflyMissing
	case e.stopsWhenAbsent:
		return stopped
	}
	return leaving
}

// retiredBySpec reports whether the policy itself says that it is to be cleaned up after.
func (e *entry) retiredBySpec() bool {
	p := e.bestProgram()
	return p != nil && p.Retire
}

// bestProgram returns the best that can be run of an entry; nil for nothing.
func (e *entry) bestProgram() *policy.Program {
	switch {
	case e.current.Program != nil:
		return e.current.Program
	case e.lastGood != nil:
		return e.lastGood
	}
	return e.current.CleanupOnly
}

// currentError returns what is wrong with an entry now; nil for nothing.
func (e *entry) currentError() error {
	if e.unreadable != nil {
		return e.unreadable
	}
	return e.current.Mistake
}
