package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// naming is a policy in which one list of Pods stands at every place that may read a
// variable: %[1]s has the variables, %[2]s is how they are read.
const naming = `
%[1]s
children:
- id: one
  when: "size(%[2]s) < 3"
  template:
    apiVersion: example.com/v1
    kind: Widget
    metadata: {name: one}
    spec: {mode: "${string(size(%[2]s.filter(p, p.spec.node != '')))}"}
- id: each
  forEach: {as: pod, in: "%[2]s"}
  template:
    apiVersion: example.com/v1
    kind: Gadget
    metadata: {name: "x-${pod.metadata.name}"}
    spec: {mode: "${pod.status.ip}"}
- id: free
  template: {apiVersion: example.com/v1, kind: Gizmo, metadata: {name: free}}
watches:
- {id: pods, apiVersion: v1, kind: Pod}
status:
  hosts: "${%[2]s.map(p, p.status.?host.orValue('none'))}"
conditions:
- {type: Up, status: "size(access.denied) > 0 || %[2]s.all(p, has(p.status.up))"}
`

// drawPods draws Pods, of which some lack some fields.
func drawPods(t *rapid.T) *world {
	w := &world{}
	for _, name := range subset(t, "pod", "c", "a", "b", "d") {
		status := map[string]any{"ip": "ip-" + name}
		for _, key := range subset(t, "has", "host", "up", "phase") {
			status[key] = key + "-" + name
		}
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "status": status,
			"spec": map[string]any{"node": rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "node"), "more": "x"},
		}}
		obj.SetName(name)
		obj.SetNamespace("default")
		w.create(obj, "somebody")
	}
	return w
}

// TestVariableIsItsExpression: with variables that read watches comes what comes with
// their expressions in their places, whatever can be seen, although of the watched
// objects only what is read is there.
func TestVariableIsItsExpression(t *testing.T) {
	programs := map[string][2]*operator{}
	expressions := []string{
		"pods", "pods.filter(p, has(p.status.phase))", "pods.sortBy(p, p.spec.node + p.metadata.name).reverse()",
		"pods.filter(p, p.spec.node != 'n1').sortBy(p, p.status.ip)", "size(pods) > 2 ? pods.slice(0, 2) : pods",
		"pods.map(p, {'metadata': p.metadata, 'spec': p.spec, 'status': p.status})", "[pods, pods.filter(p, p.spec.node == 'n2')].flatten().distinct()",
	}
	rapid.Check(t, func(r *rapid.T) {
		x, chain := rapid.SampledFrom(expressions).Draw(r, "expression"), rapid.Bool().Draw(r, "chain")
		key := fmt.Sprint(x, chain)
		if _, ok := programs[key]; !ok {
			variables, name := fmt.Sprintf("variables:\n- {name: some, expression: %q}", x), "some"
			if chain {
				variables, name = variables+"\n- {name: more, expression: \"some.filter(p, p.metadata.name != '')\"}", "more"
				x = "(" + x + ").filter(p, p.metadata.name != '')"
			}
			programs[key] = [2]*operator{
				{program: compile(t, fmt.Sprintf(naming, variables, name))}, {program: compile(t, fmt.Sprintf(naming, "", "("+x+")"))},
			}
		}
		named, plain := *programs[key][0], *programs[key][1]
		named.world, named.writes = drawPods(r), -1
		named.setOwner(t, "spec: {size: 1}")
		if rapid.Bool().Draw(r, "made") {
			named.converge(t)
		}
		switch rapid.IntRange(0, 2).Draw(r, "blocked") {
		case 1:
			named.blocked = map[string]Problem{"pods": {Reason: "Syncing", Message: "waiting"}}
		case 2:
			named.blocked = map[string]Problem{"pods": {Reason: "Forbidden", Message: "no", Terminal: true}}
		}
		plain.world, plain.owner, plain.blocked, plain.writes = named.world.clone(), named.owner, named.blocked, -1
		if diff := cmp.Diff(plain.plan(t).String(), named.plan(t).String()); diff != "" {
			r.Fatalf("%s is not the same as a variable (-expression +variable):\n%s", x, diff)
		}
	})
}

// TestHiddenVersion: an expression that comes at the resourceVersion of the owner in a way that
// the compiler does not follow is told why it is not there.
func TestHiddenVersion(t *testing.T) {
	for reason, expression := range map[string]string{
		"a variable":  "owner.metadata",
		"a list":      "[owner.metadata][0]",
		"a condition": "owner.spec.size > 0 ? owner.metadata : owner.metadata",
	} {
		program := compile(t, "variables:\n- {name: m, expression: '"+expression+"'}\nchildren:\n- id: web\n"+
			"  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: web}, spec: {of: '${m.resourceVersion}'}}\n")
		o := &operator{world: &world{}, program: program, writes: -1}
		o.setOwner(t, "metadata: {resourceVersion: '7'}\nspec: {size: 1}")
		if got := fmt.Sprint(o.plan(t).Blockers); !strings.Contains(got, "no such key: resourceVersion: the resourceVersion of the owner") || !strings.Contains(got, "use metadata.generation") {
			t.Errorf("%s: got %s", reason, got)
		}
	}
}
