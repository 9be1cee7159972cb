package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/access"
)

// clients are those of one user.
type clients struct {
	objects  dynamic.Interface
	metadata metadata.Interface
	reviews  access.Reviews
}

// side is a cluster that a script is played on.
type side struct {
	// as makes the clients of a user, who acts as another one if that is not empty.
	as func(t *testing.T, user, other string) clients
	// namespace makes a namespace with a name of its own.
	namespace func(t *testing.T, prefix string) string
	// webhook has a webhook look at what is written in a namespace: see hook.
	webhook func(t *testing.T, namespace string)
	// pause lets time pass until something may have come about.
	pause func()
	// patience is how long what must come may take.
	patience time.Duration
}

// player plays one script on one side.
type player struct {
	*testing.T
	side
	script     *script
	known      map[string]clients
	namespaces map[string]string
	saved      map[string]map[string]any
	watches    map[string]watch.Interface
}

// play returns the answers, as texts that can be compared.
func play(t *testing.T, on side, s *script) []string {
	t.Helper()
	p := &player{T: t, side: on, script: s, known: map[string]clients{}, namespaces: map[string]string{}, saved: map[string]map[string]any{}, watches: map[string]watch.Interface{}}
	answers := make([]answer, len(s.steps))
	for i := range s.steps {
		answers[i] = p.step(&s.steps[i])
	}
	for _, w := range p.watches {
		w.Stop()
	}
	var pairs []string
	for alias, name := range p.namespaces {
		pairs = append(pairs, name, "namespace-"+alias)
	}
	return normalize(answers, strings.NewReplacer(pairs...))
}

// fill puts what is known into a text: {a} is a namespace, ${x.uid} of what was saved.
func (p *player) fill(text string) string {
	for alias, name := range p.namespaces {
		text = strings.ReplaceAll(text, "{"+alias+"}", name)
	}
	for name, obj := range p.saved {
		m, _ := obj["metadata"].(map[string]any)
		for key, field := range map[string]string{"uid": "uid", "rv": "resourceVersion", "name": "name", "continue": "continue"} {
			value, _ := m[field].(string)
			text = strings.ReplaceAll(text, "${"+name+"."+key+"}", value)
		}
	}
	return text
}

func (p *player) step(st *step) answer {
	filled := *st
	filled.body = p.fill(st.body)
	filled.words = nil
	for _, word := range st.words {
		filled.words = append(filled.words, p.fill(word))
	}
	filled.options = map[string]string{}
	for key, value := range st.options {
		filled.options[key] = p.fill(value)
	}
	a := p.do(&filled)
	if obj, ok := a.value.(map[string]any); ok && st.save != "" {
		p.saved[st.save] = obj
	}
	return a
}

// request is a step that is a request.
type request struct {
	*step
	clients
	resource        schema.GroupVersionResource
	sub             []string
	namespace, name string
}

func (p *player) clientsOf(o map[string]string) clients {
	user, other := o["as"], o["acting"]
	if user == "" {
		user = "admin"
	}
	key := user + "/" + other
	if _, ok := p.known[key]; !ok {
		p.known[key] = p.as(p.T, user, other)
	}
	return p.known[key]
}

// request reads RESOURCE[/SUB] [NAMESPACE/]NAME.
func (p *player) request(st *step) request {
	r := request{step: st, clients: p.clientsOf(st.options)}
	resource, sub, ok := strings.Cut(st.words[1], "/")
	if ok {
		r.sub = []string{sub}
	}
	r.resource = resourceNamed(resource)
	if len(st.words) > 2 {
		r.namespace, r.name, ok = strings.Cut(st.words[2], "/")
		if !ok {
			r.namespace, r.name = "", st.words[2]
		}
	}
	return r
}

func resourceNamed(name string) schema.GroupVersionResource {
	if found, ok := resources()[name]; ok {
		return found
	}
	plural, version, _ := strings.Cut(name, ".")
	return schema.GroupVersionResource{Group: "sim.example.com", Version: version, Resource: plural}
}

func resources() map[string]schema.GroupVersionResource {
	of := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	const rbac = "rbac.authorization.k8s.io"
	return map[string]schema.GroupVersionResource{
		"configmaps": of("", "v1", "configmaps"), "secrets": of("", "v1", "secrets"), "namespaces": of("", "v1", "namespaces"),
		"serviceaccounts": of("", "v1", "serviceaccounts"), "pods": of("", "v1", "pods"), "services": of("", "v1", "services"),
		"deployments": of("apps", "v1", "deployments"), "networkpolicies": of("networking.k8s.io", "v1", "networkpolicies"),
		"jobs": of("batch", "v1", "jobs"), "ingresses": of("networking.k8s.io", "v1", "ingresses"), "statefulsets": of("apps", "v1", "statefulsets"),
		"horizontalpodautoscalers": of("autoscaling", "v2", "horizontalpodautoscalers"), "persistentvolumeclaims": of("", "v1", "persistentvolumeclaims"),
		"limitranges": of("", "v1", "limitranges"), "resourcequotas": of("", "v1", "resourcequotas"), "leases": of("coordination.k8s.io", "v1", "leases"),
		"roles": of(rbac, "v1", "roles"), "rolebindings": of(rbac, "v1", "rolebindings"),
		"clusterroles": of(rbac, "v1", "clusterroles"), "clusterrolebindings": of(rbac, "v1", "clusterrolebindings"),
		"crds": of("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
	}
}

// collection is where the objects of a request are.
func (r request) collection() dynamic.ResourceInterface {
	if r.namespace == "" {
		return r.objects.Resource(r.resource)
	}
	return r.objects.Resource(r.resource).Namespace(r.namespace)
}

func (r request) partials() metadata.ResourceInterface {
	return r.clients.metadata.Resource(r.resource).Namespace(r.namespace)
}

func (r request) manager() string {
	if m, ok := r.options["manager"]; ok {
		return m
	}
	return "script"
}

func (r request) dry() []string {
	if r.options["dry"] != "" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// object reads the body.
func (r request) object() (*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON([]byte(r.body))
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, obj.UnmarshalJSON(data)
}

// do carries out one step.
func (p *player) do(st *step) answer {
	ctx, cancel := context.WithTimeout(p.Context(), 2*p.patience)
	defer cancel()
	switch st.words[0] {
	case "namespace":
		p.namespaces[st.words[1]] = p.namespace(p.T, "sim")
		return answer{text: "ok"}
	case "webhook":
		p.webhook(p.T, p.namespaces[st.words[1]])
		return answer{text: "ok"}
	case "events":
		return p.events(st)
	case "stop":
		p.watches[st.words[1]].Stop()
		return p.drained(st.words[1])
	case "await":
		return p.await(ctx, st)
	case "can", "rules":
		return p.review(ctx, st)
	}
	r := p.request(st)
	if r.options["rv"] == "0" {
		p.awaitFreshCache(ctx, r)
	}
	if st.words[0] == "watch" {
		return p.watch(r)
	}
	if r.options["form"] == "metadata" {
		return r.metadataOnly(ctx)
	}
	switch st.words[0] {
	case "create", "update":
		return r.put(ctx)
	case "patch", "apply":
		return r.patch(ctx)
	case "get":
		return objectAnswer(r.collection().Get(ctx, r.name, metav1.GetOptions{}, r.sub...))
	case "delete":
		return done(r.collection().Delete(ctx, r.name, r.deletion()))
	case "deleteall":
		return done(r.collection().DeleteCollection(ctx, r.deletion(), r.listing()))
	case "list":
		list, err := r.collection().List(ctx, r.listing())
		if err != nil {
			return answer{err: err}
		}
		return answer{value: list.UnstructuredContent()}
	}
	p.Fatalf("%s: unknown command %q", p.script.name, st.line)
	return answer{}
}

func (r request) put(ctx context.Context) answer {
	obj, err := r.object()
	if err != nil {
		return answer{err: err}
	}
	if r.words[0] == "create" {
		return objectAnswer(r.collection().Create(ctx, obj, metav1.CreateOptions{FieldManager: r.manager(), FieldValidation: r.options["validation"], DryRun: r.dry()}, r.sub...))
	}
	return objectAnswer(r.collection().Update(ctx, obj, metav1.UpdateOptions{FieldManager: r.manager(), FieldValidation: r.options["validation"], DryRun: r.dry()}, r.sub...))
}

func (r request) patch(ctx context.Context) answer {
	kind, opts := r.patching()
	data, err := yaml.YAMLToJSON([]byte(r.body))
	if err != nil {
		return answer{err: err}
	}
	return objectAnswer(r.collection().Patch(ctx, r.name, kind, data, opts, r.sub...))
}

func (r request) patching() (types.PatchType, metav1.PatchOptions) {
	opts := metav1.PatchOptions{FieldManager: r.manager(), FieldValidation: r.options["validation"], DryRun: r.dry()}
	if r.words[0] == "apply" {
		opts.Force = new(r.options["force"] != "")
		return types.ApplyPatchType, opts
	}
	return map[string]types.PatchType{"": types.MergePatchType, "json": types.JSONPatchType, "strategic": types.StrategicMergePatchType}[r.options["type"]], opts
}

func (r request) deletion() metav1.DeleteOptions {
	o := metav1.DeleteOptions{DryRun: r.dry()}
	if policy := r.options["policy"]; policy != "" {
		o.PropagationPolicy = new(metav1.DeletionPropagation(policy))
	}
	uid, version := r.options["uid"], r.options["rv"]
	if uid != "" || version != "" {
		o.Preconditions = &metav1.Preconditions{}
	}
	if uid != "" {
		o.Preconditions.UID = new(types.UID(uid))
	}
	if version != "" {
		o.Preconditions.ResourceVersion = &version
	}
	return o
}

func (r request) listing() metav1.ListOptions {
	limit, _ := strconv.ParseInt(r.options["limit"], 10, 64)
	o := metav1.ListOptions{
		LabelSelector: r.options["labels"], FieldSelector: r.options["fields"], Limit: limit, Continue: r.options["continue"],
		ResourceVersion: r.options["rv"], ResourceVersionMatch: metav1.ResourceVersionMatch(r.options["match"]), AllowWatchBookmarks: r.options["bookmarks"] != "",
	}
	if r.options["initial"] != "" {
		o.SendInitialEvents, o.ResourceVersionMatch = new(true), metav1.ResourceVersionMatchNotOlderThan
	}
	if seconds, err := strconv.ParseInt(r.options["timeout"], 10, 64); err == nil {
		o.TimeoutSeconds = &seconds
	}
	return o
}

func (r request) metadataOnly(ctx context.Context) answer {
	switch r.words[0] {
	case "get":
		return typedAnswer(r.partials().Get(ctx, r.name, metav1.GetOptions{}, r.sub...))
	case "list":
		return typedAnswer(r.partials().List(ctx, r.listing()))
	case "delete":
		return done(r.partials().Delete(ctx, r.name, r.deletion()))
	}
	kind, opts := r.patching()
	data, err := yaml.YAMLToJSON([]byte(r.body))
	if err != nil {
		return answer{err: err}
	}
	return typedAnswer(r.partials().Patch(ctx, r.name, kind, data, opts, r.sub...))
}

func done(err error) answer {
	if err != nil {
		return answer{err: err}
	}
	return answer{text: "ok"}
}

func objectAnswer(obj *unstructured.Unstructured, err error) answer {
	if err != nil {
		return answer{err: err}
	}
	return answer{value: obj.Object}
}

func typedAnswer[T any](obj T, err error) answer {
	if err != nil {
		return answer{err: err}
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return answer{err: err}
	}
	var value map[string]any
	if err := json.Unmarshal(data, &value); err != nil {
		return answer{err: err}
	}
	return answer{value: value}
}

// awaitFreshCache waits until the server's cache, from which a request with resourceVersion 0 is
// answered whatever its age, is as new as what was written before the request.
func (p *player) awaitFreshCache(ctx context.Context, r request) {
	p.Helper()
	r.clients = p.clientsOf(nil)
	now, err := r.collection().List(ctx, metav1.ListOptions{Limit: 1})
	if err == nil {
		_, err = r.collection().List(ctx, metav1.ListOptions{ResourceVersion: now.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	}
	if err != nil {
		p.Fatalf("%s: before %q: %v", p.script.name, r.line, err)
	}
}

// watch opens a watch under the name that the step has.
func (p *player) watch(r request) answer {
	var w watch.Interface
	var err error
	if r.options["form"] == "metadata" {
		w, err = r.partials().Watch(p.Context(), r.listing())
	} else {
		w, err = r.collection().Watch(p.Context(), r.listing())
	}
	if err != nil {
		return answer{err: err}
	}
	p.watches[r.options["id"]] = w
	return answer{text: "ok"}
}

// events waits for a number of events of a watch, or for its end.
func (p *player) events(st *step) answer {
	count, err := strconv.Atoi(st.words[2])
	if err != nil {
		return answer{err: err}
	}
	list := []any{}
	for range count {
		event, ok := p.next(st.words[1])
		list = append(list, event)
		if !ok {
			break
		}
	}
	return answer{value: list}
}

// next is the next event of a watch.
func (p *player) next(id string) (value any, ok bool) {
	for end := time.Now().Add(p.patience); time.Now().Before(end); {
		select {
		case event, ok := <-p.watches[id].ResultChan():
			if !ok {
				return "the end", false
			}
			if isPassing(event) {
				continue
			}
			return eventValue(event), true
		case <-time.After(20 * time.Millisecond):
			p.pause()
		}
	}
	return "nothing came", false
}

// isPassing reports whether an event is a bookmark that may come at any time.
func isPassing(event watch.Event) bool {
	obj, err := meta.Accessor(event.Object)
	return event.Type == watch.Bookmark && err == nil && obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == ""
}

func eventValue(event watch.Event) any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event.Object)
	if err != nil {
		return err.Error()
	}
	return map[string]any{string(event.Type): content}
}

// drained waits for the end of a watch that was stopped. What was on its way may come, or
// not.
func (p *player) drained(id string) answer {
	for range p.watches[id].ResultChan() {
	}
	delete(p.watches, id)
	return answer{text: "ok"}
}

// await waits until an object is gone, or a path in it has a value.
func (p *player) await(ctx context.Context, st *step) answer {
	inner := *st
	inner.words = st.words[1:]
	if st.words[1] == "can" {
		return p.until(func() (answer, bool) {
			a := p.review(ctx, &inner)
			return a, a.text == st.options["answer"]
		})
	}
	r := p.request(&inner)
	return p.until(func() (answer, bool) {
		obj, err := r.collection().Get(ctx, r.name, metav1.GetOptions{})
		if st.words[1] == "gone" {
			return answer{text: "gone"}, apierrors.IsNotFound(err)
		}
		if err != nil {
			return answer{err: err}, false
		}
		path, want, _ := strings.Cut(st.words[len(st.words)-1], "=")
		value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
		return answer{value: obj.Object}, strings.Contains(fmt.Sprint(value), want) == (st.options["not"] == "")
	})
}

func (p *player) until(look func() (answer, bool)) answer {
	var last answer
	for end := time.Now().Add(p.patience); time.Now().Before(end); {
		a, ok := look()
		if ok {
			return a
		}
		last = a
		p.pause()
	}
	return answer{text: fmt.Sprintf("it did not come: %v %v %s", last.value, last.err, last.text)}
}

// review asks for rights: can VERB RESOURCE[/SUB] [NAMESPACE[/NAME]], rules NAMESPACE.
func (p *player) review(ctx context.Context, st *step) answer {
	c := p.clientsOf(st.options)
	if st.words[0] == "rules" {
		rules, err := c.reviews.Rules(ctx, st.words[1])
		if err != nil {
			return answer{err: err}
		}
		lines := []string{fmt.Sprintf("incomplete: %t", rules.Incomplete)}
		for _, r := range rules.Items {
			lines = append(lines, fmt.Sprintf("%v %v %v %v", r.Verbs, r.APIGroups, r.Resources, r.ResourceNames))
		}
		slices.Sort(lines)
		return answer{text: strings.Join(lines, "\n")}
	}
	resource, sub, _ := strings.Cut(st.words[2], "/")
	gvr := resourceNamed(resource)
	a := access.Access{Verb: st.words[1], Group: gvr.Group, Resource: gvr.Resource, Subresource: sub}
	namespace := ""
	if len(st.words) > 3 {
		namespace, a.Name, _ = strings.Cut(st.words[3], "/")
	}
	verdict, err := c.reviews.Access(ctx, namespace, a)
	if err != nil {
		return answer{err: err}
	}
	if st.options["answer"] != "" {
		return answer{text: strconv.FormatBool(verdict.Allowed)}
	}
	return answer{text: fmt.Sprintf("%t %s", verdict.Allowed, verdict.Reason)}
}
