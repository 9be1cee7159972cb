package ownerviews

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// mayList is a watch that shows namespaces.
func mayList(names ...string) *fakeNamespaceWatch {
	return &fakeNamespaceWatch{permission: permitted.Permission{Decision: permitted.Allowed}, status: informer.Status{Synced: true}, names: names}
}

// mayNotList is a watch that is denied.
func mayNotList() *fakeNamespaceWatch {
	return &fakeNamespaceWatch{permission: permitted.Permission{Decision: permitted.Denied, Missing: []access.Access{
		{Verb: "list", Resource: "namespaces"}, {Verb: "watch", Resource: "namespaces"}}}}
}

func isAnywhere(string) bool { return true }

func TestListNamespaces(t *testing.T) {
	cases := map[string]struct {
		reason string
		watch  *fakeNamespaceWatch
		want   []string // nil: there is no list
		known  bool
	}{
		"Listed":     {reason: "all that there are", watch: mayList("b", "a"), want: []string{"a", "b"}, known: true},
		"Denied":     {reason: "there will be no list", watch: mayNotList(), known: true},
		"Unreviewed": {reason: "an answer is to come", watch: &fakeNamespaceWatch{}},
		"Refused":    {reason: "a review is to confirm the refusal", watch: &fakeNamespaceWatch{permission: permitted.Permission{Decision: permitted.Refused}}},
		"Syncing":    {reason: "the first list is to come", watch: &fakeNamespaceWatch{permission: permitted.Permission{Decision: permitted.Allowed}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list, known := NewNamespaceList(tc.watch).ListNamespaces()
			var got []string
			if list != nil {
				got = list.NamesWhere(isAnywhere)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || known != tc.known {
				t.Errorf("%s: known: %t (-want +got):\n%s", tc.reason, known, diff)
			}
		})
	}
}

// TestFollowList: the namespaces are watched as long as somebody asks on each turn, and what owners go by
// is the same pointer until namespaces of the scope come or go.
func TestFollowList(t *testing.T) {
	watch := mayList("a", "b", "out")
	l := NewNamespaceList(watch)
	turn := func(when string, asks, wanted, want bool, calls string) {
		t.Helper()
		before := l.FollowedList()
		l.StartTurn()
		if asks {
			l.ListNamespaces()
		}
		changed := l.FollowList(wanted, func(namespace string) bool { return namespace != "out" })
		if changed != want || changed == (before == l.FollowedList()) {
			t.Errorf("%s: changed: %t, another list: %t", when, changed, before != l.FollowedList())
		}
		if got := watch.takeCalls(); got != calls {
			t.Errorf("%s: %s, want %s", when, got, calls)
		}
	}
	turn("nobody asks", false, false, false, "release")
	turn("the policy asks for itself", true, false, false, "require")
	turn("an owner wants it", false, true, true, "require")
	turn("both do", true, true, false, "require, require")
	watch.names = []string{"a", "b"}
	turn("one outside of the scope has gone", false, true, false, "require")
	watch.names = []string{"a"}
	turn("one has gone", false, true, true, "require")
	next := NewNamespaceList(mayList())
	next.InheritList(l)
	if next.FollowedList() != l.FollowedList() {
		t.Error("the next revision does not go on with the list")
	}
	turn("no owner wants it any more", false, false, true, "release")
	turn("nor then", false, false, false, "release")
	l.ReleaseList()
	if got := watch.takeCalls(); got != "release" {
		t.Errorf("the watch is not released: %s", got)
	}
}

func TestMissingAccess(t *testing.T) {
	if missing := NewNamespaceList(mayNotList()).MissingAccess(); missing.Resource.Resource != "namespaces" || !cmp.Equal(missing.Verbs, []string{"list", "watch"}) {
		t.Errorf("missing are %+v", missing)
	}
	if NewNamespaceList(mayList()).IsDenied() || !NewNamespaceList(mayNotList()).IsDenied() || NewNamespaceList(&fakeNamespaceWatch{}).IsDenied() {
		t.Error("only what is denied is")
	}
	if q := NamespacesQuery("bot", access.Payer{Group: "p"}); q.Identity != "bot" || q.Payer.Group != "p" || q.Namespace != "" || len(q.Resources) != 1 {
		t.Errorf("asked is %+v", q)
	}
}
