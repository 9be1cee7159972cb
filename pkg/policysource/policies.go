package policysource

// Policy is one document that is known, for metrics and tests.
type Policy struct {
	Origin Origin
	// Name is empty where it is not legible.
	Name  string
	State State
	// Reason is one of v1alpha1.Reason*, Message says what is wrong; both empty for what
	// is valid.
	Reason, Message string
	// ID is how the engine calls what it runs, or cleans up after, because of this
	// document; empty: nothing. It may be an older version, or one that only cleans up.
	ID string
	// Hash is that of the version with that ID.
	Hash string
	// Retiring: it was deleted, and is being cleaned up after.
	Retiring bool
}

// Policies returns each document that is known, by priority: of two that want one name
// the first is run.
func (s *Source) Policies() []Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Policy, len(s.last.documents))
	for i, d := range s.last.documents {
		list[i] = Policy{Origin: d.origin, Name: d.name, State: d.state, Reason: d.reason, Message: d.message, ID: d.id, Retiring: d.retiring}
		if d.program != nil {
			list[i].Hash = d.program.Hash
		}
	}
	return list
}
