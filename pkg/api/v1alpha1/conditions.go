package v1alpha1

// Types of the conditions that Ambit sets on owners. They follow kstatus:
// Reconciling and Stalled are present only while they are True.
const (
	// ConditionReady is True when every child of the owner exists as the policy
	// describes it and is ready, and nothing is refused.
	ConditionReady = "Ready"
	// ConditionReconciling is True from the first pass until the owner is Ready
	// or Stalled.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when what blocks the owner will not mend by
	// waiting: somebody has to act.
	ConditionStalled = "Stalled"
	// ConditionPermitted is False when something that the owner needs is refused
	// by the API server for want of a right, else True.
	ConditionPermitted = "Permitted"
)

// reservedConditions are the condition types that a policy may not define.
var reservedConditions = []string{ConditionReady, ConditionReconciling, ConditionStalled, ConditionPermitted}

// IsReservedCondition says whether Ambit itself sets conditions of this type.
func IsReservedCondition(t string) bool {
	for _, r := range reservedConditions {
		if r == t {
			return true
		}
	}
	return false
}

// Reasons of conditions on owners.
const (
	// ReasonReady: everything exists and is ready (Ready=True).
	ReasonReady = "Ready"
	// ReasonProgressing: children were applied and are not ready yet
	// (Ready=False, Reconciling=True).
	ReasonProgressing = "Progressing"
	// ReasonSyncing: a watch that the owner needs has not delivered its first
	// list yet (Ready=False, Reconciling=True).
	ReasonSyncing = "Syncing"
	// ReasonUnavailable: the API server cannot be reached or answers with errors
	// that pass by themselves (Ready=False, Reconciling=True).
	ReasonUnavailable = "Unavailable"
	// ReasonForbidden: a right is missing (Permitted=False, Stalled=True).
	ReasonForbidden = "Forbidden"
	// ReasonUnauthenticated: the API server does not accept the identity
	// (Permitted=False, Stalled=True).
	ReasonUnauthenticated = "Unauthenticated"
	// ReasonPermitted: nothing that the owner needs is refused (Permitted=True).
	ReasonPermitted = "Permitted"
	// ReasonKindMissing: the API server does not serve the kind of a child or a
	// watch (Stalled=True).
	ReasonKindMissing = "KindMissing"
	// ReasonInvalid: the API server refuses a watch or an object as invalid
	// (Stalled=True).
	ReasonInvalid = "Invalid"
	// ReasonNameConflict: an object of the wanted name exists and is not ours; it
	// is left as it is (Stalled=True).
	ReasonNameConflict = "NameConflict"
	// ReasonRefused: the API server refuses a write for another cause than a missing
	// right, such as a quota or an admission policy (Stalled=True).
	ReasonRefused = "Refused"
	// ReasonNamespaceTerminating: the namespace is being deleted, nothing can be
	// made in it (Ready=False, Reconciling=True).
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonExpressionFailed: an expression of the policy failed for this owner
	// (Stalled=True).
	ReasonExpressionFailed = "ExpressionFailed"
	// ReasonNotSupported: the policy asks for something that this version of
	// Ambit does not do, seen only at run time (Stalled=True).
	ReasonNotSupported = "NotSupported"
	// ReasonDeleting: the owner or a child is being deleted (Ready=False).
	ReasonDeleting = "Deleting"
)
