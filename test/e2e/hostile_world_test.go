package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// hostileUsers are the identities of these stories, and of that of all policies in
// peace.
func hostileUsers() []string {
	return []string{"hostile", "hostile-records", "hostile-believed", "hostile-latency", "hostile-edits", "hostile-owners", "hostile-quarantine", quietPoliciesUser}
}

var (
	beasts = schema.GroupVersionResource{Group: "hostile.example.com", Version: "v1", Resource: "beasts"}
	parts  = beasts.GroupVersion().WithResource("parts")
)

// hostileKinds are Beasts, whose spec may be anything, and Parts, of which the same
// is true and which are made for them. Columns say how a Beast fares, so that a look
// at all of them does not read the large ones.
const hostileKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: beasts.hostile.example.com}
spec:
  group: hostile.example.com
  scope: Namespaced
  names: {kind: Beast, listKind: BeastList, plural: beasts, singular: beast}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      additionalPrinterColumns:
        - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
        - {name: Stalled, type: string, jsonPath: '.status.conditions[?(@.type=="Stalled")].reason'}
        - {name: Message, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].message'}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {x-kubernetes-preserve-unknown-fields: true}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
              properties:
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type]
                    x-kubernetes-preserve-unknown-fields: true
                    properties: {type: {type: string}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parts.hostile.example.com}
spec:
  group: hostile.example.com
  scope: Namespaced
  names: {kind: Part, listKind: PartList, plural: parts, singular: part}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {x-kubernetes-preserve-unknown-fields: true}
`

// hostileWorld is a namespace with Beasts and one with Memcacheds, served by one Ambit.
type hostileWorld struct {
	*world
	namespace, good string
	l               *launched
}

func newHostileWorld(t *testing.T, user string) *hostileWorld {
	t.Helper()
	h := &hostileWorld{world: newWorld(t, user)}
	if err := h.control.Apply(t.Context(), []byte(hostileKinds)); err != nil {
		t.Fatal(err)
	}
	status, owners := rightsTo(beasts.Group, "beasts/status"), rightsTo(beasts.Group, "beasts")
	rules := append(memcachedRights(), owners, status, rightsTo(beasts.Group, "parts"))
	h.namespace, h.good = h.world.namespace(rules...), h.world.namespace(memcachedRights()...)
	return h
}

// attack runs Ambit with these policies beside that of Memcacheds, of which there
// are some.
func (h *hostileWorld) attack(owners int, programs ...*policy.Program) {
	h.t.Helper()
	h.l = h.launch(h.control.User(h.user), []string{h.namespace, h.good}, append(programs, memcached(h.t))...)
	for i := range owners {
		h.createOwner(h.good, fmt.Sprintf("cache-%d", i), 1)
	}
	h.allReady([]string{h.good}, owners)
}

// beast makes a Beast for a policy that selects it by its name.
func (h *hostileWorld) beast(policy, name string, spec any) {
	h.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "hostile.example.com/v1", "kind": "Beast", "spec": spec,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"hostile": policy}},
	}}
	if _, err := h.objects.Resource(beasts).Namespace(h.namespace).Create(h.t.Context(), object, metav1.CreateOptions{}); err != nil {
		h.t.Fatalf("making Beast %q: %v", name, err)
	}
}

// fares is how a Beast fares by its columns.
type fares struct{ ready, stalled, message string }

// ended says whether Ambit is done with it.
func (f fares) ended() bool { return f.ready == "True" || f.stalled != "" }

// fare returns how all Beasts fare, by name.
func (h *hostileWorld) fare(ctx context.Context) (map[string]fares, error) {
	data, err := h.typed.Discovery().RESTClient().Get().AbsPath("/apis/hostile.example.com/v1/namespaces/"+h.namespace+"/beasts").
		Param("includeObject", "None").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		return nil, err
	}
	found := map[string]fares{}
	for _, row := range table.Rows {
		text := make([]string, len(row.Cells))
		for i, cell := range row.Cells {
			if cell != nil {
				text[i] = fmt.Sprint(cell)
			}
		}
		found[text[0]] = fares{ready: text[1], stalled: text[2], message: text[3]}
	}
	return found, nil
}

// hostilePatience is how long all expressions together may take on a busy machine.
const hostilePatience = 8 * time.Minute

// ended waits until Ambit is done with all Beasts but those it has left alone.
func (h *hostileWorld) ended(leftAlone func() map[string]bool) map[string]fares {
	h.t.Helper()
	var found map[string]fares
	var waiting []string
	err := wait.PollUntilContextTimeout(h.t.Context(), time.Second, hostilePatience, true, func(ctx context.Context) (bool, error) {
		now, err := h.fare(ctx)
		if err != nil {
			return false, nil // it is asked again
		}
		alone := leftAlone()
		found, waiting = now, nil
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if !now[name].ended() && !alone[name] {
				waiting = append(waiting, fmt.Sprintf("%s: %+v", name, now[name]))
			}
		}
		return len(waiting) == 0 && len(now) > 0, nil
	})
	if err != nil {
		h.t.Fatalf("waiting until Ambit is done with all Beasts: %d are left: %s", len(waiting), strings.Join(waiting[:min(len(waiting), 20)], "\n"))
	}
	return found
}

// unharmed: Ambit lives, nothing in it has panicked, and it serves others.
func (h *hostileWorld) unharmed(size int64) {
	h.t.Helper()
	for line := range strings.Lines(string(h.l.lines(0))) {
		if strings.Contains(strings.ToLower(line), "panic") || strings.Contains(line, "internal error") {
			h.t.Errorf("Ambit's log says %.500s", line)
		}
	}
	select {
	case <-h.l.ended:
		h.t.Error("Ambit has ended")
	default:
	}
	h.resize(h.good, "cache-0", size)
	h.world.ready(h.good, "cache-0", int(size))
}

// beastPolicy compiles a policy for the Beasts that have its name in their label.
func (h *hostileWorld) beastPolicy(name string, owner, spec map[string]any) (*policy.Program, error) {
	h.t.Helper()
	whole := map[string]any{
		"apiVersion": "hostile.example.com/v1", "kind": "Beast", "selector": map[string]any{"matchLabels": map[string]any{"hostile": name}},
	}
	maps.Copy(whole, owner)
	body := map[string]any{
		"owner": whole, "scope": map[string]any{"namespaces": []any{h.namespace}},
		"watches": []any{map[string]any{"id": bell, "apiVersion": "hostile.example.com/v1", "kind": "Part", "name": bell}},
	}
	maps.Copy(body, spec)
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "ambit.dev/v1alpha1", "kind": "ReconcilePolicy",
		"metadata": map[string]any{"name": name, "namespace": "ambit-system"}, "spec": body,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	documents, err := syntax.Parse(name+".yaml", data)
	if err != nil {
		h.t.Fatalf("reading policy %q: %v", name, err)
	}
	return policy.Compile(documents[0])
}
