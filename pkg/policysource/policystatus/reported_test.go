package policystatus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// conditionOn is a condition as it stands on an object, of a generation.
func conditionOn(kind, status, reason string, generation int64) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "observedGeneration": generation}
}

// withConditions is a custom resource with conditions.
func withConditions(list ...any) *unstructured.Unstructured {
	return resourceWith(map[string]any{"conditions": list})
}

// annotatedWith is a ConfigMap with an annotation of statuses.
func annotatedWith(text string) *unstructured.Unstructured {
	object := resourceWith(nil)
	object.SetAnnotations(map[string]string{v1alpha1.AnnotationStatus: text})
	return object
}

// TestIsReported: after a restart an event is made only of what does not stand on the object already. What is there may be of
// an older version, of another policy, or written by anybody.
func TestIsReported(t *testing.T) {
	resource := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.CustomResource, Namespace: "team", Name: "p"}, Name: "p"}, Generation: 2}
	mapped := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}, Name: "p"}}
	serving := Reported{Condition: Condition{True, v1alpha1.ReasonServing, "now in other words"}}
	deleting := Reported{Condition: Condition{False, v1alpha1.ReasonDeleting, ""}}
	blocked := Reported{Condition: deleting.Condition, CleanupBlocked: true}
	stalled := conditionOn("Stalled", "True", v1alpha1.ReasonDeleting, 2)
	const note = `{"key":"a.yaml","policy":"p","ready":true,"reason":"Serving"}`
	for name, c := range map[string]struct {
		reason string
		object *unstructured.Unstructured
		policy registry.PolicyState
		now    Reported
		want   bool
	}{
		"Same":             {reason: "another Ambit has said it, in whatever words", object: withConditions(conditionOn("Ready", "True", "Serving", 2)), policy: resource, now: serving, want: true},
		"OlderVersion":     {reason: "of this version it is news", object: withConditions(conditionOn("Ready", "True", "Serving", 1)), policy: resource, now: serving},
		"OtherReason":      {reason: "that is news", object: withConditions(conditionOn("Ready", "True", "Suspended", 2)), policy: resource, now: serving},
		"OtherStatus":      {reason: "so is that", object: withConditions(conditionOn("Ready", "False", "Serving", 2)), policy: resource, now: serving},
		"OtherCondition":   {reason: "a condition is known by its type", object: withConditions(conditionOn("Valid", "True", "Serving", 2)), policy: resource, now: serving},
		"None":             {reason: "nothing stands there", object: resourceWith(nil), policy: resource, now: serving},
		"BecomesBlocked":   {reason: "that it cannot go on has not been said", object: withConditions(conditionOn("Ready", "False", "Deleting", 2)), policy: resource, now: blocked},
		"Blocked":          {reason: "it has", object: withConditions(conditionOn("Ready", "False", "Deleting", 2), stalled), policy: resource, now: blocked, want: true},
		"GoesOn":           {reason: "that it goes on has not", object: withConditions(conditionOn("Ready", "False", "Deleting", 2), stalled), policy: resource, now: deleting},
		"StalledElsewhere": {reason: "only a cleanup can be blocked", object: withConditions(conditionOn("Ready", "True", "Serving", 2), stalled), policy: resource, now: serving, want: true},
		"Summary":          {reason: "another Ambit has said it", object: annotatedWith("[" + note + "]"), policy: mapped, now: serving, want: true},
		"SummaryOfOther":   {reason: "it was said of another policy", object: annotatedWith(strings.ReplaceAll("["+note+"]", `"p"`, `"q"`)), policy: mapped, now: serving},
		"SummaryOfKey":     {reason: "it was said of another key", object: annotatedWith(strings.ReplaceAll("["+note+"]", "a.yaml", "b.yaml")), policy: mapped, now: serving},
		"SummaryNotReady":  {reason: "it was not ready", object: annotatedWith(strings.ReplaceAll("["+note+"]", "true", "false")), policy: mapped, now: serving},
		"SummaryCut":       {reason: "an annotation that somebody has edited says nothing", object: annotatedWith("[" + note), policy: mapped, now: serving},
		"SummaryNoList":    {reason: "nor does one of another shape", object: annotatedWith(note), policy: mapped, now: serving},
		"NoSummary":        {reason: "there is no annotation", object: resourceWith(nil), policy: mapped, now: serving},
	} {
		if got := IsReported(c.object, c.policy, c.now); got != c.want {
			t.Errorf("%s: %s: it is reported: %t", name, c.reason, got)
		}
	}
}

// TestIsDenialReported: that rights are missing, or are there again, is an event where the object says otherwise.
func TestIsDenialReported(t *testing.T) {
	resource := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.CustomResource}}}
	mapped := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.ConfigMap, Key: "a.yaml"}, Name: "p"}}
	denied, permitted := Reported{Condition: Condition{False, v1alpha1.ReasonForbidden, ""}}, Reported{Condition: Condition{True, v1alpha1.ReasonPermitted, ""}}
	for name, c := range map[string]struct {
		reason string
		object *unstructured.Unstructured
		policy registry.PolicyState
		now    Reported
		want   bool
	}{
		"Same":              {reason: "it stands there", object: withConditions(conditionOn("Permitted", "False", "Forbidden", 1)), policy: resource, now: denied, want: true},
		"Lost":              {reason: "the object says that all is permitted", object: withConditions(conditionOn("Permitted", "True", "Permitted", 1)), policy: resource, now: denied},
		"Unknown":           {reason: "the object says nothing", object: resourceWith(nil), policy: resource, now: permitted},
		"SummarySame":       {reason: "it stands there", object: annotatedWith(`[{"key":"a.yaml","policy":"p","denied":true}]`), policy: mapped, now: denied, want: true},
		"SummaryBack":       {reason: "the annotation says that something is denied", object: annotatedWith(`[{"key":"a.yaml","policy":"p","denied":true}]`), policy: mapped, now: permitted},
		"SummaryPermitted":  {reason: "it says nothing of the kind", object: annotatedWith(`[{"key":"a.yaml","policy":"p"}]`), policy: mapped, now: permitted, want: true},
		"SummaryOfOther":    {reason: "what it says of others is nothing", object: annotatedWith(`[{"key":"a.yaml","policy":"q"},{"key":"b.yaml","policy":"p"}]`), policy: mapped, now: permitted},
		"SummaryIsNotThere": {reason: "nothing was said of it", object: resourceWith(nil), policy: mapped, now: permitted},
	} {
		if got := IsDenialReported(c.object, c.policy, c.now); got != c.want {
			t.Errorf("%s: %s: it is reported: %t", name, c.reason, got)
		}
	}
}

// TestForeignStatus: whatever stands in a status, what Ambit says of the policy is written, and what is no condition of Ambit's stays.
func TestForeignStatus(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	says := Status{Valid: Condition{True, "Valid", ""}, Ready: Condition{True, "Serving", ""}}
	own := []any{conditionAt("Valid", "True", "Valid", "12"), conditionAt("Ready", "True", "Serving", "12")}
	for name, c := range map[string]struct {
		reason string
		status any
		kept   []any
	}{
		"None":           {reason: "it is the first"},
		"Text":           {reason: "the definition may be another one", status: "fine"},
		"ConditionsText": {reason: "also of one field", status: map[string]any{"conditions": "fine"}},
		"Conditions":     {reason: "what has no type is not Ambit's", status: map[string]any{"conditions": []any{"fine", int64(3), map[string]any{"type": int64(1)}}}, kept: []any{"fine", int64(3), map[string]any{"type": int64(1)}}},
		"NoTime":         {reason: "a condition without a time has changed now", status: map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}},
		"Twice":          {reason: "a condition is there once", status: map[string]any{"conditions": []any{conditionAt("Ready", "False", "a", "01"), conditionAt("Ready", "False", "b", "02")}}},
		"LeftOver":       {reason: "what is not said any more goes", status: map[string]any{"denied": []any{"x"}, "conditions": []any{conditionAt("Stalled", "True", "a", "01")}}},
	} {
		t.Run(name, func(t *testing.T) {
			object := resourceWith(nil)
			object.Object["status"] = c.status
			patch, err := StatusPatch(object, says, now)
			if err != nil || patch == nil {
				t.Fatalf("%s: there is no patch: %v", c.reason, err)
			}
			want := map[string]any{"observedGeneration": int64(2), "owners": int64(0), "deniedCount": int64(0), "conditions": append(append([]any{}, own...), c.kept...)}
			if diff := cmp.Diff(want, applied(t, object, patch).Object["status"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestAnnotationEnds: an annotation goes with the last policy, has a bound, and is written anew when somebody has edited it.
func TestAnnotationEnds(t *testing.T) {
	summaries := func(count int) (list []Summary) {
		for i := range count {
			list = append(list, Summary{Key: "a.yaml", Policy: fmt.Sprintf("p%d", i), Ready: true, Reason: "Serving"})
		}
		return list
	}
	for name, c := range map[string]struct {
		reason string
		object *unstructured.Unstructured
		notes  []Summary
		want   string // in the patch; empty for none
		count  int    // of policies in it
	}{
		"Nothing": {reason: "there is nothing to say, and nothing said", object: resourceWith(nil)},
		"Last":    {reason: "its policies are gone", object: annotatedWith("[]"), want: `"annotations":{"ambit.dev/status":null}`},
		"Edited":  {reason: "it is not what is to be said", object: annotatedWith("mine"), notes: summaries(1), want: `"annotations":{"ambit.dev/status":"[{`, count: 1},
		"Many":    {reason: "an object has a largest size", object: resourceWith(nil), notes: summaries(100), want: `"uid":"u"`, count: maxSummaries},
	} {
		patch, err := AnnotationPatch(c.object, c.notes)
		if err != nil || (patch == nil) != (c.want == "") || !strings.Contains(string(patch), c.want) || strings.Count(string(patch), "Serving") != c.count {
			t.Errorf("%s: %s: the patch is %s, error %v", name, c.reason, patch, err)
		}
	}
}

// TestCleanupBlocked: whoever deletes a policy is told what keeps it from going, the account before the rights.
func TestCleanupBlocked(t *testing.T) {
	program := &policy.Program{Namespace: "team", ServiceAccount: "web"}
	account := v1alpha1.DeniedAccess{Verb: "impersonate", Resource: "serviceaccounts", Namespace: "team", Name: "web", Message: "no account"}
	other := account
	other.Name = "else"
	for name, c := range map[string]struct {
		reason  string
		report  Report
		want    string
		account bool
	}{
		"Error":        {reason: "it stands before everything", report: Report{PolicyError: &PolicyError{Message: "no such account"}, Denied: []v1alpha1.DeniedAccess{account}}, want: "no such account", account: true},
		"Account":      {reason: "nothing can be done without it", report: Report{Denied: []v1alpha1.DeniedAccess{account}}, want: "no account", account: true},
		"OtherAccount": {reason: "that is only a right that is missing", report: Report{Denied: []v1alpha1.DeniedAccess{other}}, want: "no account"},
		"Nowhere":      {reason: "there is no namespace in which it may look", report: Report{Nowhere: true}, want: "owners may not be watched in any namespace of the policy's scope"},
	} {
		if got := WhyCleanupBlocked(c.report); got != c.want || LacksAccount(program, c.report) != c.account {
			t.Errorf("%s: %s: it says %q, lacks its account: %t", name, c.reason, got, LacksAccount(program, c.report))
		}
	}
	if LacksAccount(&policy.Program{Namespace: "team"}, Report{Denied: []v1alpha1.DeniedAccess{account}}) {
		t.Error("a policy that acts as Ambit lacks an account")
	}
}

// TestRetired: a policy that spec.retire has ended says when it is over, and that it has failed.
func TestRetired(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		policy  registry.PolicyState
		report  *Report
		want    string
		blocked bool
	}{
		"Working": {reason: "owners are left", policy: registry.PolicyState{RetiredBySpec: true, Retiring: true}, want: "False Retiring: the policy is retired by spec.retire, and is cleaning up: 2 left"},
		"Error": {reason: "it cannot go on", policy: registry.PolicyState{RetiredBySpec: true, Retiring: true}, report: &Report{PolicyError: &PolicyError{Message: "no account"}},
			want: "False Retiring: the policy is retired by spec.retire, and cannot clean up: no account", blocked: true},
		"Done":      {reason: "it can be deleted", policy: registry.PolicyState{RetiredBySpec: true, CleanedUp: true}, want: "True Retired: all that the policy made is cleaned up, as spec.retire is true: it can be deleted, or set to false to serve its owners again"},
		"Abandoned": {reason: "it is not over, and nobody goes on", policy: registry.PolicyState{RetiredBySpec: true, CleanedUp: true, WhyAbandoned: "no rights"}, blocked: true, want: "False Retiring: the policy is retired by spec.retire, and nobody can clean up after it: no rights; `ambit leftovers` shows what it may have left"},
		"Deleted":   {reason: "a deletion is said before spec.retire", policy: registry.PolicyState{RetiredBySpec: true, Deleting: true}, want: "False Deleting: the policy was deleted, and is cleaning up: 2 left"},
		"Invalid":   {reason: "somebody has to act, but not to clean up", policy: registry.PolicyState{Resolution: registry.Resolution{State: registry.Invalid}}, want: "False Invalid: the policy does not compile, and nothing is run"},
	} {
		s := StatusOf(c.policy, c.report, 2)
		if got := s.Ready.Status + " " + s.Ready.Reason + ": " + s.Ready.Message; got != c.want || s.IsCleanupBlocked() != c.blocked {
			t.Errorf("%s: %s: it is %q, blocked: %t", name, c.reason, got, s.IsCleanupBlocked())
		}
	}
}
