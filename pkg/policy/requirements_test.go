package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
)

func TestRequirements(t *testing.T) {
	isNamespaced := func(gvk schema.GroupVersionKind) bool { return gvk.Kind != "Wide" }
	const head = "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: p, namespace: team}\nspec:\n  "
	const owner = "owner: {apiVersion: example.com/v1, kind: App}\n"
	ownerOnly := []string{
		"owner FindOwners: App list watch, Owner",
		"owner ReportStatus: App/status patch, Owner",
		"owner BlockDeletion: App/finalizers update, Owner",
	}
	marked := append([]string{ownerOnly[0], "owner MarkOwners: App patch, Owner"}, ownerOnly[1:]...)
	cases := map[string]struct {
		reason string
		policy string
		// namespaced: it is known which kinds have namespaces.
		namespaced bool
		want       []string
	}{
		"Owner": {reason: "an owner is seen, and told", policy: owner, want: ownerOnly},
		"NoStatus": {
			reason: "the status of Kubernetes' own kinds is not written",
			policy: "owner: {apiVersion: v1, kind: ConfigMap}\n",
			want:   []string{"owner FindOwners: ConfigMap list watch, Owner", "owner BlockDeletion: ConfigMap/finalizers update, Owner"},
		},
		"Protect": {
			reason: "who holds back a deletion writes a finalizer",
			policy: owner + "  protect: {while: \"true\"}\n", want: marked,
		},
		"Ordered": {
			reason: "so does who removes children in order",
			policy: owner + "  deletion: Ordered\n", want: marked,
		},
		"Children": {
			reason: "a child is where its owner is, unless its template says otherwise",
			policy: owner + `  children:
    - {id: here, template: {apiVersion: v1, kind: Secret, metadata: {name: a}}}
    - {id: there, onDelete: Orphan, template: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}}}
`,
			want: append(marked[:len(marked):len(marked)],
				"here ManageChild: Secret get list watch create patch delete, Owner, child",
				"there ManageChild: Secret get list watch create patch, Template, child"),
		},
		"ClusterScoped": {
			reason: "that a child has no namespace, only a cluster knows: then its owner has an inventory",
			policy: owner + "  children: [{id: wide, template: {apiVersion: example.com/v1, kind: Wide, metadata: {name: a}}}]\n", namespaced: true,
			want: append(marked[:len(marked):len(marked)], "wide ManageChild: Wide get list watch create patch delete, Owner, child"),
		},
		"Watches": {
			reason: "a watch is only read",
			policy: owner + `  watches:
    - {id: here, apiVersion: v1, kind: Pod}
    - {id: there, apiVersion: v1, kind: Pod, namespace: "${owner.spec.there}"}
    - {id: all, apiVersion: v1, kind: Pod, namespace: "*"}
`,
			want: append(ownerOnly[:len(ownerOnly):len(ownerOnly)],
				"here Watch: Pod list watch, Owner, watch", "there Watch: Pod list watch, Template, watch", "all Watch: Pod list watch, All, watch"),
		},
		"Issuer": {
			reason: "the key of a CA is read for the moment in which it signs, and never watched",
			policy: owner + `  watches:
    - {id: company, apiVersion: v1, kind: Secret, name: company-ca}
  children:
    - id: tls
      template: {apiVersion: v1, kind: Secret, metadata: {name: a}, type: kubernetes.io/tls}
      make: [{certificate: {issuer: company, dnsNames: [a.example.com], lifetime: 2160h}}]
`,
			want: append(ownerOnly[:len(ownerOnly):len(ownerOnly)],
				"tls ManageChild: Secret get list watch create patch delete, Owner, child", "company Watch: Secret get list watch, Owner, watch"),
		},
		"Ensure": {
			reason: "what a policy has itself is in its own namespace, unless its template says otherwise",
			policy: owner + `  ensure:
    - {id: here, template: {apiVersion: v1, kind: Secret, metadata: {name: a}}}
    - {id: there, template: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}}}
`,
			want: append(ownerOnly[:len(ownerOnly):len(ownerOnly)],
				"here Ensure: Secret get list watch create patch delete, Policy, child",
				"there Ensure: Secret get list watch create patch delete, Template, child"),
		},
		"Scope": {
			reason: "labels of namespaces are read cluster-wide",
			policy: owner + "  scope: {namespaceSelector: {matchLabels: {a: b}}}\n",
			want:   append(ownerOnly[:len(ownerOnly):len(ownerOnly)], "namespaceSelector SelectNamespaces: Namespace list watch, Cluster"),
		},
		"Account": {
			reason: "Ambit acts as one account, and sees that it exists",
			policy: owner + "  serviceAccountName: bot\n",
			want:   append(ownerOnly[:len(ownerOnly):len(ownerOnly)], "serviceAccountName Impersonate: ServiceAccount bot list watch impersonate, Policy"),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var known func(schema.GroupVersionKind) bool
			if c.namespaced {
				known = isNamespaced
			}
			var got []string
			for _, r := range compiled(t, head+c.policy).Requirements(known) {
				got = append(got, requirementText(r))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s; -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// requirementText is a requirement in one line.
func requirementText(r policy.Requirement) string {
	object := r.GVK.Kind
	if r.Subresource != "" {
		object += "/" + r.Subresource
	}
	if r.Name != "" {
		object += " " + r.Name
	}
	text := fmt.Sprintf("%s %s: %s %s, %s", r.Part, r.Purpose, object, strings.Join(r.Verbs, " "), r.Scope)
	if r.Child != nil && r.Child.ID == r.Part {
		text += ", child"
	}
	if r.Watch != nil && r.Watch.ID == r.Part {
		text += ", watch"
	}
	return text
}
