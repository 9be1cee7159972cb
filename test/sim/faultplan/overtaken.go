package faultplan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/sim"
)

// Of two processes one may take back what the other one's write, which is still on its way, is
// to make. Nothing leads to that any more when it comes: the record does not name it, and
// whoever could see it does not look there. The docs say so (concepts.md, "Whose object it is").
// A write is on its way from when its process has written the record, or seen that it is current.

// overtaken are the writes that were on their way while another process has written, and what they
// have made of objects. The zero value is ready; the judge guards it.
type overtaken struct {
	writes   map[string]int                       // by process
	requests map[sim.Request]bool                 // being handled
	objects  map[types.UID]bool                   // made, or merged into
	records  map[types.NamespacedName]recordWrite // the last one of each owner
	asked    map[sim.Request]int                  // writes of owners being handled, and how many of that owner there were before
	current  map[recordView]time.Time
}

// recordWrite is a write of an owner's metadata: by which process, and how many there were.
type recordWrite struct {
	process string
	count   int
}

// recordView is what a process knows of an owner's record: what so many writes have made of it.
type recordView struct {
	process string
	owner   types.NamespacedName
	count   int
}

// note notes a change by Ambit of an object that is no owner; made: Ambit has made the object.
func (o *overtaken) note(c sim.Change, uid types.UID, made bool) {
	if o.writes == nil {
		o.writes, o.requests, o.objects = map[string]int{}, map[sim.Request]bool{}, map[types.UID]bool{}
	}
	o.writes[c.Request.Process]++
	switch {
	case c.New == nil, !o.isLate(c.Request): // it is gone, or Ambit has seen to it since
		delete(o.objects, uid)
	case c.Old == nil, !made:
		o.objects[uid] = true
	}
}

// recordTrust is how long a process takes an owner's record for current.
const recordTrust = time.Second

// noteRecord notes a change of an owner's metadata by Ambit.
func (o *overtaken) noteRecord(process string, owner types.NamespacedName) {
	if o.records == nil {
		o.records, o.current = map[types.NamespacedName]recordWrite{}, map[recordView]time.Time{}
	}
	count := o.records[owner].count + 1
	o.records[owner] = recordWrite{process, count}
	o.current[recordView{process, owner, count}] = time.Now()
}

// isLate reports whether a write comes after another process has written, or after another one has written
// the record that its process takes for current.
func (o *overtaken) isLate(r sim.Request) bool {
	if o.requests[r] {
		return true
	}
	for view, at := range o.current {
		last := o.records[view.owner]
		switch {
		case time.Since(at) > recordTrust:
			delete(o.current, view)
		case view.process == r.Process && view.count < last.count && last.process != r.Process:
			return true
		}
	}
	return false
}

// noteSent notes that a write is sent. If one of an owner succeeds, its process knows the record as it was then.
func (j *judge) noteSent(r sim.Request) {
	if !j.isOfOwner(r) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.overtaken.asked == nil {
		j.overtaken.asked = map[sim.Request]int{}
	}
	j.overtaken.asked[r] = j.overtaken.records[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}].count
}

// isOfOwner reports whether a request is a write of an owner's metadata.
func (j *judge) isOfOwner(r sim.Request) bool {
	return isWrite(r) && r.Subresource == "" && r.Resource == j.scenario.Owners
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

// noteAnswered notes that a write has been handled.
func (j *judge) noteAnswered(r sim.Request, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.overtaken.requests, r)
	if count, ok := j.overtaken.asked[r]; ok && err == nil && j.overtaken.current != nil {
		j.overtaken.current[recordView{r.Process, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, count}] = time.Now()
	}
	delete(j.overtaken.asked, r)
}

// isOvertaken says whether a write that came too late has made an object, or merged into it.
func (j *judge) isOvertaken(uid types.UID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.overtaken.objects[uid]
}

// isOvertakenAt is isOvertaken for what is there of a key.
func (j *judge) isOvertakenAt(key string, w *World) bool {
	return slices.ContainsFunc(w.server.Objects(), func(obj *unstructured.Unstructured) bool {
		return keyOf(obj) == key && j.isOvertaken(obj.GetUID())
	})
}
