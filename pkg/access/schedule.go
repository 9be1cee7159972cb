package access

import (
	"cmp"
	"container/heap"
	"time"
)

// class is how urgent a request is; a lower one goes first.
type class int

// The classes. urgent: first reviews, refusals, hints at one namespace. sweep: hints
// at all namespaces. routine: probes while denied.
const (
	urgent class = iota
	sweep
	routine
	classes
)

// patience is how many requests of more urgent classes may overtake a class that
// waits, before it gets a turn; and how many of a group may overtake those of its tenants.
const patience = 7

// schedule is the places whose next request waits: by class, and in it by payer and time.
// The zero value is empty. Not safe for concurrent use.
type schedule struct {
	groups    [classes]map[string]*group // none is empty
	overtaken [classes]int
	turns     uint64 // how many there were
}

// group is the payers of one group, in one class.
type group struct {
	name    string
	lines   map[Payer]*line // none is empty
	tenants map[string]*tenant
	last    uint64 // its last turn; 0: none since it was empty
	ahead   int    // how often the group's own line went before others
}

// tenant is the payers of one tenant, in one group.
type tenant struct {
	lines int    // how many there are; never 0
	last  uint64 // its last turn; 0: none since it had no line
}

// line is the places of one payer.
type line struct {
	places queue
	last   uint64
}

// put enters a place that is not in the schedule, for the payer whose line is shortest.
func (s *schedule) put(p *place, c class, due time.Time) {
	p.class, p.due, p.payer = c, due, s.cheapest(p, c)
	if s.groups[c] == nil {
		s.groups[c] = map[string]*group{}
	}
	of := s.groups[c][p.payer.Group]
	if of == nil {
		of = &group{name: p.payer.Group, lines: map[Payer]*line{}, tenants: map[string]*tenant{}}
		s.groups[c][p.payer.Group] = of
	}
	heap.Push(&of.line(p.payer).places, p)
}

// line returns the line of a payer, a new one if there is none.
func (g *group) line(payer Payer) *line {
	if found := g.lines[payer]; found != nil {
		return found
	}
	if g.tenants[payer.Tenant] == nil {
		g.tenants[payer.Tenant] = &tenant{}
	}
	g.tenants[payer.Tenant].lines++
	g.lines[payer] = &line{}
	return g.lines[payer]
}

// drop removes the line of a payer.
func (g *group) drop(payer Payer) {
	delete(g.lines, payer)
	if g.tenants[payer.Tenant].lines--; g.tenants[payer.Tenant].lines == 0 {
		delete(g.tenants, payer.Tenant)
	}
}

// cheapest is the payer of a place whose line is shortest.
func (s *schedule) cheapest(p *place, c class) (best Payer) {
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

// remove takes a place out; one that is not in stays out.
func (s *schedule) remove(p *place) {
	if p.slot < 0 {
		return
	}
	of := s.groups[p.class][p.payer.Group]
	in := of.lines[p.payer]
	heap.Remove(&in.places, p.slot)
	if len(in.places) == 0 {
		of.drop(p.payer)
	}
	if len(of.lines) == 0 {
		delete(s.groups[p.class], p.payer.Group)
	}
}

// take removes and returns the place whose turn it is, nil if none is due. smooth is
// when a routine probe may be sent at the earliest. Within a class payers take turns; of
// one payer the place that waits longest is first.
func (s *schedule) take(now, smooth time.Time) *place {
	var due [classes]*line
	var of [classes]*group
	turn := classes
	for c := routine; c >= urgent; c-- {
		if of[c], due[c] = s.due(c, now, smooth); due[c] != nil && (turn == classes || s.overtaken[turn] < patience) {
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
	of[turn].taken(p.payer, s.turns)
	s.remove(p)
	return p
}

// due returns the line of a class whose turn it is, with its group; nil if none has
// something to send.
func (s *schedule) due(c class, now, smooth time.Time) (of *group, next *line) {
	if c == routine && now.Before(smooth) {
		return nil, nil
	}
	for _, g := range s.groups[c] {
		if l := g.due(now); l != nil && (of == nil || goesBefore(g.last, l, of.last, next)) {
			of, next = g, l
		}
	}
	return of, next
}

// due returns the line of the group whose turn it is; nil if none has something to send.
func (g *group) due(now time.Time) (next *line) {
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

// goesBefore orders by the last turn, and if there was none by how long the first place
// of a line waits.
func goesBefore(last uint64, l *line, otherLast uint64, other *line) bool {
	if last != otherLast {
		return last < otherLast
	}
	a, b := l.places[0], other.places[0]
	if !a.due.Equal(b.due) {
		return a.due.Before(b.due)
	}
	return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Identity < b.Identity
}

// taken notes that the line of a payer has its turn.
func (g *group) taken(payer Payer, turn uint64) {
	g.last, g.tenants[payer.Tenant].last, g.lines[payer].last = turn, turn, turn
	if payer.Tenant == "" && payer.Name == "" {
		g.ahead++
	} else {
		g.ahead = 0
	}
}

func (l *line) isDue(now time.Time) bool { return !now.Before(l.places[0].due) }

// next returns when something is due; false: nothing waits.
func (s *schedule) next(smooth time.Time) (at time.Time, any bool) {
	for c, groups := range s.groups {
		for _, g := range groups {
			for _, l := range g.lines {
				due := l.places[0].due
				if class(c) == routine {
					due = later(due, smooth)
				}
				if !any || due.Before(at) {
					at, any = due, true
				}
			}
		}
	}
	return at, any
}

// queue is a heap of places by the time they are due.
type queue []*place

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i, j
}

func (q *queue) Push(x any) {
	p := x.(*place)
	p.slot = len(*q)
	*q = append(*q, p)
}

func (q *queue) Pop() any {
	old := *q
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	p.slot = -1
	return p
}
