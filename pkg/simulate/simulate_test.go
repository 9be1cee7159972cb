package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// testPolicy makes a ConfigMap from what it watches, and a Secret for itself.
const testPolicy = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: things}
spec:
  owner:
    apiVersion: example.com/v1
    kind: Thing
    selector: {matchLabels: {use: ambit}}
    filter: object.spec.size < 10
  scope: {namespaces: [one, two], exclude: [two]}
  watches:
    - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${owner.metadata.name}-settings", namespace: "${owner.spec.?place.orValue('one')}"}
  children:
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: a}
        data: {found: "${string(size(settings))}"}
    - id: role
      template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}
  ensure:
    - id: shared
      template: {apiVersion: v1, kind: Namespace, metadata: {name: shared}}
  status: {found: "${size(settings)}"}
`

// thing is an owner of testPolicy, as text, with what comes to its metadata and spec.
func thing(metadata, spec string) string {
	return "{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: one, labels: {use: ambit}" + metadata + "}, spec: {size: 1" + spec + "}}"
}

// TestReconcile: what is to be done for an owner, and its status.
func TestReconcile(t *testing.T) {
	cases := map[string]struct {
		reason, owner, observed string
		wantPlan                []string // texts that the plan has
		wantAlone               string
		wantFound               any // status.found
	}{
		"New": {
			reason:    "The policy's own object comes first, then the record of what no ownerReference can tie to the owner.",
			owner:     thing("", ""),
			wantPlan:  []string{"for the policy:\n", "Namespace shared", "metadata of the owner:\n  finalizer ambit.dev/cleanup", "ClusterRole a (child role, about to be made)", "ConfigMap"},
			wantFound: int64(0),
		},
		"Watched": {
			reason:    "A watch finds the object of its name in its namespace, and no other.",
			owner:     thing("", ""),
			observed:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: t-settings, uid: u}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other, uid: v}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: t-settings, namespace: two, uid: w}}",
			wantPlan:  []string{`found: "1"`},
			wantFound: int64(1),
		},
		"WatchedNowhere": {
			reason:   "A namespace that no object can be in blocks as it does in the cluster.",
			owner:    thing("", ", place: No"),
			wantPlan: []string{`namespace of watch "settings"`},
		},
		"NotSelected": {
			reason:    "Labels of the owner keep the policy away.",
			owner:     strings.Replace(thing("", ""), "use: ambit", "use: not", 1),
			wantAlone: "the owner's labels do not match use=ambit",
		},
		"Excluded": {
			reason:    "So does an excluded namespace.",
			owner:     strings.Replace(thing("", ""), "namespace: one", "namespace: two", 1),
			wantAlone: `it excludes namespace "two"`,
		},
		"OutOfScope": {
			reason:    "And one that the scope does not have.",
			owner:     strings.Replace(thing("", ""), "namespace: one", "namespace: three", 1),
			wantAlone: `its scope does not have namespace "three"`,
		},
		"Filtered": {
			reason:    "And the filter.",
			owner:     strings.Replace(thing("", ""), "size: 1", "size: 10", 1),
			wantAlone: "its filter is false",
		},
		"FilterFails": {
			reason:    "A filter that fails wants nothing.",
			owner:     strings.Replace(thing("", ""), "size: 1", "size: x", 1),
			wantAlone: "its filter fails: ",
		},
		"Deleted": {
			reason:   "An owner that goes is cleaned up after, whatever its labels.",
			owner:    strings.Replace(thing(`, finalizers: [ambit.dev/cleanup], deletionTimestamp: "2026-01-01T00:00:00Z"`, ""), "use: ambit", "use: not", 1),
			observed: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}",
			wantPlan: []string{"delete ClusterRole a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, testPolicy, tc.owner, tc.observed)
			before := in.Owner.DeepCopy()
			result := Reconcile(t.Context(), in)
			if !strings.HasPrefix(result.LeftAlone, tc.wantAlone) || (result.LeftAlone == "") != (tc.wantAlone == "") {
				t.Errorf("%s\nleft alone: %q, want %q", tc.reason, result.LeftAlone, tc.wantAlone)
			}
			text := result.PlanText()
			for _, want := range tc.wantPlan {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nthe plan lacks %q:\n%s", tc.reason, want, text)
				}
			}
			if diff := cmp.Diff(tc.wantFound, result.OwnerStatus()["found"]); diff != "" {
				t.Errorf("%s\nstatus.found: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, in.Owner); diff != "" {
				t.Errorf("the input was changed: -before +after:\n%s", diff)
			}
			if again := Reconcile(t.Context(), in).PlanText(); again != text {
				t.Errorf("the same input gives another plan:\n%s\nafter:\n%s", again, text)
			}
		})
	}
}

// TestDesired: the objects are those of the policy and then the children, and the owner is
// its identity with the status that a golden test keeps apart from the plan.
func TestDesired(t *testing.T) {
	result := Reconcile(t.Context(), input(t, testPolicy, thing("", ""), ""))
	var got []string
	for _, object := range append(result.DesiredObjects(), result.Owner()) {
		got = append(got, object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName())
	}
	if diff := cmp.Diff([]string{"Namespace /shared", "ConfigMap one/a", "ClusterRole /a", "Thing one/t"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if text := result.PlanTextWithoutStatus(); strings.Contains(text, "found: 0") || !strings.Contains(result.PlanText(), "found: 0") {
		t.Errorf("the status is to be in PlanText only:\n%s", text)
	}
	conditions, _ := result.OwnerStatus()["conditions"].([]any)
	for _, c := range conditions {
		if _, timed := c.(map[string]any)["lastTransitionTime"]; timed {
			t.Errorf("a condition has a time: %v", c)
		}
	}
	if len(conditions) == 0 {
		t.Error("the status has no conditions")
	}
}

// TestNamespaceSelector: the labels of a namespace count if its Namespace is observed.
func TestNamespaceSelector(t *testing.T) {
	const text = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: things}
spec:
  owner: {apiVersion: example.com/v1, kind: Thing}
  scope: {namespaceSelector: {matchLabels: {team: a}}}
  children:
    - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
`
	namespace := "{apiVersion: v1, kind: Namespace, metadata: {name: one, labels: {team: %}}}"
	for name, tc := range map[string]struct {
		reason, observed string
		alone            bool
	}{
		"Selected":   {"Its labels are as selected.", strings.Replace(namespace, "%", "a", 1), false},
		"Unselected": {"They are not.", strings.Replace(namespace, "%", "b", 1), true},
		"Unseen":     {"What is not observed is not there.", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			result := Reconcile(t.Context(), input(t, text, thing("", ""), tc.observed))
			if alone := result.LeftAlone != ""; alone != tc.alone {
				t.Errorf("%s left alone: %q, want it to be: %t", tc.reason, result.LeftAlone, tc.alone)
			}
		})
	}
}

// input is a policy, an owner and observed objects, as files have them.
func input(t *testing.T, policyText, owner, observed string) Input {
	t.Helper()
	documents, err := syntax.Parse("policy.yaml", []byte(policyText))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	clusterScoped := map[string]bool{"Namespace": true, "ClusterRole": true}
	return Input{
		Program: program, Owner: objects(t, owner)[0], Observed: objects(t, observed),
		IsNamespaced: func(gvk schema.GroupVersionKind) bool { return !clusterScoped[gvk.Kind] },
	}
}

// objects decodes YAML documents.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var list []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if object := (&unstructured.Unstructured{}); string(data) != "null" {
			if err := object.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			list = append(list, object)
		}
	}
	return list
}
