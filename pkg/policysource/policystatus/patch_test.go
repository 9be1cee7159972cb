package policystatus

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

var errBroken = errors.New("broken")

// resourceWith is a custom resource with a status.
func resourceWith(status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"uid": "u", "generation": int64(2), "resourceVersion": "7"}, "status": status,
	}}
}

// applied is what an API server makes of a patch of a status, as it answers it.
func applied(t *testing.T, object *unstructured.Unstructured, patch []byte) *unstructured.Unstructured {
	t.Helper()
	var changes struct{ Status map[string]any }
	if err := json.Unmarshal(patch, &changes); err != nil {
		t.Fatal(err)
	}
	after := object.DeepCopy()
	status, _ := after.Object["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	for field, value := range changes.Status {
		if value == nil {
			delete(status, field)
			continue
		}
		status[field] = value
	}
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := unmarshalNumbers(data, &read); err != nil {
		t.Fatal(err)
	}
	after.Object["status"] = read
	return after
}

// unmarshalNumbers reads JSON as clients of an API server do: integers stay such.
func unmarshalNumbers(data []byte, into *map[string]any) error {
	object := &unstructured.Unstructured{}
	text := append([]byte(`{"kind":"X","apiVersion":"v1","status":`), data...)
	if err := object.UnmarshalJSON(append(text, '}')); err != nil {
		return err
	}
	*into, _ = object.Object["status"].(map[string]any)
	return nil
}

// TestStatusPatch: a status is written once, and again only when it says something else;
// what it does not say any more goes, but for counts, and times stay while a status does.
func TestStatusPatch(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	foreign := map[string]any{"type": "Audited", "status": "True", "reason": "ByHand", "message": "", "lastTransitionTime": "2025-01-01T00:00:00Z"}
	denied := make([]v1alpha1.DeniedAccess, 40)
	for i := range denied {
		denied[i] = v1alpha1.DeniedAccess{Verb: "list", Resource: "pods", Namespace: strings.Repeat("x", i+1)}
	}
	says := Status{
		Valid: Condition{True, "Valid", ""}, Permitted: Condition{False, "Forbidden", "no"}, Ready: Condition{False, "Forbidden", "no"},
		Stalled: true, Owners: 3, Denied: denied,
	}
	object := resourceWith(map[string]any{"conditions": []any{foreign}})
	patch, err := StatusPatch(object, says, now)
	if err != nil || patch == nil {
		t.Fatalf("no patch, error %v", err)
	}
	if !strings.Contains(string(patch), `"resourceVersion":"7"`) {
		t.Error("the patch is for any object of the name")
	}
	object = applied(t, object, patch)
	if list := object.Object["status"].(map[string]any)["denied"].([]any); len(list) != maxDenied {
		t.Errorf("%d denied accesses are listed", len(list))
	}
	if again, err := StatusPatch(object, says, now.Add(time.Hour)); again != nil || err != nil {
		t.Errorf("it is written again: %s, error %v", again, err)
	}
	says = Status{Valid: says.Valid, Permitted: Condition{True, "Permitted", ""}, Ready: Condition{False, "Syncing", ""}}
	if patch, err = StatusPatch(object, says, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"observedGeneration": int64(2), "owners": int64(0), "deniedCount": int64(0),
		"conditions": []any{
			conditionAt("Valid", "True", "Valid", "12"), conditionAt("Permitted", "True", "Permitted", "13"), conditionAt("Ready", "False", "Syncing", "12"), foreign,
		},
	}
	if diff := cmp.Diff(want, applied(t, object, patch).Object["status"]); diff != "" {
		t.Errorf("the status (-want +got):\n%s", diff)
	}
}

func conditionAt(kind, status, reason, hour string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T" + hour + ":00:00Z", "observedGeneration": int64(2)}
}

// TestFinalizerPatch: the finalizer comes before a policy runs and goes when it is
// cleaned up after; those of others stay.
func TestFinalizerPatch(t *testing.T) {
	for name, c := range map[string]struct {
		finalizers []any
		deleting   bool
		document   registry.PolicyState
		want       string
	}{
		"Held":    {finalizers: []any{"other"}, document: registry.PolicyState{AwaitsFinalizer: true}, want: `"finalizers":["other","ambit.dev/cleanup"]`},
		"There":   {finalizers: []any{"ambit.dev/cleanup"}, document: registry.PolicyState{AwaitsFinalizer: true}},
		"Nothing": {document: registry.PolicyState{}},
		"Working": {finalizers: []any{"ambit.dev/cleanup"}, deleting: true, document: registry.PolicyState{Retiring: true}},
		"Done":    {finalizers: []any{"ambit.dev/cleanup", "other"}, deleting: true, document: registry.PolicyState{CleanedUp: true}, want: `"finalizers":["other"]`},
		"Late":    {deleting: true, document: registry.PolicyState{AwaitsFinalizer: true}},
	} {
		t.Run(name, func(t *testing.T) {
			object := resourceWith(nil)
			if c.finalizers != nil {
				object.Object["metadata"].(map[string]any)["finalizers"] = c.finalizers
			}
			if c.deleting {
				object.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			}
			patch, err := FinalizerPatch(object, c.document)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && patch != nil || !strings.Contains(string(patch), c.want) {
				t.Errorf("the patch is %s, want %s", patch, c.want)
			}
			if patch != nil && !strings.Contains(string(patch), `"resourceVersion":"7"`) {
				t.Error("the patch would overwrite the finalizers of others")
			}
		})
	}
}

// TestAnnotationPatch: an annotation is written when it says something else, and has a
// bound.
func TestAnnotationPatch(t *testing.T) {
	d := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.ConfigMap, Key: "a.yaml"}, Name: "p"}}
	n := SummaryOf(d, Status{Valid: Condition{False, "Invalid", strings.Repeat("x", 9000)}, Ready: Condition{False, "Invalid", "bad"}})
	if len(n.Message) > maxSummaryMessage {
		t.Errorf("the message has %d bytes", len(n.Message))
	}
	object := resourceWith(nil)
	patch, err := AnnotationPatch(object, []Summary{n})
	if err != nil || patch == nil {
		t.Fatalf("no patch, error %v", err)
	}
	var changes struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal(patch, &changes); err != nil {
		t.Fatal(err)
	}
	object.SetAnnotations(changes.Metadata.Annotations)
	if again, err := AnnotationPatch(object, []Summary{n}); again != nil || err != nil {
		t.Errorf("it is written again: %s, error %v", again, err)
	}
}
