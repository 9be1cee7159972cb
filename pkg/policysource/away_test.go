package policysource

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// everything is allowed.
type everything struct{}

func (everything) Rules(context.Context, string) (access.Rules, error) {
	all := []string{"*"}
	return access.Rules{Items: []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}}}, nil
}

func (everything) Access(context.Context, string, access.Access) (access.Verdict, error) {
	return access.Verdict{Allowed: true}, nil
}

// silent is an API server that takes writes and says nothing, as long as it is away.
type silent struct {
	dynamic.NamespaceableResourceInterface
	away            atomic.Bool
	asked, answered atomic.Int32
}

func (s *silent) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return s
}
func (s *silent) Namespace(string) dynamic.ResourceInterface { return s }

func (s *silent) Patch(ctx context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	s.asked.Add(1)
	if s.away.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.answered.Add(1)
	return resourceNamed(name), nil
}

func resourceNamed(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ReconcilePolicy"))
	object.SetNamespace("own")
	object.SetName(name)
	object.SetUID(types.UID(name))
	object.SetGeneration(1)
	return object
}

// TestAway: while the API server takes writes and does not answer each pass waits for one of
// them, so that the next one is about how policies fare by then.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviewer := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return everything{}, nil }})
		go func() { _ = reviewer.Start(t.Context()) }()
		server := &silent{}
		o := Options{Access: reviewer, Client: server, Controller: newFakeEngine(), Namespace: "own", Clock: clock.RealClock{}}
		o.Informers = informer.New(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) { return nil, nil, nil }})
		resources := newShelf(customResources(), o, func() {})
		resources.ask(everywhere)
		s := newSecretary(o, []*shelf{resources})
		var d decision
		for i := range 20 {
			object := resourceNamed(fmt.Sprintf("policy-%02d", i))
			from := Origin{Kind: CustomResource, Namespace: "own", Name: object.GetName()}
			resources.objects[from] = object
			d.documents = append(d.documents, document{
				entryKey: entryKey{origin: from, name: from.Name}, uid: string(object.GetUID()), generation: 1, id: "own/" + from.Name,
				verdict: verdict{state: Invalid, reason: v1alpha1.ReasonInvalid, message: "bad"},
			})
		}
		s.tell(d)
		time.Sleep(time.Second)
		pass := func() time.Duration {
			began := time.Now()
			s.pass(t.Context())
			return time.Since(began)
		}
		server.away.Store(true)
		for range 3 {
			if took := pass(); took > writeTime {
				t.Errorf("a pass took %v", took)
			}
			time.Sleep(tellTime)
		}
		server.away.Store(false)
		time.Sleep(mostWait)
		if pass(); server.answered.Load() != 20 {
			t.Errorf("%d of 20 are written when it is back", server.answered.Load())
		}
	})
}
