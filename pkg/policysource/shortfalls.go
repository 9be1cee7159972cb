package policysource

// NotReady is a policy that is not ready, or that lacks rights for some of its work.
type NotReady struct {
	Origin Origin
	// Name is empty where it is not legible.
	Name string
	// Ready: only a part of its work is not done.
	Ready bool
	// Reason is one of v1alpha1.Reason*.
	Reason string
}

// Shortfalls returns the policies that do not do all of their work, by priority, as they
// fare now.
func (s *Source) Shortfalls() []NotReady {
	s.mu.Lock()
	documents := s.last.documents
	s.mu.Unlock()
	if len(documents) == 0 {
		return nil
	}
	reports := s.secretary.reports()
	var list []NotReady
	for _, d := range documents {
		says := s.secretary.say(d, reports)
		short := NotReady{Origin: d.origin, Name: d.name, Ready: says.ready.status == isTrue, Reason: says.ready.reason}
		if short.Ready && says.permitted.status != isFalse {
			continue
		}
		if short.Ready {
			short.Reason = says.permitted.reason
		}
		list = append(list, short)
	}
	return list
}
