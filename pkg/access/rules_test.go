package access

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

func rule(verbs, groups, resources, names []string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
}

func words(w ...string) []string { return w }

func TestRulesDecide(t *testing.T) {
	deployments := rule(words("get", "list"), words("apps"), words("deployments"), nil)
	scale := Access{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale"}
	get := Access{Verb: "get", Group: "apps", Resource: "deployments"}
	a, b := get, get
	a.Name, b.Name = "a", "b"
	cases := map[string]struct {
		reason string
		rules  Rules
		access Access
		want   Decision
	}{
		"None":          {reason: "Nothing is allowed by default.", access: get, want: Denied},
		"Exact":         {reason: "Verb, group and resource match.", rules: Rules{Items: []authorizationv1.ResourceRule{deployments}}, access: get, want: Allowed},
		"ExactWithName": {reason: "A rule without names is for all.", rules: Rules{Items: []authorizationv1.ResourceRule{deployments}}, access: a, want: Allowed},
		"OtherVerb":     {reason: "Each verb is granted by itself.", rules: Rules{Items: []authorizationv1.ResourceRule{deployments}}, access: Access{Verb: "watch", Group: "apps", Resource: "deployments"}, want: Denied},
		"OtherGroup":    {reason: "The same resource of another group is another.", rules: Rules{Items: []authorizationv1.ResourceRule{deployments}}, access: Access{Verb: "get", Group: "extensions", Resource: "deployments"}, want: Denied},
		"Subresource":   {reason: "An object's rule is not for its subresources.", rules: Rules{Items: []authorizationv1.ResourceRule{deployments}}, access: scale, want: Denied},
		"Everything":    {reason: "Stars match all, subresources too.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("*"), words("*"), words("*"), nil)}}, access: scale, want: Allowed},
		"AnyScale":      {reason: "The star may stand before a subresource.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("*"), words("*/scale"), nil)}}, access: scale, want: Allowed},
		"AnyScaleOnly":  {reason: "That is not for the object.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("*"), words("*/scale"), nil)}}, access: get, want: Denied},
		"NoSubstar":     {reason: "RBAC knows no star after the resource.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("apps"), words("deployments/*"), nil)}}, access: scale, want: Denied},
		"Named":         {reason: "The name is in the rule.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("apps"), words("deployments"), words("x", "a"))}}, access: a, want: Allowed},
		"OtherName":     {reason: "The name is not.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("apps"), words("deployments"), words("x", "a"))}}, access: b, want: Denied},
		"AnyName":       {reason: "It depends on the name.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("apps"), words("deployments"), words("a"))}}, access: get, want: Unknown},
		"AnyNameBoth":   {reason: "Another rule is for all names.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("apps"), words("deployments"), words("a")), deployments}}, access: get, want: Allowed},
		"EmptyName":     {reason: "A name in a rule that is empty is no name.", rules: Rules{Items: []authorizationv1.ResourceRule{rule(words("get"), words("apps"), words("deployments"), words(""))}}, access: get, want: Unknown},
		"Incomplete":    {reason: "There may be more.", rules: Rules{Incomplete: true}, access: get, want: Unknown},
		"IncompleteYes": {reason: "What is there counts.", rules: Rules{Items: []authorizationv1.ResourceRule{deployments}, Incomplete: true}, access: get, want: Allowed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { expect(t, c.reason, c.want, c.rules.Decide(c.access)) })
	}
}
