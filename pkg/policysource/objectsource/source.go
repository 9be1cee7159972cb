// Package objectsource reads policies from custom resources and ConfigMaps, and writes on these objects: wherever
// that is permitted, and following permissions as they change. What may not be seen is not reported as gone.
package objectsource

import (
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// Recorder makes events, as client-go's events.EventRecorder does. It does not block.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Options are the inputs of ForCustomResources and ForConfigMaps. All but Namespaces, Recorder and
// Logger are required.
type Options struct {
	// Namespace is Ambit's own. It and Namespaces are where objects are read if they cannot be
	// read in all namespaces.
	Namespace  string
	Namespaces []string
	// Informers read, where Ambit itself may. Access knows where it may write, and Client does so.
	Informers *permitted.Informers
	Access    *access.Reviewer
	Client    dynamic.Interface
	// Recorder makes events of the objects. Nil: there are none.
	Recorder Recorder
	Logger   logr.Logger
	// Wake is called when there may be something new to read. It does not block.
	Wake func()
}

// Source reads the objects of one kind in which policies stand, and writes on them. AddTo, ReadProblems and ReleaseAll
// belong to one goroutine. All other methods are safe for concurrent use.
type Source struct {
	kind      objectKind
	o         Options
	informers *permitted.Scoped
	writes    *writePermissions

	// The fields below belong to the goroutine of AddTo.
	scope         *readScope
	manifests     map[*unstructured.Unstructured][]manifest.Manifest
	withoutPolicy map[types.UID]bool // objects that were reported to hold no policy

	mu      sync.Mutex // guards what is below
	objects map[manifest.Origin]*unstructured.Unstructured
	refused map[types.UID]refusedWrite // by object: its last write, if that was refused
}

// ForCustomResources returns the source of ReconcilePolicies.
func ForCustomResources(o Options) *Source {
	return newSource(customResourceKind(), o)
}

// ForConfigMaps returns the source of ConfigMaps with the label of policies.
func ForConfigMaps(o Options) *Source { return newSource(configMapKind(), o) }

func newSource(kind objectKind, o Options) *Source {
	return &Source{
		kind: kind, o: o, informers: o.Informers.NewScoped(kind.watchQuery(), func(permitted.Event) { o.Wake() }),
		writes: &writePermissions{kind: kind, o: o, reviewed: map[string]bool{}},
		scope:  &readScope{kind: kind, o: o}, withoutPolicy: map[types.UID]bool{},
		objects: map[manifest.Origin]*unstructured.Unstructured{}, refused: map[types.UID]refusedWrite{},
	}
}

// AddTo follows permissions, and adds what the objects hold to a snapshot. It makes no request. It returns
// false if objects have not been read yet, and may be soon.
func (s *Source) AddTo(out *manifest.Snapshot) bool {
	s.scope.updateScope(s.informers)
	s.writes.followScope(s.scope)
	isRead := s.scope.isDecided
	manifests, objects := map[*unstructured.Unstructured][]manifest.Manifest{}, map[manifest.Origin]*unstructured.Unstructured{}
	for _, watch := range s.scope.watches {
		list, status := watch.ReadObjects()
		if status.Synced {
			out.Complete = append(out.Complete, manifest.Location{Kind: s.kind.kind, Namespace: watch.Namespace()})
		}
		if !status.Synced && !status.State.IsFinal() {
			isRead = false
		}
		s.scope.noteFinalState(status)
		for _, object := range list {
			held, ok := s.manifests[object]
			if !ok {
				held = s.kind.manifests(object)
			}
			manifests[object] = held
			objects[s.kind.originOf(object)] = object
			for _, m := range held {
				m.CannotSetFinalizer = s.kind.hasFinalizer && !m.HasFinalizer && !s.canSetFinalizer(object)
				out.Manifests = append(out.Manifests, m)
			}
		}
	}
	s.manifests = manifests
	s.mu.Lock()
	s.objects = objects
	s.mu.Unlock()
	s.reportWithoutPolicy()
	return isRead
}

// reportWithoutPolicy reports each object that holds no policy, once.
func (s *Source) reportWithoutPolicy() {
	before := s.withoutPolicy
	s.withoutPolicy = map[types.UID]bool{}
	for object, manifests := range s.manifests {
		if len(manifests) > 0 || object.GetDeletionTimestamp() != nil {
			continue
		}
		s.withoutPolicy[object.GetUID()] = true
		if before[object.GetUID()] {
			continue
		}
		const message = "there is no policy in it: none of its keys ends in .yaml or .yml"
		s.o.Logger.Info("a ConfigMap with the label of policies is ignored", "namespace", object.GetNamespace(), "name", object.GetName(), "message", message)
		s.RecordEvent(object, corev1.EventTypeWarning, v1alpha1.ReasonInvalid, message)
	}
}

// ReadProblems returns why objects cannot be read, or where only they are.
func (s *Source) ReadProblems() []string {
	list := []string{s.scope.problem, s.scope.narrow}
	return slices.DeleteFunc(list, func(problem string) bool { return problem == "" })
}

// ReleaseAll gives back all informers and reviews.
func (s *Source) ReleaseAll() {
	s.informers.ReleaseAll()
	s.writes.releaseReviews()
}
