package revisions

import "sync/atomic"

// Revision is one revision of one policy, as a Registry counts it. Make it with New. It belongs to one
// Registry. Safe for concurrent use.
type Revision[R any] struct {
	policy string
	value  R

	// isReplaced and isSucceeding are written under mu of the Registry.
	isReplaced, isSucceeding atomic.Bool

	// What is below is guarded by mu of the Registry.

	workers   int  // how many are in it
	hasWorked bool // a worker has entered it
}

// New makes a revision of a policy, with the value that stands for it. No worker is in it, and it is in
// no Registry yet.
func New[R any](policy string, value R) *Revision[R] {
	return &Revision[R]{policy: policy, value: value}
}

// Value is the value that New was given.
func (r *Revision[R]) Value() R { return r.value }

// IsReplaced reports whether the revision was the current one of its policy, and is not any more: there
// is another one, or the policy is gone. It takes no lock.
func (r *Revision[R]) IsReplaced() bool { return r.isReplaced.Load() }

// IsSucceeding reports whether the revision has replaced others that still hold what they needed. It
// becomes false when SettleRevision finds that over. It takes no lock.
func (r *Revision[R]) IsSucceeding() bool { return r.isSucceeding.Load() }
