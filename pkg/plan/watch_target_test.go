package plan

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/plan/bindings"
)

// TestResolveWatch: where the objects of a watch are.
func TestResolveWatch(t *testing.T) {
	owner := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "web", "namespace": "home"},
		"spec":     map[string]any{"all": "*", "bad": "A_b", "empty": "", "number": int64(1), "pod": "a/b", "terms": "spec.nodeName", "where": "there"},
	}}
	for name, tc := range map[string]struct {
		reason, watch string
		cluster       bool // the kind has no namespaces
		want, problem string
	}{
		"Home":       {reason: "without a namespace it is the owner's", watch: "", want: `"home" <nil>`},
		"Cluster":    {reason: "a kind without namespaces is nowhere", watch: "namespace: '${owner.spec.where}'", cluster: true, want: `"" <nil>`},
		"Literal":    {reason: "a namespace that is written", watch: "namespace: there", want: `"there" <nil>`},
		"All":        {reason: "all namespaces, if the policy says so", watch: "namespace: '*'", want: `"" <nil>`},
		"Computed":   {reason: "one that the owner names", watch: "namespace: '${owner.spec.where}'", want: `"there" <nil>`},
		"Name":       {reason: "one object", watch: "name: '${owner.metadata.name}'", want: `"home" metadata.name=web`},
		"Both":       {reason: "what selects is taken together", watch: "name: web, fieldSelector: status.phase=Running", want: `"home" status.phase=Running,metadata.name=web`},
		"Star":       {reason: "whoever writes owners does not choose how much is watched", watch: "namespace: '${owner.spec.all}'", problem: `namespace of watch "pods": "*" is no name of a namespace: all namespaces are not for an expression to choose, or whoever writes owners would say how much is watched; write namespace: "*" in the policy if it means all`},
		"NoName":     {reason: "a name that no namespace can have", watch: "namespace: '${owner.spec.bad}'", problem: `namespace of watch "pods": "A_b" is no name of a namespace: `},
		"Empty":      {reason: "an empty text is not all", watch: "namespace: '${owner.spec.empty}'", problem: `namespace of watch "pods": it has to be a text that is not empty`},
		"Number":     {reason: "only a text is a name", watch: "namespace: '${owner.spec.number}'", problem: `namespace of watch "pods": it has to be a text that is not empty, and is 1`},
		"Missing":    {reason: "what fails is said", watch: "namespace: '${owner.spec.nothing}'", problem: `namespace of watch "pods": no such key: nothing`},
		"BadObject":  {reason: "a name that no object can have", watch: "name: '${owner.spec.pod}'", problem: `name of watch "pods": "a/b" is no name of an object`},
		"BadTerms":   {reason: "a selector that is none", watch: "fieldSelector: '${owner.spec.terms}'", problem: `fieldSelector of watch "pods": `},
		"NameIsStar": {reason: "a star is an object's name like another, which none has", watch: "name: '${owner.spec.all}'", want: `"home" metadata.name=*`},
	} {
		t.Run(name, func(t *testing.T) {
			program := compile(t, "watches: [{"+strings.TrimSuffix("id: pods, apiVersion: v1, kind: Pod, "+tc.watch, ", ")+"}]\n")
			target, problem := bindings.ResolveWatch(t.Context(), program.Watches[0], bindings.BindOwner(t.Context(), program, owner, nil).Vars, "home", !tc.cluster)
			switch {
			case tc.problem == "" && problem != nil:
				t.Errorf("%s: %s", tc.reason, problem.Message)
			case tc.problem != "" && (problem == nil || !strings.HasPrefix(problem.Message, tc.problem)):
				t.Errorf("%s: got %v, want %s", tc.reason, problem, tc.problem)
			case tc.problem == "":
				if got := fmt.Sprintf("%q %v", target.Namespace, target.FieldSelector); got != tc.want {
					t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
				}
			}
		})
	}
}
