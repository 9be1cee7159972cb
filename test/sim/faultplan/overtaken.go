package faultplan

import "github.com/ambit-dev/ambit/test/sim"

// Of two processes one may take back what the other one's write, which is still on its way, is
// to make. Nothing leads to that any more when it comes: the record does not name it, and
// whoever could see it does not look there. The docs say so (concepts.md, "Whose object it is").

// overtaken are the writes that took long while another process has written, and what they have
// made of objects. The zero value is ready; the judge guards it.
type overtaken struct {
	writes   map[string]int       // by process
	requests map[sim.Request]bool // being handled
	objects  map[string]bool      // by key
}

// note notes a change by Ambit.
func (o *overtaken) note(c sim.Change, key string) {
	if o.writes == nil {
		o.writes, o.requests, o.objects = map[string]int{}, map[sim.Request]bool{}, map[string]bool{}
	}
	o.writes[c.Request.Process]++
	if c.New != nil && o.requests[c.Request] {
		o.objects[key] = true
	}
}

// writesBeside is how often others than a process have written.
func (j *judge) writesBeside(process string) (writes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for other, n := range j.overtaken.writes {
		if other != process {
			writes += n
		}
	}
	return writes
}

// overtake notes that a write is handled after another process has written.
func (j *judge) overtake(r sim.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.overtaken.requests[r] = true
}

// answered notes that a write has been handled.
func (j *judge) answered(r sim.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.overtaken.requests, r)
}

// isOvertaken says whether an object is what a write made of it that came too late.
func (j *judge) isOvertaken(key string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.overtaken.objects[key]
}
