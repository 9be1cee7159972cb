package registry

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// precedence is what decides between two policies that want one name or one owner.
type precedence struct {
	origin  manifest.Origin
	created time.Time
	index   int // of the document in its manifest
	// isTrusted: it is a file, or in Ambit's own namespace, where only those write who run
	// Ambit.
	isTrusted bool
}

// comparePrecedence orders policies, those that go before others first: files, then custom resources, then
// ConfigMaps; of one kind the older object, then by its names. Those in other namespaces come after all in Ambit's
// own: nobody can stop a policy of those who run Ambit by writing another one elsewhere. In other namespaces,
// the namespaces that are served (claimOrder) decide before that.
func comparePrecedence(a, b precedence) int {
	return cmp.Or(
		cmp.Compare(strconv.FormatBool(b.isTrusted), strconv.FormatBool(a.isTrusted)), // as text, too, true comes after false
		cmp.Compare(a.origin.Kind.Precedence(), b.origin.Kind.Precedence()),
		a.created.Compare(b.created),
		manifest.CompareOrigins(a.origin, b.origin),
		cmp.Compare(a.index, b.index),
	)
}

// reachesOtherNamespaces reports whether an entry may serve owners in namespaces of others: it is in a namespace that
// is not Ambit's own, and its scope is not that namespace alone. A policy must not displace a namespace's own
// policies by naming that namespace in its scope.
func (e *entry) reachesOtherNamespaces() bool {
	p := e.bestProgram()
	return !e.precedence.isTrusted && (p.NamespaceSelector != nil || len(p.Namespaces) == 0 ||
		slices.ContainsFunc(p.Namespaces, func(n string) bool { return n != e.key.Origin.Namespace }))
}

// claimOrder returns when an entry may take owners, the lowest first. What reaches other namespaces comes after what
// does not, and what can only clean up comes last, so that it is in nobody's way.
func (e *entry) claimOrder() int {
	order := 0
	if e.reachesOtherNamespaces() {
		order++
	}
	if e.bestProgram().CleanupOnly != nil {
		order += 2
	}
	return order
}
