package policysource

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// onlySpec is what is known of every kind: it has a spec with a size, and any status.
type onlySpec struct{}

func (onlySpec) Schema(schema.GroupVersionKind) (*cel.Schema, bool) {
	anything := func() *cel.Schema { return nil }
	spec := cel.ObjectOf(map[string]func() *cel.Schema{"size": anything})
	return cel.ObjectOf(map[string]func() *cel.Schema{"spec": func() *cel.Schema { return spec }, "status": anything}), true
}

// readsSpec is a policy that reads a field of the owner's spec.
func readsSpec(name, field string) string {
	return documentText(name+" v1 owner="+strings.ToUpper(name[:1])+name[1:]) + "  status: {x: '${owner.spec." + field + "}'}\n"
}

// startWith runs sources with a text on stdin.
func startWith(t *testing.T, engine Controller, text string, schemas func(context.Context, []schema.GroupVersionKind) policy.Schemas) *Source {
	t.Helper()
	s, err := New(Options{Files: []string{"-"}, In: strings.NewReader(text), Controller: engine, Schemas: schemas})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	t.Cleanup(func() { cancel(); must(t, <-done) })
	err = wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) { return len(s.Policies()) == 2, nil })
	must(t, err)
	return s
}

// TestSchemas: fields that no object has are mistakes, if that is known.
func TestSchemas(t *testing.T) {
	engine := newFakeEngine()
	s := startWith(t, engine, readsSpec("good", "size")+"---\n"+readsSpec("bad", "sise"), func(context.Context, []schema.GroupVersionKind) policy.Schemas { return onlySpec{} })
	list := s.Policies()
	if list[0].State != Valid || list[1].State != Invalid || !strings.Contains(list[1].Message, "sise") {
		t.Errorf("the policies are %+v", list)
	}
}

// TestSchemasOfInvalid: all mistakes of a policy are said at once, those that a schema tells
// too. It is asked for its kinds once, as for those of any other policy.
func TestSchemasOfInvalid(t *testing.T) {
	var asked [][]schema.GroupVersionKind
	text := readsSpec("good", "size") + "---\n" + strings.Replace(readsSpec("bad", "sise"), "owner.spec", "onwer.spec} ${owner.spec", 1)
	s := startWith(t, newFakeEngine(), text, func(_ context.Context, kinds []schema.GroupVersionKind) policy.Schemas {
		asked = append(asked, kinds)
		return onlySpec{}
	})
	if bad := s.Policies()[1]; bad.State != Invalid || !strings.Contains(bad.Message, "onwer") || !strings.Contains(bad.Message, "sise") {
		t.Errorf("the policy with two mistakes is %+v", bad)
	}
	kind := func(name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: name}
	}
	if diff := cmp.Diff([][]schema.GroupVersionKind{{kind("Good"), kind("Bad")}}, asked); diff != "" {
		t.Errorf("schemas were asked for (-want +got):\n%s", diff)
	}
}

// TestSchemasLate: an API server that does not answer holds up nothing for long.
func TestSchemasLate(t *testing.T) {
	began := time.Now()
	s := startWith(t, newFakeEngine(), readsSpec("good", "size")+"---\n"+readsSpec("bad", "sise"), func(ctx context.Context, _ []schema.GroupVersionKind) policy.Schemas {
		<-ctx.Done()
		return nil
	})
	if after := time.Since(began); after > 3*schemasTime {
		t.Errorf("it took %s", after)
	}
	for _, p := range s.Policies() {
		if p.State != Valid {
			t.Errorf("%+v", p)
		}
	}
}

// TestBrief: no message has a line of a policy in it, and none is endless.
func TestBrief(t *testing.T) {
	secret := "spec:\n  owner: {apiVersion: v1, kind: Pod}\n  children:\n    - id: a\n      template: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: \"${'hunter2' + }\"}}\n"
	documents, err := syntax.Parse("p.yaml", []byte("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: p}\n"+secret))
	must(t, err)
	_, err = policy.Compile(documents[0])
	if err == nil || !strings.Contains(err.Error(), "hunter2") {
		t.Fatal("the mistake does not show its line: the test is wrong")
	}
	if text := brief(err); strings.Contains(text, "hunter2") || !strings.HasPrefix(text, "p.yaml:8:") {
		t.Errorf("the message is %s", text)
	}
	if text := brief(errors.New(strings.Repeat("é", mostMessage))); len(text) > mostMessage || strings.ToValidUTF8(text, "") != text {
		t.Error("a long message is cut in the middle of a rune, or not at all")
	}
}

// TestTooMany: a text with too many policies is refused as a whole, whatever their names,
// and costs no time that others would have to wait.
func TestTooMany(t *testing.T) {
	const nameless = "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {}\n---\n"
	for count, want := range map[int]string{mostDocuments: "", mostDocuments + 1: "configmap team/maps a.yaml: it has more than 500 policies"} {
		o := Origin{Kind: ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}
		list, err := parse(text{origin: o, data: []byte(strings.Repeat(nameless, count))})
		if want == "" && (err != nil || len(list) != count) || want != "" && (err == nil || err.Error() != want || len(list) > 0) {
			t.Errorf("%d policies: %d are taken, and the error is %v", count, len(list), err)
		}
	}
}
