package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestQueries: the controller and `ambit render` ask this function what has to be observed. A
// file in testdata/queries has a sentence that says what it is about, then a policy and an
// owner as in TestPlans, and perhaps `retire` or `ensure`. Kinds that `unknown` names are not
// known. After a line `----` stand the queries.
func TestQueries(t *testing.T) {
	files, err := filepath.Glob("testdata/queries/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(data), "\n----\n")
			got := queriesText(t, txtar.Parse([]byte(input+"\n")))
			if *rewrite {
				if err := os.WriteFile(file, []byte(input+"\n----\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// queriesText returns the queries of a case as text.
func queriesText(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	o, unknown, s := &operator{world: &world{}}, map[string]bool{}, Snapshot{}
	o.setOwner(t, "{}")
	for _, step := range archive.Files {
		if step.Name != "unknown" {
			o.step(t, step.Name, string(step.Data))
			continue
		}
		for _, kind := range strings.Fields(string(step.Data)) {
			unknown[kind] = true
		}
	}
	if s.Retire = o.retire; !o.ensuring {
		s.Owner = o.owner
	}
	s.Namespaced = map[schema.GroupVersionKind]bool{}
	note := func(gvk schema.GroupVersionKind) {
		if !unknown[gvk.Kind] {
			s.Namespaced[gvk] = !isClusterScoped(gvk.Kind)
		}
	}
	for _, c := range append(o.program.Children, o.program.Ensured...) {
		note(c.GVK)
	}
	for _, w := range o.program.Watches {
		note(w.GVK)
	}
	return Queries(t.Context(), o.program, s).text()
}

func (s QuerySet) text() string {
	var b strings.Builder
	for _, q := range s.Children {
		fmt.Fprintf(&b, "child %s: %s in %q\n", q.Child, q.GVK.Kind, q.Namespace)
	}
	for _, q := range s.Watches {
		fmt.Fprintf(&b, "watch %s: %s", q.ID, q.GVK.Kind)
		if q.Target != nil {
			fmt.Fprintf(&b, " in %q, fields %v", q.Target.Namespace, q.Target.FieldSelector)
		}
		if q.Labels != nil {
			fmt.Fprintf(&b, ", labels %q, index %q=%q", q.Labels, q.IndexLabel, q.IndexValue)
		}
		if q.Problem != nil {
			fmt.Fprintf(&b, ": %s: %s", q.Problem.Reason, q.Problem.Message)
		}
		b.WriteString("\n")
	}
	return b.String()
}
