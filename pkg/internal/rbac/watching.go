package rbac

// Watching returns the right to list and watch the objects of RBAC in all
// namespaces, with which Ambit follows changes of rights at once. It belongs to no
// policy, and is the same for all: its name has a colon where theirs have a dash.
func Watching(own Subject) Grant {
	g := Grant{Name: "ambit:watch-rbac", Subject: own, Namespace: Everywhere}
	for _, resource := range []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		g.Rules = append(g.Rules, Rule{Group: "rbac.authorization.k8s.io", Resource: resource, Verbs: []string{"list", "watch"}})
	}
	return g
}
