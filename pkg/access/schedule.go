package access

import (
	"cmp"
	"container/heap"
	"time"
)

// reviewClass is how urgent a request is; a lower one goes first.
type reviewClass int

// The classes. urgent: first reviews, refusals, hints at one namespace. sweep: invalidations
// at all namespaces. routine: probes while denied.
const (
	urgent reviewClass = iota
	sweep
	routine
	classes
)

// patience is how many requests of more urgent classes may overtake a class that
// waits, before it gets a turn; and how many of a group may overtake those of its tenants.
const patience = 7

// schedule is the keys whose next request waits: by class, and in it by payer and time.
// The zero value is empty. Not safe for concurrent use.
type schedule struct {
	groups    [classes]map[string]*classGroup // none is empty
	overtaken [classes]int
	turns     uint64 // how many there were
}

// classGroup is the payers of one group, in one class.
type classGroup struct {
	name    string
	lines   map[Payer]*payerLine // none is empty
	tenants map[string]*tenantLines
	last    uint64 // its last turn; 0: none since it was empty
	ahead   int    // how often the group's own line went before others
}

// tenantLines is the payers of one tenant, in one group.
type tenantLines struct {
	lines int    // how many there are; never 0
	last  uint64 // its last turn; 0: none since it had no line
}

// payerLine is the keys of one payer.
type payerLine struct {
	places dueQueue
	last   uint64
}

// putDue enters a key that is not in the schedule, for the payer whose line is shortest.
func (s *schedule) putDue(p *reviewState, c reviewClass, due time.Time) {
	p.class, p.due, p.payer = c, due, s.cheapestPayer(p, c)
	if s.groups[c] == nil {
		s.groups[c] = map[string]*classGroup{}
	}
	of := s.groups[c][p.payer.Group]
	if of == nil {
		of = &classGroup{name: p.payer.Group, lines: map[Payer]*payerLine{}, tenants: map[string]*tenantLines{}}
		s.groups[c][p.payer.Group] = of
	}
	heap.Push(&of.lineOf(p.payer).places, p)
}

// lineOf returns the line of a payer, a new one if there is none.
func (g *classGroup) lineOf(payer Payer) *payerLine {
	if found := g.lines[payer]; found != nil {
		return found
	}
	if g.tenants[payer.Tenant] == nil {
		g.tenants[payer.Tenant] = &tenantLines{}
	}
	g.tenants[payer.Tenant].lines++
	g.lines[payer] = &payerLine{}
	return g.lines[payer]
}

// dropLine removes the line of a payer.
func (g *classGroup) dropLine(payer Payer) {
	delete(g.lines, payer)
	if g.tenants[payer.Tenant].lines--; g.tenants[payer.Tenant].lines == 0 {
		delete(g.tenants, payer.Tenant)
	}
}

// cheapestPayer is the payer of a key whose line is shortest.
func (s *schedule) cheapestPayer(p *reviewState, c reviewClass) (best Payer) {
	shortest := -1
	for _, kept := range p.subs {
		length := 0
		if of := s.groups[c][kept.payer.Group]; of != nil && of.lines[kept.payer] != nil {
			length = len(of.lines[kept.payer].places)
		}
		if shortest < 0 || length < shortest || length == shortest && isBefore(kept.payer, best) {
			best, shortest = kept.payer, length
		}
	}
	return best
}

func isBefore(a, b Payer) bool {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name)) < 0
}

// removePlace takes a key out; one that is not in stays out.
func (s *schedule) removePlace(p *reviewState) {
	if p.slot < 0 {
		return
	}
	of := s.groups[p.class][p.payer.Group]
	in := of.lines[p.payer]
	heap.Remove(&in.places, p.slot)
	if len(in.places) == 0 {
		of.dropLine(p.payer)
	}
	if len(of.lines) == 0 {
		delete(s.groups[p.class], p.payer.Group)
	}
}

// takeDue removes and returns the key whose turn it is, nil if none is due. smooth is
// when a routine probe may be sent at the earliest. Within a class payers take turns; of
// one payer the key that waits longest is first.
func (s *schedule) takeDue(now, smooth time.Time) *reviewState {
	var due [classes]*payerLine
	var of [classes]*classGroup
	turn := classes
	for c := routine; c >= urgent; c-- {
		if of[c], due[c] = s.dueLine(c, now, smooth); due[c] != nil && (turn == classes || s.overtaken[turn] < patience) {
			turn = c
		}
	}
	if turn == classes {
		return nil
	}
	for c := turn + 1; c < classes; c++ {
		if due[c] != nil {
			s.overtaken[c]++
		}
	}
	s.overtaken[turn] = 0
	s.turns++
	p := due[turn].places[0]
	of[turn].countTurn(p.payer, s.turns)
	s.removePlace(p)
	return p
}

// dueLine returns the line of a class whose turn it is, with its group; nil if none has
// something to send.
func (s *schedule) dueLine(c reviewClass, now, smooth time.Time) (of *classGroup, next *payerLine) {
	if c == routine && now.Before(smooth) {
		return nil, nil
	}
	for _, g := range s.groups[c] {
		if l := g.dueLine(now); l != nil && (of == nil || goesBefore(g.last, l, of.last, next)) {
			of, next = g, l
		}
	}
	return of, next
}

// dueLine returns the line of the group whose turn it is; nil if none has something to send.
func (g *classGroup) dueLine(now time.Time) (next *payerLine) {
	var last uint64 // the last turn of the tenant of next
	for payer, l := range g.lines {
		if !l.isDue(now) {
			continue
		}
		switch turn := g.tenants[payer.Tenant].last; {
		case next == nil || turn < last, turn == last && goesBefore(l.last, l, next.last, next):
			next, last = l, turn
		}
	}
	if own := g.lines[Payer{Group: g.name}]; own != nil && own.isDue(now) && (g.ahead < patience || next == nil) {
		return own
	}
	return next
}

// goesBefore orders by the last turn, and if there was none by how long the first key
// of a line waits.
func goesBefore(last uint64, l *payerLine, otherLast uint64, other *payerLine) bool {
	if last != otherLast {
		return last < otherLast
	}
	a, b := l.places[0], other.places[0]
	if !a.due.Equal(b.due) {
		return a.due.Before(b.due)
	}
	return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Identity < b.Identity
}

// countTurn notes that the line of a payer has its turn.
func (g *classGroup) countTurn(payer Payer, turn uint64) {
	g.last, g.tenants[payer.Tenant].last, g.lines[payer].last = turn, turn, turn
	if payer.Tenant == "" && payer.Name == "" {
		g.ahead++
	} else {
		g.ahead = 0
	}
}

func (l *payerLine) isDue(now time.Time) bool { return !now.Before(l.places[0].due) }

// nextDue returns when something is due; false: nothing waits.
func (s *schedule) nextDue(smooth time.Time) (at time.Time, any bool) {
	for c, groups := range s.groups {
		for _, g := range groups {
			for _, l := range g.lines {
				due := l.places[0].due
				if reviewClass(c) == routine {
					due = laterOf(due, smooth)
				}
				if !any || due.Before(at) {
					at, any = due, true
				}
			}
		}
	}
	return at, any
}

// dueQueue is a heap of keys by the time they are due.
type dueQueue []*reviewState

func (q dueQueue) Len() int           { return len(q) }
func (q dueQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i, j
}

func (q *dueQueue) Push(x any) {
	p := x.(*reviewState)
	p.slot = len(*q)
	*q = append(*q, p)
}

func (q *dueQueue) Pop() any {
	old := *q
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	p.slot = -1
	return p
}
