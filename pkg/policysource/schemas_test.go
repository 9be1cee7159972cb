package policysource

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/policytext"
	"github.com/ambit-dev/ambit/test/timed"
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
	return policytext.Document(name+" v1 owner="+strings.ToUpper(name[:1])+name[1:]) + "  status: {x: '${owner.spec." + field + "}'}\n"
}

// startWith runs sources with a text on stdin.
func startWith(t *testing.T, engine Controller, text string, o Options) *Source {
	t.Helper()
	o.Files, o.In, o.Controller = []string{"-"}, strings.NewReader(text), engine
	s, err := New(o)
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
	s := startWith(t, engine, readsSpec("good", "size")+"---\n"+readsSpec("bad", "sise"), Options{
		Schemas: func(context.Context, []schema.GroupVersionKind) policy.Schemas { return onlySpec{} },
	})
	list := s.Policies()
	if list[0].State != registry.Valid || list[1].State != registry.Invalid || !strings.Contains(list[1].Message, "sise") {
		t.Errorf("the policies are %+v", list)
	}
}

// TestSchemasOfInvalid: all mistakes of a policy are said at once, those that a schema tells
// too. It is asked for its kinds once, as for those of any other policy.
func TestSchemasOfInvalid(t *testing.T) {
	var asked [][]schema.GroupVersionKind
	text := readsSpec("good", "size") + "---\n" + strings.Replace(readsSpec("bad", "sise"), "owner.spec", "onwer.spec} ${owner.spec", 1)
	s := startWith(t, newFakeEngine(), text, Options{Schemas: func(_ context.Context, kinds []schema.GroupVersionKind) policy.Schemas {
		asked = append(asked, kinds)
		return onlySpec{}
	}})
	if bad := s.Policies()[1]; bad.State != registry.Invalid || !strings.Contains(bad.Message, "onwer") || !strings.Contains(bad.Message, "sise") {
		t.Errorf("the policy with two mistakes is %+v", bad)
	}
	kind := func(name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: name}
	}
	if diff := cmp.Diff([][]schema.GroupVersionKind{{kind("Good"), kind("Bad")}}, asked); diff != "" {
		t.Errorf("schemas were asked for (-want +got):\n%s", diff)
	}
}

// TestCompiled: policies that were compiled already are run as they are, and no schemas are asked for again; what was
// written since is compiled.
func TestCompiled(t *testing.T) {
	text := readsSpec("one", "size") + "---\n" + readsSpec("two", "size")
	first := manifest.CompileManifest(manifest.Manifest{Origin: manifest.Origin{Kind: manifest.File, File: "-"}, Data: []byte(text)}, "", nil, nil)
	programs := []*policy.Program{first.Documents[0].Compiled.Program, first.Documents[1].Compiled.Program}
	for name, tc := range map[string]struct {
		reason   string
		compiled []*policy.Program
		want     bool
	}{
		"All":   {reason: "they are the same", compiled: programs, want: true},
		"None":  {reason: "the text is another one"},
		"Fewer": {reason: "one is missing", compiled: programs[:1]},
		"Other": {reason: "they have other names", compiled: []*policy.Program{programs[1], programs[0]}},
	} {
		t.Run(name, func(t *testing.T) {
			engine, asked := newFakeEngine(), false
			startWith(t, engine, text, Options{
				Schemas:  func(context.Context, []schema.GroupVersionKind) policy.Schemas { asked = true; return nil },
				Compiled: func(string, []byte) []*policy.Program { return tc.compiled },
			})
			if same := slices.Equal(engine.runningPrograms(), programs); same != tc.want || asked == tc.want {
				t.Errorf("%s: the programs that run are those that were compiled: %t, schemas were asked for: %t", tc.reason, same, asked)
			}
		})
	}
}

// TestSchemasLate: an API server that does not answer holds up nothing for long.
func TestSchemasLate(t *testing.T) {
	began := time.Now()
	s := startWith(t, newFakeEngine(), readsSpec("good", "size")+"---\n"+readsSpec("bad", "sise"), Options{Schemas: func(ctx context.Context, _ []schema.GroupVersionKind) policy.Schemas {
		<-ctx.Done()
		return nil
	}})
	timed.Check(t, "both policies are valid", time.Since(began), 3*schemasTimeout)
	for _, p := range s.Policies() {
		if p.State != registry.Valid {
			t.Errorf("%+v", p)
		}
	}
}
