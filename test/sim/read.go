package sim

import (
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// get handles a GET of one object.
func (c *call) get(name string) (*unstructured.Unstructured, error) {
	live := c.live(name)
	if live == nil {
		return nil, c.notFound(name)
	}
	return c.answer(live), nil
}

// selector is what a list or a watch is about.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	names     []string // the fields that there are, beside metadata.*
}

func (c *call) selectorOf(o metav1.ListOptions) (selector, error) {
	s := selector{namespace: c.Namespace, names: c.resource.traits.fields, labels: labels.Everything(), fields: fields.Everything()}
	var err error
	if o.LabelSelector != "" {
		if s.labels, err = labels.Parse(o.LabelSelector); err != nil {
			return s, apierrors.NewBadRequest(err.Error())
		}
	}
	if o.FieldSelector == "" {
		return s, nil
	}
	if s.fields, err = fields.ParseSelector(o.FieldSelector); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	for _, r := range s.fields.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" && !slices.Contains(s.names, r.Field) {
			return s, c.errField(r.Field)
		}
	}
	return s, nil
}

// errField refuses a field selector.
func (c *call) errField(name string) error {
	if c.resource.definition != "" || c.Resource.Group == definitions.Group {
		return apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only %q, %q", name, "metadata.name", "metadata.namespace"))
}

func (s selector) matches(obj *unstructured.Unstructured) bool {
	if obj == nil || s.namespace != "" && s.namespace != obj.GetNamespace() {
		return false
	}
	return (s.labels.Empty() || s.labels.Matches(labels.Set(obj.GetLabels()))) &&
		(s.fields.Empty() || s.fields.Matches(s.fieldsOf(obj)))
}

func (s selector) fieldsOf(obj *unstructured.Unstructured) fields.Set {
	set := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	for _, name := range s.names {
		value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, splitPath(name)...)
		set[name] = ""
		if value != nil {
			set[name] = fmt.Sprint(value)
		}
	}
	return set
}

// page is what is left of a list that is read in parts.
type page struct {
	resource *resource
	version  uint64
	items    []*unstructured.Unstructured
}

// listed is the answer to a list: objects as stored.
type listed struct {
	version  string
	token    string
	left     *int64
	items    []*unstructured.Unstructured
	resource *resource
}

// list handles a GET of a collection.
func (c *call) list(o metav1.ListOptions) (listed, error) {
	chosen, err := c.selectorOf(o)
	if err != nil {
		return listed{}, err
	}
	if o.Continue != "" {
		rest, ok := c.pages[o.Continue]
		if !ok || rest.resource != c.resource {
			return listed{}, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.")
		}
		delete(c.pages, o.Continue)
		return c.page(rest, o.Limit, true), nil
	}
	if err := c.checkNotTooLarge(o.ResourceVersion); err != nil {
		return listed{}, err
	}
	all := page{resource: c.resource, version: c.version}
	for _, key := range c.resource.sortedKeys(c.Namespace) {
		if obj := c.resource.objects[key]; chosen.matches(obj) {
			all.items = append(all.items, obj)
		}
	}
	return c.page(all, o.Limit, chosen.labels.Empty() && chosen.fields.Empty()), nil
}

// page cuts the first limit items off.
func (c *call) page(p page, limit int64, counted bool) listed {
	answer := listed{version: strconv.FormatUint(p.version, 10), items: p.items, resource: c.resource}
	if limit <= 0 || int64(len(p.items)) <= limit {
		return answer
	}
	rest := page{resource: p.resource, version: p.version, items: p.items[limit:]}
	answer.items, answer.token = p.items[:limit], fmt.Sprintf("page-%016x", c.random.Uint64())
	c.pages[answer.token] = rest
	if counted {
		left := int64(len(rest.items))
		answer.left = &left
	}
	return answer
}

// checkNotTooLarge refuses a resourceVersion that is still to come.
func (c *call) checkNotTooLarge(text string) error {
	if text == "" || text == "0" {
		return nil
	}
	wanted, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return apierrors.NewBadRequest("invalid resource version: " + badVersion(text))
	}
	if wanted <= c.version {
		return nil
	}
	late := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, c.version), 1)
	late.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return late
}

// badVersion is how the storage speaks of a resourceVersion that is no number.
func badVersion(text string) string {
	return fmt.Sprintf("resourceVersion: Invalid value: %q: strconv.ParseUint: parsing %q: invalid syntax", text, text)
}

// objects is the list for a client of whole objects.
func (l listed) objects(v *version) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": v.gvk.GroupVersion().String(), "kind": v.gvk.Kind + "List", "metadata": map[string]any{},
	}}
	list.SetResourceVersion(l.version)
	if l.token != "" || l.resource.definition != "" {
		list.SetContinue(l.token)
	}
	list.SetRemainingItemCount(l.left)
	list.Items = make([]unstructured.Unstructured, 0, len(l.items))
	for _, obj := range l.items {
		list.Items = append(list.Items, *inVersion(obj, v.gvk).DeepCopy())
	}
	return list
}

// metadata is the list for a client of metadata.
func (l listed) metadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{
		ListMeta: metav1.ListMeta{ResourceVersion: l.version, Continue: l.token, RemainingItemCount: l.left},
	}
	for _, obj := range l.items {
		list.Items = append(list.Items, *partial(obj, l.resource.managed))
	}
	return list
}

// partial is the metadata of an object, as client-go decodes it: without a kind.
func partial(obj *unstructured.Unstructured, managed managedLists) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		CreationTimestamp: obj.GetCreationTimestamp(), DeletionTimestamp: obj.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(),
		Labels:                     obj.GetLabels(), Annotations: obj.GetAnnotations(),
		OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(), ManagedFields: slices.Clone(managed.of(obj).entries),
	}}
}
