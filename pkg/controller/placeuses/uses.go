package placeuses

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// everywhere is the place that stands for all namespaces, and for what is in none.
const everywhere = ""

// Use is something of a policy that an owner makes use of in a place that is not the
// owner's own, or that was not known to be before it was looked at. It is comparable.
type Use struct {
	// Part is the id of a child, watch or ensured object; empty for what is left of a
	// child that the policy no longer has.
	Part string
	// Kind is that of what is left; it has only to be found and removed. Released: only
	// our fields in it are.
	Kind     schema.GroupVersionKind
	Released bool
	// Optional: it is of use to list and watch there, and nothing is missing where that
	// is denied.
	Optional bool
}

func compareUses(a, b Use) int {
	return cmp.Or(
		cmp.Compare(a.Part, b.Part), cmp.Compare(a.Kind.String(), b.Kind.String()),
		cmp.Compare(strconv.FormatBool(a.Released), strconv.FormatBool(b.Released)),
		cmp.Compare(strconv.FormatBool(a.Optional), strconv.FormatBool(b.Optional)),
	)
}

// ByPlace is what one owner makes use of, by place: sorted, each once. Not safe for concurrent use.
type ByPlace map[string][]Use

// AddUse notes a use of a place, once.
func (u ByPlace) AddUse(place string, what Use) {
	if i, ok := slices.BinarySearchFunc(u[place], what, compareUses); !ok {
		u[place] = slices.Insert(u[place], i, what)
	}
}

// HasParts reports whether one of several parts is made use of in a place, optional uses aside.
func (u ByPlace) HasParts(place string, parts []string) bool {
	return slices.ContainsFunc(u[place], func(w Use) bool { return w.Part != "" && !w.Optional && slices.Contains(parts, w.Part) })
}

// TenantOf says who an owner belongs to: all in one namespace are one tenant, and each owner
// without a namespace is one.
func TenantOf(owner types.NamespacedName) string {
	return cmp.Or(owner.Namespace, "/"+owner.Name)
}

// isNamed reports whether an owner's own content names a place that is not its own.
func isNamed(owner types.NamespacedName, place string, list []Use) bool {
	return place != everywhere && place != owner.Namespace && slices.ContainsFunc(list, func(w Use) bool { return !w.Optional })
}

// namingsOf returns how often an owner counts that names a place for this.
func namingsOf(list []Use) (n int) {
	for _, w := range list {
		if w.Part == "" && !w.Optional {
			n++
		}
	}
	return max(1, n)
}
