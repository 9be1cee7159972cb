package faultplan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/sim"
)

// The cluster of a scenario before a plan, and what is known of it.

// bindingHere is the RoleBinding of Ambit in a namespace, and rolesHere its ClusterRole.
const (
	bindingHere = "ambit-here"
	everywhere  = "ambit-everywhere"
	triggers    = "ambit-triggers"
)

var triggerRules = `[{apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings, clusterroles, clusterrolebindings], verbs: [list, watch]}]`

func bindingIn(namespace string) *unstructured.Unstructured {
	return object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %s, namespace: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [%s]}`,
		bindingHere, namespace, bindingHere, subject)
}

func bindingEverywhere(name string) *unstructured.Unstructured {
	return object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [%s]}`,
		name, name, subject)
}

// bindingMeanwhile gives Ambit its rights while a namespace goes: the binding in there goes
// first, and finalizers of Ambit last.
func bindingMeanwhile(namespace string) *unstructured.Unstructured {
	return object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: meanwhile-%s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [%s]}`,
		namespace, bindingHere, subject)
}

const subject = `{kind: ServiceAccount, name: ambit, namespace: ambit-system}`

func clusterRole(name string, rules any) *unstructured.Unstructured {
	text, err := yaml.Marshal(rules)
	if err != nil {
		panic(fmt.Sprintf("rules of package faultplan: %v", err))
	}
	role := object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}}`, name)
	var list []any
	if err := yaml.Unmarshal(text, &list); err != nil {
		panic(fmt.Sprintf("rules of package faultplan: %v", err))
	}
	role.Object["rules"] = list
	return role
}

// base is the cluster of a scenario as it is before a plan. Once it is prepared, its servers
// are only cloned, and its maps only read.
type base struct {
	once   sync.Once
	server *sim.Server
	blind  *sim.Server // the same in which Ambit may not watch RBAC objects
	// objects are those of server, by their keys, and texts those of both.
	objects map[string]*unstructured.Unstructured
	texts   map[*unstructured.Unstructured]string
}

// preparedBase returns the base of a scenario: the first time at the beginning of a plan, as what is in it
// has the time of then.
func (s *Scenario) preparedBase() *base {
	b := &s.base
	if s.shared != nil {
		b = s.shared
	}
	b.once.Do(func() {
		if err := b.prepareServers(s); err != nil {
			panic(fmt.Sprintf("the cluster of scenario %s: %v", s.Name, err)) // a mistake in a scenario
		}
	})
	return b
}

// newServer makes a server as it is before a plan.
func (s *Scenario) newServer(blind bool, o sim.Options) *sim.Server {
	if blind {
		return s.preparedBase().blind.Clone(o)
	}
	return s.preparedBase().server.Clone(o)
}

// prepareServers makes both servers, and notes what is in them.
func (b *base) prepareServers(s *Scenario) error {
	o := sim.Options{AuthorizerLag: authorizerLag}
	b.server = sim.New(o)
	if err := s.createObjects(b.server); err != nil {
		return err
	}
	b.blind = b.server.Clone(o)
	admin := b.blind.As(sim.Admin).Dynamic()
	for _, resource := range []schema.GroupVersionResource{clusterRoleBindings, clusterRoles} {
		if err := admin.Resource(resource).Delete(context.Background(), triggers, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("taking the right to watch RBAC objects away: %w", err)
		}
	}
	b.objects, b.texts = map[string]*unstructured.Unstructured{}, map[*unstructured.Unstructured]string{}
	for _, obj := range b.server.Objects() {
		b.objects[keyOf(obj)], b.texts[obj] = obj, textOf(obj)
	}
	return nil
}

// createObjects creates what is there before a plan.
func (s *Scenario) createObjects(server *sim.Server) error {
	var rules []any
	if err := yaml.Unmarshal([]byte(triggerRules), &rules); err != nil {
		return err
	}
	objects := append(slices.Clone(s.Objects), clusterRole(everywhere, s.Everywhere), bindingEverywhere(everywhere), clusterRole(bindingHere, s.Here),
		clusterRole(triggers, rules), bindingEverywhere(triggers))
	for _, namespace := range s.Namespaces {
		if !slices.ContainsFunc(s.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" && o.GetName() == namespace }) {
			objects = slices.Insert(objects, 0, object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, namespace))
		}
		objects = append(objects, bindingIn(namespace))
	}
	admin := server.As(sim.Admin)
	for _, obj := range objects {
		resource, err := resourceOf(admin, obj)
		if err != nil {
			return err
		}
		if _, err := admin.Dynamic().Resource(resource).Namespace(obj.GetNamespace()).Create(context.Background(), obj, metav1.CreateOptions{FieldManager: "user"}); err != nil {
			return fmt.Errorf("creating %s: %w", keyOf(obj), err)
		}
	}
	return nil
}

func resourceOf(admin *sim.Client, obj *unstructured.Unstructured) (schema.GroupVersionResource, error) {
	mappings, err := admin.Served(context.Background(), obj.GroupVersionKind().GroupKind())
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("finding the resource of %s: %w", keyOf(obj), err)
	}
	if len(mappings) == 0 {
		return schema.GroupVersionResource{}, fmt.Errorf("%s is not served", keyOf(obj))
	}
	return mappings[0].Resource, nil
}

// watched are the resources that Ambit watches in the namespaces of a scenario.
func (s *Scenario) watched() (resources []string) {
	for _, rule := range s.Here {
		if slices.Contains(rule.Verbs, "watch") {
			resources = append(resources, rule.Resources...)
		}
	}
	slices.Sort(resources)
	return slices.Compact(resources)
}

// child is one that Ambit made.
type child struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// someChild is the i-th of the objects that Ambit made, counted round; nil: there is none.
func (w *World) someChild(i int) *child {
	var all []*unstructured.Unstructured
	for _, obj := range w.server.Objects() {
		if w.judge.isMade(obj.GetUID()) {
			all = append(all, obj)
		}
	}
	if len(all) == 0 {
		return nil
	}
	obj := all[i%len(all)]
	resource, err := resourceOf(w.server.As(sim.Admin), obj)
	if err != nil {
		w.problem("%v", err)
		return nil
	}
	return &child{resource: resource, namespace: obj.GetNamespace(), name: obj.GetName()}
}

// someOwner is the i-th of the owners that users made and that are not being deleted, counted
// round; nil: there is none.
func (w *World) someOwner(i int) *unstructured.Unstructured {
	owners := slices.DeleteFunc(w.list(w.plan.Scenario.Owners), func(o unstructured.Unstructured) bool {
		return o.GetDeletionTimestamp() != nil || w.judge.isMade(o.GetUID())
	})
	if len(owners) == 0 {
		return nil
	}
	return &owners[i%len(owners)]
}

// mayAct says whether Ambit has its rights in a namespace; "" is none.
func (w *World) mayAct(namespace string) bool {
	return namespace == "" || w.read(roleBindings, namespace, bindingHere) != nil
}

// mayActEverywhere says whether Ambit has its rights in all namespaces.
func (w *World) mayActEverywhere() bool {
	return !slices.ContainsFunc(w.plan.Scenario.Namespaces, func(namespace string) bool { return !w.mayAct(namespace) })
}

// isFrozen says whether an object is Ambit's, or has fields of Ambit's, and where it may do
// nothing, or for an owner of whom it cannot see all that decides what is wanted.
func (w *World) isFrozen(key string) bool {
	w.judge.mu.Lock()
	namespace, made := w.judge.madeAt[key]
	of, written := w.judge.madeFor[key], w.judge.written[key]
	w.judge.mu.Unlock()
	if kind, rest, _ := strings.Cut(key, " "); w.plan.Workloads && (kind == "ReplicaSet" || kind == "Pod") {
		namespace, _, _ = strings.Cut(rest, "/") // it goes with a workload
		of, made = namespace, true
	}
	return made && !(w.mayAct(namespace) && w.mayAct(of)) || written && w.plan.Scenario.Wide && !w.mayActEverywhere()
}

// mayBeForgotten says whether an object is beside its owner, of a kind of which the policy made some
// there until before the oldest process started, and makes none there now: nobody knows any more
// that it is Ambit's until its owner goes. Objects elsewhere are on record.
func (w *World) mayBeForgotten(key string) bool {
	w.judge.mu.Lock()
	of, made := w.judge.madeFor[key]
	isBeside := made && w.judge.madeAt[key] == of
	w.judge.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	kind, _, _ := strings.Cut(key, " ")
	return isBeside && w.forgotten[kind]
}

// forgetLocked notes what the process that is being started cannot know.
func (w *World) forgetLocked() {
	for _, program := range w.plan.Scenario.Versions {
		for _, c := range program.Children {
			w.forgotten[c.GVK.Kind] = w.forgotten[c.GVK.Kind] || w.edited && !plan.MakesBeside(w.programs[0], c.GVK)
		}
	}
}

// recallLocked notes that a policy makes objects beside owners: Ambit looks at their kinds again.
func (w *World) recallLocked(program *policy.Program) {
	for _, c := range program.Children {
		if plan.MakesBeside(program, c.GVK) {
			delete(w.forgotten, c.GVK.Kind)
		}
	}
}

// mayTellMore says whether an owner is where Ambit may do nothing, and the policy was edited:
// an Ambit that knows what the policy had before says that this may be left over; or it says
// what it does not remove as long as it cannot see what is wanted.
func (w *World) mayTellMore(key string) bool {
	edited := w.isEdited()
	if w.plan.Scenario.Wide && strings.HasPrefix(key, w.plan.Scenario.Versions[0].Owner.GVK.Kind+" ") && !w.mayActEverywhere() {
		return true
	}
	kind, place, _ := strings.Cut(key, " ")
	namespace, _, _ := strings.Cut(place, "/")
	return (edited || w.plan.Scenario.Suspends) && kind == w.plan.Scenario.Versions[0].Owner.GVK.Kind && !w.mayAct(namespace)
}

// isEdited says whether the policy was another one before.
func (w *World) isEdited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.edited
}

// mayBeOpen says whether a stream may be open while there are no owners: those of owners,
// of namespaces and of rights.
func (w *World) mayBeOpen(r sim.Request) bool {
	return r.Resource.Resource == w.plan.Scenario.Owners.Resource || r.Resource.Resource == "namespaces" || strings.HasPrefix(r.Resource.Group, "rbac.")
}

// begin notes what is there, none of which Ambit is to touch, but for owners.
func (j *judge) begin(server *sim.Server) {
	all := map[string]string{}
	for _, obj := range server.Objects() {
		if obj.GetLabels()["bystander"] != "" {
			all[keyOf(obj)] = textOf(withoutStatus(obj))
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.foreign, j.began = all, true
}

// compareForeign: bystanders are as they were, but for those that users deleted.
func (j *judge) compareForeign(w *World) {
	for _, obj := range w.server.Objects() {
		before, foreign := j.foreign[keyOf(obj)]
		if !foreign {
			continue
		}
		if is := textOf(withoutStatus(obj)); is != before {
			j.violated("foreign objects are not touched", "%s is now:\n%s", keyOf(obj), inLines(is))
		}
	}
}

// stays says whether an object is left behind on purpose: it is the policy's, or the policy
// says so.
func (j *judge) stays(obj *unstructured.Unstructured) bool {
	return obj.GetAnnotations()[v1alpha1.AnnotationEnsuredBy] != "" || j.scenario.isOrphan(obj)
}

// isThereLocked says whether the object of an entry is there, made by Ambit for an owner.
func (j *judge) isThereLocked(e inventory.Entry) bool {
	return !isForged(e) && e.UID != "" && !e.Merged && !e.Orphan && j.made[e.UID] && j.alive[e.UID]
}

// asked is how many lists and gets of Ambit there were.
func (w *World) asked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reads
}
