package clusterwatch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the rest of Ambit is told when the way changes in which permissions are followed.
var (
	byEvents  = []string{"events are seen", "watches stay open"}
	byPolling = []string{"events are not seen", "watches are reopened"}
)

const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}"

// TestRBACWatched: where RBAC objects may be watched, a change of one leads to a review of its namespace, and
// of all for one that is in none. What changed before the first list was in is reviewed as well.
func TestRBACWatched(t *testing.T) {
	testWatcher(t, func(b *bench) {
		b.create(resource("", "v1", "namespaces"), "", "{apiVersion: v1, kind: Namespace, metadata: {name: one}}")
		b.grantRBAC()
		b.spawn(NewRBACWatcher(b.options).Run)
		calls := b.take(time.Second)
		if diff := cmp.Diff(byEvents, switches(calls)); diff != "" || calls[len(calls)-1] != "review " {
			t.Errorf("when it has begun it ends with %q, want a review of all (-want +got):\n%s", calls[len(calls)-1], diff)
		}
		if diff := cmp.Diff([]string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}, b.watched()); diff != "" {
			t.Errorf("what is watched (-want +got):\n%s", diff)
		}
		steps := []struct {
			reason string
			change func()
			want   []string
		}{
			{"a Role was made", func() { b.create(roles, "one", role) }, []string{"review one"}},
			{"a Role has gone", func() { b.delete(roles, "one", "a") }, []string{"review one"}},
			{"a ClusterRole holds everywhere", func() {
				b.create(clusterRoles, "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}")
			}, []string{"review "}},
			{"nothing happens", func() {}, nil},
		}
		for _, step := range steps {
			step.change()
			if diff := cmp.Diff(step.want, b.take(time.Second)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.reason, diff)
			}
		}
		if calls := b.take(time.Hour); calls != nil {
			t.Errorf("in a quiet hour: %v", calls)
		}
	})
}

// switches leaves out the reviews: the first list shows each object that is there.
func switches(calls []string) []string {
	return slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return strings.HasPrefix(call, "review") })
}

// TestRBACDenied: where RBAC objects may not be watched, watches are reopened instead, which is said once in
// the log with what is missing; nothing is watched, and no right probed for.
func TestRBACDenied(t *testing.T) {
	testWatcher(t, func(b *bench) {
		b.grant("rbac", "rbac.authorization.k8s.io", "roles, rolebindings, clusterroles")
		b.spawn(NewRBACWatcher(b.options).Run)
		if diff := cmp.Diff(byPolling, b.take(time.Second)); diff != "" {
			t.Errorf("when it has begun (-want +got):\n%s", diff)
		}
		if open := b.watched(); open != nil {
			t.Errorf("%v are watched, and one of four is not permitted", open)
		}
		const missing = `"missing"=["list clusterrolebindings" "watch clusterrolebindings"]`
		if len(b.lines) != 1 || !strings.Contains(b.lines[0], missing) {
			t.Errorf("the log is %q, want one line with %s", b.lines, missing)
		}
		if calls := b.take(time.Hour); calls != nil || len(b.lines) != 1 {
			t.Errorf("in a quiet hour: %v, and the log is %q", calls, b.lines)
		}
	})
}

// TestRBACGrantedLater: a right to watch RBAC objects that is granted later is found out after five minutes,
// or ten seconds after the last look if other rights have changed; a change that comes before that is not
// lost.
func TestRBACGrantedLater(t *testing.T) {
	cases := map[string]struct {
		reason string
		check  time.Duration // after the start, other rights change; zero: never
		want   time.Duration // until it is known
	}{
		"Unasked": {reason: "nothing says that it may be there", want: rbacRetryMax},
		"Soon":    {reason: "it is too soon to ask again at once", check: time.Second, want: rbacRetryMin + time.Second},
		"Late":    {reason: "it was not asked for in a while", check: time.Minute, want: time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testWatcher(t, func(b *bench) {
				w := NewRBACWatcher(b.options)
				b.spawn(w.Run)
				b.take(500 * time.Millisecond)
				b.grantRBAC()
				if tc.check > 0 {
					b.take(tc.check - 500*time.Millisecond)
					w.CheckSoon()
				}
				elapsed := max(tc.check, 500*time.Millisecond)
				for ; elapsed < time.Hour; elapsed += time.Second {
					if calls := b.take(time.Second); len(calls) > 0 {
						if diff := cmp.Diff(byEvents, switches(calls)); diff != "" {
							t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
						}
						break
					}
				}
				const slack = rbacRetryMin + 2*time.Second // it looks at the time every rbacRetryMin
				if elapsed < tc.want-time.Second || elapsed > tc.want+slack {
					t.Errorf("%s: found out after %s, want %s", tc.reason, elapsed, tc.want)
				}
			})
		})
	}
}

// TestRBACRevoked: when the right to watch RBAC objects goes, watches are reopened again; when it comes back,
// all is reviewed, for what changed in between was not seen.
func TestRBACRevoked(t *testing.T) {
	testWatcher(t, func(b *bench) {
		b.grantRBAC()
		w := NewRBACWatcher(b.options)
		b.spawn(w.Run)
		b.take(time.Second)
		b.delete(bindings, "", "rbac")
		if diff := cmp.Diff(byPolling, switches(b.take(10*time.Second))); diff != "" {
			t.Errorf("when it is gone (-want +got):\n%s", diff)
		}
		b.delete(clusterRoles, "", "rbac")
		b.grantRBAC()
		w.CheckSoon()
		calls := b.take(rbacRetryMin + time.Second)
		if diff := cmp.Diff(byEvents, switches(calls)); diff != "" || calls[len(calls)-1] != "review " {
			t.Errorf("when it is back it ends with %v, want a review of all (-want +got):\n%s", calls, diff)
		}
	})
}

// TestRBACUnreachable: as long as the API server does not answer, nothing is concluded from that: Ambit goes on
// as it began, or as it was.
func TestRBACUnreachable(t *testing.T) {
	testWatcher(t, func(b *bench) {
		b.grantRBAC()
		b.outage.Store(true)
		b.spawn(NewRBACWatcher(b.options).Run)
		if calls := b.take(time.Hour); calls != nil {
			t.Errorf("nothing is known, and is told: %v", calls)
		}
		b.outage.Store(false)
		if diff := cmp.Diff(byEvents, switches(b.take(time.Minute))); diff != "" {
			t.Errorf("when it answers (-want +got):\n%s", diff)
		}
	})
}
