package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// ownershipPolicy has a child of each way to be tied to an owner.
const ownershipPolicy = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: ties}
spec:
  owner: {apiVersion: example.com/v1, kind: Thing}
  children:
    - id: config
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "${owner.spec.place}"}}
    - id: role
      template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}
    - id: backup
      onDelete: Orphan
      template: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}
    - id: decorated
      existing: Merge
      template: {apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {x: y}}}
`

// ownershipCase is an owner and an object, as files have them.
type ownershipCase struct {
	reason          string
	owner, observed string
	// wantRecord are the entries of the owner's record, wantTie says of each object
	// how it is tied: ref, claim or nothing.
	wantRecord []string
	wantTie    map[string]string
}

func ownershipCases() map[string]ownershipCase {
	return map[string]ownershipCase{
		"SameNamespace": {
			reason:   "An ownerReference is enough, and its namespace is the owner's if not said.",
			owner:    `{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: one}}`,
			observed: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
			wantTie:  map[string]string{"ConfigMap one/a": "ref"},
		},
		"OtherNamespace": {
			reason:     "No ownerReference can lead there: it is in the record.",
			owner:      `{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: one}}`,
			observed:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: two}}`,
			wantRecord: []string{"ConfigMap two/a (child config, recorded)"},
			wantTie:    map[string]string{"ConfigMap two/a": "claim"},
		},
		"ClusterScopedChild": {
			reason:     "The kind has no namespaces, so that the object gets none.",
			owner:      `{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: one}}`,
			observed:   `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}`,
			wantRecord: []string{"ClusterRole a (child role, recorded)"},
			wantTie:    map[string]string{"ClusterRole /a": "claim"},
		},
		"ClusterScopedOwner": {
			reason:     "An ownerReference leads to it from everywhere; the record says where to look.",
			owner:      `{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}`,
			observed:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: two}}`,
			wantRecord: []string{"ConfigMaps in two (child config)"},
			wantTie:    map[string]string{"ConfigMap two/a": "ref"},
		},
		"Orphan": {
			reason:     "What is to be left behind has no ownerReference.",
			owner:      `{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: one}}`,
			observed:   `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}`,
			wantRecord: []string{"PersistentVolumeClaim one/a (child backup, recorded, left behind)"},
			wantTie:    map[string]string{"PersistentVolumeClaim one/a": "claim"},
		},
		"NotOurs": {
			reason: "What has a uid, or an ownerReference, or is only decorated, is somebody else's.",
			owner:  `{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: one}}`,
			observed: `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: a}}`,
			wantTie: map[string]string{"ConfigMap one/a": "", "ConfigMap one/b": "", "Namespace /a": ""},
		},
	}
}

// TestOwnership: what files leave out is completed as an API server and an earlier reconcile
// would have left it.
func TestOwnership(t *testing.T) {
	for name, tc := range ownershipCases() {
		t.Run(name, func(t *testing.T) {
			c := newCluster(input(t, ownershipPolicy, tc.owner, tc.observed))
			stored, err := inventory.ParseInventory(c.owner.GetAnnotations()[v1alpha1.AnnotationChildren])
			if err != nil {
				t.Fatal(err)
			}
			var record []string
			for _, e := range stored.Entries {
				record = append(record, entryText(e))
			}
			if diff := cmp.Diff(tc.wantRecord, record); diff != "" {
				t.Errorf("%s\nrecord: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.wantTie, howTied(c)); diff != "" {
				t.Errorf("%s\nties: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func howTied(c *cluster) map[string]string {
	found := map[string]string{}
	for _, objects := range c.byKind {
		for _, o := range objects {
			how := ""
			switch {
			case o.GetAnnotations()[v1alpha1.AnnotationClaim] != "":
				how = "claim"
			case claims.IsControlled(o, c.owner.GetUID()):
				how = "ref"
			}
			found[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = how
		}
	}
	return found
}

// TestOwnershipOrdered: an object that is in the cluster as the policy makes it is no change,
// where it names its child because the deletion is in order.
func TestOwnershipOrdered(t *testing.T) {
	const text = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: ordered}
spec:
  owner: {apiVersion: example.com/v1, kind: Thing}
  deletion: Ordered
  children:
    - id: config
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}
`
	owner := `{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: one}}`
	in := input(t, text, owner, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}`)
	if plan := Reconcile(t.Context(), in).PlanText(); strings.Contains(plan, "ConfigMap one/a:") || !strings.Contains(plan, "config a: Ready") {
		t.Errorf("nothing differs, and the plan is:\n%s", plan)
	}
}
