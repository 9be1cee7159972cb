package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/desired"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/selection"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// cluster is what there is: the owner and the observed objects, made complete.
type cluster struct {
	program      *policy.Program
	owner        *unstructured.Unstructured
	byKind       map[schema.GroupVersionKind][]*unstructured.Unstructured
	isNamespaced func(schema.GroupVersionKind) bool
	now          time.Time
}

// newCluster completes what the input leaves out.
func newCluster(in Input) *cluster {
	c := &cluster{program: in.Program, byKind: map[schema.GroupVersionKind][]*unstructured.Unstructured{}, isNamespaced: in.IsNamespaced, now: in.Now}
	record := newRecord(in.Program, completeOwner(in.Owner))
	for number, object := range in.Observed {
		object = object.DeepCopy()
		gvk := object.GroupVersionKind()
		switch {
		case !in.IsNamespaced(gvk):
			object.SetNamespace("")
		case object.GetNamespace() == "":
			object.SetNamespace(in.Owner.GetNamespace())
		}
		record.completeObject(object, number)
		object = keepMade(in.Program, object)
		c.byKind[gvk] = append(c.byKind[gvk], object)
	}
	c.owner = record.writeOwner()
	return c
}

// completeOwner returns the owner with a uid and a generation, as an API server has it.
func completeOwner(owner *unstructured.Unstructured) *unstructured.Unstructured {
	owner = owner.DeepCopy()
	if owner.GetUID() == "" {
		owner.SetUID(PlaceholderUID)
	}
	if owner.GetGeneration() == 0 {
		owner.SetGeneration(1)
	}
	return owner
}

// namespacedKinds says of the kinds of children and watches whether they have namespaces.
func (c *cluster) namespacedKinds() map[schema.GroupVersionKind]bool {
	found := map[schema.GroupVersionKind]bool{}
	for _, child := range slices.Concat(c.program.Children, c.program.Ensured) {
		found[child.GVK] = c.isNamespaced(child.GVK)
	}
	for _, w := range c.program.Watches {
		found[w.GVK] = c.isNamespaced(w.GVK)
	}
	return found
}

// addObservations adds to a snapshot what there is of all that has to be observed before a first plan.
func (c *cluster) addObservations(ctx context.Context, s *plan.Snapshot) {
	queries := plan.Queries(ctx, c.program, *s)
	s.Children, s.Watches = map[plan.Location]plan.Input{}, make(map[string]plan.Input, len(queries.Watches))
	c.answerQueries(queries.Children, s.Children)
	for _, w := range queries.Watches {
		s.Watches[w.ID] = c.answerWatch(w)
	}
}

// answerQueries adds to children what there is in the places of the queries, and reports
// whether that is new. Names in a place may have come to a query that was answered before.
func (c *cluster) answerQueries(queries []plan.Query, children map[plan.Location]plan.Input) (isNew bool) {
	for _, query := range queries {
		before, isKnown := children[query.Location]
		if isKnown && query.Names == nil {
			continue
		}
		found := c.answerQuery(query)
		isNew = isNew || !isKnown || len(found.Objects) != len(before.Objects)
		children[query.Location] = found
	}
	return isNew
}

// answerQuery returns what is observed in a place: the named objects, or all of the kind.
// The planner finds those that are the owner's.
func (c *cluster) answerQuery(query plan.Query) plan.Input {
	var in plan.Input
	for _, object := range c.byKind[query.GVK] {
		isWanted := query.Names == nil || slices.Contains(query.Names, object.GetName())
		if isWanted && object.GetNamespace() == query.Namespace {
			in.Objects = append(in.Objects, object)
		}
	}
	return in
}

// answerWatch returns the objects of one watch as an API server would show them; the planner
// applies selector and filter.
func (c *cluster) answerWatch(query plan.WatchQuery) plan.Input {
	if query.Problem != nil {
		return plan.Input{Blocked: query.Problem}
	}
	var in plan.Input
	for _, object := range c.byKind[query.GVK] {
		target := query.Target
		isThere := target.Namespace == "" || object.GetNamespace() == target.Namespace
		if isThere && (target.FieldSelector == nil || target.FieldSelector.Matches(objectFields{object})) {
			in.Objects = append(in.Objects, object)
		}
	}
	return in
}

// objectFields finds the fields of a field selector where they stand in an object. An
// API server knows a few of each kind only.
type objectFields struct{ object *unstructured.Unstructured }

var _ fields.Fields = objectFields{}

// Has implements fields.Fields.
func (f objectFields) Has(path string) bool { return f.Get(path) != "" }

// Get implements fields.Fields.
func (f objectFields) Get(path string) string {
	value, found, err := unstructured.NestedFieldNoCopy(f.object.Object, strings.Split(path, ".")...)
	if err != nil || !found {
		return ""
	}
	return fmt.Sprint(value)
}

// whyLeftAlone says why the policy does not work on the owner, "" if it does, and then
// whether it removes what is there of it.
func (c *cluster) whyLeftAlone(ctx context.Context) (why string, retire bool) {
	held := slices.Contains(c.owner.GetFinalizers(), v1alpha1.FinalizerCleanup) && inventory.IsMarked(c.program.Label, c.owner)
	if held && c.owner.GetDeletionTimestamp() != nil && !c.program.Suspend {
		return "", false
	}
	refusal := selection.RefuseOwner(ctx, c.program, c.owner)
	if refusal == nil || refusal.Err != nil { // whatever a filter says, it is asked only in the scope
		if why := c.whyUnselected(); why != "" {
			refusal = &selection.Refusal{Reason: why}
		}
	}
	if refusal == nil {
		return "", false
	}
	return refusal.Reason, refusal.Err == nil && (c.program.Retire || !c.program.Suspend)
}

// whyUnselected says why the labels of the owner's namespace keep it out of the scope; ""
// if they do not.
func (c *cluster) whyUnselected() string {
	namespace, selector := selection.ScopeNamespace(c.owner), c.program.NamespaceSelector
	if namespace == "" || selector == nil || slices.Contains(c.program.Namespaces, namespace) {
		return ""
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	for _, object := range append(c.byKind[kind], c.owner) {
		is := object.GroupVersionKind() == kind && object.GetName() == namespace
		if is && selector.Matches(labels.Set(object.GetLabels())) {
			return ""
		}
	}
	return fmt.Sprintf("its scope does not have namespace %q: no Namespace of that name with %s is observed", namespace, selector)
}

// keepMade returns what the controller keeps of an object. A file that says of no value that Ambit has made it leaves that out:
// each value is one whose key a child of the program makes. A value that is a text form, as plans show it, stands
// for one that is valid.
func keepMade(program *policy.Program, object *unstructured.Unstructured) *unstructured.Unstructured {
	if !program.MakesSecrets() || !desired.IsSecret(object.GroupVersionKind()) {
		return object
	}
	data, _ := object.Object["data"].(map[string]any)
	record, assumed := secretview.Record{}, []string{}
	for _, child := range program.Children {
		for _, key := range child.PrivateKeys() {
			if _, there := data[key]; there {
				record[key] = secretview.Entry{At: object.GetCreationTimestamp().Time}
			}
		}
	}
	for key, value := range data {
		if text, _ := value.(string); strings.HasPrefix(text, "<made: ") {
			assumed = append(assumed, key)
		}
	}
	if _, given := object.GetAnnotations()[v1alpha1.AnnotationMade]; !given && len(record)+len(assumed) > 0 {
		if text, err := record.AnnotationText(); err == nil {
			setAnnotation(object, v1alpha1.AnnotationMade, text)
		}
	}
	return secretview.AssumeValid(secretview.ReduceObject(object), assumed)
}
