package uninstall

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ambit-dev/ambit/pkg/policy"
)

func TestReconcilePolicies(t *testing.T) {
	objects := []*metav1.PartialObjectMetadata{object(of(policyKind, "team", "web")), object(of(policyKind, "gone", "web"), finalized, deleted)}
	for name, tc := range map[string]struct {
		reason    string
		namespace string // of the policy
		err       error  // of listing it
		want      []types.NamespacedName
		requests  []string
		denied    bool
	}{
		"Served":    {reason: "Who runs it is there.", namespace: "team", want: []types.NamespacedName{{Namespace: "team", Name: "web"}}, requests: []string{"reconcilepolicies team  metadata.name=web"}},
		"Deleted":   {reason: "One that is being deleted is not served.", namespace: "gone", requests: []string{"reconcilepolicies gone  metadata.name=web"}},
		"Denied":    {reason: "The caller is told.", namespace: "team", err: forbidden("reconcilepolicies"), denied: true, requests: []string{"reconcilepolicies team  metadata.name=web"}},
		"NotServed": {reason: "Without the kind there is none.", namespace: "team", err: apierrors.NewNotFound(schema.GroupResource{}, ""), requests: []string{"reconcilepolicies team  metadata.name=web"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newFakeCluster(t, objects...)
			if tc.err != nil {
				cluster.refuse("list", "reconcilepolicies", tc.namespace, tc.err)
			}
			c := Cleanup{Scan: cluster.scan()}
			got, err := c.ReconcilePolicies(t.Context(), &policy.Program{Name: "web", Namespace: tc.namespace})
			if tc.denied != apierrors.IsForbidden(err) || !tc.denied && err != nil {
				t.Errorf("%s The error is %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.requests, cluster.requests()); diff != "" {
				t.Errorf("%s Requests: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConfigMaps(t *testing.T) {
	configMap := func(name string, data map[string]string, changes ...func(*metav1.PartialObjectMetadata)) corev1.ConfigMap {
		return corev1.ConfigMap{ObjectMeta: object(append(changes, of(configMapKind, "team", name))...).ObjectMeta, Data: data}
	}
	text := func(name string) string {
		return "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: " + name + "}\n"
	}
	all := fakeConfigMaps{"team": {
		configMap("first", map[string]string{"notes.txt": text("web"), "bad.yaml": "{", "some.yml": text("db") + "---\n" + text("web")}),
		configMap("notes", map[string]string{"notes.txt": text("web")}),
		configMap("other", map[string]string{"some.yaml": text("db")}),
		configMap("kind", map[string]string{"some.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\n"}),
		configMap("list", map[string]string{"some.yaml": "apiVersion: v1\nkind: List\nitems: [{apiVersion: ambit.dev/v1alpha1, kind: ReconcilePolicy, metadata: {name: web}}]\n"}),
		configMap("gone", map[string]string{"some.yaml": text("web")}, deleted),
	}}
	for name, tc := range map[string]struct {
		reason    string
		namespace string
		want      []string
		denied    bool
	}{
		"Namespace": {reason: "Those that Ambit would read the policy from.", namespace: "team", want: []string{"first", "list"}},
		"Denied":    {reason: "The caller is told.", denied: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cleanup{CoreV1: all}
			found, err := c.ConfigMaps(t.Context(), &policy.Program{Name: "web", Namespace: tc.namespace})
			if tc.denied != apierrors.IsForbidden(err) || !tc.denied && err != nil {
				t.Errorf("%s The error is %v", tc.reason, err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReleasePolicies: which ReconcilePolicies lose their finalizer, and what is said of
// those that keep it.
func TestReleasePolicies(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "reconcilepolicies"}, "web", nil)
	const kept = `policy "team.web": ReconcilePolicy team/web: it keeps its finalizer ambit.dev/cleanup: `
	const partly = kept + "only some namespaces were cleaned up; without --namespaces it is taken off"
	for name, tc := range map[string]struct {
		reason     string
		object     *metav1.PartialObjectMetadata
		scope      []string // of the policy
		namespaces []string
		change     func(*fakeCluster)
		want       []string
		released   bool
	}{
		"Deleted":  {reason: "All is cleaned up.", object: object(finalized, deleted), released: true},
		"Served":   {reason: "One that is served is somebody else's to release.", object: object(finalized)},
		"Free":     {reason: "Nothing is to be taken off.", object: object(deleted)},
		"Partly":   {reason: "There may be owners elsewhere.", object: object(finalized, deleted), namespaces: []string{"a"}, want: []string{partly}},
		"Outside":  {reason: "The scope is larger.", object: object(finalized, deleted), namespaces: []string{"a"}, scope: []string{"a", "b"}, want: []string{partly}},
		"Covered":  {reason: "There are no owners elsewhere.", object: object(finalized, deleted), namespaces: []string{"a", "b"}, scope: []string{"a", "b"}, released: true},
		"Conflict": {reason: "It is tried again.", object: object(finalized, deleted), change: func(c *fakeCluster) { c.failOnce("patch", conflict) }, released: true},
		"Gone":     {reason: "Somebody else was faster.", object: object(finalized, deleted), change: func(c *fakeCluster) { c.refuse("get", "*", "*", apierrors.NewNotFound(schema.GroupResource{}, "web")) }},
		"Denied":   {reason: "The error is said.", object: object(finalized, deleted), change: func(c *fakeCluster) { c.refuse("patch", "*", "*", forbidden("reconcilepolicies")) }, want: []string{kept + "reconcilepolicies is forbidden: no right"}},
		"Blind":    {reason: "That it may not be looked for was said before.", object: object(finalized, deleted), change: func(c *fakeCluster) { c.refuse("list", "*", "*", forbidden("reconcilepolicies")) }},
		"Broken":   {reason: "It is not known whether one is left.", object: object(finalized, deleted), change: func(c *fakeCluster) { c.refuse("list", "*", "*", conflict) }, want: []string{`policy "team.web": looking for ReconcilePolicy "web": ` + conflict.Error()}},
		"Another": {reason: "One of the same name is another policy.", object: object(finalized, deleted), change: func(c *fakeCluster) {
			c.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, object(of(policyKind, "team", "web"), finalized, func(o *metav1.PartialObjectMetadata) { o.UID = "2" }), nil
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			of(policyKind, "team", "web")(tc.object)
			cluster := newFakeCluster(t, tc.object)
			if tc.change != nil {
				tc.change(cluster)
			}
			program := team()
			program.Namespaces = tc.scope
			c := Cleanup{Scan: cluster.scan(tc.namespaces...), Programs: []*policy.Program{program}}
			if diff := cmp.Diff(tc.want, lines(c.releasePolicies(t.Context()))); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
			now, err := cluster.Tracker().Get(policyKind.GroupVersion().WithResource("reconcilepolicies"), "team", "web")
			if err != nil {
				t.Fatal(err)
			}
			had, has := sets.New(tc.object.Finalizers...), sets.New(now.(*metav1.PartialObjectMetadata).Finalizers...)
			if released := !had.Equal(has); released != tc.released {
				t.Errorf("%s Its finalizers are %v", tc.reason, has)
			}
		})
	}
}
