package faultplan

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// What the cluster itself does: webhooks, kinds that go and come back, clocks.

var customKinds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// target is what a webhook looks at.
type target struct {
	text    string
	matches func(*sim.Review) bool
}

// targets are what Ambit writes.
func (s *Scenario) targets() []target {
	of := func(text string, matches func(*sim.Review) bool) target {
		return target{text, func(r *sim.Review) bool { return r.Request.User == User && matches(r) }}
	}
	return []target{
		of("writes of Ambit", func(*sim.Review) bool { return true }),
		of("writes of Ambit to children", func(r *sim.Review) bool { return s.isChild(r) }),
		of("creates of children", func(r *sim.Review) bool { return s.isChild(r) && r.Old == nil }),
		of("deletes by Ambit", func(r *sim.Review) bool { return r.Object == nil }),
		of("writes of Ambit to owners", func(r *sim.Review) bool { return !s.isChild(r) }),
	}
}

// isChild reports whether a write is of a kind that children have; if owners are of that kind,
// of one that Ambit made.
func (s *Scenario) isChild(r *sim.Review) bool {
	if r.Request.Subresource != "" || !slices.Contains(s.watched(), r.Request.Resource.Resource) {
		return false
	}
	return r.Request.Resource != s.Owners || isLabelled(r.Object) || isLabelled(r.Old)
}

func isLabelled(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GetLabels()[v1alpha1.LabelOwnerUID] != ""
}

// isStatus reports whether a write is of the status of an owner.
func (s *Scenario) isStatus(r *sim.Review) bool {
	return r.Request.Resource == s.Owners && r.Request.Subresource == "status"
}

// denyWrites has a webhook refuse what Ambit writes.
func (c *chooser) denyWrites() Action {
	targets := c.scenario.targets()
	of := targets[c.IntN(len(targets))]
	answers := []struct {
		text string
		err  error
	}{
		{"403", sim.Denied(hookName, "not now")},
		{"400 without explanation", &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusBadRequest, Message: `admission webhook "` + hookName + `" denied the request without explanation`}}},
		{"500, for it is down", apierrors.NewInternalError(fmt.Errorf(`failed calling webhook "%s": failed to call webhook: Post "https://hook.hooks.svc:443/": context deadline exceeded`, hookName))},
	}
	answer := answers[c.IntN(len(answers))]
	h := webhook{matches: of.matches, admit: func(*sim.Review) error { return answer.err }}
	if c.IntN(2) == 0 {
		h.left = 1 + c.IntN(5)
		return Action{Text: fmt.Sprintf("a webhook answers the next %d %s %s", h.left, of.text, answer.text), Do: func(w *World) { w.register(h) }}
	}
	long := c.seconds(90)
	return Action{Text: fmt.Sprintf("for %s, a webhook answers %s %s", long, of.text, answer.text), Do: func(w *World) { w.registerFor(h, long) }}
}

// changeWrites has a webhook change children, whoever writes them.
func (c *chooser) changeWrites() Action {
	which, long := c.IntN(len(changes())), c.seconds(90)
	text := changes()[which].what()
	if c.IntN(3) == 0 {
		return Action{Text: "from now on, " + text, Do: func(w *World) { w.register(changes()[which].webhook(w.plan.Scenario)) }}
	}
	return Action{Text: fmt.Sprintf("for %s, %s", long, text), Do: func(w *World) { w.registerFor(changes()[which].webhook(w.plan.Scenario), long) }}
}

func (c change) what() string {
	if c.status {
		return "a webhook " + c.text + " each owner whose status is written"
	}
	return "a webhook " + c.text + " each child that is written"
}

func (c change) webhook(s *Scenario) webhook {
	return webhook{
		matches: func(r *sim.Review) bool {
			return r.Object != nil && (c.status && s.isStatus(r) || !c.status && s.isChild(r))
		},
		admit: func(r *sim.Review) error { c.do(r.Object); return nil },
	}
}

// holdChildren has a webhook put a finalizer on new children, and whose it is takes it off
// again.
func (c *chooser) holdChildren() Action {
	long := c.seconds(60)
	return Action{
		Text: fmt.Sprintf("for %s, a webhook puts a finalizer on new children; then it is taken off", long),
		Do:   func(w *World) { w.holdChildren(long) },
	}
}

func (w *World) holdChildren(long time.Duration) {
	w.registerFor(webhook{
		matches: func(r *sim.Review) bool { return r.Object != nil && r.Old == nil && w.plan.Scenario.isChild(r) },
		admit: func(r *sim.Review) error {
			r.Object.SetFinalizers(append(r.Object.GetFinalizers(), hookKey))
			return nil
		},
	}, long)
	w.later(long+time.Second, (*World).release)
}

// holdOwner has somebody put a finalizer of their own on an owner, and take it off again.
func (c *chooser) holdOwner() Action {
	i, long := c.IntN(100), c.seconds(60)
	return Action{
		Text: fmt.Sprintf("somebody puts a finalizer on owner %d of those there are, and takes it off %s later", i, long),
		Do: func(w *World) {
			if owner := w.someOwner(i); owner != nil {
				w.hold(owner.GetNamespace(), owner.GetName())
				w.later(long, (*World).release)
			}
		},
	}
}

// hold puts a finalizer on an owner that is not being deleted, until release.
func (w *World) hold(namespace, name string) {
	w.change(w.plan.Scenario.Owners, namespace, name, func(owner *unstructured.Unstructured) bool {
		if owner.GetDeletionTimestamp() != nil || slices.Contains(owner.GetFinalizers(), hookKey) {
			return false
		}
		owner.SetFinalizers(append(owner.GetFinalizers(), hookKey))
		return true
	})
}

// release takes the finalizers of the webhook off, and of who holds an owner.
func (w *World) release() {
	for _, obj := range w.server.Objects() {
		if !slices.Contains(obj.GetFinalizers(), hookKey) {
			continue
		}
		resource, err := resourceOf(w.server.As(sim.Admin), obj)
		if err != nil {
			w.problem("%v", err)
			continue
		}
		w.change(resource, obj.GetNamespace(), obj.GetName(), func(obj *unstructured.Unstructured) bool {
			obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == hookKey }))
			return true
		})
	}
}

// revertMarks has a webhook undo what Ambit writes in the metadata of owners.
func (c *chooser) revertMarks() Action {
	s, long := c.scenario, c.seconds(90)
	h := webhook{
		matches: func(r *sim.Review) bool {
			return r.Request.User == User && r.Request.Resource == s.Owners && !s.isChild(r) && r.Object != nil && r.Old != nil
		},
		admit: func(r *sim.Review) error {
			r.Object.SetFinalizers(r.Old.GetFinalizers())
			annotations, before := r.Object.GetAnnotations(), r.Old.GetAnnotations()
			maps.DeleteFunc(annotations, func(key, _ string) bool { return v1alpha1.IsReservedKey(key) })
			maps.DeleteFunc(before, func(key, _ string) bool { return !v1alpha1.IsReservedKey(key) })
			if annotations == nil {
				annotations = before
			} else {
				maps.Copy(annotations, before)
			}
			r.Object.SetAnnotations(annotations)
			return nil
		},
	}
	return Action{Text: fmt.Sprintf("for %s, a webhook undoes what Ambit writes in the metadata of owners", long), Do: func(w *World) { w.registerFor(h, long) }}
}

func (c *chooser) seconds(most int) time.Duration {
	return time.Duration(1+c.IntN(most)) * time.Second
}

// registerFor has a webhook asked for some time.
func (w *World) registerFor(h webhook, long time.Duration) {
	h.until = time.Now().Add(long)
	w.register(h)
}

// replaceKind deletes a definition, with all its objects, and makes it again some time after
// it is gone.
func (c *chooser) replaceKind() Action {
	definitions := c.scenario.definitions()
	definition := definitions[c.IntN(len(definitions))]
	pause := time.Duration(c.IntN(30_000)) * time.Millisecond
	return Action{
		Text: fmt.Sprintf("delete kind %s, and make it again %s after it is gone", definition.GetName(), pause),
		Do:   func(w *World) { w.replaceKind(definition, pause) },
	}
}

// editKind changes a definition: the storage of its objects is made anew, and all watches of
// them end.
func (c *chooser) editKind() Action {
	definitions := c.scenario.definitions()
	definition := definitions[c.IntN(len(definitions))]
	column := []any{map[string]any{"name": []string{"One", "Another"}[c.IntN(2)], "type": "string", "jsonPath": ".metadata.name"}}
	return Action{
		Text: fmt.Sprintf("edit kind %s: its columns are %v", definition.GetName(), column),
		Do:   func(w *World) { w.editKind(definition.GetName(), column) },
	}
}

// editKind gives all versions of a kind other columns.
func (w *World) editKind(name string, columns []any) {
	w.change(customKinds, "", name, func(obj *unstructured.Unstructured) bool {
		versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
		for _, v := range versions {
			v.(map[string]any)["additionalPrinterColumns"] = columns
		}
		setNested(obj, versions, "spec", "versions")
		return true
	})
}

// definitions are those of a scenario.
func (s *Scenario) definitions() (all []*unstructured.Unstructured) {
	for _, obj := range s.Objects {
		if obj.GetKind() == "CustomResourceDefinition" {
			all = append(all, obj)
		}
	}
	return all
}

func (w *World) replaceKind(definition *unstructured.Unstructured, pause time.Duration) {
	before := w.read(customKinds, "", definition.GetName())
	w.delete(customKinds, "", definition.GetName())
	if before == nil {
		return // somebody else makes it again
	}
	w.later(time.Second, func(w *World) {
		if w.awaitGone(customKinds, before) {
			time.Sleep(pause)
			w.create(customKinds, definition)
		}
	})
}

// awaitGone waits until an object is gone that may be held by finalizers of Ambit. When that
// takes longer than a fault does, all faults end, and rights that are missing are granted.
func (w *World) awaitGone(resource schema.GroupVersionResource, obj *unstructured.Unstructured) bool {
	for i := range 2 * minutesGone * 60 {
		if now := w.read(resource, "", obj.GetName()); now == nil || now.GetUID() != obj.GetUID() {
			return true
		}
		if i == minutesGone*60 {
			w.mend()
			w.grantAll()
			w.unforge()
			if unprotect := w.plan.Scenario.Unprotect; unprotect != nil {
				unprotect(w)
			}
		}
		time.Sleep(time.Second)
	}
	w.problem("%s %s is not gone after %d minutes", resource.Resource, obj.GetName(), 2*minutesGone)
	return false
}

// minutesGone is how long something may take to go while there are faults.
const minutesGone = 5

// setClock sets the clock that processes go by which start from now on.
func (c *chooser) setClock() Action {
	off := time.Duration(c.IntN(4*3600)-2*3600) * time.Second
	return Action{Text: fmt.Sprintf("processes to come have a clock that is %s off", off), Do: func(w *World) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.clockOff = off
	}}
}
