package ownerviews

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCoversNamespace(t *testing.T) {
	cases := map[string]struct {
		reason string
		scope  WatchScope
		want   bool
	}{
		"Everywhere":          {reason: "a stream of all namespaces shows it", scope: WatchScope{Watchable: []string{allNamespaces}}, want: true},
		"Own":                 {reason: "its stream shows it", scope: WatchScope{Watchable: []string{"a", "b"}}, want: true},
		"Undecided":           {reason: "it is not known yet, so nothing is given up", scope: WatchScope{Undecided: []string{"a"}}, want: true},
		"UndecidedEverywhere": {reason: "nor while it is not known whether all can be watched together", scope: WatchScope{Undecided: []string{allNamespaces}}, want: true},
		"Other":               {reason: "only others are watched", scope: WatchScope{Watchable: []string{"b"}}},
		"Nowhere":             {reason: "nothing is"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.scope.CoversNamespace("a"); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

func TestStreamsAfter(t *testing.T) {
	cases := map[string]struct {
		reason  string
		scope   WatchScope
		current []string
		want    []string
	}{
		"First":         {reason: "there is nothing to keep", scope: WatchScope{Watchable: []string{"b", "a"}}, want: []string{"a", "b"}},
		"Gone":          {reason: "one that may not be watched any more goes", scope: WatchScope{Watchable: []string{"a"}}, current: []string{"a", "b"}, want: []string{"a"}},
		"Undecided":     {reason: "one about which nothing is known yet stays", scope: WatchScope{Watchable: []string{"a"}, Undecided: []string{"b"}}, current: []string{"a", "b", "c"}, want: []string{"a", "b"}},
		"NotOpened":     {reason: "one about which nothing is known yet is not opened", scope: WatchScope{Undecided: []string{"b"}}},
		"TakesOver":     {reason: "all stay until the one of all namespaces is synced", scope: WatchScope{Watchable: []string{allNamespaces}}, current: []string{"a", "b"}, want: []string{allNamespaces, "a", "b"}},
		"Taken":         {reason: "it is there already", scope: WatchScope{Watchable: []string{allNamespaces}}, current: []string{allNamespaces}, want: []string{allNamespaces}},
		"GivesWay":      {reason: "single namespaces replace it at once", scope: WatchScope{Watchable: []string{"a"}}, current: []string{allNamespaces}, want: []string{"a"}},
		"StillUnknown":  {reason: "whether all can be watched is being reviewed", scope: WatchScope{Undecided: []string{allNamespaces}}, current: []string{allNamespaces}, want: []string{allNamespaces}},
		"NothingToSee":  {reason: "nothing may be watched", current: []string{"a", allNamespaces}},
		"NothingBefore": {reason: "and nothing was"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			current := map[string]View{}
			for _, namespace := range tc.current {
				current[namespace] = synced()
			}
			if diff := cmp.Diff(tc.want, tc.scope.streamsAfter(current)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestIsDecided(t *testing.T) {
	if !(WatchScope{Watchable: []string{"a"}}).IsDecided() || (WatchScope{Watchable: []string{"a"}, Undecided: []string{"b"}}).IsDecided() {
		t.Error("a scope is decided as soon as nothing is undecided")
	}
}
