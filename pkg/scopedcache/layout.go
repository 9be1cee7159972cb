package scopedcache

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
)

// isByNamespace reports whether a kind may have streams in single namespaces.
func (e *engine) isByNamespace(k *kind) bool {
	return k.isNamespaced() && (len(k.config.namespaces) > 0 || e.settings.own.Namespaces.rule != asConfigured)
}

// streamsWanted returns the streams that a kind is to have now, by namespace, and whether that is all: false
// while namespaces or rights are not known.
func (e *engine) streamsWanted(k *kind) (wanted map[string]cache.Config, decided bool) {
	wanted = map[string]cache.Config{}
	configured := k.config.namespaces
	switch {
	case len(k.needs) == 0:
		return wanted, true
	case !e.isByNamespace(k):
		wanted[metav1.NamespaceAll] = k.config.everywhere
		return wanted, true
	case len(configured) > 0:
		for namespace, config := range configured {
			if k.isNeeded(namespace, configured) {
				wanted[namespace] = config
			}
		}
		return wanted, true
	}
	return e.liveStreams(k)
}

// isNeeded reports whether somebody needs the stream of a namespace: that of "" has all that have none of
// their own.
func (k *kind) isNeeded(namespace string, configured map[string]cache.Config) bool {
	for _, n := range k.needs {
		if n.all || namespace != "" && n.covers(namespace) {
			return true
		}
		if namespace != "" {
			continue
		}
		for needed := range n.namespaces {
			if _, ok := configured[needed]; !ok || needed == metav1.NamespaceAll {
				return true
			}
		}
	}
	return false
}

// liveStreams is streamsWanted where Options.Namespaces says which.
func (e *engine) liveStreams(k *kind) (wanted map[string]cache.Config, decided bool) {
	wanted = map[string]cache.Config{}
	names, known := e.namespaces.current()
	byPermission := e.isByPermission(k)
	if byPermission {
		switch e.decideEverywhere(k) {
		case access.Allowed:
			wanted[metav1.NamespaceAll] = k.config.everywhere
			return wanted, true
		case access.Unknown:
			return e.streamsAsTheyAre(k), false
		}
		names = append(slices.Clone(names), k.namedNamespaces()...)
	}
	for _, namespace := range names {
		for _, n := range k.needs {
			if n.covers(namespace) {
				wanted[namespace] = k.config.everywhere
			}
		}
	}
	return wanted, known
}

// isByPermission reports whether the streams of a kind are where rights allow.
func (e *engine) isByPermission(k *kind) bool {
	return e.settings.own.Namespaces.rule == permittedNamespaces && k.isNamespaced() && len(k.config.namespaces) == 0
}

func (e *engine) streamsAsTheyAre(k *kind) map[string]cache.Config {
	wanted := map[string]cache.Config{}
	for _, s := range k.allStreams() {
		wanted[s.namespace] = s.config
	}
	return wanted
}

// namedNamespaces returns the namespaces that handles of owners need by name. What is read through the cache itself is
// needed until its end, so that it does not go beyond the candidates. A read without a namespace names none.
func (k *kind) namedNamespaces() (list []string) {
	for h, n := range k.needs {
		if h != nil && h.owner != (Owner{}) {
			list = slices.AppendSeq(list, maps.Keys(n.namespaces))
		}
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == metav1.NamespaceAll })
}

// decideEverywhere says whether a kind may be watched in all namespaces at once. It has that reviewed.
func (e *engine) decideEverywhere(k *kind) access.Decision {
	if k.everywhere == nil {
		k.everywhere = k.newStream(metav1.NamespaceAll, k.config.everywhere, true)
	}
	decision, _ := e.gate.reviewStream(k.everywhere)
	if e.reviews.State(k.everywhere.accessKey()).Refusal != nil || decision == access.Unknown && e.gate.isUndecidable(k.everywhere) {
		return access.Denied // the API server will say in which namespaces
	}
	return decision
}
