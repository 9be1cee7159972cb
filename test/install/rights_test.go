package install

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// rights are all that the author, Ambit and the default account may do in several
// namespaces, as the API server says.
func rights(t *testing.T, namespace string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	configs := map[string]*rest.Config{"author": control.User(author)}
	for name, in := range map[string]string{"default": namespace, "ambit": home} {
		config, err := control.ServiceAccount(t.Context(), in, name)
		if err != nil {
			t.Fatal(err)
		}
		configs[name] = config
	}
	for who, config := range configs {
		for _, in := range []string{namespace, home, "kube-system", "default"} {
			if who == "ambit" && in == namespace {
				continue // the test itself lets it impersonate there
			}
			found[who+" in "+in] = rules(t, config, in)
		}
	}
	return found
}

func rules(t *testing.T, config *rest.Config, namespace string) []string {
	t.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := typedClient(t, config).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || answer.Status.Incomplete {
		t.Fatalf("asking for rights: %v, %+v", err, answer.Status)
	}
	var found []string
	for _, r := range answer.Status.ResourceRules {
		found = append(found, fmt.Sprintf("%q of %q in %q, names %q", r.Verbs, r.Resources, r.APIGroups, r.ResourceNames))
	}
	for _, r := range answer.Status.NonResourceRules {
		found = append(found, fmt.Sprintf("%q of %q", r.Verbs, r.NonResourceURLs))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// reviews are the accesses that config is permitted: of all resources that the API
// server has, with what only words can name added, every verb in several namespaces and
// in all of them.
func reviews(t *testing.T, config *rest.Config, namespace string) []string {
	t.Helper()
	client := typedClient(t, config).AuthorizationV1().SelfSubjectAccessReviews()
	var (
		mu        sync.Mutex // guards permitted
		permitted []string
		ended     sync.WaitGroup
	)
	wanted := make(chan authorizationv1.ResourceAttributes)
	for range 8 {
		ended.Go(func() {
			for what := range wanted {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
				answer, err := client.Create(t.Context(), review, metav1.CreateOptions{})
				if err != nil {
					t.Errorf("asking for %+v: %v", what, err)
				} else if answer.Status.Allowed {
					mu.Lock()
					permitted = append(permitted, fmt.Sprintf("%s %s.%s/%s in %q", what.Verb, what.Resource, what.Group, what.Subresource, what.Namespace))
					mu.Unlock()
				}
			}
		})
	}
	asked := 0
	for _, what := range accesses(t) {
		for _, in := range []string{namespace, home, "kube-system", ""} {
			what.Namespace = in
			wanted <- what
			asked++
		}
	}
	close(wanted)
	ended.Wait()
	if asked < 1000 || len(permitted) == 0 {
		t.Fatalf("%d of %d accesses are permitted: this shows nothing", len(permitted), asked)
	}
	slices.Sort(permitted)
	return permitted
}

// accesses are all verbs of all resources.
func accesses(t *testing.T) []authorizationv1.ResourceAttributes {
	t.Helper()
	_, lists, err := typedClient(t, control.Admin()).Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var found []authorizationv1.ResourceAttributes
	for _, list := range lists {
		group, _, grouped := strings.Cut(list.GroupVersion, "/")
		if !grouped {
			group = ""
		}
		for _, r := range list.APIResources {
			name, sub, _ := strings.Cut(r.Name, "/")
			verbs := r.Verbs
			switch name {
			case "serviceaccounts":
				verbs = append(slices.Clone(verbs), "impersonate")
			case "roles", "clusterroles":
				verbs = append(slices.Clone(verbs), "bind", "escalate")
			}
			for _, verb := range verbs {
				found = append(found, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: name, Subresource: sub})
			}
		}
	}
	for _, name := range []string{"users", "groups"} {
		found = append(found, authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: name})
	}
	return found
}
