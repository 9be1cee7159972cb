package cli

import (
	"context"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// survey is what policies need, and what of it is allowed now.
type survey struct {
	cluster *cluster
	grants  []rbac.Grant
	allowed map[rbac.Check]bool
}

// survey asks the cluster. Policies without a limit are looked at where they have
// owners.
func (o *rightsOptions) survey(ctx context.Context, programs []*policy.Program, kinds *kindFinder, base rbac.Request) (*survey, error) {
	c, err := connect(o.Cluster)
	if err != nil {
		return nil, err
	}
	kinds.mapper = c.mapper
	s := &survey{cluster: c}
	if err := kinds.findAll(programs); err != nil {
		return nil, err
	}
	if s.grants, _, err = o.needed(ctx, programs, base, o.whereOwnersAre(c, kinds)); err != nil {
		return nil, err
	}
	s.allowed, err = o.review(ctx, c, s.grants)
	return s, err
}

// review asks whether what is in the grants is allowed.
func (o *rightsOptions) review(ctx context.Context, c *cluster, grants []rbac.Grant) (map[rbac.Check]bool, error) {
	var checks []rbac.Check
	for _, g := range grants {
		checks = append(checks, g.Checks()...)
	}
	reviews := newReviewer(c)
	stop := progress(o.ErrOut, func() string {
		return fmt.Sprintf("%d of %s are done", reviews.done.Load(), plural(len(checks), "access review"))
	})
	defer stop()
	return reviews.review(ctx, checks)
}

// whereOwnersAre looks for the owners of policies that no namespace limits, and
// whether Ambit can find them too.
func (o *rightsOptions) whereOwnersAre(c *cluster, kinds *kindFinder) places {
	return func(ctx context.Context, request *rbac.Request) (err error) {
		program := request.Program
		if !request.Kind(program.Owner.GVK).Namespaced {
			return nil // they are in no namespace, and found cluster-wide or not at all
		}
		stop := progress(o.ErrOut, func() string { return fmt.Sprintf("looking for owners of policy %q", program.Name) })
		request.Namespaces, err = c.ownerNamespaces(ctx, program, kinds.kind(program.Owner.GVK))
		stop() // before anything else is written to stderr
		if err != nil {
			return err
		}
		if len(request.Namespaces) == 0 {
			o.warn("policy %q has no owners: --namespaces says where to look", program.Name)
		}
		request.FindOwners, err = o.cannotFind(ctx, c, *request)
		return err
	}
}

// isAllowed answers a check of the grants.
func (s *survey) isAllowed(c rbac.Check) bool { return s.allowed[c] }

// willBeAllowed says whether the answer is yes, once the cluster-wide grants are
// applied.
func (s *survey) willBeAllowed(c rbac.Check) bool {
	everywhere := c
	everywhere.Namespace = rbac.Everywhere
	_, granted := s.allowed[everywhere]
	return s.isAllowed(c) || granted && c != everywhere
}
