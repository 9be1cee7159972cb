package ownerstatus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// RenderConditions returns the policy's and Ambit's own conditions, sorted by type.
// Ambit's come last, because failing expressions of the others count in them.
func (e *Evaluation) RenderConditions(ctx context.Context, c Circumstances) []metav1.Condition {
	list := make([]metav1.Condition, 0, len(e.program.Conditions)+3)
	if !c.IsPartial {
		for i := range e.program.Conditions {
			list = append(list, e.policyCondition(ctx, &e.program.Conditions[i], c.IsPending))
		}
	}
	list = append(list, e.ambitConditions(c.Pruning)...)
	for i := range list {
		list[i].ObservedGeneration = c.Generation
		list[i].Message = problems.ShortenText(list[i].Message, maxMessage)
	}
	slices.SortFunc(list, compareTypes)
	return list
}

// maxMessage is how many runes a condition's message may have: in any encoding
// below the 32768 bytes that the API allows.
const maxMessage = 4096

// ambitConditions returns Ambit's conditions.
func (e *Evaluation) ambitConditions(pruning string) []metav1.Condition {
	permitted := e.permittedCondition()
	if e.blockers.IsEmpty() {
		return []metav1.Condition{permitted, {
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonReady, Message: "all children exist and are ready",
		}}
	}
	reason, message := e.blockers.SummarizeBlockers()
	if pruning != "" {
		message += "; " + pruning
	}
	progress := v1alpha1.ConditionReconciling
	if e.blockers.IsTerminal() {
		progress = v1alpha1.ConditionStalled
	}
	return []metav1.Condition{
		permitted,
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message},
		{Type: progress, Status: metav1.ConditionTrue, Reason: reason, Message: message},
	}
}

func (e *Evaluation) permittedCondition() metav1.Condition {
	if reason, message := e.blockers.SummarizeDenied(); reason != "" {
		return metav1.Condition{Type: v1alpha1.ConditionPermitted, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	return metav1.Condition{Type: v1alpha1.ConditionPermitted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPermitted}
}

// StallConditions returns conditions that say of an owner only that it is stalled, beside what those of its plan
// say of its permissions.
func StallConditions(planned []metav1.Condition, reason, message string) []metav1.Condition {
	message = problems.ShortenText(message, maxMessage)
	list := slices.DeleteFunc(slices.Clone(planned), func(c metav1.Condition) bool { return c.Type != v1alpha1.ConditionPermitted })
	list = append(list,
		metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message},
		metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message})
	slices.SortFunc(list, compareTypes)
	for i := range list {
		if list[i].ObservedGeneration = 0; len(planned) > 0 {
			list[i].ObservedGeneration = planned[0].ObservedGeneration
		}
	}
	return list
}

func compareTypes(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) }

// policyCondition evaluates one condition of the policy.
func (e *Evaluation) policyCondition(ctx context.Context, c *policy.Condition, pending bool) metav1.Condition {
	result, f := e.evaluateCondition(ctx, c)
	if f == nil {
		return result
	}
	result = metav1.Condition{Type: c.Type, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonExpressionFailed, Message: f.Text}
	unseen := e.UnseenBy(expressionsOf(c)...)
	switch {
	case unseen != nil:
		result.Reason, result.Message = unseen.Reason, "not known: "+unseen.Message
	case !pending:
		e.blockers.Add(*f.Problem())
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

func (e *Evaluation) evaluateCondition(ctx context.Context, c *policy.Condition) (metav1.Condition, *bindings.Failure) {
	what := "conditions." + c.Type
	none := metav1.Condition{}
	value, f := bindings.Evaluate(e.scope, what+".status", c.Status, func() (any, error) { return c.Status.Eval(ctx, e.scope.Vars) })
	if f != nil {
		return none, f
	}
	status, ok := statusOf(value)
	if !ok {
		return none, e.scope.Fail(what+".status", fmt.Errorf("the value is %s, not a bool, 'True', 'False' or 'Unknown'", ssadiff.DescribeValue(value)))
	}
	result := metav1.Condition{Type: c.Type, Status: status, Reason: string(status)}
	if f := e.EvaluateText(ctx, what+".reason", c.Reason, &result.Reason); f != nil {
		return none, f
	}
	if !isReason(result.Reason) {
		return none, e.scope.Fail(what+".reason", fmt.Errorf("the value is %s, not a CamelCase word", ssadiff.DescribeValue(result.Reason)))
	}
	if f := e.EvaluateText(ctx, what+".message", c.Message, &result.Message); f != nil {
		return none, f
	}
	return result, nil
}

// EvaluateText puts the value of a string expression into s; nil leaves s as it is.
func (e *Evaluation) EvaluateText(ctx context.Context, what string, x *cel.Expr, s *string) *bindings.Failure {
	if x == nil {
		return nil
	}
	value, f := bindings.Evaluate(e.scope, what, x, func() (string, error) { return x.EvalString(ctx, e.scope.Vars) })
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
	return len(s) <= 1024 && problems.IsReasonText(s) && !strings.ContainsRune(",:", rune(s[len(s)-1]))
}
