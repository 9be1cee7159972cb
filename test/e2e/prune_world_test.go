package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// prunePolicy has a child of each way in which a child can be tied to its owner; all
// but the first have an object for each item of a list that a watch reads, and each
// depends on the one before. Annotations of the owner make its expressions fail. The
// arguments are its name and namespace, which is the other namespace as well, the
// group of its kinds, and the owner's namespace; then more of its spec.
const prunePolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}%[5]s
  watches:
    - {id: lists, apiVersion: %[3]s/v1, kind: Listing, name: "${owner.metadata.name}"}
  children:
    - id: first
      when: bool(owner.metadata.?annotations[?'when'].orValue('true'))
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: first}
        data: {text: "${string(int(owner.metadata.?annotations[?'number'].orValue('1')))}"}
    - id: near # controller ownerReferences
      dependsOn: [first]
      forEach: {as: item, in: "int(owner.metadata.?annotations[?'factor'].orValue('1')) > 0 ? lists[0].spec.items : []"}
      template: {apiVersion: v1, kind: Secret, metadata: {name: "near-${item}"}}
    - id: asked # it is there as long as others are ready
      when: ready(near)
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: asked}}
    - id: far # a record: another namespace
      dependsOn: [near]
      forEach: {as: item, in: "lists[0].spec.items"}
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "far-${item}", namespace: %[2]s}}
    - id: roles # a record: no namespace
      dependsOn: [far]
      forEach: {as: item, in: "lists[0].spec.items"}
      template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "%[1]s-${item}"}, rules: []}
    - id: boxes # a record: a kind that may go
      dependsOn: [roles]
      when: bool(owner.metadata.?annotations[?'box'].orValue('true'))
      forEach: {as: item, in: "lists[0].spec.items"}
      template: {apiVersion: %[3]s/v1, kind: Box, metadata: {name: "box-${item}", namespace: %[2]s}, spec: {size: 1}}
    - id: marks # fields in objects of others
      dependsOn: [boxes]
      existing: Merge
      forEach: {as: item, in: "lists[0].spec.items"}
      template:
        apiVersion: v1
        kind: Namespace
        metadata: {name: "${item == 'a' ? '%[4]s' : '%[2]s'}", annotations: {prune.example.com/item: "${item}"}}
    - id: left # a record: it stays
      dependsOn: [near]
      onDelete: Orphan
      forEach: {as: item, in: "lists[0].spec.items"}
      template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "left-${item}"}}
`

// pruning is the story of one owner of prunePolicy.
type pruning struct {
	*world
	name       string // of the policy
	home, away string // namespaces: the owner's, and another one
	group      string
	program    *policy.Program
	config     *rest.Config
	takers     map[string]func() // what takes a right away, by its name
	// The rest is of the running Ambit.
	sent *deletions
	log  string
	stop func() // may be called more than once
}

// The rights by the names that takers has them under.
func (p *pruning) rights() map[string][]rbacv1.PolicyRule {
	owners := rightsOn("memcacheds", "memcacheds/status")
	return map[string][]rbacv1.PolicyRule{
		"owners":   owners,
		"marks":    {{APIGroups: owners[0].APIGroups, Resources: []string{"memcacheds"}, Verbs: []string{"patch"}}},
		"listings": {{APIGroups: []string{p.group}, Resources: []string{"listings"}, Verbs: []string{"list", "watch"}}},
		"near":     {rightsTo("", "secrets")},
		"at-home":  {rightsTo("", "configmaps", "serviceaccounts")},
	}
}

func (p *pruning) rightsAway() map[string][]rbacv1.PolicyRule {
	far := rightsTo("", "configmaps")
	far.Verbs = slices.DeleteFunc(far.Verbs, func(verb string) bool { return verb == "delete" })
	return map[string][]rbacv1.PolicyRule{
		"far":        {far},
		"delete-far": {{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"delete"}}},
		"boxes":      {rightsTo(p.group, "boxes")},
	}
}

// newPruning makes the namespaces, kinds and rights, an owner with items a and b, and
// has Ambit serve it, as an account of its own. spec is more of the policy's spec.
func newPruning(t *testing.T, spec string) *pruning {
	t.Helper()
	p := &pruning{world: newWorld(t, ""), takers: map[string]func(){}, sent: &deletions{}, stop: func() {}}
	p.home, p.away = p.control.Namespace(t.Context(), t, "prune"), p.control.Namespace(t.Context(), t, "prune")
	p.name, p.group = p.away, p.home+".example.com"
	p.user = "system:serviceaccount:" + p.home + ":ambit"
	var err error
	if p.config, err = p.control.ServiceAccount(t.Context(), p.home, "ambit"); err != nil {
		t.Fatal(err)
	}
	p.program = program(t, "prune.yaml", p.text(spec))
	p.makeKind(p.group, "listings", "Listing")
	p.makeKind(p.group, "boxes", "Box")
	for name := range p.rights() {
		p.give(p.home, name)
	}
	for name := range p.rightsAway() {
		p.give(p.away, name)
	}
	p.grantEverywhere("wide", rightsTo(rbacv1.GroupName, "clusterroles"),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch", "patch"}})
	p.decided("", true, rightsTo(rbacv1.GroupName, "clusterroles"))
	t.Cleanup(p.letGo)
	p.items("a", "b")
	p.createOwner(p.home, "one", 1)
	return p
}

// text is the policy as a document.
func (p *pruning) text(spec string) []byte {
	return fmt.Appendf(nil, prunePolicy, p.name, p.away, p.group, p.home, spec)
}

// give gives a right by its name.
func (p *pruning) give(namespace, name string) {
	p.t.Helper()
	rules := p.rulesOf(namespace, name)
	p.takers[name] = p.flapAllow(namespace, name, p.user, rules...)
	p.decided(namespace, true, rules...)
}

func (p *pruning) rulesOf(namespace, name string) []rbacv1.PolicyRule {
	if namespace == p.away {
		return p.rightsAway()[name]
	}
	return p.rights()[name]
}

// items sets the list that all children are made by.
func (p *pruning) items(names ...string) {
	p.t.Helper()
	text := fmt.Sprintf("{apiVersion: %s/v1, kind: Listing, metadata: {name: one, namespace: %s}, spec: {items: [%s]}}", p.group, p.home, strings.Join(names, ","))
	p.eventually("the list is set", func(ctx context.Context) error { return p.control.Apply(ctx, []byte(text)) })
}

// annotate sets an annotation of the owner; "": it is removed.
func (p *pruning) annotate(key, value string) {
	p.t.Helper()
	text := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if value == "" {
		text = fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, key)
	}
	p.patchOwner(text)
}

func (p *pruning) patchOwner(text string) {
	p.t.Helper()
	_, err := p.objects.Resource(memcacheds).Namespace(p.home).Patch(p.t.Context(), "one", types.MergePatchType, []byte(text), metav1.PatchOptions{})
	if err != nil {
		p.t.Fatalf("patching the owner: %v", err)
	}
}

// run runs Ambit with the policy until stop. What was sent by the one before is
// forgotten.
func (p *pruning) run(edits ...func(*manager.Options)) {
	p.t.Helper()
	if p.sent.isUsed() {
		p.sent = &deletions{}
	}
	config := rest.CopyConfig(p.config)
	config.Wrap(p.sent.wrap)
	p.log = filepath.Join(p.t.TempDir(), "log")
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	o := manager.Options{Config: config, Programs: []*policy.Program{p.program}, Namespaces: []string{p.home}}
	o.Logger = funcr.New(func(prefix, args string) { _, _ = fmt.Fprintf(file, "%s: %s\n", prefix, args) }, funcr.Options{LogTimestamp: true})
	for _, edit := range edits {
		edit(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, stopped := make(chan error, 1), false
	go func() { done <- manager.Run(ctx, o) }()
	p.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("running Ambit: %v", err)
		}
		_ = file.Close()
		if p.t.Failed() {
			p.t.Logf("the end of Ambit's log:\n%s", p.said())
		}
	}
	p.t.Cleanup(p.stop)
}

// said is the end of the log.
func (p *pruning) said() []byte {
	data, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Error(err)
	}
	return data[max(0, len(data)-6000):]
}

// says waits until the owner's condition Ready is False and its message has all words.
func (p *pruning) says(words ...string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("the owner says %q", words), func(ctx context.Context) error {
		owner, err := p.owner(ctx, p.home, "one")
		if err != nil {
			return err
		}
		c := conditionOf(owner, v1alpha1.ConditionReady)
		text := fmt.Sprint(c["status"], " ", c["reason"], " ", c["message"])
		for _, word := range append(words, "False") {
			if !strings.Contains(text, word) {
				return fmt.Errorf("it says %s", text)
			}
		}
		return nil
	})
}

func (p *pruning) isReady() {
	p.t.Helper()
	p.condition(p.home, "one", v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
}

// isGone waits until the owner is gone, and returns how long that took.
func (p *pruning) isGone() time.Duration {
	p.t.Helper()
	began := time.Now()
	p.eventually("the owner is gone", func(ctx context.Context) error {
		if _, err := p.owner(ctx, p.home, "one"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v %s", err, p.ownerText(ctx))
		}
		return nil
	})
	return time.Since(began)
}

// nothingRemoved fails the test if anything was deleted since the mark, by the audit
// log, or taken back from a Namespace.
func (p *pruning) nothingRemoved(mark cluster.Mark, when string) {
	p.t.Helper()
	p.none(mark, "a deletion "+when, isPruneDeletion)
	if list := p.sent.releases(); len(list) > 0 {
		p.t.Errorf("fields taken back %s: %v", when, list)
	}
}

func isPruneDeletion(r cluster.Request) bool {
	return r.Verb == "delete" || r.Verb == "deletecollection"
}

// forgetStatus makes the owner one that was never told anything: Ambit tells it sooner
// what it waits for.
func (p *pruning) forgetStatus() {
	p.t.Helper()
	_, err := p.objects.Resource(memcacheds).Namespace(p.home).Patch(p.t.Context(), "one", types.MergePatchType, []byte(`{"status":null}`), metav1.PatchOptions{}, "status")
	if err != nil {
		p.t.Fatalf("removing the status: %v", err)
	}
}

// letGo removes what a story that failed leaves for good.
func (p *pruning) letGo() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), patience)
	defer cancel()
	_, _ = p.objects.Resource(memcacheds).Namespace(p.home).Patch(ctx, "one", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	for _, item := range []string{"a", "b"} {
		for _, k := range p.objectsOf(item) {
			_, _ = p.client(k).Patch(ctx, k.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			_ = p.client(k).Delete(ctx, k.name, metav1.DeleteOptions{})
		}
	}
}
