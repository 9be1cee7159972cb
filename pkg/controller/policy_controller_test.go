package controller

import (
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
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
	op := e.revisions.CurrentOf(idOf(program))
	op.kinds.HaveLookedUp()
	e.discovery.PollRound(t.Context())
	return op
}

// seesNothing: it is known where the owners of a policy may be watched, which is nowhere.
func seesNothing(op *policyController) {
	op.ownerViews.InstallViews(nil, ownerviews.WatchScope{}, false)
	op.ownerViews.SetResolved(true)
}
