package policysource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// isOutside says whether an access is in a namespace that the scope of a policy leaves out,
// where owners can only be that it had before: they are cleaned up after. Of a policy that
// needs something elsewhere than where its owners are that is not known, nor where labels
// of namespaces decide.
func isOutside(p *policy.Program, a v1alpha1.DeniedAccess) bool {
	if p == nil || a.Namespace == "" || isAccount(p, a) {
		return false
	}
	out := slices.Contains(p.Exclude, a.Namespace) ||
		len(p.Namespaces) > 0 && p.NamespaceSelector == nil && !slices.Contains(p.Namespaces, a.Namespace)
	return out && !slices.ContainsFunc(p.Needs(), func(n policy.Need) bool { return n.Elsewhere })
}

// isAccount says whether an access is about the account that a policy acts as.
func isAccount(p *policy.Program, a v1alpha1.DeniedAccess) bool {
	return a.Resource == "serviceaccounts" && a.Group == "" && p.ServiceAccount != "" && a.Namespace == p.Namespace && a.Name == p.ServiceAccount
}

// divide returns what of denied accesses a policy needs for its work, and what it needs to
// clean up after owners outside of its scope. What it needs for neither is in none.
func divide(p *policy.Program, denied []v1alpha1.DeniedAccess) (working, cleaning []v1alpha1.DeniedAccess) {
	for _, a := range denied {
		if isOutside(p, a) {
			cleaning = append(cleaning, a)
			continue
		}
		working = append(working, a)
	}
	return working, toRemove(cleaning)
}

// cleaningText says what is missing outside of the scope: in words of its own, for an
// access's message may name verbs that only making something takes.
func cleaningText(cleaning []v1alpha1.DeniedAccess) string {
	var lines []string
	var last v1alpha1.DeniedAccess
	for _, a := range cleaning {
		verb := a.Verb
		a.Verb, a.Message = "", ""
		if a == last {
			lines[len(lines)-1] += ", " + verb
			continue
		}
		if last = a; len(lines) == mostNamed {
			lines = append(lines, fmt.Sprintf("%d accesses in all", len(cleaning)))
			break
		}
		lines = append(lines, fmt.Sprintf("%s in namespace %q: %s", strings.TrimSuffix(a.Resource+"."+a.Group, "."), a.Namespace, verb))
	}
	return "owners in namespaces that left the scope cannot be cleaned up after, and count until then, for want of rights on " + strings.Join(lines, "; ")
}
