package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// ownerConditions returns the policy's and Ambit's own conditions, sorted by type.
// Ambit's come last, because failing expressions of the others count in them.
func (p *reporter) ownerConditions(ctx context.Context, pending, partial bool) []metav1.Condition {
	list := make([]metav1.Condition, 0, len(p.program.Conditions)+3)
	if !partial {
		for i := range p.program.Conditions {
			list = append(list, p.policyCondition(ctx, &p.program.Conditions[i], pending))
		}
	}
	list = append(list, p.ambitConditions()...)
	generation := p.snapshot.Owner.GetGeneration()
	for i := range list {
		list[i].ObservedGeneration = generation
		list[i].Message = problems.ShortenText(list[i].Message, maxMessage)
	}
	slices.SortFunc(list, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return list
}

// maxMessage is how many runes a condition's message may have: in any encoding
// below the 32768 bytes that the API allows.
const maxMessage = 4096

// ambitConditions returns Ambit's conditions.
func (p *reporter) ambitConditions() []metav1.Condition {
	permitted := p.permittedCondition()
	if p.blockers.IsEmpty() {
		return []metav1.Condition{permitted, {
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonReady, Message: "all children exist and are ready",
		}}
	}
	reason, message := p.blockers.SummarizeBlockers()
	if suspended := p.suspended.conditionText(); suspended != "" {
		message += "; " + suspended
	}
	progress := v1alpha1.ConditionReconciling
	if p.blockers.IsTerminal() {
		progress = v1alpha1.ConditionStalled
	}
	return []metav1.Condition{
		permitted,
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message},
		{Type: progress, Status: metav1.ConditionTrue, Reason: reason, Message: message},
	}
}

func (p *reporter) permittedCondition() metav1.Condition {
	if reason, message := p.blockers.SummarizeDenied(); reason != "" {
		return metav1.Condition{Type: v1alpha1.ConditionPermitted, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	return metav1.Condition{Type: v1alpha1.ConditionPermitted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPermitted}
}

// policyCondition evaluates one condition of the policy.
func (p *reporter) policyCondition(ctx context.Context, c *policy.Condition, pending bool) metav1.Condition {
	result, f := p.evaluateCondition(ctx, c)
	if f == nil {
		return result
	}
	result = metav1.Condition{Type: c.Type, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonExpressionFailed, Message: f.Text}
	unseen := p.unseenBy(expressionsOf(c)...)
	switch {
	case unseen != nil:
		result.Reason, result.Message = unseen.Reason, "not known: "+unseen.Message
	case !pending:
		p.blockers.Add(*f.Problem())
	case f.IsMissing:
		result.Reason, result.Message = v1alpha1.ReasonProgressing, "not known yet: "+f.Text
	}
	return result
}

func expressionsOf(c *policy.Condition) []bindings.Expression {
	list := []bindings.Expression{c.Status}
	for _, x := range []*cel.Expr{c.Reason, c.Message} {
		if x != nil {
			list = append(list, x)
		}
	}
	return list
}

func (p *reporter) evaluateCondition(ctx context.Context, c *policy.Condition) (metav1.Condition, *bindings.Failure) {
	what := "conditions." + c.Type
	none := metav1.Condition{}
	value, f := bindings.Evaluate(&p.scope, what+".status", c.Status, func() (any, error) { return c.Status.Eval(ctx, p.scope.Vars) })
	if f != nil {
		return none, f
	}
	status, ok := statusOf(value)
	if !ok {
		return none, p.scope.Fail(what+".status", fmt.Errorf("the value is %s, not a bool, 'True', 'False' or 'Unknown'", ssadiff.DescribeValue(value)))
	}
	result := metav1.Condition{Type: c.Type, Status: status, Reason: string(status)}
	if f := p.textOf(ctx, what+".reason", c.Reason, &result.Reason); f != nil {
		return none, f
	}
	if !isReason(result.Reason) {
		return none, p.scope.Fail(what+".reason", fmt.Errorf("the value is %s, not a CamelCase word", ssadiff.DescribeValue(result.Reason)))
	}
	if f := p.textOf(ctx, what+".message", c.Message, &result.Message); f != nil {
		return none, f
	}
	return result, nil
}

// textOf puts the value of a string expression into s; nil leaves s as it is.
func (p *reporter) textOf(ctx context.Context, what string, x *cel.Expr, s *string) *bindings.Failure {
	if x == nil {
		return nil
	}
	value, f := bindings.Evaluate(&p.scope, what, x, func() (string, error) { return x.EvalString(ctx, p.scope.Vars) })
	if f != nil {
		return f
	}
	*s = value
	return nil
}

// statusOf takes a bool or one of the words.
func statusOf(v any) (metav1.ConditionStatus, bool) {
	switch v {
	case true, "True":
		return metav1.ConditionTrue, true
	case false, "False":
		return metav1.ConditionFalse, true
	case "Unknown":
		return metav1.ConditionUnknown, true
	}
	return "", false
}

// isReason says whether the API allows s as the reason of a condition.
func isReason(s string) bool {
	if s == "" || len(s) > 1024 || !isLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case isLetter(c), c >= '0' && c <= '9', c == '_':
		case (c == ',' || c == ':') && i < len(s)-1:
		default:
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
