package objectsource

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// everything is allowed. No review is answered any more once it is silent.
type everything struct{ silent atomic.Bool }

func (e *everything) Rules(ctx context.Context, _ string) (access.Rules, error) {
	if e.silent.Load() {
		<-ctx.Done()
		return access.Rules{}, ctx.Err()
	}
	all := []string{"*"}
	return access.Rules{Items: []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}}}, nil
}

func (e *everything) Access(ctx context.Context, _ string, _ access.Access) (access.Verdict, error) {
	if e.silent.Load() {
		<-ctx.Done()
		return access.Verdict{}, ctx.Err()
	}
	return access.Verdict{Allowed: true}, nil
}

// patched is an API server that answers each patch in one way.
type patched struct {
	dynamic.NamespaceableResourceInterface
	answer *unstructured.Unstructured
	err    error
}

func (p patched) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return p
}
func (p patched) Namespace(string) dynamic.ResourceInterface { return p }
func (p patched) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error) {
	return p.answer, p.err
}

func resource(finalizers ...string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ReconcilePolicy"))
	object.SetNamespace("own")
	object.SetName("p")
	object.SetUID("u")
	object.SetFinalizers(finalizers)
	return object
}

// TestPatch: the answer of a write is what is seen next, and what was refused for want of a right is not sent again.
func TestPatch(t *testing.T) {
	removed, now := resource(), metav1.Now()
	removed.SetDeletionTimestamp(&now)
	written := resource("ambit.dev/cleanup")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "reconcilepolicies"}, "p", errors.New(`User "ambit" cannot patch resource "reconcilepolicies"`))
	before := resource()
	for name, c := range map[string]struct {
		reason string
		server patched
		want   *unstructured.Unstructured
		may    bool
		wakes  int32
	}{
		"Written":   {reason: "the next write begins with the answer", server: patched{answer: written}, want: written, may: true},
		"Last":      {reason: "the last finalizer is gone, and the object with it", server: patched{answer: removed}, may: true},
		"Forbidden": {reason: "permissions say when it makes sense again", server: patched{err: forbidden}, want: before, wakes: 1},
		"Conflict":  {reason: "what is seen next decides", server: patched{err: apierrors.NewConflict(schema.GroupResource{}, "p", nil)}, want: before, may: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reviews everything
				reviewer := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return &reviews, nil }})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go func() { _ = reviewer.Start(ctx) }()
				var wakes atomic.Int32
				s := ForCustomResources(Options{
					Access: reviewer, Client: c.server, Namespace: "own",
					Informers: permitted.New(informer.NewSet(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) { return nil, nil, nil }}), reviewer),
					Wake:      func() { wakes.Add(1) },
				})
				s.writes.requireReview(allNamespaces)
				s.writes.requireReview("own")
				time.Sleep(time.Second)
				reviews.silent.Store(true) // a refusal has permissions reviewed anew, which would wake as well
				synctest.Wait()
				wakes.Store(0)
				at := manifest.Origin{Kind: manifest.CustomResource, Namespace: "own", Name: "p"}
				s.objects[at] = before
				if allowed, known := s.MayPatch(before, "status"); !allowed || !known {
					t.Fatalf("it may be patched: %t, known: %t", allowed, known)
				}
				if err := s.PatchObject(t.Context(), before, "status", []byte("{}")); err != c.server.err {
					t.Errorf("the error is %v", err)
				}
				if allowed, _ := s.MayPatch(before, "status"); s.FindObject(at) != c.want || allowed != c.may || wakes.Load() != c.wakes {
					t.Errorf("%s: it is %v, may be patched: %t, and woke %d times", c.reason, s.FindObject(at), allowed, wakes.Load())
				}
			})
		})
	}
}
