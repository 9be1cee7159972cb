package faultplan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// Policies that are made from a seed, with the scenario that each works in. What they have
// is chosen so that what is there at rest depends only on what there is: a child that another
// depends on, for one, is always wanted.

// generatedPolicies is how many there are.
const generatedPolicies = 400

// generated stands for all policies that are made from a seed.
func generated() (*Scenario, error) {
	s := &Scenario{Name: "generated"}
	var mu sync.Mutex
	made := map[uint64]*Scenario{}
	shared := &base{}
	s.Make = func(seed uint64) *Scenario {
		seed %= generatedPolicies
		mu.Lock()
		defer mu.Unlock()
		if made[seed] == nil {
			scenario, err := newRecipe(seed).scenario()
			if err != nil {
				panic(fmt.Sprintf("generated policy %d: %v", seed, err)) // TestGenerated finds these
			}
			scenario.shared = shared
			made[seed] = scenario
		}
		return made[seed]
	}
	return s, nil
}

// mode is how the objects of a child are kept.
type mode string

const (
	kept     mode = "Apply"
	create   mode = "Create"
	recreate mode = "Recreate"
	adopt    mode = "Adopt"
	merge    mode = "Merge"
	orphan   mode = "Orphan"
)

// ingredient is a child of a generated policy. Its objects have names that end in its
// number, whatever its id is.
type ingredient struct {
	number    int
	kind      string
	mode      mode
	elsewhere string // its namespace; empty: the owner's
	each      bool   // one object for each item of the owner
	when      bool   // only if the owner says so
	dependsOn []int
	renamed   bool
	marked    bool // has one annotation more
}

// recipe is what a generated policy is made of, in one version.
type recipe struct {
	seed          uint64
	clusterScoped bool
	children      []ingredient
	ordered       bool
	watch         bool
	protect       bool
}

var ingredientKinds = []string{"ConfigMap", "Secret", "Service", "Widget"}

// newRecipe draws a recipe. Kept plans name theirs by its seed: one more draw here would make others of them.
func newRecipe(seed uint64) *recipe {
	r := rand.New(rand.NewPCG(seed, 5))
	made := &recipe{seed: seed, clusterScoped: r.IntN(3) == 0, ordered: r.IntN(3) == 0, watch: r.IntN(2) == 0}
	made.protect = made.watch && r.IntN(2) == 0
	for range 1 + r.IntN(4) {
		made.add(r)
	}
	return made
}

// add adds a child that depends on some of those before it.
func (made *recipe) add(r *rand.Rand) {
	c := ingredient{number: len(made.children), kind: ingredientKinds[r.IntN(len(ingredientKinds))]}
	c.mode = []mode{kept, kept, kept, create, recreate, adopt, merge, orphan}[r.IntN(8)]
	if made.clusterScoped || r.IntN(4) == 0 {
		c.elsewhere = generatedNamespaces[r.IntN(len(generatedNamespaces))]
	}
	c.each = r.IntN(4) == 0
	c.when = r.IntN(4) == 0
	for _, before := range made.children {
		if before.isSure() && r.IntN(2) == 0 {
			c.dependsOn = append(c.dependsOn, before.number)
		}
	}
	made.children = append(made.children, c)
}

// isSure says whether the objects of a child are made whatever else is there.
func (c *ingredient) isSure() bool {
	return !c.when && (c.mode == kept || c.mode == create || c.mode == recreate)
}

// edited is another version of the policy.
func (made *recipe) edited(r *rand.Rand) *recipe {
	next := *made
	next.children = slices.Clone(made.children)
	last := len(next.children) - 1
	some := &next.children[r.IntN(last+1)]
	switch r.IntN(6) {
	case 0:
		next.children = next.children[:max(1, last)]
	case 1:
		some.renamed = true
	case 2:
		next.add(r)
	case 3:
		next.ordered = !next.ordered
	case 4:
		next.protect = next.watch && !next.protect
	}
	for i := range next.children {
		next.children[i].marked = next.children[i].mode != create
	}
	return &next
}

func (c *ingredient) id() string {
	if c.renamed {
		return fmt.Sprintf("renamed%d", c.number)
	}
	return fmt.Sprintf("child%d", c.number)
}

// place is the namespace of an owner's object.
func (c *ingredient) place(owner string) string {
	if c.elsewhere != "" {
		return c.elsewhere
	}
	return owner
}

// name is that of the object of an owner, without forEach.
func (c *ingredient) name(namespace, owner string) string {
	return fmt.Sprintf("%s%s-c%d", namespace, owner, c.number)
}

// text is the policy.
func (made *recipe) text() string {
	var b strings.Builder
	kind := "Thing"
	if made.clusterScoped {
		kind = "Realm"
	}
	fmt.Fprintf(&b, `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: generated-%d, namespace: ambit-system}
spec:
  owner: {apiVersion: gen.example.com/v1, kind: %s}
`, made.seed, kind)
	if made.ordered {
		b.WriteString("  deletion: Ordered\n")
	}
	if made.watch {
		b.WriteString(`  watches:
    - id: seen
      apiVersion: v1
      kind: ConfigMap
      namespace: one
      selector: {matchLabels: {seen-by: "${owner.metadata.name}"}}
`)
	}
	if made.protect {
		b.WriteString("  protect: {while: size(seen) > 0}\n")
	}
	b.WriteString("  children:\n")
	for i := range made.children {
		made.child(&b, &made.children[i])
	}
	b.WriteString("  status:\n    size: ${owner.spec.size}\n")
	if made.watch {
		b.WriteString("    seen: ${seen.map(s, s.metadata.name).sort()}\n")
	}
	return b.String()
}

// child writes one child.
func (made *recipe) child(b *strings.Builder, c *ingredient) {
	fmt.Fprintf(b, "    - id: %s\n", c.id())
	switch c.mode {
	case create, recreate:
		fmt.Fprintf(b, "      apply: %s\n", c.mode)
	case adopt, merge:
		fmt.Fprintf(b, "      existing: %s\n", c.mode)
	case orphan:
		b.WriteString("      existing: Adopt\n      onDelete: Orphan\n")
	}
	name := fmt.Sprintf("${owner.metadata.namespace}${owner.metadata.name}-c%d", c.number)
	if made.clusterScoped {
		name = fmt.Sprintf("${owner.metadata.name}-c%d", c.number)
	}
	if c.each {
		b.WriteString("      forEach: {as: item, in: owner.spec.items}\n")
		name += "-${item}"
	}
	if c.when {
		b.WriteString("      when: owner.spec.flag\n")
	}
	var ids []string
	for _, number := range c.dependsOn {
		ids = append(ids, made.children[number].id())
	}
	if len(ids) > 0 {
		fmt.Fprintf(b, "      dependsOn: [%s]\n", strings.Join(ids, ", "))
	}
	if c.kind == "Widget" && c.mode != merge {
		fmt.Fprintf(b, "      readyWhen: [%q]\n", c.id()+".?status.?ready.orValue(false)")
	}
	fmt.Fprintf(b, "      template:\n        apiVersion: %s\n        kind: %s\n        metadata:\n          name: %q\n", apiVersions[c.kind], c.kind, name)
	if c.elsewhere != "" {
		fmt.Fprintf(b, "          namespace: %s\n", c.elsewhere)
	}
	b.WriteString("          annotations:\n            example.com/policy: generated\n")
	if c.mode != create {
		b.WriteString("            example.com/size: ${string(owner.spec.size)}\n")
	}
	if c.marked {
		b.WriteString("            example.com/marked: \"yes\"\n")
	}
	if c.mode != merge {
		b.WriteString(contents[c.kind])
	}
}

var apiVersions = map[string]string{"ConfigMap": "v1", "Secret": "v1", "Service": "v1", "Widget": "gen.example.com/v1"}

// contents are those of new objects.
var contents = map[string]string{
	"ConfigMap": "        data: {a: b}\n",
	"Secret":    "        data: {a: Yg==}\n",
	"Service":   "        spec: {ports: [{port: 80}]}\n",
	"Widget":    "        spec: {a: b}\n",
}

var generatedNamespaces = []string{"one", "two", "three"}

func definition(kind, plural, scope string) *unstructured.Unstructured {
	return object(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.gen.example.com}
spec:
  group: gen.example.com
  scope: %s
  names: {kind: %s, listKind: %sList, plural: %s, singular: %s}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
              properties:
                observedGeneration: {type: integer, format: int64}
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type, status]
                    x-kubernetes-preserve-unknown-fields: true
                    properties: {type: {type: string}, status: {type: string}}
`, plural, scope, kind, kind, plural, strings.ToLower(kind))
}

// scenario makes the scenario of a policy.
func (made *recipe) scenario() (*Scenario, error) {
	r := rand.New(rand.NewPCG(made.seed, 6))
	s := &Scenario{Name: fmt.Sprintf("generated-%d", made.seed), Namespaces: generatedNamespaces, ClusterScoped: made.clusterScoped, Holds: true, Wide: true, recipes: []*recipe{made, made.edited(r)}}
	for _, version := range s.recipes {
		program, err := compileText(version.text())
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, version.text())
		}
		s.Versions = append(s.Versions, program)
	}
	s.Objects = []*unstructured.Unstructured{definition("Thing", "things", "Namespaced"), definition("Realm", "realms", "Cluster"), definition("Widget", "widgets", "Namespaced")}
	s.Everywhere = []rbacv1.PolicyRule{
		{APIGroups: []string{"gen.example.com"}, Resources: []string{"things", "realms"}, Verbs: []string{"list", "watch", "patch"}},
		{APIGroups: []string{"gen.example.com"}, Resources: []string{"things/status", "realms/status"}, Verbs: []string{"patch"}},
	}
	verbs := []string{"get", "list", "watch", "create", "patch", "delete"}
	s.Here = []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets", "services"}, Verbs: verbs},
		{APIGroups: []string{"gen.example.com"}, Resources: []string{"widgets"}, Verbs: verbs},
	}
	s.Owners = schema.GroupVersionResource{Group: "gen.example.com", Version: "v1", Resource: "things"}
	kind := "Thing"
	if made.clusterScoped {
		s.Owners.Resource, kind = "realms", "Realm"
	}
	specs := []string{"{size: 1, items: [], flag: false}", "{size: 2, items: [p, q], flag: true}", "{size: 3, items: [q, r, p], flag: false}", "{size: 1, items: [r], flag: true}"}
	s.Variants = len(specs)
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		owner := object(`{apiVersion: gen.example.com/v1, kind: %s, metadata: {name: %s}, spec: %s}`, kind, name, specs[variant])
		if namespace != "" {
			owner.SetNamespace(namespace)
		}
		return owner
	}
	s.Controls, s.Control = "Widget", readyWidget
	if made.watch {
		s.Protected = isSeen
		s.Unprotect = unsee
	}
	s.Extra = (*chooser).generatedUser
	return s, nil
}

// readyWidget is the controller of Widgets.
func readyWidget(obj *unstructured.Unstructured) {
	if obj.GetDeletionTimestamp() == nil {
		setStatus(obj, map[string]any{"ready": true})
	}
}

// isSeen is what protect says in generated policies.
func isSeen(program *policy.Program, owner *unstructured.Unstructured, all []*unstructured.Unstructured) bool {
	return program.Protect != nil && slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ConfigMap" && o.GetNamespace() == "one" && o.GetLabels()["seen-by"] == owner.GetName()
	})
}

func unsee(w *World) {
	for _, one := range w.list(configMaps) {
		if one.GetLabels()["seen-by"] != "" {
			w.delete(configMaps, one.GetNamespace(), one.GetName())
		}
	}
}

// generatedUser makes or deletes what the policy watches, or what it adopts or merges into.
func (c *chooser) generatedUser() Action {
	s, name, namespace := c.scenario, c.name(), c.ownerPlace()
	made := s.recipes[0]
	child := &made.children[c.IntN(len(made.children))]
	target := object("{apiVersion: v1, kind: ConfigMap, metadata: {name: seen-%s, namespace: one, labels: {seen-by: %s}}}", name, name)
	resource := configMaps
	if (child.mode == adopt || child.mode == merge) && (!made.watch || c.IntN(2) == 0) {
		full := child.name(namespace, name)
		if child.each {
			full += "-" + []string{"p", "q", "r"}[c.IntN(3)]
		}
		target = object("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %s, annotations: {mine: \"yes\"}}}", apiVersions[child.kind], child.kind, full, child.place(namespace))
		if child.kind == "Service" {
			target.Object["spec"] = map[string]any{"ports": []any{map[string]any{"port": int64(80), "protocol": "TCP"}}}
		}
		resource = schema.GroupVersionResource{Group: target.GroupVersionKind().Group, Version: "v1", Resource: strings.ToLower(child.kind) + "s"}
	}
	if c.IntN(3) == 0 {
		return Action{Text: "somebody deletes " + keyOf(target), Do: func(w *World) { w.delete(resource, target.GetNamespace(), target.GetName()) }}
	}
	return Action{Text: "somebody creates " + keyOf(target), Do: func(w *World) { w.create(resource, target.DeepCopy()) }}
}
