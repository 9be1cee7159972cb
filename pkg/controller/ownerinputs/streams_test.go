package ownerinputs

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/test/objecttext"
	"github.com/ambit-dev/ambit/test/sim"
)

// streamWorld is a simulated cluster whose user bot may watch Deployments in the namespace home, and nothing else
// until a test grants more.
type streamWorld struct {
	*testing.T
	admin dynamic.Interface
	set   *informer.Set
	start func() // has the set read its streams: not before, however the goroutines take turns
}

// ignorer needs objects, and does nothing when they change. It has a field so that each has an address of its own.
type ignorer struct{ _ int }

// Changed implements informer.EventHandler.
func (*ignorer) Changed(informer.Event) {}

// testStreams runs a test in virtual time.
func testStreams(t *testing.T, test func(w *streamWorld)) {
	synctest.Test(t, func(t *testing.T) {
		server := sim.New(sim.Options{Seed: 1})
		w := &streamWorld{T: t, admin: server.As(sim.Admin).Dynamic()}
		for _, namespace := range []string{"home", "there"} {
			w.create("", "namespaces", "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
		}
		w.grant("home", "apps", "deployments")
		client := server.As("bot")
		w.set = informer.NewSet(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) {
			return client.Dynamic(), client.Metadata(), nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		w.start = func() {
			running.Go(func() {
				if err := w.set.Start(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		test(w)
		cancel()
		running.Wait()
	})
}

func (w *streamWorld) create(group, resource, namespace, text string) {
	w.Helper()
	resources := w.admin.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource})
	if _, err := resources.Namespace(namespace).Create(w.Context(), objecttext.ReadObject(w, text), metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// grant has bot list and watch a resource in a namespace.
func (w *streamWorld) grant(namespace, group, resource string) {
	w.Helper()
	const rbac = "rbac.authorization.k8s.io"
	w.create(rbac, "roles", namespace, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: `+resource+`},
		rules: [{apiGroups: ["`+group+`"], resources: [`+resource+`], verbs: [list, watch]}]}`)
	w.create(rbac, "rolebindings", namespace, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: `+resource+`},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: `+resource+`}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bot}]}`)
}

// open lays out the inputs of a subject, of which reviews say that all is permitted, and opens their streams.
func (w *streamWorld) open(b *bench, handler informer.EventHandler, subject Subject) *Inputs {
	w.Helper()
	s, wait := b.PlanInputs(w.Context(), subject)
	if wait > 0 {
		w.Fatalf("it waits for %s", wait)
	}
	s.OpenStreams(w.set, handler)
	return s
}

// namesOf are the names of what an input shows, or what blocks it.
func namesOf(in plan.Input) []string {
	if in.Blocked != nil {
		return []string{in.Blocked.Message}
	}
	var names []string
	for _, o := range in.Objects {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return names
}

// TestReadInputs: streams are read as far as they are open. One that is refused blocks what is read from it alone; it
// is in doubt for as long as a review may take to confirm it, and tried at once when the inputs are laid out anew.
func TestReadInputs(t *testing.T) {
	const ours = "labels: {ambit.dev/policy: ambit-system.web, ambit.dev/owner-uid: "
	server := plan.Location{Child: "server", Namespace: "home"}
	testStreams(t, func(w *streamWorld) {
		for name, owner := range map[string]string{"ours": "u", "anothers": "v"} {
			w.create("apps", "deployments", "home", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: "+name+", "+ours+owner+"}}, "+
				"spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}")
		}
		w.create("", "pods", "there", "{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}")
		time.Sleep(time.Second) // the authorizer knows the Roles
		b := newBench(t, watchSpec+"namespace: there, selector: {matchLabels: {app: a}}}\n")
		handler := &ignorer{}
		s := w.open(b, handler, b.subject())
		if isSyncing, doubtful := s.CheckSync(time.Now()); !isSyncing || doubtful > 0 {
			t.Errorf("no list has come: syncing %t, in doubt for %s", isSyncing, doubtful)
		}
		children, _ := b.ReadInputs(s)
		if got, want := namesOf(children[server]), []string{`waiting for the first list of deployments.apps in namespace "home"`}; !slices.Equal(got, want) {
			t.Errorf("at first %q, want %q", got, want)
		}

		w.start()
		synctest.Wait()
		if isSyncing, doubtful := s.CheckSync(time.Now()); isSyncing || doubtful != placepermissions.ConfirmGrace {
			t.Errorf("one is refused: syncing %t, in doubt for %s", isSyncing, doubtful)
		}
		if _, doubtful := s.CheckSync(time.Now().Add(placepermissions.ConfirmGrace)); doubtful > 0 {
			t.Errorf("one was refused long ago, and is in doubt for %s", doubtful)
		}
		children, watches := b.ReadInputs(s)
		if got := namesOf(children[server]); !slices.Equal(got, []string{"ours"}) {
			t.Errorf("the child is %q", got)
		}
		if got, want := namesOf(watches["pods"]), []string{`cannot list, watch pods in namespace "there" as bot`}; !slices.Equal(got, want) {
			t.Errorf("the watch has %q, want %q", got, want)
		}
		for interest, lister := range s.ChildStreams() {
			if got, want := interestText(interest), "deployments in home with ambit.dev/policy=ambit-system.web by ambit.dev/owner-uid="; got != want || !lister.Synced() {
				t.Errorf("a child's stream is %s, synced %t", got, lister.Synced())
			}
		}

		w.grant("there", "", "pods")
		time.Sleep(500 * time.Millisecond) // less than the set waits by itself
		if _, watches := b.ReadInputs(s); watches["pods"].Blocked == nil {
			t.Error("it was tried again before anybody said so: the test says nothing")
		}
		s = w.open(b, handler, b.subject())
		synctest.Wait()
		if _, watches := b.ReadInputs(s); !slices.Equal(namesOf(watches["pods"]), []string{"one"}) {
			t.Errorf("after the grant the watch has %q", namesOf(watches["pods"]))
		}
	})
}
