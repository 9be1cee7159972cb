package apply

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// fieldConflicts are the fields that other managers have, by manager.
type fieldConflicts map[string][]string

// maxFields is how many fields of one manager a message names.
const maxFields = 5

// conflictsOf reads what the API server answers to an apply without force; empty
// if the answer is about something else.
func conflictsOf(err error) fieldConflicts {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	found := fieldConflicts{}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			manager := managerOf(cause.Message)
			found[manager] = append(found[manager], strings.TrimPrefix(cause.Field, "."))
		}
	}
	return found
}

// managerOf finds the name in `conflict with "name" using v1 at 2026-01-02T03:04:05Z`.
// Times have no place in a status.
func managerOf(message string) string {
	message = strings.TrimPrefix(message, "conflict with ")
	quoted, err := strconv.QuotedPrefix(message)
	if err != nil {
		return message
	}
	return quoted
}

// conflictProblem names who has what. Values are not shown: the object may be a Secret.
func (c fieldConflicts) conflictProblem(action plan.Action) *plan.Problem {
	texts := make([]string, 0, len(c))
	for _, manager := range slices.Sorted(maps.Keys(c)) {
		fields := slices.Sorted(slices.Values(c[manager]))
		if more := len(fields) - maxFields; more > 0 {
			fields = append(fields[:maxFields], fmt.Sprintf("%d more", more))
		}
		texts = append(texts, fmt.Sprintf("%s has %s", manager, strings.Join(fields, ", ")))
	}
	return &plan.Problem{
		Reason: v1alpha1.ReasonFieldConflict, Terminal: true,
		Message: fmt.Sprintf("cannot merge into %s: manager %s", describeAction(action), strings.Join(texts, "; manager ")),
	}
}
