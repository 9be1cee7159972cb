// Package permissions compares what policies need with what is granted, and says what
// grants the rest.
//
// FindNeeds returns the least grants of policies without a cluster. CompareNeeds asks a cluster:
// it finds the namespaces with owners where no policy names any, and has each need
// reviewed. A Comparison is then read by ListEntries, as a matrix, or by MissingObjects, as the
// objects that grant what is not granted yet.
//
// The package prints nothing and reads no flag. What its user should know on the way goes
// to a Reporter, in sentences that name the flags of `ambit rbac` and `ambit access`. It
// evaluates no Role: the API server is asked, by package access. Errors are those of
// the cluster. Which grants a policy needs, and how they read as Roles, is what the pure
// package rbac below this one knows.
package permissions

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Options say what is asked about which policies.
type Options struct {
	// Programs are the policies, as they run in the cluster: see policy.Program.InCluster.
	Programs []*policy.Program
	// Kinds finds the resources of their kinds. Required.
	Kinds *Kinds
	// Own is who Ambit runs as. Zero: the caller, which nothing can be granted to.
	Own rbac.Subject
	// OwnNamespace is as in rbac.Request.
	OwnNamespace string
	// Namespaces to work in, each once; empty: as the policies say.
	Namespaces []string
	// OwnersEverywhere and Finalizers are as in rbac.Request.
	OwnersEverywhere, Finalizers bool
	// WatchRBAC: Ambit's right to see changes of rights counts too.
	WatchRBAC bool
	// Serves reports whether a policy works on an owner in a namespace that it works in.
	// Only Compare calls it. Required there.
	Serves func(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) bool
	// Reporter is told what the user should know. Required.
	Reporter Reporter
}

// Reporter tells a user what does not stop the work.
type Reporter interface {
	// PrintWarning is called with a sentence without a full stop.
	PrintWarning(format string, args ...any)
	// ShowProgress is called when something begins that may take long. text says how far
	// it is, and is called in another goroutine, until stop is called.
	ShowProgress(text func() string) (stop func())
}

// Needs are what policies need, and where.
type Needs struct {
	// Grants are in the order of the policies, as rbac.NeededGrants returns them.
	Grants []rbac.Grant
	// Remarks are sentences about Grants, which the Reporter was told.
	Remarks []string
}

// FindNeeds returns the least that the policies need. One that no namespace limits works in
// all namespaces. No request is sent but by Kinds, whose error is returned.
func FindNeeds(ctx context.Context, o Options) (Needs, error) {
	if err := o.Kinds.FindAll(o.Programs); err != nil {
		return Needs{}, err
	}
	return o.collectNeeds(ctx, func(_ context.Context, request *rbac.Request) error {
		request.Namespaces = []string{rbac.Everywhere}
		return nil
	})
}

// collectNeeds returns what the policies need. locate fills in the namespaces of a policy that no
// namespace limits.
func (o Options) collectNeeds(ctx context.Context, locate func(context.Context, *rbac.Request) error) (Needs, error) {
	var needs Needs
	for _, program := range o.Programs {
		request, limited := o.requestFor(program)
		if !limited {
			if err := locate(ctx, &request); err != nil {
				return Needs{}, err
			}
		}
		grants, remarks := rbac.NeededGrants(ctx, request)
		needs.Grants = append(needs.Grants, grants...)
		for _, remark := range remarks {
			needs.Remarks = append(needs.Remarks, fmt.Sprintf("policy %q: %s", program.Name, remark))
		}
	}
	for _, remark := range needs.Remarks {
		o.Reporter.PrintWarning("%s", remark)
	}
	if o.WatchRBAC {
		needs.Grants = append(needs.Grants, rbac.WatchingGrant(o.Own))
	}
	return needs, nil
}

// requestFor is what is asked about one policy. limited reports whether namespaces limit it.
func (o Options) requestFor(program *policy.Program) (request rbac.Request, limited bool) {
	namespaces, limited := rbac.LimitNamespaces(program, o.Namespaces)
	request = rbac.Request{
		Program: program, Kind: o.Kinds.FoundKind, Own: o.Own, OwnNamespace: o.OwnNamespace, OwnersEverywhere: o.OwnersEverywhere, Finalizers: o.Finalizers,
		Namespaces: namespaces, Searched: namespaces, Elsewhere: o.Namespaces,
	}
	everywhere := []string{rbac.Everywhere}
	if len(o.Namespaces) == 0 {
		request.Elsewhere = everywhere
	}
	if !limited {
		request.Searched = everywhere
	}
	if limited && len(namespaces) == 0 && o.Kinds.FoundKind(program.Owner.GVK).Namespaced {
		o.Reporter.PrintWarning("policy %q has nothing to do: its scope and --namespaces have no namespace in common", program.Name)
		request.Elsewhere = nil
	}
	return request, limited
}

// GrantingObjects are the ServiceAccounts, Roles and bindings that grant what is needed. A
// ServiceAccount named default is left out: Kubernetes makes it with its namespace.
func (n Needs) GrantingObjects() []runtime.Object {
	var objects []runtime.Object
	for _, account := range rbac.ServiceAccounts(n.Grants) {
		if account.Name != "default" {
			objects = append(objects, account.ServiceAccount())
		}
	}
	for _, grant := range n.Grants {
		objects = append(objects, grant.GrantObjects(rbac.Present{})...)
	}
	return objects
}
