package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// leftover is something that could not be removed, or what keeps something from
// being removed, as `ambit cleanup -o json` prints it. The shape is stable.
type leftover struct {
	// Policy is the name of the policy.
	Policy string `json:"policy"`
	// Kind, Namespace and Name are of an object; empty if it is about the policy as a
	// whole. Namespace is empty for kinds without.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Why says what is in the way.
	Why string `json:"why"`
}

// String is as in `policy "web": App team-a/shop: Protected: ...`.
func (l leftover) String() string {
	name := strings.TrimPrefix(l.Namespace+"/"+l.Name, "/")
	if l.Kind == "" {
		return fmt.Sprintf("policy %q: %s", l.Policy, l.Why)
	}
	return fmt.Sprintf("policy %q: %s %s: %s", l.Policy, l.Kind, name, l.Why)
}

// isAbout says whether the other is about the same object.
func (l leftover) isAbout(other leftover) bool {
	other.Why = l.Why
	return l == other && l.Kind != ""
}

// sayWhatIsLeft prints what is left and returns findings.
func (o *cleanupOptions) sayWhatIsLeft(ctx context.Context, c *cluster, programs []*policy.Program, found []leftover) error {
	for _, program := range programs {
		for _, l := range o.leftOf(ctx, c, program) {
			if !slices.ContainsFunc(found, l.isAbout) {
				found = append(found, l)
			}
		}
	}
	if len(found) == 0 {
		found = append(found, leftover{Policy: programs[0].Name, Why: "it is not known whether something is left: it could not be read in time"})
	}
	return o.printLeft(found)
}

// printLeft prints what is left and returns findings.
func (o *cleanupOptions) printLeft(found []leftover) error {
	if o.Output != "" {
		if err := printData(o.Out, o.Output, map[string]any{"left": found}); err != nil {
			return err
		}
	} else {
		for _, l := range found {
			fmt.Fprintln(o.Out, l)
		}
	}
	fmt.Fprintln(o.ErrOut, "not all is cleaned up")
	return errFindings()
}

// engineProblems are what keeps policies and owners from being cleaned up. Nothing is
// created, so the right to is nothing to ask for.
func engineProblems(e *controller.Controller, programs []*policy.Program) []leftover {
	kinds := map[string]string{}
	for _, program := range programs {
		kinds[program.Name] = program.Owner.GVK.Kind
	}
	found := halts(e)
	for _, stuck := range e.CleanupBlockers() {
		found = append(found, leftover{
			Policy: nameIn(stuck.Policy), Kind: kinds[nameIn(stuck.Policy)], Namespace: stuck.Namespace, Name: stuck.Name, Why: stuck.Reason + ": " + stuck.Message,
		})
	}
	for _, d := range e.Denied() {
		if d.Verb == "create" {
			continue
		}
		place := ""
		if d.Namespace != "" {
			place = fmt.Sprintf(" in namespace %q", d.Namespace)
		}
		found = append(found, leftover{Policy: nameIn(d.Policy), Why: fmt.Sprintf("Forbidden: cannot %s %s%s", d.Verb, d.Kind(), place)})
	}
	return found
}

// nameIn is the name in `namespace/name`.
func nameIn(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// leftOf returns the owners that carry something of the policy, and what it has made.
func (o *cleanupOptions) leftOf(ctx context.Context, c *cluster, program *policy.Program) []leftover {
	var found []leftover
	o.each(ctx, c, program.Owner.GVK, "", func(owner *unstructured.Unstructured, err error) {
		switch {
		case err != nil:
			found = append(found, leftover{Policy: program.Name, Why: err.Error()})
		case inventory.IsMarked(program.Name, owner):
			found = append(found, leftoverObject(program, owner, "it still has "+strings.Join(marksOf(owner), ", ")))
		}
	})
	selector := labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelPolicy: program.Name}.String()
	for _, gvk := range removedKinds(program) {
		o.each(ctx, c, gvk, selector, func(object *unstructured.Unstructured, err error) {
			if err == nil { // the engine says what may not be listed
				found = append(found, leftoverObject(program, object, whyObject(object)))
			}
		})
	}
	return found
}

func leftoverObject(program *policy.Program, object *unstructured.Unstructured, why string) leftover {
	return leftover{Policy: program.Name, Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Why: why}
}

// removedKinds are the kinds of which nothing of the policy is to be left, sorted.
func removedKinds(program *policy.Program) []schema.GroupVersionKind {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, child := range slices.Concat(program.Children, program.Ensured) {
		removed, known := kinds[child.GVK]
		kinds[child.GVK] = (removed || !known) && child.OnDelete != v1alpha1.DeleteOrphan && child.Existing != v1alpha1.ExistingMerge
	}
	var found []schema.GroupVersionKind
	for gvk, removed := range kinds {
		if removed {
			found = append(found, gvk)
		}
	}
	slices.SortFunc(found, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return found
}

// each calls do for each object of a kind in the namespaces to work in, or with an
// error. A kind that is not served has none.
func (o *cleanupOptions) each(ctx context.Context, c *cluster, gvk schema.GroupVersionKind, selector string, do func(*unstructured.Unstructured, error)) {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return
	}
	if err != nil {
		do(nil, fmt.Errorf("looking up kind %s: %w", gvk.Kind, err))
		return
	}
	namespaces := o.Namespaces
	if len(namespaces) == 0 || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		objects := c.objects.Resource(mapping.Resource).Namespace(namespace)
		pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) })
		err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(object runtime.Object) error {
			if u, ok := object.(*unstructured.Unstructured); ok {
				do(u, nil)
			}
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) {
			do(nil, fmt.Errorf("listing %s: %w", mapping.Resource.GroupResource(), err))
		}
	}
}

// marksOf names the marks of Ambit on an owner.
func marksOf(owner *unstructured.Unstructured) []string {
	var found []string
	if slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup) {
		found = append(found, "finalizer "+v1alpha1.FinalizerCleanup)
	}
	if owner.GetAnnotations()[v1alpha1.AnnotationChildren] != "" {
		found = append(found, "annotation "+v1alpha1.AnnotationChildren)
	}
	return found
}

// whyObject says what is known of an object that should be gone.
func whyObject(object *unstructured.Unstructured) string {
	if object.GetDeletionTimestamp() == nil {
		return "it is still there"
	}
	return "it is being deleted, and waits for its finalizers: " + strings.Join(object.GetFinalizers(), ", ")
}
