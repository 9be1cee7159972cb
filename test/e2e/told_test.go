package e2e

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// lost is one verb that a story takes away, of memcachedRights.
type lost struct{ group, resource, verb string }

// lostVerbs are all that rules have.
func lostVerbs(rules []rbacv1.PolicyRule) []lost {
	var list []lost
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				list = append(list, lost{group: rule.APIGroups[0], resource: resource, verb: verb})
			}
		}
	}
	return list
}

// what names the resource as messages and metrics do: deployments.apps, or
// memcacheds.cache.example.com/status.
func (l lost) what() string {
	resource, sub, isSub := strings.Cut(l.resource, "/")
	if l.group != "" {
		resource += "." + l.group
	}
	if isSub {
		resource += "/" + sub
	}
	return resource
}

// rule is the verb alone.
func (l lost) rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{l.group}, Resources: []string{l.resource}, Verbs: []string{l.verb}}
}

// ofOwners says whether the owner's status cannot tell of it: the owner is not
// seen, or its status not written.
func (l lost) ofOwners() bool { return strings.HasPrefix(l.resource, "memcacheds") }

// ends says whether the stream of the resource ends without it.
func (l lost) ends() bool { return l.verb == "list" || l.verb == "watch" }

// told waits until the owner's status names this verb and nothing else. before is
// what the conditions say before that.
func (l lost) told(w *world, namespace, name, before string) {
	w.t.Helper()
	what := fmt.Sprintf("%s %s in namespace %q", l.verb, l.what(), namespace)
	w.refusedSays(namespace, name, before+"cannot "+what+" as "+w.user, "Not permitted to "+what)
}

// refusedSays waits until all of the owner's status is that of one who misses
// rights, with exactly these messages in Ambit's conditions and in status.state.
func (w *world) refusedSays(namespace, name, condition, state string) {
	w.t.Helper()
	want := map[string]string{
		v1alpha1.ConditionPermitted:   "False Forbidden: " + condition,
		v1alpha1.ConditionStalled:     "True Forbidden: " + condition,
		v1alpha1.ConditionReady:       "False Forbidden: " + condition,
		v1alpha1.ConditionReconciling: "",
		"Degraded":                    "True Forbidden: what the Deployment needs is refused: see condition Permitted",
		"state":                       "Failed: " + state,
		"observed":                    "true",
	}
	w.eventually(fmt.Sprintf("%s/%s says what is refused", namespace, name), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		got := map[string]string{}
		for kind := range want {
			got[kind] = statusSays(owner, kind)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// statusSays is a condition in one line, empty if it is not there; or
// status.state; or whether the status is about the owner's latest spec.
func statusSays(owner *unstructured.Unstructured, what string) string {
	switch what {
	case "state":
		state, _, _ := unstructured.NestedStringMap(owner.Object, "status", "state")
		return state["status"] + ": " + state["message"]
	case "observed":
		seen, _, _ := unstructured.NestedInt64(owner.Object, "status", "observedGeneration")
		return fmt.Sprint(seen == owner.GetGeneration())
	}
	c := conditionOf(owner, what)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c["status"], c["reason"], c["message"])
}

// ready waits until the owner is Ready at this size, with nothing denied, and its
// Deployment too.
func (w *world) ready(namespace, name string, size int) {
	w.t.Helper()
	w.deploymentHas(namespace, name, int32(size))
	w.condition(namespace, name, v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
	w.checkStatus(w.t, namespace, name, size)
}
