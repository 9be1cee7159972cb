package faultplan

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// copiesPolicy makes objects beside its owner, and others in one library for all, which only
// the owner's record ties to it. What Secrets there are depends on what is watched beside the
// owner, where the right to watch may go.
const copiesPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: copies, namespace: ambit-system}
spec:
  owner: {apiVersion: copies.example.com/v1, kind: Book}
  watches:
    - id: readers
      apiVersion: v1
      kind: ConfigMap
      selector: {matchLabels: {reader: "true"}}
  children:
    - id: note
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-note"}
        data: {title: "${owner.spec.title}"}
    - id: copies
      forEach: {as: part, in: owner.spec.parts}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.namespace}-${owner.metadata.name}-${part}", namespace: library}
        data: {title: "${owner.spec.title}"}
    - id: cards
      forEach: {as: reader, in: "readers.map(r, r.metadata.name)"}
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: "${owner.metadata.namespace}-${owner.metadata.name}-${reader}", namespace: library}
        stringData: {title: "${owner.spec.title}"}
  requeueAfter: duration('1m')
  status:
    parts: ${size(copies)}
    cards: ${size(cards)}
`

const booksCRD = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: books.copies.example.com},
  spec: {group: copies.example.com, scope: Namespaced, names: {plural: books, singular: book, kind: Book, listKind: BookList},
    versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {title: {type: string}, parts: {type: array, items: {type: string}}}},
      status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]}}`

// library is where the copies are: Ambit never loses its rights there.
const library = "library"

// copies is about what no ownerReference ties to its owner.
func copies() (*Scenario, error) {
	edits := []func(string) string{
		func(text string) string { return text },
		func(text string) string {
			return strings.NewReplacer("id: copies", "id: parts", "size(copies)", "size(parts)").Replace(text)
		},
		func(text string) string {
			start, end := strings.Index(text, "    - id: copies"), strings.Index(text, "    - id: cards")
			return strings.Replace(text[:start]+text[end:], "${size(copies)}", "0", 1)
		},
	}
	s := &Scenario{
		Name:       "copies",
		Owners:     schema.GroupVersionResource{Group: "copies.example.com", Version: "v1", Resource: "books"},
		Namespaces: []string{"one", "two"},
		Everywhere: []rbacv1.PolicyRule{
			{APIGroups: []string{"copies.example.com"}, Resources: []string{"books"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"copies.example.com"}, Resources: []string{"books/status"}, Verbs: []string{"patch"}},
		},
		Here: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}},
		Kept: []string{"Secret"}, Suspends: true,
	}
	for _, edit := range edits {
		program, err := compileText(edit(copiesPolicy))
		if err != nil {
			return nil, err
		}
		s.Versions = append(s.Versions, program)
	}
	specs := []string{`{title: a, parts: [p]}`, `{title: b, parts: [p, q]}`, `{title: a, parts: [q, r]}`, `{title: c, parts: []}`}
	s.Variants = len(specs)
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		return object(`{apiVersion: copies.example.com/v1, kind: Book, metadata: {name: %s, namespace: %s}, spec: %s}`, name, namespace, specs[variant])
	}
	s.Objects = append(s.Objects, object(booksCRD), object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, library), bindingIn(library),
		object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: bystander, namespace: %s, labels: {bystander: "true", app.kubernetes.io/managed-by: ambit, ambit.dev/policy: %s}}, data: {a: b}}`, library, s.policyLabel()))
	for _, namespace := range s.Namespaces {
		s.Objects = append(s.Objects, object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, namespace))
		for _, name := range []string{"ann", "bob"} {
			s.Objects = append(s.Objects, object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, labels: {reader: "true"}}}`, name, namespace))
		}
	}
	return s, nil
}
