package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy"
)

func compiled(t *testing.T, text string) *policy.Program {
	t.Helper()
	return compile(t, []byte(text))
}

func TestNeeds(t *testing.T) {
	text, err := os.ReadFile("../../policies/memcached.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		policy string
		want   []string
	}{
		"Memcached": {
			reason: "owner and watches are read, the status is patched, children are written as well",
			policy: string(text),
			want: []string{
				"[owner] cache.example.com/v1alpha1, Kind=Memcached: list watch",
				"[owner] cache.example.com/v1alpha1, Kind=Memcached/status: patch",
				"[deployment] apps/v1, Kind=Deployment: get list watch create patch delete",
				"[pods] /v1, Kind=Pod: list watch",
			},
		},
		"OneKindInManyParts": {
			reason: "a kind comes once, with the verbs of all its parts in order; the status of Kubernetes' own kinds is not written",
			policy: `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: v1, kind: ConfigMap}
  watches: [{id: seen, apiVersion: v1, kind: ConfigMap}]
  children:
    - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
    - {id: b, template: {apiVersion: v1, kind: Secret, metadata: {name: b}}}
`,
			want: []string{
				"[owner a seen] /v1, Kind=ConfigMap: get list watch create patch delete",
				"[b] /v1, Kind=Secret: get list watch create patch delete",
			},
		},
		"Modes": {
			reason: "what a mode never does needs no right; what is elsewhere is apart",
			policy: `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  watches:
    - {id: all, apiVersion: v1, kind: Secret, namespace: "*"}
    - {id: there, apiVersion: v1, kind: Secret, namespace: "${owner.spec.there}"}
  children:
    - {id: once, apply: Create, template: {apiVersion: a.io/v1, kind: Once, metadata: {name: a}}}
    - {id: anew, apply: Recreate, onDelete: Orphan, template: {apiVersion: a.io/v1, kind: Anew, metadata: {name: a}}}
    - {id: taken, apply: Create, existing: Adopt, template: {apiVersion: a.io/v1, kind: Taken, metadata: {name: a}}}
    - {id: left, onDelete: Orphan, template: {apiVersion: a.io/v1, kind: Left, metadata: {name: a}}}
    - {id: decorated, existing: Merge, template: {apiVersion: a.io/v1, kind: Decorated, metadata: {name: a}}}
    - {id: here, template: {apiVersion: a.io/v1, kind: Once, metadata: {name: b}}}
    - {id: away, template: {apiVersion: a.io/v1, kind: Once, metadata: {name: c, namespace: away}}}
  ensure:
    - {id: role, onDelete: Orphan, template: {apiVersion: a.io/v1, kind: Role, metadata: {name: a}}}
`,
			want: []string{
				"[owner] example.com/v1, Kind=App: list watch patch",
				"[owner] example.com/v1, Kind=App/status: patch",
				"[once here] a.io/v1, Kind=Once: get list watch create patch delete",
				"[anew] a.io/v1, Kind=Anew: get list watch create delete",
				"[taken] a.io/v1, Kind=Taken: get list watch create patch delete",
				"[left] a.io/v1, Kind=Left: get list watch create patch",
				"[decorated] a.io/v1, Kind=Decorated: get list watch patch",
				"[away] a.io/v1, Kind=Once elsewhere: get list watch create patch delete",
				"[all there] /v1, Kind=Secret elsewhere: list watch",
				"[role] a.io/v1, Kind=Role elsewhere: get list watch create patch",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, need := range compiled(t, c.policy).Needs() {
				kind := need.GVK.String()
				if need.Subresource != "" {
					kind += "/" + need.Subresource
				}
				if need.Elsewhere {
					kind += " elsewhere"
				}
				got = append(got, fmt.Sprintf("%v %s: %s", need.Parts, kind, strings.Join(need.Verbs, " ")))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s; -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	const spec = "\nspec: {%sowner: {apiVersion: v1, kind: ConfigMap}}"
	const head = "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: p, namespace: team}"
	if got := compiled(t, head+fmt.Sprintf(spec, "")).Identity(); got != "" {
		t.Errorf("without a ServiceAccount the identity is %q, want Ambit's own", got)
	}
	if got, want := compiled(t, head+fmt.Sprintf(spec, "serviceAccountName: bot, ")).Identity(), "system:serviceaccount:team:bot"; got != want {
		t.Errorf("the identity is %q, want %q", got, want)
	}
}
