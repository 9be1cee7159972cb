package faultplan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// Scenario is a policy with the cluster that it works in. It is immutable, and made once
// for many plans.
type Scenario struct {
	// Name is that of the policy.
	Name string
	// Versions are the texts of the policy; a plan begins with the first, and may go to
	// another.
	Versions []*policy.Program
	// Owners is the resource of the owners.
	Owners schema.GroupVersionResource
	// ClusterScoped: owners are in no namespace.
	ClusterScoped bool
	// Namespaces are where owners and children live.
	Namespaces []string
	// Objects are there before the plan: definitions, labels of namespaces, bystanders.
	Objects []*unstructured.Unstructured
	// Everywhere are the rights that Ambit has in the whole cluster, and Here those that it
	// has in each of the Namespaces, and may lose.
	Everywhere, Here []rbacv1.PolicyRule
	// OwnersIn are those of the Namespaces that owners are made in; nil: all.
	OwnersIn []string
	// Owner makes an owner. Variants of one owner differ in what their children are.
	Owner func(namespace, name string, variant int) *unstructured.Unstructured
	// Variants is how many there are.
	Variants int
	// Kept are the kinds of children that all variants and versions have: one is never
	// deleted while its owner lives.
	Kept []string
	// Keeps is how many objects of a forEach at least stay that are not wanted any more, in
	// each version; 0: none.
	Keeps int
	// Suspends is true if what an owner wants depends on what Ambit may not see without its
	// rights: nothing is removed then, and the owner says so.
	Suspends bool
	// Remembers is true if what is there at rest depends on what was there before, so that
	// there may be more than the reference has.
	Remembers bool
	// Workloads: plans may have the controllers of workloads; see sim.Options.
	Workloads bool
	// History are the fields of an owner's status that tell what was there before.
	History []string
	// Holds is true if owners carry a finalizer of Ambit's: a namespace with one goes only
	// while Ambit has its rights.
	Holds bool
	// Wide is true if an owner has children in several namespaces: while Ambit may not act in
	// one, it knows less of the others.
	Wide bool
	// Control is what the controller of a kind does, some time after each change: it is given a
	// copy of each object of the kind Controls, to write its spec or status, or take its finalizers
	// off; nil: it does nothing.
	Control  func(*unstructured.Unstructured)
	Controls string
	// Protected says whether the deletion of an owner is to be held back, by what there is;
	// nil: never.
	Protected func(program *policy.Program, owner *unstructured.Unstructured, all []*unstructured.Unstructured) bool
	// Unprotect is what users do so that it is not held back any more.
	Unprotect func(*World)
	// AtRest checks what only this scenario promises; nil: nothing.
	AtRest func(*judge, *World)
	// Extra makes actions of users that only this scenario has; nil: there are none.
	Extra func(*chooser) Action

	// Make makes the scenario that is meant, if this one stands for many; nil: it is itself.
	Make func(seed uint64) *Scenario

	recipes    []*recipe // of a generated policy, by version; nil: it was written
	references references
	base       base
	shared     *base // in place of base: that of all who have the same Objects, Namespaces and rights; nil: nobody else has
}

// root is the root of the module, from the directory of a test of package sim or of this
// one.
func root() string {
	if _, err := os.Stat("../../go.mod"); err == nil {
		return "../.."
	}
	return "../../.."
}

// load reads what the repository has for a policy: its text, its definitions and its rights.
func load(name string) (*Scenario, error) {
	program, err := compile(filepath.Join(root(), "policies", name+".yaml"), nil)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Name: name, Versions: []*policy.Program{program}}
	definitions, err := readObjects(filepath.Join(root(), "examples", name, "crd.yaml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	s.Objects = definitions
	granted, err := readObjects(filepath.Join(root(), "examples", name, "rbac.yaml"))
	if err != nil {
		return nil, err
	}
	for _, obj := range granted {
		rules, err := rulesOf(obj)
		if err != nil {
			return nil, err
		}
		switch {
		case obj.GetKind() == "ClusterRole":
			s.Everywhere = append(s.Everywhere, rules...)
		case obj.GetKind() == "Role" && len(s.Here) == 0:
			s.Here = rules
		}
	}
	return s, nil
}

// keepEverywhere leaves Ambit only its rights on these resources in the whole cluster, and
// moves the others to the namespaces, where they may go.
func (s *Scenario) keepEverywhere(resources ...string) {
	all := s.Everywhere
	s.Everywhere = nil
	for _, rule := range all {
		name, _, _ := strings.Cut(rule.Resources[0], "/")
		if slices.Contains(resources, name) {
			s.Everywhere = append(s.Everywhere, rule)
		} else {
			s.Here = append(s.Here, rule)
		}
	}
}

// addVersions adds a version of the policy for each edit of its text. An edit changes
// something, or the scenario is wrong.
func (s *Scenario) addVersions(edits ...func(string) string) error {
	for i, edit := range edits {
		changed := false
		program, err := compile(filepath.Join(root(), "policies", s.Name+".yaml"), func(text []byte) []byte {
			next := edit(string(text))
			changed = next != string(text)
			return []byte(next)
		})
		if err != nil {
			return fmt.Errorf("edit %d: %w", i, err)
		}
		if !changed {
			return fmt.Errorf("edit %d of policy %q changes nothing", i, s.Name)
		}
		s.Versions = append(s.Versions, program)
	}
	return nil
}

// policyLabel is the v1alpha1.PolicyLabel of the policy, whichever version it is in.
func (s *Scenario) policyLabel() string { return s.Versions[0].Label }

// compile reads a policy, changes its text if it is asked to, and compiles it.
func compile(path string, change func([]byte) []byte) (*policy.Program, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a policy: %w", err)
	}
	if change != nil {
		text = change(text)
	}
	return compileText(string(text))
}

func compileText(text string) (*policy.Program, error) {
	documents, err := syntax.Parse("policy.yaml", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("parsing a policy: %w", err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		return nil, fmt.Errorf("compiling a policy: %w", err)
	}
	return program, nil
}

func readObjects(path string) (objects []*unstructured.Unstructured, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading objects: %w", err)
	}
	return parseObjects(text)
}

func parseObjects(text []byte) (objects []*unstructured.Unstructured, err error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		switch err := decoder.Decode(&obj.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("parsing an object: %w", err)
		case len(obj.Object) > 0:
			objects = append(objects, obj)
		}
	}
}

func rulesOf(obj *unstructured.Unstructured) ([]rbacv1.PolicyRule, error) {
	if obj.GetKind() != "ClusterRole" && obj.GetKind() != "Role" {
		return nil, nil
	}
	role := &rbacv1.ClusterRole{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, role); err != nil {
		return nil, fmt.Errorf("converting %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	return role.Rules, nil
}

// object is one of a text that this package wrote itself.
func object(format string, args ...any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, format, args...), &obj.Object); err != nil {
		panic(fmt.Sprintf("an object of package faultplan: %v", err))
	}
	return obj
}
