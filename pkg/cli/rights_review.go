package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
)

// reviewsAtOnce is how many access reviews are under way at the same time.
const reviewsAtOnce = 20

// reviewer asks the API server what subjects may do. Safe for concurrent use.
type reviewer struct {
	config *rest.Config
	own    authorizationv1client.AuthorizationV1Interface

	// refused: the caller may not review others, and impersonates them instead.
	refused atomic.Bool
	done    atomic.Int64 // reviews so far

	mu       sync.Mutex // guards subjects
	subjects map[rbac.Subject]authorizationv1client.AuthorizationV1Interface
}

func newReviewer(c *cluster) *reviewer {
	return &reviewer{
		config: c.config, own: c.typed.AuthorizationV1(),
		subjects: map[rbac.Subject]authorizationv1client.AuthorizationV1Interface{},
	}
}

// review answers the checks, each once. After an error no more are begun, and all
// errors there are come back as one.
func (r *reviewer) review(ctx context.Context, checks []rbac.Check) (map[rbac.Check]bool, error) {
	checks = unique(checks)
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
			answers[i], failures[i] = r.ask(ctx, check)
			if failures[i] != nil {
				failed.Store(true)
			}
			r.done.Add(1)
			return nil
		})
	}
	if err := errors.Join(group.Wait(), joinUnique(failures)); err != nil {
		return nil, clusterError(err)
	}
	allowed := make(map[rbac.Check]bool, len(checks))
	for i, check := range checks {
		allowed[check] = answers[i]
	}
	return allowed, nil
}

// unique returns the checks in their order, each once.
func unique(checks []rbac.Check) []rbac.Check {
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

// ask answers one check. The zero Subject is the caller; others are reviewed, or
// impersonated where that is refused.
func (r *reviewer) ask(ctx context.Context, check rbac.Check) (bool, error) {
	if check.Subject == (rbac.Subject{}) {
		allowed, err := askSelf(ctx, r.own, check)
		return allowed, wrapReview(check, err)
	}
	if r.refused.Load() {
		return r.askAs(ctx, check)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: attributes(check), User: check.Subject.User(), Groups: check.Subject.Groups(),
	}}
	answer, err := r.own.SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		r.refused.Store(true)
		return r.askAs(ctx, check)
	}
	if err != nil {
		return false, wrapReview(check, err)
	}
	return answer.Status.Allowed, nil
}

// askAs asks as the subject what it may do itself.
func (r *reviewer) askAs(ctx context.Context, check rbac.Check) (bool, error) {
	client, err := r.as(check.Subject)
	if err != nil {
		return false, err
	}
	allowed, err := askSelf(ctx, client, check)
	if apierrors.IsForbidden(err) {
		return false, fmt.Errorf("cannot find out what %s may do: that takes the right to create subjectaccessreviews.authorization.k8s.io, or to impersonate: %w",
			check.Subject.User(), err)
	}
	return allowed, wrapReview(check, err)
}

// as returns the client that impersonates the subject, the same for each call.
func (r *reviewer) as(subject rbac.Subject) (authorizationv1client.AuthorizationV1Interface, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if client := r.subjects[subject]; client != nil {
		return client, nil
	}
	if r.config.Impersonate.UserName != "" {
		return nil, fmt.Errorf("cannot find out what %s may do: %s may not create subjectaccessreviews.authorization.k8s.io",
			subject.User(), r.config.Impersonate.UserName)
	}
	config := rest.CopyConfig(r.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: subject.User()}
	client, err := authorizationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the client for reviews as %s: %w", subject.User(), err)
	}
	r.subjects[subject] = client
	return client, nil
}

func askSelf(ctx context.Context, client authorizationv1client.AuthorizationV1Interface, check rbac.Check) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(check)},
	}
	answer, err := client.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

func attributes(check rbac.Check) *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{
		Namespace: check.Namespace, Verb: check.Verb, Group: check.Group, Version: "*",
		Resource: check.Resource, Subresource: check.Subresource, Name: check.Name,
	}
}

// wrapReview says what was asked when err came; nil stays nil. It names no verb
// and no namespace: the same trouble is to be said once.
func wrapReview(check rbac.Check, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("asking what %s may do: %w", shownSubject(check.Subject), err)
}

// shownSubject is the subject in messages.
func shownSubject(subject rbac.Subject) string {
	if subject == (rbac.Subject{}) {
		return "the caller"
	}
	return subject.User()
}
