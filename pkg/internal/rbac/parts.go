package rbac

import (
	"fmt"

	"github.com/ambit-dev/ambit/pkg/policy"
)

func (s *search) owner() {
	places := s.Namespaces
	if s.OwnersEverywhere || !s.isNamespaced(s.Program.Owner.GVK) {
		places = []string{Everywhere}
	}
	for _, need := range s.ownerNeeds() {
		s.add(places, s.rule(need))
	}
}

// ownerNeeds are those of the owner alone.
func (s *search) ownerNeeds() []policy.Need {
	alone := policy.Program{Owner: s.Program.Owner}
	if s.Program.NeedsFinalizerFor(s.isNamespaced) {
		alone.Protect = &policy.Protect{} // it marks owners as well
	}
	needs := alone.Needs()
	if s.Finalizers {
		finalizers := needs[0]
		finalizers.Subresource, finalizers.Verbs = "finalizers", []string{"update"}
		needs = append(needs, finalizers)
	}
	return needs
}

func (s *search) child(child *policy.Child, f fixed) {
	places := s.Namespaces
	if child.CrossNamespace {
		places = s.there(child.ID, f, "metadata", "namespace")
	}
	s.object(child, f, places, policy.Program{Children: []*policy.Child{child}})
}

// ensured is in its own namespace, or in that of the policy.
func (s *search) ensured(child *policy.Child, f fixed) {
	places := []string{s.Program.Namespace}
	if namespace, known := f.text("metadata", "namespace"); !known || namespace != "" || s.Program.Namespace == "" {
		places = s.there(child.ID, f, "metadata", "namespace")
	}
	s.object(child, f, places, policy.Program{Ensured: []*policy.Child{child}})
}

// object notes what an object needs that is made in some places; alone is a program
// that has nothing else.
func (s *search) object(child *policy.Child, f fixed, places []string, alone policy.Program) {
	rule := s.needOf(alone)
	if s.isNamespaced(child.GVK) {
		s.add(places, rule)
	} else {
		places = []string{Everywhere}
		s.add(places, s.named(rule, f)...)
	}
	s.handOut(child, f, places)
}

// named are the rules for an object without a namespace.
func (s *search) named(rule Rule, f fixed) []Rule {
	if name, known := f.text("metadata", "name"); s.ByName && known && name != "" {
		return rule.split(name)
	}
	return []Rule{rule}
}

func (s *search) watch(w *policy.Watch, name, namespace fixed) {
	rule := s.needOf(policy.Program{Watches: []*policy.Watch{w}})
	switch isNamespaced := s.isNamespaced(w.GVK); {
	case !isNamespaced:
		if s.ByName {
			rule.Name, _ = name.text()
		}
		s.add([]string{Everywhere}, rule)
	case w.Namespace != nil:
		s.add(s.there(w.ID, namespace), rule)
	case w.AllNamespaces:
		s.add(s.Searched, rule)
	case !s.isNamespaced(s.Program.Owner.GVK): // they are in all namespaces
		s.add([]string{Everywhere}, rule)
	default:
		s.add(s.Namespaces, rule)
	}
}

// there are the places of a part that says itself where it is.
func (s *search) there(id string, f fixed, path ...string) []string {
	if namespace, known := f.text(path...); known && namespace != "" {
		return []string{namespace}
	}
	s.roaming = append(s.roaming, fmt.Sprintf("%q", id))
	return s.Elsewhere
}

// needOf is what a program with one part needs for that.
func (s *search) needOf(alone policy.Program) Rule {
	alone.Owner = policy.Owner{SkipStatus: true}
	return s.rule(alone.Needs()[1])
}

func (s *search) rule(n policy.Need) Rule {
	resource := s.Kind(n.GVK).Resource
	return Rule{Group: resource.Group, Resource: resource.Resource, Subresource: n.Subresource, Verbs: n.Verbs, Parts: n.Parts}
}
