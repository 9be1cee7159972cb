package objectsource

import (
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// allNamespaces is the namespace that stands for all.
const allNamespaces = ""

// readScope is where the objects of one kind are read, as of the last call of update, and what is to be
// said of it. It belongs to one goroutine.
type readScope struct {
	kind objectKind
	o    Options

	watches   []*permitted.Watch // where objects are read
	isDecided bool               // it is known where to read
	problem   string             // why nothing can be read
	narrow    string             // where is read, if not everywhere; as it was logged last
}

// candidateNamespaces returns the namespaces to read in if all cannot be, sorted.
func (r *readScope) candidateNamespaces() []string {
	list := append([]string{r.o.Namespace}, r.o.Namespaces...)
	slices.Sort(list)
	return slices.Compact(list)
}

// updateScope finds out where objects may be read now.
func (r *readScope) updateScope(informers *permitted.Scoped) {
	r.watches, r.isDecided = informers.RequireNamespaces(r.candidateNamespaces())
	r.problem = ""
	if !r.isDecided {
		return // narrow is as before, until more is known
	}
	if len(r.watches) == 0 {
		r.problem = fmt.Sprintf("cannot list, watch %s in any namespace, nor in %q", r.kind.resource.GroupResource(), r.candidateNamespaces())
	}
	r.noteNarrow()
}

// isEverywhere reports whether objects are read in all namespaces.
func (r *readScope) isEverywhere() bool {
	return len(r.watches) > 0 && r.watches[0].Namespace() == allNamespaces
}

// noteNarrow records in which namespaces objects are read if not in all, and logs when that changes.
func (r *readScope) noteNarrow() {
	before := r.narrow
	if r.narrow = ""; len(r.watches) > 0 && !r.isEverywhere() {
		r.narrow = fmt.Sprintf("policies in %s are read in %s only: to read more it takes list, watch on %s cluster-wide, or in namespaces that --namespaces names",
			r.kind.name, r.describeNamespaces(), r.kind.resource.GroupResource())
	}
	switch {
	case r.narrow == before:
	case r.narrow != "":
		r.o.Logger.Info(r.narrow)
	case len(r.watches) > 0:
		r.o.Logger.Info("policies in " + r.kind.name + " are read in all namespaces")
	}
}

// maxNamespacesNamed is how many namespaces a message names.
const maxNamespacesNamed = 10

func (r *readScope) describeNamespaces() string {
	var namespaces []string
	for _, w := range r.watches {
		namespaces = append(namespaces, w.Namespace())
	}
	if more := len(namespaces) - maxNamespacesNamed; more > 0 {
		return fmt.Sprintf("namespaces %q and %d more", namespaces[:maxNamespacesNamed], more)
	}
	if len(namespaces) == 1 {
		return fmt.Sprintf("namespace %q", namespaces[0])
	}
	return fmt.Sprintf("namespaces %q", namespaces)
}

// noteFinalState records why an informer cannot read.
func (r *readScope) noteFinalState(status informer.Status) {
	switch {
	case status.State == informer.Missing:
		r.problem = fmt.Sprintf("the API server does not serve %s: its CustomResourceDefinition is not installed", r.kind.resource.GroupResource())
	case status.State.IsFinal():
		r.problem = status.Message
	}
}
