package policy

// defaultAccount is the ServiceAccount of a Pod that names none.
const defaultAccount = "default"

// InCluster returns the program as it runs when the policy stands in the cluster, in a
// ConfigMap or as a custom resource, and own is the namespace of the Ambit that runs it.
// The receiver stays as it is, and is what is returned for a policy without namespace.
//
// A policy in Ambit's own namespace acts as Ambit unless it names a ServiceAccount. One in
// any other namespace acts as a ServiceAccount of that namespace, always: whoever
// writes it there gets no right that they could not take by running a Pod. And it serves
// owners of that namespace unless it says a scope: the policies of two teams for one kind
// are not in each other's way.
//
// This is the only place that decides so. It is not for a policy from a file, which acts
// as Ambit wherever its metadata.namespace says.
func (p *Program) InCluster(own string) *Program {
	if p.Namespace == "" || p.Namespace == own {
		return p
	}
	as := *p
	if as.ServiceAccount == "" {
		as.ServiceAccount = defaultAccount
	}
	if !p.HasScope() {
		as.Namespaces = []string{p.Namespace}
		as.Hash += " in " + p.Namespace // the same text elsewhere is another program
	}
	return &as
}

// HasScope says whether the program says where its owners are. An empty scope says nothing.
func (p *Program) HasScope() bool {
	return len(p.Namespaces) > 0 || len(p.Exclude) > 0 || p.NamespaceSelector != nil
}

// Identity returns the user name of the ServiceAccount that the policy acts as,
// or empty for Ambit itself.
func (p *Program) Identity() string {
	if p.ServiceAccount == "" {
		return ""
	}
	return "system:serviceaccount:" + p.Namespace + ":" + p.ServiceAccount
}
