package cli

import (
	"context"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// runMissing prints what is not granted yet.
func (o *rbacOptions) runMissing(ctx context.Context, programs []*policy.Program, kinds *kindFinder, base rbac.Request) error {
	s, err := o.survey(ctx, programs, kinds, base)
	if err != nil {
		return err
	}
	found, err := o.missingAccounts(ctx, s)
	if err != nil {
		return err
	}
	for _, g := range s.grants {
		missing, err := o.missingObjects(ctx, s, g)
		if err != nil {
			return err
		}
		found = append(found, missing...)
	}
	if len(found) == 0 {
		fmt.Fprintln(o.ErrOut, "nothing is missing")
	}
	return printObjects(o.Out, o.Output, found)
}

// missingAccounts are the ServiceAccounts that are not there.
func (o *rbacOptions) missingAccounts(ctx context.Context, s *survey) ([]any, error) {
	var missing []rbac.Subject
	for _, account := range rbac.Accounts(s.grants) {
		exists, known, err := s.cluster.hasAccount(ctx, account)
		if err != nil {
			return nil, err
		}
		if !known {
			o.warn("cannot see whether ServiceAccount %s/%s is there", account.Namespace, account.Name)
		}
		if known && !exists {
			missing = append(missing, account)
		}
	}
	return accounts(missing), nil
}

// missingObjects are the Role and the binding that grant what is missing of g. If
// their present content cannot be seen they grant all of g, so that applying them
// takes nothing away that the policy needs.
func (o *rbacOptions) missingObjects(ctx context.Context, s *survey, g rbac.Grant) ([]any, error) {
	lacking := g.Lacking(s.willBeAllowed)
	if len(lacking.Rules) == 0 {
		return nil, nil
	}
	present, known, err := s.cluster.present(ctx, lacking)
	if err != nil {
		return nil, err
	}
	if !known {
		o.warn("cannot see what Role and binding %q hold now: they are printed with all that %s needs", g.Name, shownNeeder(g))
		return grantObjects(g, rbac.Present{}), nil
	}
	if g.Exceeds(present) {
		o.warn("Role or binding %q %s holds more than %s needs: that stays in it", g.Name, shownPlace(g.Namespace), shownNeeder(g))
	}
	return grantObjects(lacking, present), nil
}

// shownPlace is the namespace of a grant in a sentence.
func shownPlace(namespace string) string {
	if namespace == rbac.Everywhere {
		return "for all namespaces"
	}
	return fmt.Sprintf("in namespace %q", namespace)
}

// shownNeeder is who needs a grant in a sentence.
func shownNeeder(g rbac.Grant) string {
	if g.Policy == "" {
		return "--watch-rbac"
	}
	return fmt.Sprintf("policy %q", g.Policy)
}
