package uninstall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// webPolicy has owners of kind App and makes ConfigMaps, ClusterRoles and Gizmos. It leaves
// Secrets behind.
func webPolicy() *policy.Program {
	return &policy.Program{
		Name: "web", Label: "web", Owner: policy.Owner{GVK: appKind},
		Children: []*policy.Child{{GVK: configMapKind}, {GVK: secretKind, OnDelete: v1alpha1.DeleteOrphan}, {GVK: gizmoKind}},
		Ensured:  []*policy.Child{{GVK: roleKind}},
	}
}

// recorded puts recordText on an owner.
func recorded(o *metav1.PartialObjectMetadata) {
	annotated(v1alpha1.AnnotationChildren, recordText)(o)
}

func ensured(o *metav1.PartialObjectMetadata) {
	labelled(o)
	managed("ambit/web")(o)
	annotated(v1alpha1.AnnotationEnsuredBy, "/web")(o)
}

// everything is one owner of web, what web has made for it, and what is others'.
func everything() []*metav1.PartialObjectMetadata {
	claimed := annotated(v1alpha1.AnnotationClaim, "x")
	return []*metav1.PartialObjectMetadata{
		object(of(appKind, "team-a", "shop"), finalized, recorded),
		object(of(appKind, "team-a", "untouched")),
		object(of(appKind, "team-b", "other"), annotated(v1alpha1.AnnotationChildren, strings.Replace(recordText, "web", "db", 1))),
		object(of(configMapKind, "team-a", "tied"), labelled, managed("ambit/web"), controlledBy("1")),
		object(of(configMapKind, "team-a", "copied"), labelled, managed("endpoint-controller")),
		object(of(configMapKind, "team-b", "away"), labelled, claimed),
		object(of(secretKind, "team-a", "kept"), labelled, claimed),
		object(of(roleKind, "", "viewer"), ensured),
	}
}

func TestRemaining(t *testing.T) {
	const owner = `policy "web": App team-a/shop: it still has finalizer ambit.dev/cleanup, annotation ambit.dev/children`
	const tied, away = `policy "web": ConfigMap team-a/tied: it is still there`, `policy "web": ConfigMap team-b/away: it is still there`
	const viewer = `policy "web": ClusterRole viewer: it is still there`
	for name, tc := range map[string]struct {
		reason     string
		namespaces []string
		change     func(*fakeCluster)
		want       []string
	}{
		"All":       {reason: "What is another policy's, was left behind or only looks like its own is not in it.", want: []string{owner, tied, away, viewer}},
		"Namespace": {reason: "What is in no namespace is cleaned up whatever the namespaces.", namespaces: []string{"team-a"}, want: []string{owner, tied, viewer}},
		"Blind": {reason: "Owners that cannot be listed may be left.", change: func(c *fakeCluster) { c.refuse("list", "apps", "*", forbidden("apps")) },
			want: []string{`policy "web": listing apps.example.com: apps is forbidden: no right`, tied, away, viewer}},
		"HalfBlind": {reason: "One namespace does not hide another.", namespaces: []string{"team-b", "team-a"}, change: func(c *fakeCluster) { c.refuse("list", "apps", "team-b", forbidden("apps")) },
			want: []string{owner, `policy "web": listing apps.example.com: apps is forbidden: no right`, away, tied, viewer}},
		"ChildDenied": {reason: "The controller reports which permission is missing.", change: func(c *fakeCluster) { c.refuse("list", "configmaps", "*", forbidden("configmaps")) }, want: []string{owner, viewer}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeCluster(t, everything()...)
			if tc.change != nil {
				tc.change(c)
			}
			scan := c.scan(tc.namespaces...)
			if diff := cmp.Diff(tc.want, lines(scan.FindRemaining(t.Context(), webPolicy()))); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemainingMarks: what is said of one object of a policy that is not cleaned up.
func TestRemainingMarks(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		object *metav1.PartialObjectMetadata
		want   string
	}{
		"Unrecorded": {"Nobody knows whose the finalizer is.", object(of(appKind, "a", "b"), finalized), "App a/b: it still has finalizer ambit.dev/cleanup"},
		"Illegible":  {"Nor whose a broken record is.", object(of(appKind, "a", "b"), annotated(v1alpha1.AnnotationChildren, "{")), "App a/b: it still has annotation ambit.dev/children"},
		"Record":     {"A record alone has to go, too.", object(of(appKind, "a", "b"), recorded), "App a/b: it still has annotation ambit.dev/children"},
		"Waiting": {"It names what the object waits for.", object(of(configMapKind, "a", "b"), labelled, managed("ambit/web"), deleted, func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"x/y", "z/w"} }),
			"ConfigMap a/b: it is being deleted, and waits for its finalizers: x/y, z/w"},
	} {
		t.Run(name, func(t *testing.T) {
			scan := newFakeCluster(t, tc.object).scan()
			if diff := cmp.Diff([]string{`policy "web": ` + tc.want}, lines(scan.FindRemaining(t.Context(), webPolicy()))); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemainingRequests: owners may have lost their labels, what was made is asked for by
// its labels.
func TestRemainingRequests(t *testing.T) {
	c := newFakeCluster(t)
	scan := c.scan("team-a", "team-b")
	scan.FindRemaining(t.Context(), webPolicy())
	const selector = " ambit.dev/policy=web,app.kubernetes.io/managed-by=ambit"
	want := []string{"apps team-a", "apps team-b", "configmaps team-a" + selector, "configmaps team-b" + selector, "clusterroles " + selector}
	if diff := cmp.Diff(want, c.requests()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestRemovedKinds(t *testing.T) {
	orphan := &policy.Child{GVK: configMapKind, OnDelete: v1alpha1.DeleteOrphan}
	for name, tc := range map[string]struct {
		reason   string
		children []*policy.Child
		want     []schema.GroupVersionKind
	}{
		"Sorted": {"The order is the same in each run.", []*policy.Child{{GVK: secretKind}, {GVK: configMapKind}, {GVK: secretKind}}, []schema.GroupVersionKind{configMapKind, secretKind}},
		"Orphan": {"One that stays cannot be told from one that goes.", []*policy.Child{{GVK: configMapKind}, orphan}, nil},
		"First":  {"Whichever comes first.", []*policy.Child{orphan, {GVK: configMapKind}}, nil},
		"Merge":  {"The object is somebody else's.", []*policy.Child{{GVK: secretKind, Existing: v1alpha1.ExistingMerge}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, removedKinds(&policy.Program{Children: tc.children})); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
