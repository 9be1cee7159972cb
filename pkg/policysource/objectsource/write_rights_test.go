package objectsource

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/test/sim"
)

// flagged are the policies of the last reading whose finalizer cannot be set.
func (c *cluster) flagged() string {
	var names []string
	for _, m := range c.shown.Manifests {
		if m.CannotSetFinalizer {
			names = append(names, m.Origin.Namespace+"/"+m.Origin.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestCannotSetFinalizer: whether a policy waits for its finalizer follows rights, in each namespace by itself. What is not known
// yet counts as permitted: a policy that may have it is never run without.
func TestCannotSetFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, nil)
		c.grant("", "ambit.dev", v1alpha1Resource, "list, watch")
		c.grant("own", "ambit.dev", v1alpha1Resource, "patch")
		for _, namespace := range []string{"own", "team", "other"} {
			c.createPolicy(namespace, "p v1")
		}
		c.createPolicy("team", "held v1")
		c.patch(policyResource, "team", "held", `{"metadata":{"finalizers":["ambit.dev/cleanup"]}}`)
		c.start(ForCustomResources)
		if c.everFlagged["own/p"] {
			t.Error("before it was known what may be written, it was taken to be forbidden")
		}
		var revokeTeam, revokeAll func()
		for _, step := range []struct {
			reason string
			do     func()
			want   string
		}{
			{reason: "one namespace is permitted; one has its finalizer already", do: func() {}, want: "other/p team/p"},
			{reason: "another one is", do: func() { revokeTeam = c.grant("team", "ambit.dev", v1alpha1Resource, "patch") }, want: "other/p"},
			{reason: "the right to the status is not that to the object", do: func() { c.grant("other", "ambit.dev", v1alpha1Resource+"/status", "patch") }, want: "other/p"},
			{reason: "all are", do: func() { revokeAll = c.grant("", "ambit.dev", v1alpha1Resource, "patch") }},
			{reason: "where all was permitted nobody asks again by himself", do: func() { revokeAll() }},
			{reason: "a refused write tells", do: func() {
				object := c.objectOf(manifest.CustomResource, "other", "p")
				if err := c.source.PatchObject(t.Context(), object, "", []byte(`{"metadata":{"finalizers":["ambit.dev/cleanup"]}}`)); !apierrors.IsForbidden(err) {
					t.Errorf("the error is %v", err)
				}
			}, want: "other/p"},
			{reason: "a new namespace is reviewed too", do: func() { c.createPolicy("default", "p v1") }, want: "default/p other/p"},
			{reason: "what was permitted is no longer", do: func() { revokeTeam() }, want: "default/p other/p team/p"},
		} {
			step.do()
			c.read()
			if got := c.flagged(); got != step.want {
				t.Errorf("%s: %q cannot have it, want %q", step.reason, got, step.want)
			}
		}
	})
}

// TestPatchOnServer: what the API server answers to a write decides what is seen next, and whether it makes sense to write again
// before rights have changed.
func TestPatchOnServer(t *testing.T) {
	const status = `{"status":{"owners":3}}`
	for name, c := range map[string]struct {
		reason      string
		before      func(*cluster) // when the source has read the policy, and is not told again
		subresource string
		patch       func(*unstructured.Unstructured) string
		admission   sim.Admission
		isError     func(error) bool
		owners      int64 // as the source has them afterwards
		gone        bool
		mayAgain    bool
	}{
		"Status": {reason: "the next write begins with the answer", subresource: "status", owners: 3, mayAgain: true},
		"Finalizer": {reason: "the object is there without the others' finalizers", mayAgain: true,
			patch: func(*unstructured.Unstructured) string { return `{"metadata":{"finalizers":["ambit.dev/cleanup"]}}` }},
		"LastFinalizer": {reason: "the object goes with it", gone: true, mayAgain: true,
			before: func(c *cluster) {
				c.patch(policyResource, "team", "p", `{"metadata":{"finalizers":["ambit.dev/cleanup"]}}`)
				c.remove(policyResource, "team", "p")
				c.read()
			},
			patch: func(*unstructured.Unstructured) string { return `{"metadata":{"finalizers":[]}}` }},
		"Conflict": {reason: "somebody has written since: what is seen next decides", isError: apierrors.IsConflict, mayAgain: true,
			before: func(c *cluster) {
				c.patch(policyResource, "team", "p", `{"metadata":{"finalizers":["example.com/other"]}}`)
			},
			patch: func(o *unstructured.Unstructured) string {
				return fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"finalizers":["ambit.dev/cleanup"]}}`, o.GetResourceVersion())
			}},
		"MadeAnew": {reason: "what was read of one policy is not written on another one", isError: apierrors.IsInvalid, mayAgain: true,
			before: func(c *cluster) { c.remove(policyResource, "team", "p"); c.createPolicy("team", "p v2") },
			patch: func(o *unstructured.Unstructured) string {
				return fmt.Sprintf(`{"metadata":{"uid":%q,"finalizers":["ambit.dev/cleanup"]}}`, o.GetUID())
			}},
		"Deleted": {reason: "it was deleted while its status was written", subresource: "status", isError: apierrors.IsNotFound, mayAgain: true,
			before: func(c *cluster) { c.remove(policyResource, "team", "p") }},
		"Forbidden": {reason: "the right was taken away, and nobody has noticed", subresource: "status", isError: apierrors.IsForbidden,
			before: func(c *cluster) { c.remove(rbacResource("clusterrolebindings"), "", "grant-2") }},
		"Webhook": {reason: "no right is missing, and a webhook may be mended without a change of any", subresource: "status", isError: apierrors.IsForbidden, mayAgain: true,
			admission: func(r *sim.Review) error {
				if r.Request.User == ambitUser {
					return sim.Denied("guard.example.com", "no statuses today")
				}
				return nil
			}},
		"Invalid": {reason: "another version of the definition does not know the field so, and may go", subresource: "status", isError: apierrors.IsInvalid, mayAgain: true,
			patch: func(*unstructured.Unstructured) string { return `{"status":{"conditions":[{"type":"Ready"}]}}` }},
		"Down": {reason: "it is tried again", subresource: "status", isError: apierrors.IsServiceUnavailable, mayAgain: true,
			before: func(c *cluster) { c.faults.set(nil, refuseVerb("patch")) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newCluster(t, c.admission)
				s.grant("", "ambit.dev", v1alpha1Resource, "list, watch")
				s.grant("", "ambit.dev", v1alpha1Resource+", "+v1alpha1Resource+"/status", "patch")
				s.createPolicy("team", "p v1")
				s.start(ForCustomResources)
				if c.before != nil {
					c.before(s)
				}
				object, patch := s.objectOf(manifest.CustomResource, "team", "p"), status
				if c.patch != nil {
					patch = c.patch(object)
				}
				if allowed, _ := s.source.MayPatch(object, c.subresource); !allowed {
					t.Fatal("it may not be written at first")
				}
				err := s.source.PatchObject(t.Context(), object, c.subresource, []byte(patch))
				if c.isError == nil && err != nil || c.isError != nil && !c.isError(err) {
					t.Fatalf("%s: the error is %v", c.reason, err)
				}
				after := s.objectOf(manifest.CustomResource, "team", "p")
				if c.gone != (after == nil) || (after == object) != (c.isError != nil) {
					t.Errorf("%s: it has %v", c.reason, after)
				}
				if after != nil {
					if owners, _, _ := unstructured.NestedInt64(after.Object, "status", "owners"); owners != c.owners {
						t.Errorf("%s: %d owners stand on it", c.reason, owners)
					}
				}
				if allowed, _ := s.source.MayPatch(object, c.subresource); allowed != c.mayAgain {
					t.Errorf("%s: it may be written again: %t", c.reason, allowed)
				}
			})
		})
	}
}

// TestRefusedComesBack: a right that a write has missed is used again when it is given again; and a refusal of one object by
// a webhook says nothing of others, and nothing of the next time.
func TestRefusedComesBack(t *testing.T) {
	const patch = `{"status":{"owners":1}}`
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, func(r *sim.Review) error {
			if r.Request.User == ambitUser && r.Request.Name == "guarded" {
				return sim.Denied("guard.example.com", "not this one")
			}
			return nil
		})
		c.grant("", "ambit.dev", v1alpha1Resource, "list, watch")
		give := func() func() {
			return c.grant("", "ambit.dev", v1alpha1Resource+", "+v1alpha1Resource+"/status", "patch")
		}
		revoke := give()
		c.createPolicy("team", "guarded v1")
		c.createPolicy("team", "p v1")
		c.start(ForCustomResources)
		write := func(name string) error {
			return c.source.PatchObject(t.Context(), c.objectOf(manifest.CustomResource, "team", name), "status", []byte(patch))
		}
		may := func(name string) bool {
			allowed, _ := c.source.MayPatch(c.objectOf(manifest.CustomResource, "team", name), "status")
			return allowed
		}
		for _, step := range []struct {
			reason     string
			do         func() error
			isRefused  bool
			guarded, p bool // may be written
		}{
			{reason: "nothing was refused", do: func() error { return nil }, guarded: true, p: true},
			{reason: "one is, by a webhook", do: func() error { return write("guarded") }, isRefused: true, guarded: true, p: true},
			{reason: "the right is gone, as one of the objects has told", do: func() error { revoke(); return write("p") }, isRefused: true},
			{reason: "it is back", do: func() error { give(); return nil }, guarded: true, p: true},
			{reason: "it can be used", do: func() error { return write("p") }, guarded: true, p: true},
		} {
			if err := step.do(); apierrors.IsForbidden(err) != step.isRefused {
				t.Errorf("%s: the error is %v", step.reason, err)
			}
			c.read()
			if may("guarded") != step.guarded || may("p") != step.p {
				t.Errorf("%s: guarded may be written: %t, p: %t", step.reason, may("guarded"), may("p"))
			}
		}
	})
}

// TestFinalizerRejected: a policy whose finalizer a webhook refuses does not wait for it. It may be tried again, and when the webhook
// lets it pass, the policy has it.
func TestFinalizerRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isGuarded := true
		c := newCluster(t, func(r *sim.Review) error {
			if r.Request.User == ambitUser && isGuarded {
				return sim.Denied("guard.example.com", "no finalizers today")
			}
			return nil
		})
		c.grant("", "ambit.dev", v1alpha1Resource, "list, watch, patch")
		c.createPolicy("team", "p v1")
		c.start(ForCustomResources)
		for _, step := range []struct {
			reason    string
			isGuarded bool
			flagged   string
		}{{"it is refused", true, "team/p"}, {"and once more", true, "team/p"}, {"it is accepted", false, ""}} {
			isGuarded = step.isGuarded
			object := c.objectOf(manifest.CustomResource, "team", "p")
			if allowed, _ := c.source.MayPatch(object, ""); !allowed {
				t.Fatalf("%s: it may not be tried", step.reason)
			}
			if err := c.source.PatchObject(t.Context(), object, "", []byte(`{"metadata":{"finalizers":["ambit.dev/cleanup"]}}`)); (err != nil) != step.isGuarded {
				t.Errorf("%s: the error is %v", step.reason, err)
			}
			c.read()
			if got := c.flagged(); got != step.flagged {
				t.Errorf("%s: %q cannot have it, want %q", step.reason, got, step.flagged)
			}
		}
	})
}

// TestRecordEvent: an event is made where that is permitted, and it is not asked for the right.
func TestRecordEvent(t *testing.T) {
	for name, c := range map[string]struct {
		reason    string
		namespace string
		group     string
		want      []string
	}{
		"Nowhere":    {reason: "nothing is permitted", namespace: "other", group: "events.k8s.io"},
		"Namespace":  {reason: "that of the policy is", namespace: "team", group: "events.k8s.io", want: []string{"ReconcilePolicy team/p Warning Invalid: 100% wrong"}},
		"Everywhere": {reason: "all are", group: "events.k8s.io", want: []string{"ReconcilePolicy team/p Warning Invalid: 100% wrong"}},
		"CoreGroup":  {reason: "the older events are another resource", group: ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newCluster(t, nil)
				s.grant("", "ambit.dev", v1alpha1Resource, "list, watch")
				s.grant(c.namespace, c.group, "events", "create")
				s.createPolicy("team", "p v1")
				s.start(ForCustomResources)
				s.source.RecordEvent(s.objectOf(manifest.CustomResource, "team", "p"), "Warning", v1alpha1.ReasonInvalid, "100% wrong")
				if diff := cmp.Diff(c.want, s.events); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
			})
		})
	}
}

// TestRelease: a source that is released watches and reviews nothing any more.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, nil)
		c.grant("own", "", "configmaps", "list, watch")
		c.grant("team", "", "configmaps", "list, watch")
		c.start(ForConfigMaps, "team")
		if open := len(c.server.Watches()); open != 2 {
			t.Errorf("%d watches are open", open)
		}
		c.source.ReleaseAll()
		time.Sleep(time.Second)
		before := maps.Clone(c.faults.counts)
		time.Sleep(time.Hour)
		if open := c.server.Watches(); len(open) > 0 {
			t.Errorf("watches are open: %v", open)
		}
		if diff := cmp.Diff(before, c.faults.counts); diff != "" {
			t.Errorf("it goes on to ask (-before +after):\n%s", diff)
		}
	})
}
