package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// oddPolicy reads the owner in all ways in which a policy can.
const oddPolicy = `
variables:
  - {name: labels, expression: '{"app": owner.metadata.name}'}
children:
  - id: part
    template:
      apiVersion: hostile.example.com/v1
      kind: Part
      metadata: {name: "${owner.metadata.name}", labels: "${labels}"}
      spec: {size: "${owner.spec.size}", text: "text ${owner.spec.text}", deep: "${owner.spec.deep}", keys: "${owner.spec.map.map(k, k).sort()}"}
    readyWhen: [part.spec.size == owner.spec.size]
  - id: items
    forEach: {as: item, in: owner.spec.list}
    template:
      apiVersion: hostile.example.com/v1
      kind: Part
      metadata: {name: "${owner.metadata.name}-${item.name}"}
      spec: {n: "${item.n}", tags: "${item.tags.join(',')}", first: "${part.spec.size}"}
watches:
  - id: parts
    apiVersion: hostile.example.com/v1
    kind: Part
    selector: {matchLabels: {app: "${owner.metadata.name}"}}
    filter: object.spec.size + 1 > 0
status: {size: "${owner.spec.size}", names: "${owner.spec.list.map(x, x.name)}", parts: "${size(parts)}", first: "${owner.spec.deep.d.d}"}
conditions:
  - {type: Sized, status: owner.spec.size > 0, reason: "owner.spec.text.size() > 3 ? 'Long' : 'Short'", message: "owner.spec.map['key'] + owner.spec.list[0].name"}
`

// oddSpec is the spec of a Beast on which all of that works.
func oddSpec() map[string]any {
	return map[string]any{
		"size": int64(2), "text": "hello", "map": map[string]any{"key": "value"},
		"deep": map[string]any{"d": map[string]any{"d": "end"}},
		"list": []any{
			map[string]any{"name": "a", "n": int64(1), "tags": []any{"x", "y"}},
			map[string]any{"name": "b", "n": int64(2), "tags": []any{}},
		},
	}
}

// TestHostileOwners: owners that are huge, or have nothing, or something else where a
// policy reads, are told of it each for itself. The owners of the same policy that
// are as they should be are served.
func TestHostileOwners(t *testing.T) {
	t.Parallel()
	h := newHostileWorld(t, "hostile-owners")
	program, err := h.beastPolicy("odd", nil, fromYAML(t, oddPolicy).(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	filtered, err := h.beastPolicy("filtered", map[string]any{"filter": "object.spec.size > 0 && object.spec.list.all(x, x.n > 0)"}, map[string]any{
		"status": map[string]any{"size": "${owner.spec.size}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.attack(1, program, filtered)
	specs := oddSpecs()
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		h.beast("odd", name, specs[name])
		h.beast("filtered", name+"-filtered", specs[name])
	}
	h.beast("odd", "sane", oddSpec())
	h.beast("filtered", "sane-filtered", oddSpec())
	found := h.ended(func() map[string]bool { return h.unwanted(specs) })
	h.oddOutcomes(specs, found)
	for _, size := range []int64{3, 4} {
		h.grow("sane", size)
		h.grow("sane-filtered", size)
	}
	h.unharmed(2)
}

// unwanted are those that a filter may not want, and those whose Part is never ready
// because what is waited for is not in it.
func (h *hostileWorld) unwanted(specs map[string]any) map[string]bool {
	h.t.Helper()
	names := map[string]bool{}
	for name := range specs {
		names[name+"-filtered"] = true
	}
	for name, how := range h.must() {
		if strings.HasPrefix(how.message, "waiting for Part") && strings.Contains(how.message, "no such key") {
			names[name] = true
		}
	}
	return names
}

// oddOutcomes: what is sane is Ready, and whoever is not is told why.
func (h *hostileWorld) oddOutcomes(specs map[string]any, found map[string]fares) {
	h.t.Helper()
	counts := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		how := found[name]
		counts[how.stalled]++
		if how.stalled != "" && how.message == "" {
			h.t.Errorf("%s: %+v does not say why", name, how)
		}
		if len(how.message) > 32<<10 {
			h.t.Errorf("%s: the message has %d bytes", name, len(how.message))
		}
		if strings.HasPrefix(name, "huge-") && how.ready != "True" && how.stalled != v1alpha1.ReasonLimitExceeded && how.stalled != v1alpha1.ReasonExpressionFailed {
			h.t.Errorf("%s: %.300v", name, how)
		}
	}
	h.t.Logf("%d odd owners, by reason for which they are stalled: %v", len(specs), counts)
	if found["sane"].ready != "True" || found["sane-filtered"].ready != "True" {
		h.t.Errorf("the sane ones are %+v and %+v", found["sane"], found["sane-filtered"])
	}
}

// grow changes the size of a Beast, and waits until its status has it.
func (h *hostileWorld) grow(name string, size int64) {
	h.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
	beast := h.objects.Resource(beasts).Namespace(h.namespace)
	if _, err := beast.Patch(h.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		h.t.Fatal(err)
	}
	// It may have to wait until the policy has looked again at its huge owners: they and it have
	// their turns one at a time, and long rests in between.
	h.eventuallyWithin(hostilePatience, fmt.Sprintf("%s has size %d", name, size), func(ctx context.Context) error {
		now, err := beast.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedInt64(now.Object, "status", "size"); got != size {
			return fmt.Errorf("status is %v", now.Object["status"])
		}
		return nil
	})
}

// oddSpecs are the specs of odd Beasts by name: huge ones, and for each path of the
// sane one some in which something else is there, or nothing.
func oddSpecs() map[string]any {
	specs := map[string]any{"null": nil, "text": "text", "number": int64(1), "list": []any{}, "empty": map[string]any{}}
	for name, value := range map[string]any{"text": strings.Repeat("text ", 1<<20/5), "list": hostileList(10_000), "map": hostileMap(10_000), "deep": hostileDepth(100)} {
		spec := oddSpec()
		spec[name] = value
		specs["huge-"+name] = spec
	}
	i := 0
	for _, other := range []any{nil, "text", int64(1), []any{int64(1)}, map[string]any{"other": nil}, true} {
		for _, changed := range changedAt(oddSpec(), other) {
			specs[fmt.Sprintf("odd-%03d", i)] = changed
			i++
		}
	}
	return specs
}

// changedAt returns copies of a value, in each of which another value is at one path
// below it.
func changedAt(value, other any) []any {
	var all []any
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			for _, changed := range append([]any{other}, changedAt(value[key], other)...) {
				with := maps.Clone(value)
				with[key] = changed
				all = append(all, with)
			}
		}
	case []any:
		for i := range value {
			for _, changed := range append([]any{other}, changedAt(value[i], other)...) {
				with := slices.Clone(value)
				with[i] = changed
				all = append(all, with)
			}
		}
	}
	return all
}
