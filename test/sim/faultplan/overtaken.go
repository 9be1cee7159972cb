package faultplan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/sim"
)

// Of two processes one may take back what the other one's write, which is still on its way, is
// to make. Nothing leads to that any more when it comes: the record does not name it, and
// whoever could see it does not look there. The docs say so (concepts.md, "Whose object it is").

// overtaken are the writes that took long while another process has written, and what they have
// made of objects. The zero value is ready; the judge guards it.
type overtaken struct {
	writes   map[string]int       // by process
	requests map[sim.Request]bool // being handled
	objects  map[types.UID]bool   // made, or merged into
}

// note notes a change by Ambit of an object that is no owner; made: Ambit has made the object.
func (o *overtaken) note(c sim.Change, uid types.UID, made bool) {
	if o.writes == nil {
		o.writes, o.requests, o.objects = map[string]int{}, map[sim.Request]bool{}, map[types.UID]bool{}
	}
	o.writes[c.Request.Process]++
	switch {
	case c.New == nil, !o.requests[c.Request]: // it is gone, or Ambit has seen to it since
		delete(o.objects, uid)
	case c.Old == nil, !made:
		o.objects[uid] = true
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
