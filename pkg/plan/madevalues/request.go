// Package madevalues is what a plan has of the values that are made for a Secret: their recipes, and never a
// value. Whoever carries an action out makes them (package apply).
package madevalues

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Request is what a Secret is to have, beside what its template says. Nil asks for nothing.
type Request struct {
	Recipes []recipe.Recipe
	// Issuers are the Secrets of CAs, by the names that Recipes have for them.
	Issuers map[string]types.NamespacedName
	views   map[string]secretview.View
}

// ResolveRequest returns the request of one object of a child; nil if it makes nothing. vars are what its template sees. The
// error is *Failure.
func ResolveRequest(ctx context.Context, child *policy.Child, vars cel.Activation) (*Request, error) {
	if len(child.Make) == 0 {
		return nil, nil
	}
	r := &Request{Issuers: map[string]types.NamespacedName{}, views: map[string]secretview.View{}}
	for _, m := range child.Make {
		resolved, err := m.Resolve(ctx, vars)
		if err == nil && m.Issuer != "" {
			err = r.addIssuer(m.Issuer, vars[m.Issuer])
		}
		if err != nil {
			return nil, &Failure{What: m.What, Err: err}
		}
		r.Recipes = append(r.Recipes, resolved)
	}
	return r, nil
}

// Failure is a recipe that cannot be resolved.
type Failure struct {
	// What is its name for Program.Place.
	What string
	Err  error
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns why.
func (f *Failure) Unwrap() error { return f.Err }

// addIssuer adds the Secret of a CA: a child's object, or the one of a watch.
func (r *Request) addIssuer(id string, seen any) error {
	if list, ok := seen.([]any); ok {
		if len(list) != 1 {
			return fmt.Errorf("issuer %q is %d Secrets, not one", id, len(list))
		}
		seen = list[0]
	}
	object, _ := seen.(map[string]any)
	secret := unstructured.Unstructured{Object: object}
	if secret.GetName() == "" {
		return errors.New("issuer " + id + " does not exist yet")
	}
	r.Issuers[id] = types.NamespacedName{Namespace: secret.GetNamespace(), Name: secret.GetName()}
	r.views[id] = secretview.ReadKept(object)
	return nil
}

// CheckValues says which values of a live Secret are not valid, as far as what is kept of it tells. Where the time is not known (zero), a
// value is valid if it is there.
func (r *Request) CheckValues(live *unstructured.Unstructured, now time.Time) recipe.Verdict {
	if r == nil {
		return recipe.Verdict{}
	}
	view := secretview.ReadKept(live.Object)
	recipes := slices.DeleteFunc(slices.Clone(r.Recipes), func(one recipe.Recipe) bool {
		fact, private := view.Facts[one.PrivateKeys()[0]]
		return private && (now.IsZero() || fact.Length == secretview.AssumedLength)
	})
	if !now.IsZero() {
		return recipe.CheckSecret(recipes, recipe.Input{Secret: view, Issuers: r.views, Now: now.UTC().Truncate(time.Second)})
	}
	var v recipe.Verdict
	for _, one := range recipes {
		v.Findings = append(v.Findings, recipe.Finding{Recipe: one.String(), Keys: one.PrivateKeys()[:1], Code: recipe.Missing, Text: "is missing"})
	}
	return v
}

// ShowTextForms returns a copy of a desired Secret with the text forms of what is made in place of values.
func (r *Request) ShowTextForms(object *unstructured.Unstructured) *unstructured.Unstructured {
	if r == nil || object == nil {
		return object
	}
	shown := maps.Clone(object.Object)
	data, _ := shown["data"].(map[string]any)
	if data = maps.Clone(data); data == nil {
		data = map[string]any{}
	}
	for key, text := range r.TextForms() {
		data[key] = text
	}
	shown["data"] = data
	return &unstructured.Unstructured{Object: shown}
}

// DescribePaths is what a plan's text says of keys, given as paths below data: one line each.
func (r *Request) DescribePaths(paths []string) string {
	var b strings.Builder
	texts := r.TextForms()
	for _, path := range paths {
		if text := texts[strings.TrimPrefix(path, "data.")]; text != "" {
			fmt.Fprintf(&b, "    %s: %s\n", path, text)
		}
	}
	return b.String()
}

// TextForms are the text forms by key. A CA's next one is not among them: most of the time there is none.
func (r *Request) TextForms() map[string]string {
	texts := map[string]string{}
	for _, one := range r.Recipes {
		keys := slices.Concat(one.PrivateKeys(), one.PublicKeys())
		if _, isCA := one.(recipe.CA); isCA {
			keys = []string{"tls.crt", "tls.key", "ca.crt"}
		}
		for _, key := range keys {
			texts[key] = recipe.TextForm(one.String())
		}
	}
	return texts
}
