package uninstall

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// object is metadata as a change makes it.
func object(changes ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "team-a"}}
	for _, change := range changes {
		change(o)
	}
	return o
}

func labelled(o *metav1.PartialObjectMetadata) {
	o.Labels = map[string]string{v1alpha1.LabelManagedBy: "ambit", v1alpha1.LabelPolicy: "web", v1alpha1.LabelOwnerUID: "1"}
}

func annotated(key, value string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, key, value) }
}

func managed(manager string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager})
	}
}

func finalized(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"ambit.dev/cleanup"} }

func deleted(o *metav1.PartialObjectMetadata) {
	o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
}

func controlledBy(uid types.UID) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: new(true)}}
	}
}

// recordText is the record of an owner with two objects that it has made, one of them
// an orphan, and one that it has merged into.
const recordText = `{"policy":"web","claim":"0123456789abcdef","groups":[` +
	`{"child":"a","apiVersion":"v1","kind":"ConfigMap","objects":["team-b/away/1"]},` +
	`{"child":"b","apiVersion":"v1","kind":"Secret","orphan":true,"objects":["team-a/kept/2"]},` +
	`{"child":"c","apiVersion":"v1","kind":"ServiceAccount","merged":true,"objects":["team-a/lent/3"]}]}`

func TestFindingsOf(t *testing.T) {
	app, own := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	recorded := annotated(v1alpha1.AnnotationChildren, recordText)
	cases := map[string]struct {
		reason string
		kind   schema.GroupVersionKind
		object *metav1.PartialObjectMetadata
		want   []string
	}{
		"Foreign":     {"What Ambit has nothing to do with is none.", app, object(managed("kubectl")), nil},
		"Finalizer":   {"The record says whose the finalizer is, and what for.", app, object(finalized, recorded), []string{"Finalizer web: it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off; on record: 2 objects made, 1 merged into"}},
		"Unrecorded":  {"protect needs no record.", app, object(finalized), []string{"Finalizer : it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off"}},
		"Deleted":     {"One that is deleted is stuck already.", app, object(finalized, deleted), []string{"Finalizer : it is being deleted, and stays until Ambit takes its finalizer ambit.dev/cleanup off"}},
		"Illegible":   {"A record that somebody has broken says nothing.", app, object(finalized, annotated(v1alpha1.AnnotationChildren, "{")), []string{"Finalizer : it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off; its record cannot be read"}},
		"Record":      {"A record of orphans alone has no finalizer.", app, object(recorded), []string{"Record web: its annotation ambit.dev/children would stay; on record: 2 objects made, 1 merged into"}},
		"Policy":      {"The finalizer on a policy is that policy's.", own, object(finalized), []string{"Finalizer team-a.shop: it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off"}},
		"Tied":        {"Garbage collection takes what its owner controls.", app, object(labelled, managed("ambit/web"), controlledBy("1")), []string{"Owned web: garbage collection takes it when its owner is deleted"}},
		"Claimed":     {"A claim is the tie of what no ownerReference can tie.", app, object(labelled, annotated(v1alpha1.AnnotationClaim, "x")), []string{"Child web: no ownerReference ties it to its owner: it would stay"}},
		"Untied":      {"Somebody has taken the ownerReference away.", app, object(labelled, managed("ambit/web")), []string{"Child web: no ownerReference ties it to its owner: it would stay"}},
		"Taken":       {"Somebody else's controller does not tie it to the owner.", app, object(labelled, managed("ambit/web"), controlledBy("2")), []string{"Child web: no ownerReference ties it to its owner: it would stay"}},
		"Copied":      {"Endpoints have the labels of their Service: labels prove nothing.", app, object(labelled, managed("endpoint-controller")), nil},
		"CopiedClaim": {"A ReplicaSet has the annotations of its Deployment, and may have the labels.", app, object(labelled, annotated(v1alpha1.AnnotationClaim, "x"), controlledBy("2")), nil},
		"Merged":      {"Each policy that has fields there, once.", app, object(managed("ambit/web/1"), managed("ambit/db/2"), managed("ambit/web/3")), []string{"Fields db: it would keep the fields that the policy has merged into it", "Fields web: it would keep the fields that the policy has merged into it"}},
		"Status":      {"The status of an owner is written by the policy itself.", app, object(managed("ambit/web")), nil},
		"Ensured":     {"What is the policy's own has no owner.", app, object(labelled, managed("ambit/platform.web"), annotated(v1alpha1.AnnotationEnsuredBy, "platform/web")), []string{"Ensured platform.web: it was made for the policy itself, and would stay"}},
		"CopiedMark":  {"An annotation alone proves nothing either.", app, object(annotated(v1alpha1.AnnotationEnsuredBy, "platform/web")), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range findingsOf(tc.kind, tc.object) {
				got = append(got, fmt.Sprintf("%s %s: %s", f.Type, f.Policy, f.Why))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
