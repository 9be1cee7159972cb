// Package streamlayout says which streams a kind is to have: what is needed of it, where it may be, and where rights allow.
package streamlayout

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
)

// Namespaces says where kinds that have namespaces are watched, unless they are configured by themselves.
type Namespaces struct {
	Rule     Rule
	Names    []string
	Selector labels.Selector
}

// Rule is how namespaces are found.
type Rule int

// The rules. AsConfigured, the zero value, leaves it to cache.Options.
const (
	AsConfigured Rule = iota
	Fixed             // those of Names
	Selected          // those that Selector selects
	Permitted         // those of Names, or all, where rights allow
)

// Need is what somebody needs of a kind: some namespaces, or all.
type Need struct {
	All        bool
	Namespaces map[string]struct{}
	// IsOwned: it is needed for an owner. What is needed until the end does not go beyond the candidates of Permitted.
	IsOwned bool
}

// CoversNamespace reports whether a namespace is needed.
func (n *Need) CoversNamespace(namespace string) bool {
	_, ok := n.Namespaces[namespace]
	return ok || n.All
}

// Layout is what the streams of one kind follow from. What it has must not change while it is used.
type Layout struct {
	Kind  *kindsettings.Kind
	Rule  Rule
	Needs []*Need
	// Names are the namespaces by Rule, as far as that IsKnown.
	Names   []string
	IsKnown bool
	// DecideEverywhere says whether the kind may be watched in all namespaces at once. It is asked under Permitted alone.
	DecideEverywhere func() access.Decision
	// Current are the streams that there are.
	Current func() map[string]cache.Config
}

// IsByNamespace reports whether a kind may have streams in single namespaces.
func IsByNamespace(k *kindsettings.Kind, rule Rule) bool {
	return k.IsNamespaced() && (len(k.Namespaces) > 0 || rule != AsConfigured)
}

// IsByPermission reports whether the streams of a kind are where rights allow.
func IsByPermission(k *kindsettings.Kind, rule Rule) bool {
	return rule == Permitted && k.IsNamespaced() && len(k.Namespaces) == 0
}

// StreamsWanted returns the streams that the kind is to have now, by namespace, and whether that is all: false
// while namespaces or rights are not known.
func (l Layout) StreamsWanted() (wanted map[string]cache.Config, decided bool) {
	wanted = map[string]cache.Config{}
	configured := l.Kind.Namespaces
	switch {
	case len(l.Needs) == 0:
		return wanted, true
	case !IsByNamespace(l.Kind, l.Rule):
		wanted[metav1.NamespaceAll] = l.Kind.Everywhere
		return wanted, true
	case len(configured) > 0:
		for namespace, config := range configured {
			if l.isNeeded(namespace, configured) {
				wanted[namespace] = config
			}
		}
		return wanted, true
	}
	return l.streamsByRule()
}

// isNeeded reports whether somebody needs the stream of a namespace: that of "" has all that have none of
// their own.
func (l Layout) isNeeded(namespace string, configured map[string]cache.Config) bool {
	for _, n := range l.Needs {
		if n.All || namespace != "" && n.CoversNamespace(namespace) {
			return true
		}
		if namespace != "" {
			continue
		}
		for needed := range n.Namespaces {
			if _, ok := configured[needed]; !ok || needed == metav1.NamespaceAll {
				return true
			}
		}
	}
	return false
}

// streamsByRule is StreamsWanted where the rule says which.
func (l Layout) streamsByRule() (wanted map[string]cache.Config, decided bool) {
	wanted = map[string]cache.Config{}
	byPermission := IsByPermission(l.Kind, l.Rule)
	if byPermission {
		switch l.DecideEverywhere() {
		case access.Allowed:
			wanted[metav1.NamespaceAll] = l.Kind.Everywhere
			return wanted, true
		case access.Unknown:
			return l.Current(), false
		}
	}
	for _, n := range l.Needs {
		for _, namespace := range l.Names {
			if n.CoversNamespace(namespace) {
				wanted[namespace] = l.Kind.Everywhere
			}
		}
		if !byPermission || !n.IsOwned {
			continue
		}
		for namespace := range n.Namespaces {
			if namespace != metav1.NamespaceAll { // a read without a namespace names none
				wanted[namespace] = l.Kind.Everywhere
			}
		}
	}
	return wanted, l.IsKnown
}
