package controller

import (
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

const askPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: unseen, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: copies
      forEach: {as: found, in: all}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-${found.metadata.namespace}"}
  watches:
    - {id: all, apiVersion: v1, kind: ConfigMap, namespace: "*", selector: {matchLabels: {unseen: x}}}
`

// operatorFor is the policy controller of a policy of namespaced kinds, which knows them. Nothing runs.
func operatorFor(t *testing.T, text string, reviewer *access.Reviewer) *policyController {
	t.Helper()
	documents, err := syntax.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{
		Programs: []*policy.Program{program}, Served: serverOf(program).find, Access: reviewer,
		Informers: informer.New(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) { return nil, nil, nil }}),
		Clients:   func(string) (dynamic.Interface, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	op := e.revisions.currentOf(idOf(program))
	op.haveLookedUpKinds()
	e.discovery.PollRound(t.Context())
	return op
}

// askOperator is that of askPolicy, which has asked about the namespace `home` for an owner.
func askOperator(t *testing.T) *policyController {
	t.Helper()
	op := operatorFor(t, askPolicy, access.New(access.Options{}))
	op.requirePermissions("home", atHome)
	return op
}

// TestAskRace: while one worker notes that an owner makes use of its own namespace, which
// changes nothing of what is asked there, another asks about it for its owner.
func TestAskRace(t *testing.T) {
	op := askOperator(t)
	first := op.permissionRequests["home"]
	var running sync.WaitGroup
	running.Go(func() { // the worker of x, as layOut does it
		for range 3000 {
			op.setPlaceUses(types.NamespacedName{Namespace: "home", Name: "x"}, placeuses.ByPlace{"home": {{Part: "all", Optional: true}}})
			op.setPlaceUses(types.NamespacedName{Namespace: "home", Name: "x"}, nil)
		}
	})
	running.Go(func() { // the worker of y, as reconcileOwner does it
		for range 3000 {
			op.rightsIn("home")
		}
	})
	running.Wait()
	if op.permissionRequests["home"] != first {
		t.Error("something else was asked in between, so that this shows nothing")
	}
}

// TestLeaveTakesTheAnswerIn: when the last owner of a namespace is gone, what is still
// asked there has its answer at once. Without one nothing is reported to be missing.
func TestLeaveTakesTheAnswerIn(t *testing.T) {
	op := askOperator(t)
	op.candidates = []string{"home"}
	before := op.permissionRequests["home"]
	op.releasePermissions("home")
	after := op.permissionRequests["home"]
	if after == nil || after == before {
		t.Fatal("nothing less is asked, so that this shows nothing")
	}
	if after.rights == nil {
		t.Error("the answer is not taken in")
	}
}
