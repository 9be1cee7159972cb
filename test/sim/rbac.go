package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

const rbacGroup = rbacv1.GroupName

// authorizer decides by the RBAC objects as it has seen them, which may be a while ago.
// The server's mu guards it.
type authorizer struct {
	lag    time.Duration
	unread []rbacChange // what it has not seen yet, oldest first

	roles    map[types.NamespacedName][]rbacv1.PolicyRule // namespace "" for ClusterRoles
	bindings map[types.NamespacedName]binding             // namespace "" for ClusterRoleBindings
	decided  map[place]rules                              // as long as nothing changes
}

// place is where a user has rights.
type place struct{ user, namespace string }

// rules are those that hold, and what stands in the way of knowing all of them.
type rules struct {
	granted []granted
	missing []error
}

// rbacChange is a change of an RBAC object as the authorizer sees it. It never changes, but
// for its time: clones share it.
type rbacChange struct {
	at    time.Time // when the authorizer sees it
	key   types.NamespacedName
	role  bool // of a Role or ClusterRole; else of a binding
	gone  bool
	rules []rbacv1.PolicyRule // of the role
	binding
}

type binding struct {
	types.NamespacedName
	subjects []rbacv1.Subject
	role     rbacv1.RoleRef
}

func newAuthorizer(lag time.Duration) *authorizer {
	return &authorizer{lag: lag, roles: map[types.NamespacedName][]rbacv1.PolicyRule{}, bindings: map[types.NamespacedName]binding{}, decided: map[place]rules{}}
}

// noteLocked takes a change of an RBAC object in, for when its time has come.
func (a *authorizer) noteLocked(plural string, c change) {
	noted := rbacChange{at: time.Now().Add(a.lag), role: plural == "roles" || plural == "clusterroles", gone: c.new == nil}
	switch {
	case noted.gone:
		noted.key = keyOf(c.old)
	case noted.role:
		var role rbacv1.Role // a ClusterRole has the same rules
		mustConvert(c.new, &role)
		noted.key, noted.rules = keyOf(c.new), role.Rules
	default:
		var b rbacv1.RoleBinding
		mustConvert(c.new, &b)
		noted.key = keyOf(c.new)
		noted.binding = binding{noted.key, b.Subjects, b.RoleRef}
	}
	a.unread = append(a.unread, noted)
}

// catchUp sees the changes whose time has come.
func (a *authorizer) catchUp() {
	for len(a.unread) > 0 && !a.unread[0].at.After(time.Now()) {
		a.see(a.unread[0])
		a.unread = a.unread[1:]
	}
}

func (a *authorizer) see(c rbacChange) {
	clear(a.decided)
	switch {
	case c.gone && c.role:
		delete(a.roles, c.key)
	case c.gone:
		delete(a.bindings, c.key)
	case c.role:
		a.roles[c.key] = c.rules
	default:
		a.bindings[c.key] = c.binding
	}
}

// mustConvert reads an object that was decoded through this type before.
func mustConvert(obj *unstructured.Unstructured, into any) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into); err != nil {
		panic(fmt.Sprintf("sim: reading %s %s: %v", obj.GetKind(), obj.GetName(), err))
	}
}

// groupsOf are the groups that the API server gives a user.
func groupsOf(user string) []string {
	groups := []string{"system:authenticated"}
	if user == Admin {
		groups = append(groups, "system:masters")
	}
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(account, ":")
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return groups
}

// granted is a rule that holds for a user, and where it comes from.
type granted struct {
	rule rbacv1.PolicyRule
	by   binding
}

// rulesOf returns the rules that hold for a user in a namespace, "" for those that hold
// everywhere, and what stands in the way of knowing all of them.
func (a *authorizer) rulesOf(user, namespace string) (rules []granted, missing []error) {
	a.catchUp()
	known, ok := a.decided[place{user, namespace}]
	if !ok {
		known.granted, known.missing = a.collect(user, namespace)
		a.decided[place{user, namespace}] = known
	}
	return known.granted, known.missing
}

func (a *authorizer) collect(user, namespace string) (rules []granted, missing []error) {
	groups := groupsOf(user)
	if slices.Contains(groups, "system:masters") {
		everything := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
		return []granted{{rule: everything}}, nil
	}
	for _, key := range slices.SortedFunc(maps.Keys(a.bindings), compareKeys) {
		b := a.bindings[key]
		if key.Namespace != "" && key.Namespace != namespace || !b.isFor(user, groups) {
			continue
		}
		role := types.NamespacedName{Name: b.role.Name}
		if b.role.Kind == "Role" {
			role.Namespace = key.Namespace
		}
		found, ok := a.roles[role]
		if !ok {
			missing = append(missing, fmt.Errorf("%s.%s %q not found", strings.ToLower(b.role.Kind), rbacGroup, b.role.Name))
		}
		for _, rule := range found {
			rules = append(rules, granted{rule, b})
		}
	}
	return rules, missing
}

func (b binding) isFor(user string, groups []string) bool {
	return slices.ContainsFunc(b.subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.UserKind:
			return s.Name == user
		case rbacv1.GroupKind:
			return slices.Contains(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			namespace := s.Namespace
			if namespace == "" {
				namespace = b.Namespace
			}
			return user == "system:serviceaccount:"+namespace+":"+s.Name
		}
		return false
	})
}

// decide reports whether a user has a right, and why.
func (a *authorizer) decide(user string, r authorizationv1.ResourceAttributes) (allowed bool, reason string) {
	rules, missing := a.rulesOf(user, r.Namespace)
	for _, g := range rules {
		if allows(g.rule, r) {
			return true, g.reason(user)
		}
	}
	if len(missing) > 0 {
		return false, fmt.Sprintf("RBAC: %v", utilerrors.NewAggregate(missing))
	}
	return false, ""
}

// permits reports whether a user has a right.
func (a *authorizer) permits(user string, r authorizationv1.ResourceAttributes) bool {
	rules, _ := a.rulesOf(user, r.Namespace)
	return slices.ContainsFunc(rules, func(g granted) bool { return allows(g.rule, r) })
}

func (g granted) reason(user string) string {
	if g.by.Name == "" {
		return ""
	}
	kind, name := "ClusterRoleBinding", g.by.Name
	if g.by.Namespace != "" {
		kind, name = "RoleBinding", g.by.Name+"/"+g.by.Namespace
	}
	subject := fmt.Sprintf("User %q", user)
	for _, s := range g.by.subjects {
		if s.Kind == rbacv1.GroupKind && slices.Contains(groupsOf(user), s.Name) {
			subject = fmt.Sprintf("Group %q", s.Name)
			break
		}
		if s.Kind == rbacv1.ServiceAccountKind {
			subject = fmt.Sprintf("ServiceAccount %q", s.Name+"/"+s.Namespace)
		}
	}
	return fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s", kind, name, g.by.role.Kind, g.by.role.Name, subject)
}

// allows reports whether a rule grants a right.
func allows(rule rbacv1.PolicyRule, r authorizationv1.ResourceAttributes) bool {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return has(rule.Verbs, r.Verb) && has(rule.APIGroups, r.Group) &&
		(has(rule.Resources, resource) || r.Subresource != "" && slices.Contains(rule.Resources, "*/"+r.Subresource)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
}

func has(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

// permitLocked refuses what the user may not do, and who they may not act as.
func (s *Server) permitLocked(r Request) error {
	if r.Impersonated != "" {
		if err := s.permitImpersonation(r); err != nil {
			return err
		}
	}
	return s.refusal(r.actor(), attributesOf(r))
}

func attributesOf(r Request) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: r.Verb, Group: r.Resource.Group, Resource: r.Resource.Resource, Subresource: r.Subresource,
		Namespace: namespaceOf(r), Name: nameOf(r),
	}
}

// nameOf is the name in the path: that of a new object is in the body only.
func nameOf(r Request) string {
	if r.Verb == "create" && r.Subresource == "" && !r.applies {
		return ""
	}
	return r.Name
}

// namespaceOf is where a right is asked for: a namespace is in itself.
func namespaceOf(r Request) string {
	if r.Resource.Resource == "namespaces" && r.Resource.Group == "" && r.Namespace == "" {
		return r.Name
	}
	return r.Namespace
}

func (s *Server) permitImpersonation(r Request) error {
	wanted, mode := authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "users", Name: r.Impersonated}, "user-info"
	if account, ok := strings.CutPrefix(r.Impersonated, "system:serviceaccount:"); ok {
		wanted.Resource, mode = "serviceaccounts", "serviceaccount"
		wanted.Namespace, wanted.Name, _ = strings.Cut(account, ":")
	}
	refused := s.refusal(r.User, wanted)
	if refused == nil {
		s.actors[r.User] = true
		return nil
	}
	if s.actors[r.User] {
		return refused
	}
	// To who has never acted as anybody the refusal names the narrower right that would
	// do as well for this request.
	narrow := attributesOf(r)
	narrow.Verb = "impersonate-on:" + mode + ":" + r.Verb
	return s.refusal(r.User, narrow)
}

// refusal is the 403 of a user who lacks a right; nil if they have it.
func (s *Server) refusal(user string, r authorizationv1.ResourceAttributes) error {
	if s.authorizer.permits(user, r) {
		return nil
	}
	_, reason := s.authorizer.decide(user, r)
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	where := "at the cluster scope"
	if r.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", r.Namespace)
	}
	text := fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", user, r.Verb, resource, r.Group, where)
	if reason != "" {
		text += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Name, errors.New(text))
}

// permitCreate is asked when an apply is about to make an object.
func (c *call) permitCreate() error {
	r := c.Request
	r.Verb, r.applies = "create", true
	return c.refusal(r.actor(), attributesOf(r))
}
