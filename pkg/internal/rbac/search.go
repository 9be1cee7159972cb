package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// search goes through the parts of a policy and collects what they need, and where.
type search struct {
	Request
	fixed   map[*policy.Child]fixed
	rules   []placed
	roaming []string // parts whose namespaces only owners say
	remarks []string
}

// placed is a rule in a place.
type placed struct {
	place string
	rule  Rule
}

func (r Request) search(ctx context.Context) *search {
	known := constants(ctx, r.Program)
	s := &search{Request: r, fixed: map[*policy.Child]fixed{}}
	for _, child := range slices.Concat(r.Program.Children, r.Program.Ensured) {
		s.fixed[child] = fix(ctx, child.Template, known)
	}
	s.owner()
	for _, child := range r.Program.Children {
		s.child(child, s.fixed[child])
	}
	for _, w := range r.Program.Watches {
		s.watch(w, fix(ctx, w.Name, known), fix(ctx, w.Namespace, known))
	}
	for _, child := range r.Program.Ensured {
		s.ensured(child, s.fixed[child])
	}
	if r.Program.NamespaceSelector != nil {
		s.add([]string{Everywhere}, Rule{Resource: "namespaces", Verbs: []string{"list", "watch"}, Parts: []string{"namespaceSelector"}})
	}
	if s.roams() {
		s.remarks = append([]string{fmt.Sprintf("only owners say in which namespaces %s may be: rights for that are in all, unless --namespaces names some",
			strings.Join(s.roaming, ", "))}, s.remarks...)
	}
	return s
}

// roams says whether rights are for all namespaces only because it is owners who say
// in which of them they are needed.
func (s *search) roams() bool {
	return len(s.roaming) > 0 && slices.Contains(s.Elsewhere, Everywhere) && !slices.Contains(s.Namespaces, Everywhere)
}

// add notes rules for places.
func (s *search) add(places []string, rules ...Rule) {
	if slices.Contains(places, Everywhere) {
		places = []string{Everywhere}
	}
	for _, place := range places {
		for _, rule := range rules {
			if len(rule.Verbs) > 0 {
				s.rules = append(s.rules, placed{place, rule})
			}
		}
	}
}

// at are the rules for a place.
func (s *search) at(place string) []Rule {
	var rules []Rule
	for _, p := range s.rules {
		if p.place == place {
			rules = append(rules, p.rule)
		}
	}
	return rules
}

// places are all that there are rules for but Everywhere, those of the request first.
func (s *search) places() []string {
	places := slices.Clone(s.Namespaces)
	for _, p := range s.rules {
		if !slices.Contains(places, p.place) {
			places = append(places, p.place)
		}
	}
	return slices.DeleteFunc(places, func(place string) bool { return place == Everywhere })
}
