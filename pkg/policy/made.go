package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// Made is a recipe of a child: complete, but for what templates of it say.
type Made struct {
	// Recipe has placeholders where Texts has a template.
	Recipe recipe.Recipe
	// Issuer is the id of the child or the watch that has the CA; empty for none.
	Issuer string
	// Texts are the templates by their field: user, commonName, dnsNames, ipAddresses. They read what the
	// child's template may.
	Texts map[string]*cel.Template
	// What is the recipe's name for Program.Place.
	What string
}

// Resolve returns the recipe of one object of the child. The error names the field that fails.
func (m *Made) Resolve(ctx context.Context, vars cel.Activation) (recipe.Recipe, error) {
	resolved := m.Recipe
	for _, field := range secretview.SortedKeys(m.Texts) {
		value, err := m.Texts[field].Render(ctx, vars)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		list, ok := textList(value)
		if !ok {
			return nil, fmt.Errorf("%s: every name must be a string that is not empty", field)
		}
		resolved = withTexts(resolved, field, list)
	}
	if problems := resolved.FindProblems(); problems != nil {
		return nil, fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return resolved, nil
}

// textList is a text, or a list of them, as a list.
func textList(value any) (list []string, ok bool) {
	values, isList := value.([]any)
	if !isList {
		values = []any{value}
	}
	for _, v := range values {
		text, isText := v.(string)
		if !isText || text == "" {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// withTexts is a recipe with other texts in a field.
func withTexts(r recipe.Recipe, field string, list []string) recipe.Recipe {
	switch r := r.(type) {
	case recipe.Htpasswd:
		r.User = strings.Join(list, "")
		return r
	case recipe.CA:
		r.CommonName = strings.Join(list, "")
		return r
	case recipe.Certificate:
		switch field {
		case "commonName":
			r.CommonName = strings.Join(list, "")
		case "dnsNames":
			r.DNSNames = list
		case "ipAddresses":
			r.Addresses = list
		}
		return r
	}
	return r
}

// MakesSecrets reports whether a child of the program makes values of Secrets.
func (p *Program) MakesSecrets() bool {
	return slices.ContainsFunc(p.Children, func(c *Child) bool { return len(c.Make) > 0 })
}

// PrivateKeys are the keys of the data of the child's Secret that nobody may read, sorted: those that recipes make, and
// those of previous values.
func (child *Child) PrivateKeys() []string {
	var keys []string
	for _, m := range child.Make {
		keys = append(keys, recipe.AllPrivateKeys(m.Recipe)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// publicKeys are those of made values that anybody may read.
func (child *Child) publicKeys() []string {
	var keys []string
	for _, m := range child.Make {
		keys = append(keys, m.Recipe.PublicKeys()...)
	}
	return keys
}
