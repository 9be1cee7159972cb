package engine

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// TestSharedEntryOutOfSight: that no other owner's record has an entry is not said while
// owners are out of sight.
func TestSharedEntryOutOfSight(t *testing.T) {
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.versions.get("ambit-system/a")
	owner, object := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	owner.SetNamespace("n")
	owner.SetName("x")
	owner.SetUID("uid")
	state := newOwnerState(op.subscriber(types.NamespacedName{Namespace: "n", Name: "x"}))
	p := op.newPass(owner, state, false)
	need := func(namespace string) watch.Need { return watch.Need{Key: watch.Key{Namespace: namespace}} }
	views := e.options.Streams.Keep(op, []watch.Need{need("n"), need("other"), need("refused")})
	e.options.Streams.Revoke(func(key watch.Key) bool { return key.Namespace == "refused" }, errors.New("no"))
	entry := plan.Entry{Namespace: "n", Name: "child", UID: "child"}
	for name, c := range map[string]struct {
		views map[string]watch.View
		known bool
	}{
		"its stream is closed":            {},
		"its stream has no list any more": {views: map[string]watch.View{"n": views[0]}},
		"its stream is refused":           {views: map[string]watch.View{"n": views[2]}},
		"another has none yet":            {views: map[string]watch.View{"n": views[0], "other": views[1]}},
	} {
		op.views = c.views
		if shared, known := p.isSharedEntry(plan.Inventory{Claim: "claim"}, entry, object); shared || known != c.known {
			t.Errorf("%s: shared %t, known %t", name, shared, known)
		}
	}
	object.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: "uid"})
	if shared, known := p.isSharedEntry(plan.Inventory{Claim: "claim"}, entry, object); shared || !known {
		t.Errorf("with our label: shared %t, known %t", shared, known)
	}
}

// TestSharedEntryWithoutUID: the owner whose object has lost its labels does not see it, and
// its record has no uid of it any more. It is the record of the same object all the same.
func TestSharedEntryWithoutUID(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	claim := "a claim of some length"
	entry := plan.Entry{Child: "copies", GVK: configMap, Namespace: "there", Name: "x&y", UID: "0d0c6c52"}
	with := func(change func(*plan.Entry)) string {
		other := entry
		change(&other)
		return plan.Inventory{Policy: "copies", Claim: claim, Entries: []plan.Entry{other}}.String()
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"the same":          {with(func(*plan.Entry) {}), true},
		"about to be made":  {with(func(e *plan.Entry) { e.UID = "" }), true},
		"another object":    {with(func(e *plan.Entry) { e.UID = "another" }), false},
		"another name":      {with(func(e *plan.Entry) { e.UID, e.Name = "", "x" }), false},
		"another kind":      {with(func(e *plan.Entry) { e.UID, e.GVK.Kind = "", "Secret" }), false},
		"another namespace": {with(func(e *plan.Entry) { e.UID, e.Namespace = "", "elsewhere" }), false},
		"none":              {"", false},
	} {
		if got := hasEntry(c.text, claim, entry); got != c.want {
			t.Errorf("%s: %t\n%s", name, got, c.text)
		}
	}
	entry.UID = ""
	if !hasEntry(with(func(e *plan.Entry) { e.Name = "another" }), claim, entry) {
		t.Error("without a uid the claim says that the record was copied")
	}
}
