package faultplan

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/test/sim"
)

// Resources that actions work on.
var (
	namespaces          = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	roleBindings        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	clusterRoles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	clusterRoleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// action chooses one of all that there are.
func (c *chooser) action() Action {
	kinds := []func() Action{
		c.createOwner, c.editOwner, c.editOwner, c.deleteOwner, c.replaceOwner,
		c.revoke, c.grant, c.flap, c.replaceNamespace,
		c.editChild, c.deleteChild,
		c.kill, c.kill, c.restart, c.secondProcess,
		c.loseAnswer, c.loseAnswer, c.refuse, c.refuse, c.delay,
		c.forgeRecord, c.holdOwner, c.replaceChild, c.trouble, c.hideCreates, c.behind, c.missHistory, c.behindTheOther,
		c.lag, c.lag, c.endStreams, c.expireStreams, c.forgetHistory,
	}
	kinds = append(kinds, c.denyWrites, c.denyWrites, c.changeWrites, c.changeWrites, c.holdChildren, c.revertMarks, c.setClock)
	if len(c.scenario.definitions()) > 0 {
		kinds = append(kinds, c.replaceKind, c.editKind)
	}
	if len(c.scenario.Versions) > 1 {
		kinds = append(kinds, c.editPolicy, c.editPolicy, c.editInARow)
	}
	if c.scenario.Extra != nil {
		extra := func() Action { return c.scenario.Extra(c) }
		kinds = append(kinds, extra, extra, extra)
	}
	return kinds[c.IntN(len(kinds))]()
}

// Users.

// ownerPlace is where an owner may be: in no namespace if they are cluster-scoped.
func (c *chooser) ownerPlace() string {
	if c.scenario.ClusterScoped {
		return ""
	}
	if in := c.scenario.OwnersIn; in != nil {
		return in[c.IntN(len(in))]
	}
	return c.namespace()
}

func (c *chooser) createOwner() Action {
	namespace, name, variant := c.ownerPlace(), c.name(), c.IntN(c.scenario.Variants)
	return Action{
		Text: fmt.Sprintf("create owner %s/%s, variant %d", namespace, name, variant),
		Do:   func(w *World) { w.create(w.plan.Scenario.Owners, w.plan.Scenario.Owner(namespace, name, variant)) },
	}
}

func (c *chooser) editOwner() Action {
	namespace, name, variant := c.ownerPlace(), c.name(), c.IntN(c.scenario.Variants)
	return Action{
		Text: fmt.Sprintf("edit owner %s/%s to variant %d", namespace, name, variant),
		Do:   func(w *World) { w.editOwner(namespace, name, variant) },
	}
}

// editOwner changes all that a user has written.
func (w *World) editOwner(namespace, name string, variant int) {
	next := w.plan.Scenario.Owner(namespace, name, variant)
	w.change(w.plan.Scenario.Owners, namespace, name, func(now *unstructured.Unstructured) bool {
		for field, value := range next.Object {
			if field != "metadata" {
				now.Object[field] = value
			}
		}
		keepOwn(now, next)
		return true
	})
}

func (c *chooser) deleteOwner() Action {
	namespace, name := c.ownerPlace(), c.name()
	return Action{
		Text: fmt.Sprintf("delete owner %s/%s", namespace, name),
		Do:   func(w *World) { w.delete(w.plan.Scenario.Owners, namespace, name) },
	}
}

func (c *chooser) replaceOwner() Action {
	remove, create := c.deleteOwner(), c.createOwner()
	return Action{Text: remove.Text + ", then " + create.Text, Do: func(w *World) { remove.Do(w); create.Do(w) }}
}

// editChild changes what Ambit wrote, as its user might.
func (c *chooser) editChild() Action {
	i := c.IntN(100)
	return Action{Text: fmt.Sprintf("somebody labels child %d, and takes its labels of Ambit away", i), Do: func(w *World) { w.editChild(i) }}
}

func (w *World) editChild(i int) {
	if child := w.someChild(i); child != nil {
		w.patch(child.resource, child.namespace, child.name, `{"metadata":{"labels":{"user":"was-here","app.kubernetes.io/managed-by":null,"ambit.dev/policy":null}}}`)
	}
}

func (c *chooser) deleteChild() Action { return c.deleteChildAt(c.IntN(100)) }

func (c *chooser) deleteChildAt(i int) Action {
	return Action{Text: fmt.Sprintf("somebody deletes child %d", i), Do: func(w *World) {
		if child := w.someChild(i); child != nil {
			w.delete(child.resource, child.namespace, child.name)
		}
	}}
}

func (c *chooser) replaceNamespace() Action {
	namespace := c.namespace()
	return Action{
		Text: fmt.Sprintf("delete namespace %s, and make it again when it is gone", namespace),
		Do:   func(w *World) { w.replaceNamespace(namespace) },
	}
}

// Administrators.

// revoke and grant are about the rights that Ambit has in one namespace.
func (c *chooser) revoke() Action {
	namespace := c.namespace()
	return Action{Text: "revoke rights in " + namespace, Do: func(w *World) { w.delete(roleBindings, namespace, bindingHere) }}
}

func (c *chooser) grant() Action {
	namespace := c.namespace()
	return Action{Text: "grant rights in " + namespace, Do: func(w *World) { w.create(roleBindings, bindingIn(namespace)) }}
}

func (c *chooser) flap() Action {
	revoke, grant := c.revoke(), c.grant()
	pause := time.Duration(c.IntN(3_000)) * time.Millisecond
	return Action{
		Text: fmt.Sprintf("%s, and %s later %s", revoke.Text, pause, grant.Text),
		Do: func(w *World) {
			revoke.Do(w)
			w.later(pause, grant.Do)
		},
	}
}

func (c *chooser) editPolicy() Action {
	i := c.IntN(len(c.scenario.Versions))
	return Action{Text: fmt.Sprintf("edit the policy to version %d", i), Do: func(w *World) { w.setPolicy(i) }}
}

// The process.

func (c *chooser) kill() Action {
	pause := time.Duration(c.IntN(5_000)) * time.Millisecond
	return Action{
		Text: fmt.Sprintf("the process is killed, and started again %s later", pause),
		Do:   func(w *World) { w.killFor(pause) },
	}
}

func (c *chooser) restart() Action {
	return Action{Text: "the process is restarted in good order", Do: func(w *World) {
		w.end(false)
		w.later(0, (*World).start)
	}}
}

// secondProcess is what happens when a leader does not know yet that it is none.
func (c *chooser) secondProcess() Action {
	both := time.Duration(1+c.IntN(20)) * time.Second
	return Action{
		Text: fmt.Sprintf("another process starts, and the one before ends %s later", both),
		Do: func(w *World) {
			w.later(0, (*World).start)
			w.later(both, func(w *World) {
				if w.processes() > 1 {
					w.end(true)
				}
			})
		},
	}
}

// The network and the server.

func isWrite(r sim.Request) bool {
	switch r.Verb {
	case "create", "update", "patch", "delete":
		return r.Resource.Group != "authorization.k8s.io"
	}
	return false
}

func isRead(r sim.Request) bool { return r.Verb == "list" || r.Verb == "watch" || r.Verb == "get" }

func (c *chooser) loseAnswer() Action {
	times := 1 + c.IntN(3)
	return Action{Text: fmt.Sprintf("the answers of the next %d writes are lost", times), Do: func(w *World) {
		w.arm(answer{times: times, matches: isWrite, after: func(sim.Request) error { return fmt.Errorf("unexpected EOF") }})
	}}
}

func (c *chooser) refuse() Action {
	times := 1 + c.IntN(4)
	matches, what := isWrite, "writes"
	if c.IntN(3) == 0 {
		matches, what = isRead, "reads"
	}
	refusals := []struct {
		text string
		err  func(sim.Request) error
	}{
		{"409", func(r sim.Request) error {
			return apierrors.NewConflict(r.Resource.GroupResource(), r.Name, fmt.Errorf("the object has been modified"))
		}},
		{"429", func(sim.Request) error { return apierrors.NewTooManyRequests("too many requests", 1) }},
		{"500", func(sim.Request) error { return apierrors.NewInternalError(fmt.Errorf("etcdserver: leader changed")) }},
		{"503", func(sim.Request) error { return apierrors.NewServiceUnavailable("the server is starting") }},
		{"504", func(r sim.Request) error { return apierrors.NewTimeoutError("request timed out", 1) }},
		{"a timeout", func(sim.Request) error { return context.DeadlineExceeded }},
		{"502", func(r sim.Request) error {
			return apierrors.NewGenericServerResponse(http.StatusBadGateway, r.Verb, r.Resource.GroupResource(), r.Name, "bad gateway", 0, true)
		}},
	}
	if what == "reads" { // a read knows no conflict
		refusals = refusals[1:]
	}
	chosen := refusals[c.IntN(len(refusals))]
	return Action{Text: fmt.Sprintf("the next %d %s are answered %s", times, what, chosen.text), Do: func(w *World) {
		w.arm(answer{times: times, matches: matches, before: chosen.err})
	}}
}

func (c *chooser) delay() Action {
	times, delay := 1+c.IntN(3), time.Duration(1+c.IntN(8_000))*time.Millisecond
	return Action{Text: fmt.Sprintf("the next %d requests take %s", times, delay), Do: func(w *World) {
		w.arm(answer{times: times, matches: func(r sim.Request) bool { return isWrite(r) || isRead(r) }, delay: delay})
	}}
}

// lag has the events of one resource come late, so that streams show things in another
// order than they happened in.
func (c *chooser) lag() Action {
	resource := c.resource()
	lag, long := time.Duration(1+c.IntN(6_000))*time.Millisecond, time.Duration(1+c.IntN(30))*time.Second
	return Action{
		Text: fmt.Sprintf("for %s, events of %s come %s late", long, resource, lag),
		Do:   func(w *World) { w.disturb(resource, disturbance{lag: lag, until: time.Now().Add(long)}) },
	}
}

func (c *chooser) endStreams() Action {
	resource := c.resource()
	return Action{
		Text: fmt.Sprintf("a stream of %s ends at its next event", resource),
		Do:   func(w *World) { w.disturb(resource, disturbance{end: true}) },
	}
}

func (c *chooser) expireStreams() Action {
	resource := c.resource()
	return Action{
		Text: fmt.Sprintf("a stream of %s is answered 410 at its next event", resource),
		Do:   func(w *World) { w.disturb(resource, disturbance{expire: true}) },
	}
}

func (c *chooser) forgetHistory() Action {
	return Action{Text: "the server forgets its history", Do: func(w *World) { w.server.Compact() }}
}

// resource is one that Ambit watches: of owners more often than another.
func (c *chooser) resource() string {
	watched := c.scenario.watched()
	if i := c.IntN(len(watched) + 1); i < len(watched) {
		return watched[i]
	}
	return c.scenario.Owners.Resource
}
