package ownerreconcile

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/internal/backoff"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench has reconciles of one owner in virtual time, which is permitted everything, and neither reads nor
// writes.
type bench struct {
	clock   *clocktesting.FakeClock
	options *Options
	state   *State
}

// newBench compiles a policy with one child; more is the rest of its spec.
func newBench(t *testing.T, more string) *bench {
	t.Helper()
	text := `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: a, namespace: ambit-system}
spec:
  owner: {apiVersion: example.com/v1, kind: Owner}
  children: [{id: child, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: child}}}]
` + more
	documents, err := syntax.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}
	b.options = &Options{Program: program, Manager: "ambit/a", User: "ambit", Backoff: testBackoff, Now: b.clock.Now, IsRetired: func(string) bool { return false }}
	b.reset()
	return b
}

// reset forgets what is known of the owner.
func (b *bench) reset() {
	state := NewState(types.NamespacedName{Namespace: "n", Name: "x"}, nil)
	state.inputs = ownerinputs.NewInputs(ownerinputs.PlacePermissions{})
	b.state = &state
}

// begin begins a reconcile; nil: without an owner.
func (b *bench) begin(owner *unstructured.Unstructured) *Reconciler {
	return New(b.options, owner, b.state, false, telemetry.New(nil, nil, b.clock.Now).WritesOnly("a"))
}

// testBackoff is without jitter.
func testBackoff(failures int) time.Duration {
	return backoff.Exponential{First: 200 * time.Millisecond, Last: writeconflict.MaxWait, Jitter: func(wait time.Duration) time.Duration { return wait }}.WaitAfter(failures + 1)
}
