package manager

import "github.com/ambit-dev/ambit/pkg/controller"

// deniedNamespaces is how many namespaces of a policy have metrics of their own.
const deniedNamespaces = 100

// moreNamespaces stands for all others. It is no legal name.
const moreNamespaces = "(more)"

// denial is a set of labels of ambit_denied.
type denial struct{ policy, verb, resource, namespace string }

// countDenials counts denied accesses by labels: 1 each, but for the namespaces that
// are counted together.
func countDenials(list []controller.Denial) map[denial]int {
	type place struct{ policy, namespace string }
	named, spaces := map[place]bool{}, map[string]int{}
	counts := map[denial]int{}
	for _, d := range list {
		at := place{d.Policy, d.Namespace}
		if !named[at] && spaces[d.Policy] < deniedNamespaces {
			named[at] = true
			spaces[d.Policy]++
		}
		labels := denial{policy: d.Policy, verb: d.Verb, resource: d.Kind(), namespace: d.Namespace}
		if named[at] {
			counts[labels] = 1 // whatever the names of the objects are
			continue
		}
		labels.namespace = moreNamespaces
		counts[labels]++
	}
	return counts
}
