package objectstore

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestSubsetOfNames(t *testing.T) {
	cases := map[string]struct {
		reason string
		list   []string
		want   []types.NamespacedName
	}{
		"Nil":    {"no list is one of no names", nil, nil},
		"Empty":  {"and so is an empty list", []string{}, nil},
		"Plain":  {"a name without a namespace is in that of the key", []string{"a"}, []types.NamespacedName{{Namespace: "ns", Name: "a"}}},
		"Other":  {"a name may say its namespace", []string{"other/a"}, []types.NamespacedName{{Namespace: "other", Name: "a"}}},
		"Sorted": {"the order and repetitions do not matter", []string{"b", "a", "b"}, []types.NamespacedName{{Namespace: "ns", Name: "a"}, {Namespace: "ns", Name: "b"}}},
		"Odd":    {"RBAC objects have such names", []string{"a,b:c"}, []types.NamespacedName{{Namespace: "ns", Name: "a,b:c"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := SubsetOfNames(c.list, "ns")
			var got []types.NamespacedName
			for name := range n.Names() {
				got = append(got, name)
				expect(t, name.String()+" is among them", true, n.hasName(name))
			}
			expect(t, c.reason, c.want, got)
			expect(t, "is by name", true, n.IsByName())
			expect(t, "another is among them", false, n.hasName(types.NamespacedName{Namespace: "ns", Name: "another"}))
		})
	}
}
