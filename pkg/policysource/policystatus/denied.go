package policystatus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// permittedCondition returns what is missing for the work, and to clean up outside of the scope.
func permittedCondition(working, cleaning []v1alpha1.DeniedAccess) Condition {
	var lines []string
	if len(working) > 0 {
		lines = append(lines, DescribeDenied(working))
	}
	if len(cleaning) > 0 {
		lines = append(lines, describeCleanupDenied(cleaning))
	}
	if len(lines) == 0 {
		return Condition{True, v1alpha1.ReasonPermitted, ""}
	}
	return Condition{False, v1alpha1.ReasonForbidden, manifest.TruncateText(strings.Join(lines, "; "), manifest.MaxMessage)}
}

// maxNamed is how many denied accesses a message names.
const maxNamed = 3

// DescribeDenied names what is denied, the first of it at least.
func DescribeDenied(denied []v1alpha1.DeniedAccess) string {
	var lines []string
	for _, a := range denied {
		if len(lines) == maxNamed {
			break
		}
		message := a.Message
		if message == "" {
			message = fmt.Sprintf("cannot %s %s in namespace %q", a.Verb, a.Resource, a.Namespace)
		}
		if len(lines) == 0 || lines[len(lines)-1] != message {
			lines = append(lines, message)
		}
	}
	if more := len(denied) - maxNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("%d accesses are denied in all", len(denied)))
	}
	return manifest.TruncateText(strings.Join(lines, "; "), manifest.MaxMessage)
}

// neededForRemoval is what of denied accesses keeps from cleaning up, which creates nothing.
func neededForRemoval(denied []v1alpha1.DeniedAccess) []v1alpha1.DeniedAccess {
	return slices.DeleteFunc(slices.Clone(denied), func(a v1alpha1.DeniedAccess) bool { return a.Verb == "create" })
}

// isOutsideScope reports whether an access is in a namespace that the scope of a policy leaves out,
// where owners can only be that it had before: they are cleaned up after. Of a policy that
// needs something elsewhere than where its owners are that is not known, nor where labels
// of namespaces decide.
func isOutsideScope(p *policy.Program, a v1alpha1.DeniedAccess) bool {
	if p == nil || a.Namespace == "" || isAccountAccess(p, a) {
		return false
	}
	out := slices.Contains(p.Exclude, a.Namespace) ||
		len(p.Namespaces) > 0 && p.NamespaceSelector == nil && !slices.Contains(p.Namespaces, a.Namespace)
	return out && !slices.ContainsFunc(p.Needs(), func(n policy.Need) bool { return n.Elsewhere })
}

// isAccountAccess reports whether an access is about the account that a policy acts as.
func isAccountAccess(p *policy.Program, a v1alpha1.DeniedAccess) bool {
	return a.Resource == "serviceaccounts" && a.Group == "" && p.ServiceAccount != "" && a.Namespace == p.Namespace && a.Name == p.ServiceAccount
}

// divideDenied returns what of denied accesses a policy needs for its work, and what it needs to
// clean up after owners outside of its scope. What it needs for neither is in none.
func divideDenied(p *policy.Program, denied []v1alpha1.DeniedAccess) (working, cleaning []v1alpha1.DeniedAccess) {
	for _, a := range denied {
		if isOutsideScope(p, a) {
			cleaning = append(cleaning, a)
			continue
		}
		working = append(working, a)
	}
	return working, neededForRemoval(cleaning)
}

// describeCleanupDenied returns what is missing outside of the scope: in words of its own, for an
// access's message may name verbs that only making something takes.
func describeCleanupDenied(cleaning []v1alpha1.DeniedAccess) string {
	var lines []string
	var last v1alpha1.DeniedAccess
	for _, a := range cleaning {
		verb := a.Verb
		a.Verb, a.Message = "", ""
		if a == last {
			lines[len(lines)-1] += ", " + verb
			continue
		}
		if last = a; len(lines) == maxNamed {
			lines = append(lines, fmt.Sprintf("%d accesses in all", len(cleaning)))
			break
		}
		lines = append(lines, fmt.Sprintf("%s in namespace %q: %s", strings.TrimSuffix(a.Resource+"."+a.Group, "."), a.Namespace, verb))
	}
	return "owners in namespaces that left the scope cannot be cleaned up after, and count until then, for want of rights on " + strings.Join(lines, "; ")
}

// WhyCleanupBlocked names the account or the right that is missing.
func WhyCleanupBlocked(r Report) string {
	switch {
	case r.PolicyError != nil:
		return r.PolicyError.Message
	case len(r.Denied) > 0:
		return DescribeDenied(r.Denied)
	}
	return "owners may not be watched in any namespace of the policy's scope"
}

// LacksAccount reports whether Ambit may not see the account that a policy acts as, and so
// does nothing as it.
func LacksAccount(p *policy.Program, r Report) bool {
	return slices.ContainsFunc(r.Denied, func(a v1alpha1.DeniedAccess) bool { return isAccountAccess(p, a) })
}
