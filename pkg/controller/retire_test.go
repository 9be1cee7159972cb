package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// allows answers that everything is permitted.
type allows struct{}

func (allows) Rules(context.Context, string) (access.Rules, error) {
	return access.Rules{Items: []authorizationv1.ResourceRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}}, nil
}

func (allows) Access(context.Context, string, access.Access) (access.Verdict, error) {
	return access.Verdict{Allowed: true}, nil
}

// TestNotRetiredUnseen: while it is not known yet which owners there are, though it is
// where they may be watched, a policy that goes is not cleaned up after, at no moment: its
// finalizer would be taken off, and its children stay.
func TestNotRetiredUnseen(t *testing.T) {
	for name, problem := range map[string]*plan.Problem{
		"First": nil,
		"Again": {Message: "it could not watch them before"},
	} {
		t.Run(name, func(t *testing.T) {
			program := compiled(t, "a", "1", "")
			reviewer := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return allows{}, nil }})
			e, err := New(Options{
				Retire: []*policy.Program{program}, Served: serverOf(program).find, Access: reviewer,
				Informers: informer.NewSet(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) { return nil, nil, nil }}),
				Clients:   func(string) (dynamic.Interface, error) { return nil, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- reviewer.Start(ctx) }()
			defer func() { stop(); <-ended }()
			op := e.revisions.EnterCurrent("ambit-system/a").Value()
			defer e.leaveRevision(op, Key{Policy: op.id})
			op.currentProblem = problem
			op.ownerViews.SetResolved(problem != nil)
			op.kinds.HaveLookedUp()
			e.discovery.PollRound(ctx)
			said := make(chan string, 100)
			log := ctrllog.IntoContext(ctx, funcr.New(func(_, line string) {
				if _, done := e.RetiredOf(op.id); done {
					said <- line
				}
			}, funcr.Options{}))
			over := make(chan struct{})
			go func() { // as the sources ask
				defer close(said)
				for asked := 0; ; asked++ {
					select {
					case <-over:
						return
					default:
					}
					if _, done := e.RetiredOf(op.id); done {
						said <- "asked meanwhile"
						<-over
						return
					}
				}
			}()
			for until := time.Now().Add(2 * time.Minute); len(op.ownerViews.CurrentViews()) == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(until) {
					t.Fatal("it is never known where owners may be watched")
				}
				policyTurn{op}.reconcilePolicy(log)
			}
			close(over)
			var texts []string
			for text := range said {
				texts = append(texts, text)
			}
			if len(texts) > 0 {
				t.Errorf("it is said to be cleaned up after: %s", strings.Join(texts, "; "))
			}
		})
	}
}
