package permissions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

const (
	// reviewsAtOnce is how many access reviews are under way at the same time.
	reviewsAtOnce = 20
	// reviewRetries is how often a review is repeated that the API server puts off, as
	// for any request of client-go.
	reviewRetries = 10
)

// reviewer asks the API server what subjects may do. Safe for concurrent use.
type reviewer struct {
	config *rest.Config
	own    access.Client

	// refused: the caller may not review others, and impersonates them instead.
	refused atomic.Bool
	done    atomic.Int64 // reviews so far

	mu       sync.Mutex // guards subjects
	subjects map[rbac.Subject]access.Client
}

func newReviewer(c Cluster) *reviewer {
	return &reviewer{
		config: c.Config, own: access.Client{API: c.Typed.AuthorizationV1(), Retries: reviewRetries},
		subjects: map[rbac.Subject]access.Client{},
	}
}

// reviewAll answers the checks, each once. After an error no more are begun, and all
// errors there are come back as one.
func (r *reviewer) reviewAll(ctx context.Context, checks []rbac.Check) (map[rbac.Check]bool, error) {
	checks = uniqueChecks(checks)
	answers, failures := make([]bool, len(checks)), make([]error, len(checks))
	var (
		group  errgroup.Group
		failed atomic.Bool
	)
	group.SetLimit(reviewsAtOnce)
	for i, check := range checks {
		group.Go(func() error {
			if failed.Load() {
				return nil
			}
			answers[i], failures[i] = r.reviewOne(ctx, check)
			if failures[i] != nil {
				failed.Store(true)
			}
			r.done.Add(1)
			return nil
		})
	}
	if err := errors.Join(group.Wait(), joinUnique(failures)); err != nil {
		return nil, err
	}
	allowed := make(map[rbac.Check]bool, len(checks))
	for i, check := range checks {
		allowed[check] = answers[i]
	}
	return allowed, nil
}

// uniqueChecks returns the checks in their order, each once.
func uniqueChecks(checks []rbac.Check) []rbac.Check {
	seen := make(map[rbac.Check]bool, len(checks))
	return slices.DeleteFunc(slices.Clone(checks), func(c rbac.Check) bool {
		again := seen[c]
		seen[c] = true
		return again
	})
}

// joinUnique joins the errors that are not nil, those that read the same once.
func joinUnique(failures []error) error {
	var (
		kept []error
		said []string
	)
	for _, err := range failures {
		if err != nil && !slices.Contains(said, err.Error()) {
			kept, said = append(kept, err), append(said, err.Error())
		}
	}
	return errors.Join(kept...)
}

// reviewOne answers one check. The zero Subject is the caller; others are reviewed, or
// impersonated where that is refused. Errors name no verb and no namespace: the same
// trouble is to be said once.
func (r *reviewer) reviewOne(ctx context.Context, check rbac.Check) (bool, error) {
	question := questionOf(check)
	if question.User != "" && r.refused.Load() {
		return r.reviewAsSubject(ctx, check)
	}
	answer, err := r.own.Ask(ctx, question)
	if question.User != "" && apierrors.IsForbidden(err) {
		r.refused.Store(true)
		return r.reviewAsSubject(ctx, check)
	}
	return answer.Allowed, wrapReview(check, err)
}

// reviewAsSubject asks as the subject what it may do itself.
func (r *reviewer) reviewAsSubject(ctx context.Context, check rbac.Check) (bool, error) {
	client, err := r.clientAs(check.Subject)
	if err != nil {
		return false, err
	}
	question := questionOf(check)
	question.User, question.Groups = "", nil
	answer, err := client.Ask(ctx, question)
	if apierrors.IsForbidden(err) {
		return false, fmt.Errorf("cannot find out what %s may do: that takes the right to create subjectaccessreviews.authorization.k8s.io, or to impersonate: %w",
			check.Subject.UserName(), err)
	}
	return answer.Allowed, wrapReview(check, err)
}

// clientAs returns the client that impersonates the subject, the same for each call.
func (r *reviewer) clientAs(subject rbac.Subject) (access.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if client, known := r.subjects[subject]; known {
		return client, nil
	}
	if r.config.Impersonate.UserName != "" {
		return access.Client{}, fmt.Errorf("cannot find out what %s may do: %s may not create subjectaccessreviews.authorization.k8s.io",
			subject.UserName(), r.config.Impersonate.UserName)
	}
	config := rest.CopyConfig(r.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: subject.UserName()}
	api, err := authorizationv1client.NewForConfig(config)
	if err != nil {
		return access.Client{}, fmt.Errorf("preparing the client for reviews as %s: %w", subject.UserName(), err)
	}
	r.subjects[subject] = access.Client{API: api, Retries: reviewRetries}
	return r.subjects[subject], nil
}

// questionOf is a check as the API server is asked it; User is empty for the caller.
func questionOf(check rbac.Check) access.Question {
	question := access.Question{Namespace: check.Namespace, Access: access.Access{
		Verb: check.Verb, Group: check.Group, Resource: check.Resource, Subresource: check.Subresource, Name: check.Name,
	}}
	if check.Subject != (rbac.Subject{}) {
		question.User, question.Groups = check.Subject.UserName(), check.Subject.ImpliedGroups()
	}
	return question
}

// wrapReview says what was asked when err came; nil stays nil.
func wrapReview(check rbac.Check, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("asking what %s may do: %w", check.Subject, err)
}
