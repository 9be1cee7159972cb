package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
)

const placePolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: elsewhere, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: map
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}", namespace: "${owner.spec.place}"}}
    - id: secret
      template: {apiVersion: v1, kind: Secret, metadata: {name: "${owner.metadata.name}", namespace: "${owner.spec.place}"}}
`

// denies answers that nothing is permitted.
type denies struct{}

func (denies) Rules(context.Context, string) (access.Rules, error) { return access.Rules{}, nil }

func (denies) Access(context.Context, string, access.Access) (access.Verdict, error) {
	return access.Verdict{}, nil
}

// TestLessUsedTakesTheAnswerIn: when one of two owners does not use a place any more, what
// the other one lacks there is reported as before.
func TestLessUsedTakesTheAnswerIn(t *testing.T) {
	reviewer := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return denies{}, nil }})
	op := operatorFor(t, placePolicy, reviewer)
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { ended <- reviewer.Start(ctx) }()
	defer func() { stop(); <-ended }()

	a, b := types.NamespacedName{Namespace: "home", Name: "a"}, types.NamespacedName{Namespace: "home", Name: "b"}
	op.setPlaceUses(a, placeuses.ByPlace{"place": {{Part: "map"}}})
	op.setPlaceUses(b, placeuses.ByPlace{"place": {{Part: "secret"}}})
	op.rightsAt("place") // as a reconcile over b does
	lacks := func(resource string) bool {
		return slices.ContainsFunc(op.controller.Denied(), func(d Denial) bool { return d.Namespace == "place" && d.Resource == resource })
	}
	for until := time.Now().Add(10 * time.Second); !lacks("configmaps") || !lacks("secrets"); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it is never known what is denied: %v", op.controller.Denied())
		}
	}
	op.setPlaceUses(a, nil)
	if !lacks("secrets") {
		t.Errorf("what b lacks is not reported when a is gone: %v", op.controller.Denied())
	}
	if lacks("configmaps") {
		t.Errorf("what nobody needs any more is reported: %v", op.controller.Denied())
	}
}
